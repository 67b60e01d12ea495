"""How an answer differs from the right one, in words that fit any exercise."""

import math
from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
import torch

from hydra_lib.exercises.reader import Wrong

__all__ = [
    "alike",
    "cut_short",
    "difference",
    "how_many",
    "pattern",
    "rounded",
    "shown",
    "text",
    "told_apart",
]


def alike(got: torch.Tensor, expected: torch.Tensor, within: float | None = None) -> bool:
    """Is an answer what was expected? ``within`` is an absolute tolerance; without it, 1e-5 of the
    largest number expected. Axes of length 1 do not count. NaN is never right.
    """
    near = _right(_shaped(got, expected), expected, within)
    return near is not None and bool(near.all())


def difference(
    got: torch.Tensor,
    expected: torch.Tensor,
    within: float | None = None,
    names: Sequence[str] = (),
):
    """What differs between an answer and what was expected, or None if they are :func:`alike`.

    ``names`` are those of a vector's entries.
    """
    got = _shaped(got, expected)
    near = _right(got, expected, within)
    if near is None:
        if expected.squeeze().ndim > 1:
            return Wrong(f"expected shape {tuple(expected.shape)}, got {tuple(got.shape)}")
        n = expected.numel()
        return Wrong(f"expected {'one number' if n == 1 else f'{n} numbers'}, got {how_many(got)}")
    if near.all():
        return None
    where = tuple((~near).nonzero()[0].tolist())
    said = told_apart(got[where].item(), expected[where].item())
    if not where:
        return Wrong(f"{said} is not right", text(expected))
    entry = names[where[0]] if names else f"entry {list(where)}"
    return Wrong(f"{entry} is {said}, and should not be", text(expected))


def how_many(got: torch.Tensor) -> str:
    """How many numbers came, in words."""
    if got.squeeze().ndim > 1:
        return f"shape {tuple(got.shape)}"
    return {0: "none", 1: "one"}.get(got.numel(), str(got.numel()))


def _shaped(got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    fits = got.squeeze().shape == expected.squeeze().shape
    return got.reshape(expected.shape) if fits else got


def _right(got: torch.Tensor, expected: torch.Tensor, within: float | None) -> torch.Tensor | None:
    """Which numbers are right; None for another shape."""
    if got.shape != expected.shape:
        return None
    if within is None:
        finite = expected[expected.isfinite()].abs()
        scale = finite.max().item() if finite.numel() else 0.0
        within = 1e-5 * (scale or 1.0)
    return torch.isclose(got, expected, rtol=0.0, atol=within)


def rounded(got: torch.Tensor, expected: torch.Tensor, fewest: int) -> bool:
    """Is it the right answer, rounded to ``fewest`` digits or more?"""
    if got.numel() != expected.numel():
        return False
    pairs = list(zip(got.flatten().tolist(), expected.flatten().tolist(), strict=True))
    return any(
        all(math.isclose(g, float(f"{e:.{digits}g}"), rel_tol=1e-9) for g, e in pairs)
        for digits in range(fewest, 9)
    )


def cut_short(got: list, expected: list[torch.Tensor]) -> str | None:
    """Are these the right numbers of a function, rounded to some decimal place?"""
    for places in range(1, 9):
        right = [e.round(decimals=places) for e in expected]
        if any(r.any() for r in right) and all(
            not isinstance(g, Wrong) and alike(g, r, 1e-9) for g, r in zip(got, right, strict=True)
        ):
            return "rounded: return it with all its digits"
    return None


def told_apart(number: float, other: float) -> str:
    """A number in four digits, or in ten or fifteen where fewer would show the other one."""
    enough = (d for d in (4, 10) if f"{number:.{d}g}" != f"{other:.{d}g}")
    return shown(number, next(enough, 15))


def shown(number: float, digits: int = 4) -> str:
    """A number in so many digits, a whole one in full, as it was typed."""
    whole = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else f"{number:.{digits}g}"


def pattern(got: list, expected: list[torch.Tensor]) -> str | None:
    """A mistake that any exercise can have, such as a sign: the same in all cases."""
    if any(isinstance(g, Wrong) for g in got):
        return None
    pairs = list(zip(got, expected, strict=True))

    def everywhere(holds: Callable[[torch.Tensor, torch.Tensor], object]) -> bool:
        return all(holds(g, e) for g, e in pairs)

    def equal(change) -> bool:
        return everywhere(lambda g, e: alike(g, change(e)))

    binary = everywhere(lambda g, e: ((e == 0) | (e == 1)).all())
    if binary and equal(lambda e: 1 - e):
        return "inverted: it is True exactly where it should be False"
    if everywhere(lambda g, e: e.ndim > 1) and equal(lambda e: e.mT):
        return "that is the transpose: rows and columns are swapped"
    if equal(torch.neg):
        return "the sign is the other way round"
    if everywhere(lambda g, e: e.ndim > 0 and g.numel() == 1 < e.numel()):
        return "one number came out: keep an axis"
    axes = range(expected[0].ndim)
    if any(equal(lambda e, order=order: e.permute(order)) for order in permutations(axes)):
        return "the right numbers, but the axes stand in another order"
    if not everywhere(lambda g, e: g.shape == e.shape):
        return None
    if not binary and everywhere(lambda g, e: alike(_sorted(g), _sorted(e))):
        if everywhere(_other_order):
            rows = "numbers" if all(e.ndim == 1 for e in expected) else "rows"
            return f"the right {rows}, in another order"
        return "the right numbers in the wrong places, as when a transpose is missing"
    return _in_numbers(*(torch.cat([t.flatten() for t in ts]) for ts in (got, expected))) or (
        _in_rows(pairs)
    )


def _other_order(got: torch.Tensor, expected: torch.Tensor) -> bool:
    """Are the same parts there along the first axis?"""
    far = (got.flatten(1) if got.ndim > 1 else got[:, None])[:, None]
    near = torch.isclose(far, expected.reshape(1, len(expected), -1), rtol=0.0, atol=1e-5).all(-1)
    return bool(near.any(0).all() and near.any(1).all())


def _in_numbers(got: torch.Tensor, expected: torch.Tensor) -> str | None:
    if (got == got[0]).all() and (expected != expected[0]).any():
        return f"every number is {shown(got[0].item())}, whatever was given"
    factor = (got @ expected) / (expected @ expected)
    if not factor or not 1e-3 < abs(factor - 1) < torch.inf:
        return None
    # Each by its own size: beside a huge number what a small one is off by would not be seen.
    if torch.allclose(got, factor * expected, rtol=1e-4, atol=1e-15 * got.abs().max().item()):
        return f"every number is {shown(factor.item())} times what it should be"
    return None


def _in_rows(pairs: list[tuple[torch.Tensor, torch.Tensor]]) -> str | None:
    """For weights: what their rows and columns sum to."""
    if not all(e.ndim > 1 and (e >= 0).all() and _ones(e.sum(-1)) for _, e in pairs):
        return None
    if all(_ones(g.sum(-1)) for g, _ in pairs):
        return None
    for axis, says in (
        (-2, "wrong axis: your columns sum to 1, the rows must"),
        (0, "wrong axis: your numbers sum to 1 along the first axis; the rows must"),
    ):
        if all(_ones(g.sum(axis)) for g, _ in pairs):
            return says
    sums = torch.cat([g.sum(-1).flatten() for g, _ in pairs])
    wrong = sums[~torch.isclose(sums, torch.ones_like(sums), atol=1e-5)]
    if not len(wrong):
        return None
    if wrong[0].isnan():
        return "a row must sum to 1; one of yours holds NaN"
    return f"a row must sum to 1; one of yours sums to {told_apart(wrong[0].item(), 1.0)}"


def _ones(sums: torch.Tensor) -> bool:
    return torch.allclose(sums, torch.ones_like(sums), atol=1e-5)


def _sorted(numbers: torch.Tensor) -> torch.Tensor:
    return numbers.flatten().sort().values


def text(thing) -> str:
    if not isinstance(thing, torch.Tensor | np.ndarray):
        return f"{thing:g}" if isinstance(thing, float) else str(thing)
    if thing.ndim > 2 or np.prod(thing.shape) > 9:
        return f"(shape {tuple(thing.shape)})"
    rounded = np.asarray(thing)
    if rounded.dtype.kind == "f":
        rounded = np.vectorize(lambda x: float(f"{x:.4g}"))(rounded)
    return str(rounded.tolist())
