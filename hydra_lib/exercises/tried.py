"""One call of an answer: what was given, what came back, and which torch functions ran."""

import copy
import io
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout

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
    def stumbled(self) -> bool:
        """Did the answer's own code raise an error, as it may over a form of numbers?"""
        return isinstance(self.got, Wrong) and self.got.__cause__ is not None

    @property
    def unseen(self) -> bool:
        """Did the work go on outside torch, where no call of it is seen?"""
        return not any(call.returned for call in self.calls)


def in_some_form(answer: Callable, cases: Sequence[tuple], read: Callable) -> list[Tried]:
    """The calls with float64 tensors or, where code stumbles on those, with float32, arrays, or
    tensors in the place of numbers.

    ``torch.ones(3)`` is float32, and torch refuses to multiply the two, or to take the root of a
    number that is no tensor; no exercise is about that.
    """
    forms: list[list[Tried]] = []
    for convert in (lambda thing: thing, _single, _array, _tensor):
        form = [tuple(map(convert, case)) for case in cases]
        # Who was given tensors expects no warnings of arrays, nor a print for each form.
        with np.errstate(all="ignore"), redirect_stdout(io.StringIO() if forms else sys.stdout):
            tried = [Tried(answer, case, read) for case in form]
        if not any(call.stumbled for call in tried):
            return tried
        forms.append(tried)
    return forms[any("dtype" in str(call.got) for call in forms[0] if isinstance(call.got, Wrong))]


def _single(thing):
    floating = isinstance(thing, torch.Tensor) and thing.is_floating_point()
    return thing.float() if floating else thing


def _array(thing):
    return np.asarray(thing) if isinstance(thing, torch.Tensor) else thing


def _tensor(thing):
    return torch.tensor(thing) if isinstance(thing, int | float) else thing


def copies(case: tuple) -> tuple:
    return tuple(a.clone() if isinstance(a, torch.Tensor) else copy.deepcopy(a) for a in case)
