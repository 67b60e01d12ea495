"""Numbers that count what is done with them, and the triple loop to try them on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hydra_lib import _checks

__all__ = ["Counted", "Tally", "counted", "triple_loop"]


@dataclass
class Tally:
    """How many multiplications and additions (or subtractions) there have been."""

    multiplications: int = 0
    additions: int = 0


@dataclass(frozen=True)
class Counted:
    """A number that adds to ``tally`` whenever another is added to it, subtracted or multiplied.

    A plain 0 is the empty sum: adding it, or to it, is no addition. Changing a sign is free. With
    any other plain number it does nothing, since it could not say whose work that is.
    """

    value: Any
    tally: Tally

    def __add__(self, other: "Counted | int") -> "Counted":
        if not isinstance(other, Counted):
            return self if other == 0 else NotImplemented
        self.tally.additions += 1
        return Counted(self.value + other.value, self.tally)

    __radd__ = __add__

    def __sub__(self, other: "Counted | int") -> "Counted":
        return self + (-other)

    def __neg__(self) -> "Counted":
        return Counted(-self.value, self.tally)

    def __mul__(self, other: "Counted") -> "Counted":
        if not isinstance(other, Counted):
            return NotImplemented
        self.tally.multiplications += 1
        return Counted(self.value * other.value, self.tally)


def counted(matrix: np.ndarray, tally: Tally) -> np.ndarray:
    """The same matrix, of :class:`Counted` numbers that share one tally.

    Raises TypeError for a ``matrix`` that is no numpy array and a ``tally`` that is none.

    >>> tally = Tally()
    >>> a = counted(np.array([[1, 2], [3, 4]]), tally)
    >>> (a @ a)[0, 0].value, tally
    (7, Tally(multiplications=8, additions=4))
    """
    _checks.instance("matrix", matrix, np.ndarray)
    _checks.instance("tally", tally, Tally)
    return np.vectorize(lambda x: Counted(x, tally), otypes=[object])(matrix)


def triple_loop(a: list[list], b: list[list]) -> list[list]:
    """AB entry by entry, for nested lists of anything that adds and multiplies.

    ``c_ij = Σ_p a_ip · b_pj``: for n × n, n³ multiplications and n³ − n² additions, the first term
    of a sum being no addition.

    Raises TypeError for anything but lists of lists; ValueError for empty ones, rows of different
    lengths or inner sizes that differ.

    >>> triple_loop([[1, 2], [3, 4]], [[5, 6], [7, 8]])
    [[19, 22], [43, 50]]
    """
    widths = []
    for name, x in (("a", a), ("b", b)):
        rows = x if isinstance(x, list) else [x]
        if strange := [row for row in rows if not isinstance(row, list)]:
            within = "a list with " if rows is x else ""
            got = within + type(strange[0]).__name__
            raise TypeError(f"{name} must be a list of lists, got {got}")
        widths.append(sorted({len(row) for row in x}))
    if not a or not b:
        raise ValueError(f"expected a and b with a row at least, got {len(a)} and {len(b)} rows")
    if widths[0] != [len(b)]:
        raise ValueError(f"expected rows of a as long as b has rows, got {widths[0]} and {len(b)}")
    if len(widths[1]) > 1 or 0 in widths[1]:
        raise ValueError(f"expected rows of b of one length, at least 1, got {widths[1]}")
    c = [[0] * len(b[0]) for _ in a]
    for i in range(len(a)):
        for j in range(len(b[0])):
            for p in range(len(b)):
                c[i][j] += a[i][p] * b[p][j]
    return c
