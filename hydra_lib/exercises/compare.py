"""Checks made from the right answer and the known wrong ones: a mistake is known by its values.

The decorators turn the right answer itself into the check of its exercise. ``mistakes`` holds
(wrong answer, sentence) pairs. A wrong answer that agrees with one of them everywhere gets its
sentence, however it was written. A sentence may be a function of (got, *arguments).

What :func:`value` and :func:`choice` know is data, and stays with the check as ``facts``: the
published page asks the same questions without a kernel, and judges by the same facts.
"""

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Sequence

import torch

from hydra_lib.exercises.differences import (
    alike,
    cut_short,
    difference,
    pattern,
    rounded,
    shown,
    text,
)
from hydra_lib.exercises.reader import (
    Wrong,
    boolean,
    kind,
    numbers,
    require_function,
    require_order,
)
from hydra_lib.exercises.tried import Tried, copies, in_some_form
from hydra_lib.exercises.verdict import Verdict, check

__all__ = ["choice", "function", "value"]

CLOSE = "close, but not close enough"
DIGITS = f"{CLOSE}: take more digits"
BAND = 0.05  # how far is close, as a share of the right answer
COMMA = "a comma separates numbers; inside of one write 0.5, not 0,5, and 1000, not 1,000"
HALVED = "x**1/2 is half of x: the root is x**0.5"
COUNT = 5e-5  # a count may carry what float arithmetic leaves, and is otherwise exact


def value(mistakes: Sequence[tuple[object, str]] = (), within: float | None = None):
    """Make ``right()``, a number or several, into a check of values; see :func:`alike`.

    A whole number, where nothing is said about ``within``, is a count.
    """

    def decorate(right):
        tolerance = COUNT if within is None and isinstance(right(), int) else within
        known = [(numbers(mistake), sentence) for mistake, sentence in mistakes]

        @functools.wraps(right)
        def test(answer) -> None:
            got, expected = numbers(answer), numbers(right())
            wrong = difference(got, expected, tolerance)
            if wrong is None:
                return
            if _has_commas(answer, got, expected):
                raise Wrong(f"{wrong}: {COMMA}", wrong.expected)
            near: dict[float, str] = {}
            for m, sentence in known:
                if alike(got, m, _near(m, expected, within)):
                    near.setdefault(torch.where(got == m, 0, got - m).abs().max().item(), sentence)
            if near:
                raise Wrong(near[min(near)], wrong.expected)
            if rounded(got, expected, 1 if within else 3):
                raise Wrong(DIGITS, wrong.expected)
            for m, sentence in known:
                if rounded(got, m, 2 if within else 3):
                    raise Wrong(sentence, wrong.expected)
            if within and alike(got, expected, BAND * expected.abs().max().item()):
                raise Wrong(CLOSE, wrong.expected)
            raise wrong

        test.mistakes = mistakes  # tests see to it that each is reached
        test.facts = {
            "right": numbers(right()).flatten().tolist(),
            "tolerance": tolerance,
            "within": within,
            "band": BAND,
            "close": CLOSE,
            "digits": DIGITS,
            "mistakes": [(m.flatten().tolist(), sentence) for m, sentence in known],
        }
        return check(test)

    return decorate


def _has_commas(answer, got: torch.Tensor, expected: torch.Tensor) -> bool:
    """Did a comma, in the place of a point or between thousands, make more numbers of one?"""
    n, many = expected.numel(), got.numel()
    return got.ndim == 1 and (isinstance(answer, tuple) and many > 1 if n == 1 else many == 2 * n)


def _near(mistake: torch.Tensor, right: torch.Tensor, within: float | None) -> float | None:
    """How near to a mistake is that mistake: no number but a small one is near to a small one, and
    to one larger than what is right, the same share of it."""
    size = mistake.abs().max().item()
    if not within or not math.isfinite(size):
        return within
    return min(within * max(1, size / right.abs().max().item()), 0.02 * size)


def choice(options: range, refuse: Callable[[int], str], missing: str, mistakes: Sequence = ()):
    """Make ``right()``, the right ones of some whole numbers, into a check of a list of them.

    ``refuse(n)`` says what is wrong with a wrong option, ``missing`` that a right one is lacking.
    """

    def decorate(right):
        refused = {n: refuse(n) for n in options if n not in right()}

        @functools.wraps(right)
        def test(answer) -> str | None:
            if callable(answer) or not isinstance(answer, Iterable) or isinstance(answer, str):
                return f"expected a list of numbers, got {kind(answer)}"
            listed = answer if hasattr(answer, "shape") else list(answer)
            if boolean(listed):
                return "those are True and False: list the numbers that are right"
            given = numbers(listed)
            if not given.ndim:
                return "expected a list of numbers, got a single number"
            got = given.flatten().tolist()
            for mistake, sentence in mistakes:
                if sorted(got) == sorted(mistake):
                    return sentence
            for n in got:
                if n % 1:
                    return f"{shown(n)} is not a whole number"
                if n not in options:
                    return f"{shown(n)} is not between {options[0]} and {options[-1]}"
                if n in refused:
                    return refused[n]
            if len(set(got)) < len(got):
                return "a number is listed twice"
            return None if set(got) == set(right()) else missing

        test.facts = {"options": list(options), "refused": refused, "missing": missing}
        return check(test)

    return decorate


def function(
    cases: Sequence[tuple],
    mistakes: Sequence[tuple[Callable, str | Callable]] = (),
    look: Callable[["Tried", tuple], str | Verdict | None] | None = None,
    read: Callable[[object], torch.Tensor] = numbers,
    names: Sequence[str] = (),
):
    """Make ``right(*case)`` into a check of functions, tried on all cases.

    ``look(tried, case)`` may refuse a call whose numbers are right, or say more of it. ``read``
    makes a tensor of what a function returns; ``names`` are what its entries are called.
    """

    def decorate(right):
        @functools.cache
        def known(mistake: int, case: int):
            """What a mistake gives, which every wrong answer is compared with."""
            return Tried(mistakes[mistake][0], cases[case], read).got

        @functools.wraps(right)
        def test(answer) -> str | Verdict | None:
            require_function(answer, right)
            tried = in_some_form(answer, cases, read)
            got = [call.got for call in tried]
            expected = [read(right(*copies(case))) for case in cases]
            failed = [i for i, e in enumerate(expected) if _differ(got[i], e)]
            if failed:
                require_order(answer, right)
            else:
                said = [look(*pair) for pair in zip(tried, cases, strict=True)] if look else []
                return next((verdict for verdict in said if verdict is not None), None)
            # Then without what is NaN in a mistake, where the answer may guard against it.
            for same in (_same, _same_but_nan):
                for mistake, (_, sentence) in enumerate(mistakes):
                    theirs = (known(mistake, case) for case in range(len(cases)))  # as needed
                    first = _agree(got, theirs, failed, same)
                    if first is None or same(expected[first], known(mistake, first)):
                        continue  # another mistake, or right wherever it is a number
                    if callable(sentence):
                        sentence = sentence(got[first], *cases[first])
                    raise Wrong(sentence, text(expected[first]))
            first = failed[0]
            if isinstance(got[first], Wrong):
                if len(failed) < len(cases):  # the case has to do with it
                    raise Wrong(f"for {_described(right, cases[first])}: {got[first]}")
                raise got[first]
            if says := cut_short(got, expected) or pattern(got, expected):
                raise Wrong(says, text(expected[first]))
            wrong = difference(got[first], expected[first], names=names)
            raise Wrong(f"for {_described(right, cases[first])}: {wrong}", wrong.expected)

        test.mistakes = mistakes
        return check(test)

    return decorate


def _differ(got, expected: torch.Tensor) -> bool:
    return isinstance(got, Wrong) or not alike(got, expected)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """The same shape and numbers, NaN in the same places."""
    known = ~one.isnan()
    if one.shape != other.shape or not torch.equal(known, ~other.isnan()):
        return False
    return alike(one[known], other[known])


def _same_but_nan(one: torch.Tensor, other: torch.Tensor) -> bool:
    """The same shape and numbers wherever ``other`` is no NaN."""
    known = ~other.isnan()
    return one.shape == other.shape and alike(one[known], other[known])


def _agree(got: list, known: Iterable, failed: list[int], same: Callable) -> int | None:
    """The first case where both give the same wrong numbers, if they agree, or crash, in all."""
    for one, other in zip(got, known, strict=True):
        crashed = isinstance(one, Wrong), isinstance(other, Wrong)
        if crashed[0] != crashed[1] or (not any(crashed) and not same(one, other)):
            return None
    return next((i for i in failed if not isinstance(got[i], Wrong)), None)


def _described(right: Callable, case: tuple) -> str:
    names = inspect.signature(right).parameters
    return ", ".join(f"{n} = {text(a)}" for n, a in zip(names, case, strict=True))
