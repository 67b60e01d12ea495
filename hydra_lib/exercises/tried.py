"""One call of an answer: what was given, what came back, and which torch functions ran."""

import copy
from collections.abc import Callable, Sequence

import numpy as np
import torch

from hydra_lib.exercises.reader import Wrong, call
from hydra_lib.exercises.watch import Call

__all__ = ["Tried", "copies", "in_some_form"]


class Tried:
    """One call of an answer: what it returned, read as ``got``, or what went wrong.

    ``given`` is what became of the arguments, ``calls`` the torch functions that ran.
    """

    def __init__(self, answer: Callable, case: tuple, read: Callable):
        self.answer, self.given = answer, copies(case)
        self.returned: object = None
        self.calls: list[Call] = []
        try:
            self.returned, self.calls = call(answer, self.given)
            self.got = read(self.returned)
        except Wrong as wrong:
            self.got = wrong

    @property
    def unseen(self) -> bool:
        """Did the work go on outside torch, where no call of it is seen?"""
        return not any(call.returned for call in self.calls)


def in_some_form(answer: Callable, cases: Sequence[tuple], read: Callable) -> list[Tried]:
    """The calls with float64 tensors or, where code stumbles on those, with float32 or arrays.

    ``torch.ones(3)`` is float32, and torch refuses to multiply the two; no exercise is about that.
    """
    forms = []
    for convert in (lambda tensor: tensor, _single, np.asarray):
        form = [tuple(convert(a) if isinstance(a, torch.Tensor) else a for a in c) for c in cases]
        with np.errstate(all="ignore"):  # who was given tensors expects no warnings of arrays
            tried = [Tried(answer, case, read) for case in form]
        if not any(isinstance(call.got, Wrong) for call in tried):
            return tried
        forms.append(tried)
    return forms[0]


def _single(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.is_floating_point() else tensor


def copies(case: tuple) -> tuple:
    return tuple(a.clone() if isinstance(a, torch.Tensor) else copy.deepcopy(a) for a in case)
