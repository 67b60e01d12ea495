"""Checks of the exercises of the chapter on Strassen's algorithm."""

import dataclasses
import math

import numpy as np
import torch

from hydra_lib.exercises import Verdict, check, progress
from hydra_lib.exercises.compare import function, value
from hydra_lib.exercises.reader import POWER, kind, numbers
from hydra_lib.matmul.bilinear import BilinearAlgorithm
from hydra_lib.matmul.schemes import STRASSEN

__all__ = ["assemble", "crossover", "flipped_sign", "multiplications", "peel", "progress"]

_FLIPPED = (4, 0, 0)  # − M₅ in C₁₁


def broken_algorithm() -> BilinearAlgorithm:
    """Strassen's algorithm with one sign of W turned."""
    W = STRASSEN.W.copy()
    W[_FLIPPED] *= -1
    return dataclasses.replace(STRASSEN, W=W)


@check
def flipped_sign(answer) -> str | None:
    """(product, row, column), counted from 1, of the sign that was turned."""
    given = numbers(answer).squeeze()
    whole = given.isfinite() & (given == given.round())
    if given.ndim != 1 or len(given) != 3 or not whole.all():
        came = kind(answer) if hasattr(answer, "shape") else repr(answer)
        return f"expected (product, row, column), three whole numbers, got {came}"
    place = tuple(int(p) - 1 for p in given)
    if place == _FLIPPED:
        return None
    if place == tuple(p - 1 for p in _FLIPPED):
        return "right, but counted from 0"
    if sorted(place) == sorted(_FLIPPED):
        return "right numbers in another order: the product comes first, then row and column"
    if not all(0 <= p < side for p, side in zip(place, STRASSEN.W.shape, strict=True)):
        return "there are 7 products, 2 rows and 2 columns"
    product, row, column = (p + 1 for p in place)
    if not STRASSEN.W[place]:
        return f"product {product} does not land in row {row}, column {column} at all"
    if place[0] == _FLIPPED[0]:
        return "the product is right, but it lands in two entries: look at the other"
    if place[1:] == _FLIPPED[1:]:
        return "the entry is right, but turning that product's sign there does not mend it"
    return "turning that sign does not mend it: look at where defect() is not zero"


@value(
    mistakes=[
        (7**10, "that is the recursion down to single numbers"),
        (1024**3, "that is the plain way"),
        (7**4, "those are the blocks to multiply; each takes 64³ multiplications"),
        (7**4 * 64**2, "that is 4,096 for a block: a block of 64 takes 64³ multiplications"),
        (7**4 * 64, "a block of 64 takes 64³ multiplications, not 64"),
        (7**5 * 64**3, "off by one: from 1024 to 64 there are four levels"),
        (7**3 * 64**3, "off by one: from 1024 to 64 there are four levels"),
        (7 * 512**3, "that is one level; it goes on down to 64"),
        (7**16 * 64**3, "1024 / 64 = 16 = 2⁴: four levels, not sixteen"),
        (7 * 4 * 64**3, "each level multiplies the number of blocks by 7: 7⁴, not 7 · 4"),
        (7 ^ 4 * 64 ^ 3, POWER),
        (7**4 * 64**3 * 2, "multiplications only: the additions do not count"),
    ]
)
def multiplications():
    """Multiplications for n = 1024 with leaves of 64: four levels."""
    return 7**4 * 64**3


@function(
    [(1e11, 1e9), (3e10, 2e9), (5e10, 2e10), (1e11, 7e9)],
    mistakes=[
        (lambda p, q: 15 * p / q + 1, "one less: the question is where both take equally long"),
        *(
            (
                lambda p, q, whole=whole: whole(15 * p / q),
                f"rounded {way}: both take equally long at an n that need not be whole",
            )
            for whole, way in ((math.ceil, "up"), (math.floor, "down"), (round, "off"))
        ),
        (lambda p, q: 18 * p / q, "18 additions are Strassen's form; Winograd's has 15"),
        (lambda p, q: 15 * q / p, "upside down: slow additions push the crossover up"),
        (lambda p, q: 15 * p / (2 * q), "a factor 2: n³ / 4 against 15 n² / 4"),
        (lambda p, q: 30 * p / q, "a factor 2: n³ / 4 against 15 n² / 4"),
        (lambda p, q: 60 * p / q, "(n/2)² is n² / 4, and 2 (n/2)³ is n³ / 4: both have the 4"),
        (
            lambda p, q: 15 * p / (4 * q),
            "(n/2)² is n² / 4, and 2 (n/2)³ is n³ / 4: both have the 4",
        ),
        (lambda p, q: p / q, "15 additions are missing"),
        (lambda p, q: 15, "that forgets the machine: p and q"),
        (lambda p, q: 15 * p * q, "q divides: additions take 15 (n/2)² / q seconds"),
        (lambda p, q: 7 * p / q, "those are the products; saving one of them costs 15 additions"),
        (lambda p, q: 19 * p / q, "the plain way's four additions come free: 15 count"),
        (lambda p, q: 11 * p / q, "the plain way's four additions are not counted here: 15"),
    ],
)
def crossover(p, q):
    """n with 2 (n/2)³ / p = 15 (n/2)² / q."""
    return 15 * p / q


def _odd_cases() -> list[tuple]:
    generator = torch.Generator().manual_seed(9)
    sides = (3, 5, 7)
    return [tuple(torch.randint(-9, 10, (2, n, n), generator=generator).double()) for n in sides]


def _even_part_only(tried, case) -> str | Verdict | None:
    n = len(case[0])
    # Neither whole matrices multiplied nor their numbers, one by one or broadcast: that was NumPy.
    if not any(
        call.product or any(len(shape) not in (1, 2) for shape in call.given)
        for call in tried.calls
    ):
        return Verdict(
            None,
            "The numbers are right. Whether the even part was multiplied by itself is not seen: "
            "only torch's @ is. Stay with tensors.",
        )
    even = False
    for call in tried.calls:
        blocks = [shape for shape in call.given if len(shape) > 1 and min(shape[-2:]) > 1]
        sides = {side for shape in blocks for side in shape[-2:]}
        if len(blocks) < 2 or not call.product:
            continue
        if max(sides) > n:
            return "the numbers are right, but that is padding: peel the last row and column off"
        if n in sides:
            return f"the numbers are right, but that is the plain product of an odd size, {n}"
        even = even or sides == {n - 1}
    return None if even else "the numbers are right, but the even part is no product of its own"


def _peeled(a, b, without: str = ""):
    c = torch.zeros_like(a)
    c[:-1, :-1] = a[:-1, :-1] @ b[:-1, :-1]
    c[:-1, :-1] += a[:-1, -1:] @ b[-1:, :-1]
    if without not in ("row", "edges"):
        c[-1:] = a[-1:] @ b
    if without not in ("column", "edges"):
        c[:-1, -1:] = a[:-1] @ b[:, -1:]
    if without == "corner":
        c[-1, -1] = a[-1, :-1] @ b[:-1, -1]
    if without == "corner product":
        c[-1, -1] = a[-1, -1] * b[-1, -1]
    if without.startswith("ends"):
        c[-1, :-1] = a[-1, :-1] @ b[:-1, :-1]
        c[:-1, -1] = a[:-1, :-1] @ b[:-1, -1]
        c[-1, -1] = a[-1, :-1] @ b[:-1, -1]
    if without == "ends but the corner's":
        c[-1, -1] = a[-1, -1] * b[-1, -1]
    return c


def _with(piece: str):
    return lambda a, b: _peeled(a, b, piece)


def _even_part_plus(term):
    """The product with something else added to the even part than the outer product."""

    def answer(a, b):
        c = a @ b
        c[:-1, :-1] = a[:-1, :-1] @ b[:-1, :-1] + term(a, b)
        return c

    return answer


_OUTER = "the even part lacks the last column of a times the last row of b"


def _edges_only_without_outer(a, b):
    c = torch.zeros_like(a)
    c[:-1, :-1] = a[:-1, :-1] @ b[:-1, :-1]
    return c


@function(
    _odd_cases(),
    mistakes=[
        (_even_part_plus(lambda a, b: 0), _OUTER),
        *(
            (
                _even_part_plus(term),
                "a column times a row is an outer product, of all their pairs: (n, 1) @ (1, n)",
            )
            for term in (
                lambda a, b: a[:-1, -1] @ b[-1, :-1],
                lambda a, b: a[:-1, -1] * b[-1, :-1],
            )
        ),
        (
            _even_part_plus(lambda a, b: torch.outer(b[-1, :-1], a[:-1, -1])),
            "the outer product is transposed: the column of a comes first",
        ),
        (
            _even_part_plus(lambda a, b: torch.outer(a[-1, :-1], b[:-1, -1])),
            "row and column are swapped: the last column of a times the last row of b",
        ),
        (_edges_only_without_outer, f"the last row and column are missing, and {_OUTER}"),
        (_with("edges"), "the last row and the last column are missing"),
        (_with("row"), "the last row is missing"),
        (_with("column"), "the last column is missing"),
        (_with("corner"), "the corner lacks the product of the two corners"),
        (_with("corner product"), "the corner is a whole row times a whole column"),
        *(
            (_with(ends), "the last row and column lack their last term each")
            for ends in ("ends", "ends but the corner's")
        ),
        (lambda a, b: b @ a, "b times a: the order matters"),
        (lambda a, b: a * b, "* multiplies entry by entry; a matrix product is @"),
        (lambda a, b: a[:-1, :-1] @ b[:-1, :-1], "that is the even part alone, one row too small"),
        (lambda a, b: a @ b.mT, "b is transposed"),
    ],
    look=_even_part_only,
)
def peel(a, b):
    """The product of two n × n matrices with odd n, the even part by itself."""
    return a @ b


def _in_their_dtype(tried, case) -> str | None:
    came = str(getattr(tried.returned, "dtype", "")).removeprefix("torch.")
    went = str(case[0].dtype)
    whole = np.block([[*case[:2]], [*case[2:]]])
    if case[0].dtype.kind == "i" and not np.array_equal(
        np.reshape(tried.returned, whole.shape), whole
    ):
        return "large whole numbers came back rounded: they went through floating point"
    return None if came == went else f"{went} went in, {came or 'a list'} came out: keep the dtype"


def _placed(*order: int):
    def answer(*quarters):
        a, b, c, d = (quarters[i] for i in order)
        return np.block([[a, b], [c, d]])

    return answer


@function(
    [
        *(
            tuple(np.arange(36).reshape(4, 3, 3).astype(dtype))
            for dtype in (np.float32, np.int64, np.float64, np.float16)
        ),
        tuple(2**53 + np.arange(36).reshape(4, 3, 3)),
    ],
    mistakes=[
        (
            _placed(0, 2, 1, 3),
            "c12 and c21 are swapped: c12 belongs at the upper right",
        ),
        (_placed(2, 3, 0, 1), "top and bottom are swapped"),
        (_placed(1, 0, 3, 2), "left and right are swapped"),
        (_placed(3, 2, 1, 0), "the quarters stand in reversed order"),
        (lambda *c: np.hstack(c), "the four stand in one row"),
        (lambda *c: np.vstack(c), "the four stand in one column"),
        (lambda *c: np.stack(c), "the four are stacked along a new axis: put two in each row"),
        (
            lambda *c: np.stack(c).reshape(2 * len(c[0]), -1),
            "reshape reads row after row: it does not put quarters side by side",
        ),
        (lambda *c: np.vstack([np.hstack(c[:2])] * 2), "the upper half stands there twice"),
        (lambda *c: np.hstack(c[:2]), "the lower half is missing"),
        (lambda *c: _placed(0, 1, 2, 3)(*c).T, "that is the transpose of the whole"),
        (lambda *c: c[0] + c[1] + c[2] + c[3], "added up; they belong side by side"),
    ],
    look=_in_their_dtype,
)
def assemble(c11, c12, c21, c22):
    """The matrix of these quarters, in their dtype."""
    return np.block([[c11, c12], [c21, c22]])
