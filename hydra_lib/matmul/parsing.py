"""An algorithm as papers print it, ``p1 = (a11 + a22) b11`` and ``c11 = p1 - p2``, as numbers."""

import re
from collections.abc import Sequence

import numpy as np

from hydra_lib import _checks

__all__ = ["read"]

Sums = dict[str, list[dict[str, int]]]


def read(products: str, results: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The factors U, V and W of the products p1 … pR and of the entries of C.

    A product is an entry of A, or a sum of entries in brackets, times the same of B; an entry of C
    is a sum of products. Lines end at a semicolon or a new line; signs are + and -, or − as in
    print. An index is one digit, so sides are at most 9.

    Raises TypeError for anything but text; ValueError for a line of another form, a name that
    stands twice in a sum or on the left, products that are not numbered from 1 on,
    and a result with a product that is none.

    >>> [f.tolist() for f in read("p1 = -a11 (b11 - b12)", "c12 = p1")]
    [[[[-1]]], [[[1, -1]]], [[[0, 1]]]]
    """
    if not isinstance(products, str) or not isinstance(results, str):
        kinds = f"{type(products).__name__} and {type(results).__name__}"
        raise TypeError(f"products and results must be text, got {kinds}")
    left = _equations("products", products, "p[1-9][0-9]*", _PRODUCT, "p1 = (a11 + a22) b11")
    right = _equations(
        "results", results, "c[1-9][1-9]", f"({_sum('p[1-9][0-9]*')})", "c11 = p1 - p2"
    )
    names = [f"p{r}" for r in range(1, len(left) + 1)]
    for name in left:
        if name not in names:
            raise ValueError(f"products must be p1 to {names[-1]}, got {name}")
    for name in (p for (total,) in right.values() for p in total):
        if name not in left:
            raise ValueError(f"results must be sums of p1 to {names[-1]}, got {name}")
    u, v = zip(*(left[p] for p in names), strict=True)
    w = [{c: total[p] for c, (total,) in right.items() if p in total} for p in names]
    return _factor(u), _factor(v), _factor(w)


def _sum(term: str) -> str:
    return f"[+-]?{term}(?:[+-]{term})*"


_A, _B = "a[1-9][1-9]", "b[1-9][1-9]"
# No sign between the factors but in brackets: a11 - b11 is no product.
_PRODUCT = rf"([+-]?{_A}|\({_sum(_A)}\))\s*({_B}|\({_sum(_B)}\))"


def _equations(of: str, text: str, left: str, right: str, like: str) -> Sums:
    """For each left side, the sums on the right: the sign of each term by its name."""
    found: Sums = {}
    for line in filter(None, map(str.strip, re.split(r"[;\n]", text))):
        plain = re.sub(r"\s*([-+=()])\s*", r"\1", line.replace("−", "-"))
        match = re.fullmatch(f"({left})={right}", plain)
        if not match:
            raise ValueError(f"{of} must be lines like {like!r}, got {_checks.shown(line)}")
        name, *sums = match.groups()
        terms = [re.findall(r"([+-]?)(\w+)", total) for total in sums]
        signs = [{term: int(sign + "1") for sign, term in pairs} for pairs in terms]
        if name in found or [*map(len, signs)] != [*map(len, terms)]:
            raise ValueError(f"{of} must have each name once, got {_checks.shown(line)}")
        found[name] = signs
    if not found:
        raise ValueError(f"{of} must be lines like {like!r}, got {_checks.shown(text)}")
    return found


def _factor(sums: Sequence[dict[str, int]]) -> np.ndarray:
    """Coefficients (R, rows, columns) of sums of entries, each named by a letter and two digits."""
    entries = [(r, int(x[1]), int(x[2]), sign) for r, s in enumerate(sums) for x, sign in s.items()]
    _, rows, columns, _ = map(max, zip(*entries, strict=True))
    factor = np.zeros((len(sums), rows, columns), dtype=np.int64)
    for r, i, j, sign in entries:
        factor[r, i - 1, j - 1] = sign
    return factor
