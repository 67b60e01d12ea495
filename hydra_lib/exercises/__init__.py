"""Checks for the exercises: each tries an answer and says what is right or what went wrong.

An answer that is still ``...`` is not wrong, only not given yet, so a chapter runs from top to
bottom before the reader has written anything.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import torch

__all__ = ["Verdict", "check"]


@dataclass(frozen=True)
class Verdict:
    """What a check found. ``right`` is None for an answer that was not given yet."""

    right: bool | None
    says: str

    def __bool__(self) -> bool:
        return self.right is True

    def __repr__(self) -> str:
        return {True: "✓ ", False: "✗ ", None: "· "}[self.right] + self.says

    def _repr_html_(self) -> str:
        return f'<p class="verdict">{escape(repr(self))}</p>'  # wraps on a phone, as text does not


def check(test: Callable[[object], str | Verdict | None]) -> Callable[[object], Verdict]:
    """Turn ``test(answer)``, which returns what is wrong, or None, or a verdict, into a check.

    An answer that raises is a wrong answer, and the reader is shown the error.
    """

    @functools.wraps(test)
    def run(answer) -> Verdict:
        if answer is ... or answer is None:
            return Verdict(None, "No answer yet: replace the ... above and run the cell again.")
        try:
            wrong = test(answer)
        except Exception as error:
            return Verdict(False, f"Your answer raised {type(error).__name__}: {error}")
        if isinstance(wrong, Verdict):
            return wrong
        return Verdict(wrong is None, wrong or "Right.")

    return run


def same(got: object, expected: torch.Tensor, tolerance: float = 1e-5) -> str | None:
    """What differs between an answer and the expected tensor, in words, or None."""
    if callable(got):
        return "expected a value, got a function: call it"
    got = torch.as_tensor(got, dtype=torch.float64)
    expected = expected.double()
    if expected.ndim == 0 and got.numel() == 1:
        got = got.squeeze()  # a number is a number, in however many brackets
    if got.shape != expected.shape:
        return f"expected shape {tuple(expected.shape)}, got {tuple(got.shape)}"
    if torch.allclose(got, expected, rtol=tolerance, atol=tolerance):
        return None
    if got.ndim == 0:
        return f"{got.item():.4g} is not it"
    where = (~torch.isclose(got, expected, rtol=tolerance, atol=tolerance)).nonzero()[0].tolist()
    return (
        f"entry {where} should be {expected[tuple(where)].item():.4g}, "
        f"is {got[tuple(where)].item():.4g}"
    )
