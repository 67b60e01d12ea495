"""Checks made from the right answer and the known wrong ones: a mistake is known by its values.

Both decorators turn the right answer itself into the check of its exercise. ``mistakes`` holds
(wrong answer, sentence) pairs. A wrong answer that agrees with one of them everywhere gets its
sentence, however it was written. A sentence may be a function of (got, *arguments).
"""

import copy
import functools
import inspect
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch

from hydra_lib.exercises.reader import Wrong, call, numbers, require_function
from hydra_lib.exercises.verdict import check

__all__ = ["Tried", "difference", "function", "value"]

Mistakes = Sequence[tuple[object, str | Callable]]


def value(mistakes: Mistakes = (), within: float | None = None):
    """Make ``right()``, a number or several, into a check of values; see :func:`difference`."""

    def decorate(right):
        @functools.wraps(right)
        def test(answer) -> None:
            got, expected = numbers(answer), numbers(right())
            wrong = difference(got, expected, within)
            if wrong is None:
                return
            for mistake, sentence in mistakes:
                if difference(got, numbers(mistake), within) is None:
                    raise Wrong(sentence, wrong.expected)
            if within and difference(got, expected, 20 * within) is None:
                raise Wrong("close, but not close enough: take more digits", wrong.expected)
            raise wrong

        test.mistakes = mistakes  # tests see to it that each is reached
        return check(test)

    return decorate


def function(
    cases: Sequence[tuple],
    mistakes: Mistakes = (),
    look: Callable[["Tried", tuple], str | None] | None = None,
    read: Callable[[object], torch.Tensor] = numbers,
):
    """Make ``right(*case)`` into a check of functions, tried on all cases.

    ``look(tried, case)`` may refuse a call whose numbers are right. ``read`` makes a tensor of what
    a function returns.
    """

    def decorate(right):
        @functools.wraps(right)
        def test(answer) -> str | None:
            require_function(answer, right)
            tried = _in_some_form(answer, cases, read)
            got = [call.got for call in tried]
            expected = [read(right(*_copies(case))) for case in cases]
            failed = [i for i, e in enumerate(expected) if _differ(got[i], e)]
            if not failed:
                found = (look(call, case) for call, case in zip(tried, cases, strict=True) if look)
                return next(filter(None, found), None)
            for mistake, sentence in mistakes:
                known = (Tried(mistake, case, read).got for case in cases)  # as far as needed
                if (first := _agree(got, known, failed)) is not None:
                    if callable(sentence):
                        sentence = sentence(got[first], *cases[first])
                    raise Wrong(sentence, _text(expected[first]))
            first = failed[0]
            if isinstance(got[first], Wrong):
                raise got[first]
            if says := _pattern(got, expected):
                raise Wrong(says, _text(expected[first]))
            wrong = difference(got[first], expected[first])
            raise Wrong(f"for {_described(right, cases[first])}: {wrong}", wrong.expected)

        test.mistakes = mistakes
        return check(test)

    return decorate


def difference(got: torch.Tensor, expected: torch.Tensor, within: float | None = None):
    """What differs between an answer and what was expected, as :class:`Wrong`, or None.

    ``within`` is an absolute tolerance; without it, 1e-5 of the largest number expected. Axes of
    length 1 do not count. NaN is never right.
    """
    if got.shape != expected.shape and got.squeeze().shape == expected.squeeze().shape:
        got = got.reshape(expected.shape)
    if got.shape != expected.shape:
        return Wrong(f"expected shape {tuple(expected.shape)}, got {tuple(got.shape)}")
    if within is None:
        finite = expected[expected.isfinite()].abs()
        scale = finite.max().item() if finite.numel() else 0.0
        within = 1e-5 * (scale or 1.0)
    near = torch.isclose(got, expected, rtol=0.0, atol=within)
    if near.all():
        return None
    where = tuple((~near).nonzero()[0].tolist())
    said = f"{got[where].item():.4g}"
    says = f"entry {list(where)} is {said}, and should not be" if where else f"{said} is not it"
    return Wrong(says, _text(expected))


class Tried:
    """One call of an answer: what it returned, read as ``got``, or what went wrong.

    ``given`` is what became of the arguments, ``calls`` the torch functions that ran.
    """

    def __init__(self, answer: Callable, case: tuple, read: Callable):
        self.answer, self.given, self.returned, self.calls = answer, _copies(case), None, []
        try:
            self.returned, self.calls = call(answer, self.given)
            self.got = read(self.returned)
        except Wrong as wrong:
            self.got = wrong


def _in_some_form(answer, cases, read) -> list[Tried]:
    """The calls with float64 tensors or, where code stumbles on those, with float32 or arrays.

    ``torch.ones(3)`` is float32, and torch refuses to multiply the two; nobody was asked to care.
    """
    first = None
    for convert in (lambda tensor: tensor, _single, np.asarray):
        form = [tuple(convert(a) if isinstance(a, torch.Tensor) else a for a in c) for c in cases]
        with np.errstate(all="ignore"):  # who was given tensors expects no warnings of arrays
            tried = [Tried(answer, case, read) for case in form]
        if not any(isinstance(call.got, Wrong) for call in tried):
            return tried
        first = first or tried
    return first


def _single(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.is_floating_point() else tensor


def _copies(case: tuple) -> tuple:
    return tuple(a.clone() if isinstance(a, torch.Tensor) else copy.deepcopy(a) for a in case)


def _differ(got, expected: torch.Tensor) -> bool:
    return isinstance(got, Wrong) or difference(got, expected) is not None


def _agree(got: list, known: Iterable, failed: list[int]) -> int | None:
    """The first case where both give the same wrong numbers, if they agree, or crash, in all."""
    for one, other in zip(got, known, strict=True):
        if isinstance(one, Wrong) != isinstance(other, Wrong):
            return None
        if not isinstance(one, Wrong):
            if one.shape != other.shape or not torch.equal(one.isnan(), other.isnan()):
                return None
            if _differ(one.nan_to_num(), other.nan_to_num()):
                return None
    return next((i for i in failed if not isinstance(got[i], Wrong)), None)


def _pattern(got: list, expected: list[torch.Tensor]) -> str | None:
    """A mistake that any exercise can have, such as a sign: the same in all cases."""
    if any(isinstance(g, Wrong) for g in got):
        return None

    def everywhere(change):
        return not any(_differ(g, change(e)) for g, e in zip(got, expected, strict=True))

    if all(((e == 0) | (e == 1)).all() for e in expected) and everywhere(lambda e: 1 - e):
        return "inverted: it is True exactly where it should be False"
    if all(e.ndim > 1 for e in expected) and everywhere(lambda e: e.mT):
        return "that is the transpose: rows and columns are swapped"
    if everywhere(torch.neg):
        return "the sign is the other way round"
    if any(g.shape != e.shape for g, e in zip(got, expected, strict=True)):
        return None
    got, expected = (torch.cat([t.flatten() for t in ts]) for ts in (got, expected))
    if (got == got[0]).all() and (expected != expected[0]).any():
        return f"every number is {got[0].item():.4g}, whatever was given"
    factor = (got @ expected) / (expected @ expected)
    if factor.isfinite() and factor != 0 and not _differ(got, factor * expected):
        return "every number is off by the same factor"
    return None


def _described(right: Callable, case: tuple) -> str:
    names = inspect.signature(right).parameters
    return ", ".join(f"{n} = {_text(a)}" for n, a in zip(names, case, strict=True))


def _text(thing) -> str:
    if not isinstance(thing, torch.Tensor | np.ndarray):
        return f"{thing:g}" if isinstance(thing, float) else str(thing)
    if thing.ndim > 2 or np.prod(thing.shape) > 9:
        return f"(shape {tuple(thing.shape)})"
    rounded = np.asarray(thing)
    if rounded.dtype.kind == "f":
        rounded = np.vectorize(lambda x: float(f"{x:.4g}"))(rounded)
    return str(rounded.tolist())
