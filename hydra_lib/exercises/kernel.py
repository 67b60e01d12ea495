"""Checks of the exercises of chapter 11."""

import math

import torch

from hydra_lib.exercises import progress
from hydra_lib.exercises.compare import function, value
from hydra_lib.exercises.masking import ADDITIVE, to_add
from hydra_lib.exercises.reader import Wrong, kind, numbers

__all__ = ["key_reads", "merged", "programs", "progress", "tile_mask"]


@function(
    [
        *((1, 12, 1024, 128), (2, 3, 37, 16), (5, 7, 1000, 64), (3, 11, 5, 8)),
        *((1, 1, 128, 128), (1, 2, 129, 128)),  # one tile exactly, and a query more
    ],
    mistakes=[
        (lambda B, h, T, n: B * h * T // n, "tiles do not cross heads: round up for each of them"),
        (lambda B, h, T, n: B * h * (T // n), "the last tile counts too, if it is not full"),
        (lambda B, h, T, n: B * h * T / n, "a part of a tile takes a whole program: round up"),
        (
            lambda B, h, T, n: -(-B * h * T // n),
            "tiles do not cross heads: round up for each of them",
        ),
        (
            lambda B, h, T, n: B * h * (T + n - 1) // n,
            "round up one head's tiles first: brackets around (…) // block",
        ),
        (lambda B, h, T, n: B * h * round(T / n), "round goes down too: the last tile counts"),
        (lambda B, h, T, n: [B, h, -(-T // n)], "that is the grid: multiply its sides"),
        (lambda B, h, T, n: h * -(-T // n), "those of one sequence: there are B of them"),
        (lambda B, h, T, n: B * -(-T // n), "those of one head: there are h of them"),
        (lambda B, h, T, n: -(-T // n), "those of one head of one sequence"),
        (lambda B, h, T, n: B * h, "one a head: its queries are split into tiles"),
        (lambda B, h, T, n: B * h * T, "one a query: a program takes a tile of them"),
        (
            lambda B, h, T, n: B * h * (T // n + 1),
            "one too many where the block divides T",
        ),
        (
            lambda B, h, T, n: B * h * (-(-T // n)) ** 2,
            "a program for each tile of scores: it takes one of queries, and goes through the keys",
        ),
    ],
)
def programs(B, h, T, block):
    """How many programs a launch starts: one for each tile of queries of each head."""
    return B * h * math.ceil(T / block)


@value(
    mistakes=[
        (1, "once would be the least; but the programs do not share what they read"),
        (4096, "once for each query: those of a tile share what their program reads"),
        (128, "that is how many queries share one read"),
        (384, "a key belongs to one head, and is not read for the others"),
        (16, "under a causal mask it would be about half; here there is none"),
        (16.5, "that is the mean under a causal mask; here there is none"),
        (4096 * 32, "that is for all 4096 keys; the question is about one"),
        (4096 * 128, "the queries of a tile share what their program reads: divide"),
    ]
)
def key_reads():
    """How often a key is read: once by each of the 4096 / 128 tiles of queries."""
    return 4096 // 128


def _tile(i, j, rows, columns, length):
    """Row and column numbers of a tile, and which are real."""
    row = i + torch.arange(rows)[:, None]
    column = j + torch.arange(columns)
    return row, column, column < length


def _by(rule):
    return lambda *tile: rule(*_tile(*tile), *tile)


@function(
    [
        *((0, 0, 4, 5, 3), (4, 0, 4, 5, 99), (4, 4, 4, 5, 6), (8, 4, 4, 5, 10)),
        *(
            (4, 2, 4, 5, 99),
            (2, 4, 4, 5, 99),
            (0, 8, 4, 5, 99),
        ),  # the diagonal crosses a side or none
        (8, 8, 4, 5, 6),  # nothing but padding
        *((4, 4, 7, 3, 99), (2000, 1998, 3, 6, 2002)),  # of other sizes, and far out
    ],
    mistakes=[
        (_by(lambda r, c, real, *_: to_add((c <= r) & real)), ADDITIVE),
        (
            _by(lambda r, c, real, i, j, *_: c - j <= r - i),
            "that counts from the tile's own corner; the mask counts in the whole matrix; and "
            "padding is not masked",
        ),
        (
            _by(lambda r, c, real, i, j, m, n, T: (c - j <= r) & (c - j < T)),
            "first_column is missing, in both parts: the tile starts there",
        ),
        (
            _by(lambda r, c, real, i, j, *_: (c - j <= r - i) & real),
            "that counts from the tile's own corner; the mask counts in the whole matrix",
        ),
        (
            _by(lambda r, c, real, i, j, m, n, T: (c - j <= r - i) & (c - j < T)),
            "that counts from the tile's own corner; the mask counts in the whole matrix",
        ),
        (
            _by(lambda r, c, real, *_: c + 0 * r <= r),
            "keys from length on are padding, or not there at all",
        ),
        (
            _by(lambda r, c, real, *_: real & (r == r)),
            "that masks the padding only: it is not causal",
        ),
        (
            _by(lambda r, c, real, *_: (c < r) & real),
            "the diagonal is off by one: a position sees itself",
        ),
        (
            _by(lambda r, c, real, i, j, m, n, T: (c <= r) & (c <= T)),
            "off by one: key number length is padding already",
        ),
        (
            _by(lambda r, c, real, i, j, m, n, T: (c <= r) & (c - j < T)),
            "length counts in the whole matrix: add first_column before you compare with it",
        ),
        (
            _by(lambda r, c, real, i, j, *_: (c - j <= r) & real),
            "first_column is missing in the causal part: the tile starts there",
        ),
        (
            _by(lambda r, c, real, i, j, *_: (c <= r - i) & real),
            "first_row is missing in the causal part: the tile starts there",
        ),
        (
            _by(lambda r, c, real, i, j, *_: (c - j + i <= r - i + j) & real),
            "first_row and first_column are swapped",
        ),
        (_by(lambda r, c, real, *_: (c >= r) & real), "the wrong triangle: it looks ahead"),
        (_by(lambda r, c, real, *_: (c > r) & real), "the wrong triangle: it looks ahead"),
        (
            _by(lambda r, c, real, *_: (c <= r) | real),
            "with | either condition is enough; both must hold: &",
        ),
        (
            _by(lambda r, c, real, i, j, m, n, T: (c <= r) & (r < T)),
            "length belongs to the keys, the columns: here the queries are cut",
        ),
    ],
)
def tile_mask(first_row, first_column, rows, columns, length):
    """The causal mask of a tile of scores; keys from ``length`` on are padding."""
    row, column, real = _tile(first_row, first_column, rows, columns, length)
    return (column <= row) & real


def _two_tiles() -> list[tuple]:
    generator = torch.Generator().manual_seed(10)
    cases = []
    for both, second in ((0.0, 0.0), (0.0, 9.0), (0.0, -9.0), (800.0, 0.0), (-800.0, 0.0)):
        s = both + torch.randn(2, 6, generator=generator, dtype=torch.float64)
        s[1] += second
        v = torch.randn(2, 6, 3, generator=generator, dtype=torch.float64)
        p = (s - s.amax(1, keepdim=True)).exp()
        parts = zip(s.amax(1), p.sum(1), (p[..., None] * v).sum(1), strict=True)
        cases.append(tuple(x for part in parts for x in part))
    m1, l1, o1, _, l2, o2 = cases[0]
    return [*cases, (m1, l1, o1, m1.clone(), l2, o2)]  # neither maximum is the larger


def _three_parts(result) -> torch.Tensor:
    """(m, l, o) one after the other."""
    if not isinstance(result, list | tuple) or len(result) != 3:
        got = len(result) if isinstance(result, list | tuple) else kind(result)
        raise Wrong(f"expected three things, as return m, l, o gives them, got {got}")
    parts = [numbers(part) for part in result]
    for name, part, size in zip("mlo", parts, (1, 1, 3), strict=True):
        if part.numel() != size:
            wanted = "one number" if size == 1 else f"a vector of {size}"
            raise Wrong(f"{name} should be {wanted}, got shape {tuple(part.shape)}")
    return torch.cat([part.reshape(-1) for part in parts])


def _joined(new_m, fade_l=True, fade_o=True):
    """Merge with another maximum, or with a fading forgotten."""

    def answer(m1, l1, o1, m2, l2, o2):
        m = new_m(m1, m2)
        f1, f2 = torch.exp(m1 - m), torch.exp(m2 - m)
        l = f1 * l1 + f2 * l2 if fade_l else l1 + l2
        return m, l, f1 * o1 + f2 * o2 if fade_o else o1 + o2

    return answer


def _divided(m1, l1, o1, m2, l2, o2):
    m, l, o = merged_parts(m1, l1, o1, m2, l2, o2)
    return m, l, o / l


def _upside_down(m1, l1, o1, m2, l2, o2):
    m = max(m1, m2)
    f1, f2 = torch.exp(m - m1), torch.exp(m - m2)
    return m, f1 * l1 + f2 * l2, f1 * o1 + f2 * o2


def _crossed(m1, l1, o1, m2, l2, o2):
    m = max(m1, m2)
    f1, f2 = torch.exp(m2 - m), torch.exp(m1 - m)
    return m, f1 * l1 + f2 * l2, f1 * o1 + f2 * o2


def _linear(m1, l1, o1, m2, l2, o2):
    m = max(m1, m2)
    return m, (m1 - m) * l1 + (m2 - m) * l2, (m1 - m) * o1 + (m2 - m) * o2


def _by_itself(m1, l1, o1, m2, l2, o2):
    f1, f2, m = m1.exp(), m2.exp(), max(m1, m2)
    return m, (f1 * l1 + f2 * l2) / m.exp(), (f1 * o1 + f2 * o2) / m.exp()


def _from_zero(m1, l1, o1, m2, l2, o2):
    f1, f2 = m1.exp(), m2.exp()
    return max(m1, m2), f1 * l1 + f2 * l2, f1 * o1 + f2 * o2


def _weighted(m1, l1, o1, m2, l2, o2):
    m, l, _ = merged_parts(m1, l1, o1, m2, l2, o2)
    return m, l, (torch.exp(m1 - m) * l1 * o1 + torch.exp(m2 - m) * l2 * o2) / l


def _averaged(m1, l1, o1, m2, l2, o2):
    m, l, _ = merged_parts(m1, l1, o1, m2, l2, o2)
    return m, l, (o1 / l1 + o2 / l2) / 2


def _larger_tile(m1, l1, o1, m2, l2, o2):
    return (m1, l1, o1) if m1 > m2 else (m2, l2, o2)


def _always(position: int):
    def answer(m1, l1, o1, m2, l2, o2):
        """Fades one tile only."""
        m = max(m1, m2)
        f = [torch.exp(m1 - m), torch.exp(m2 - m)]
        f[position] = 1.0
        return m, f[0] * l1 + f[1] * l2, f[0] * o1 + f[1] * o2

    return answer


merged_parts = _joined(max)


@function(
    _two_tiles(),
    mistakes=[
        (
            _joined(max, False, False),
            "the sums were made with different maxima: bring both to the larger one first",
        ),
        (_by_itself, "e^m itself overflows where m is large: e^(m − the larger one) does not"),
        (_joined(max, True, False), "o was not brought to the larger maximum, only l was"),
        (_joined(max, False, True), "l was not brought to the larger maximum, only o was"),
        (_joined(min), "with the smaller maximum exp can overflow: take the larger"),
        (
            _joined(lambda m1, m2: m1 + m2),
            "the maximum of both tiles is the larger of the two, not the sum",
        ),
        (
            _joined(lambda m1, m2: (m1 + m2) / 2),
            "the maximum of both tiles is the larger of the two, not the mean",
        ),
        (
            _joined(lambda m1, m2: max(m1, m2, torch.zeros_like(m1))),
            "the scores of both tiles may be far below 0: take the larger maximum, whatever it is",
        ),
        (_joined(lambda m1, m2: m1), "the first tile's maximum is kept: take the larger"),
        (_joined(lambda m1, m2: m2), "the second tile's maximum is kept: take the larger"),
        (_upside_down, "the sign in the exponent: exp(old maximum − new one) is at most 1"),
        (_crossed, "crossed over: each tile fades by its own maximum"),
        (_linear, "the exp is missing: a sum fades by exp(old maximum − new one)"),
        (_divided, "o was divided by l: that comes once, at the very end"),
        (_from_zero, "the sums are measured from 0, and not from m: the factor is e^(m1 − m)"),
        (_weighted, "o is a sum already, and not weighted by l again: fade both and add"),
        (_averaged, "o is a sum, not a mean: fade both and add"),
        (
            lambda *parts: (parts[0] + parts[3], *merged_parts(*parts)[1:]),
            "the maximum of both tiles is the larger of the two, not the sum",
        ),
        (lambda *parts: parts[:3], "that is the first tile; the other tile is lost"),
        (lambda *parts: parts[3:], "that is the second tile; the other tile is lost"),
        (_larger_tile, "the other tile is lost: fade both and add"),
        (_always(0), "only the second tile fades; the first may be the one to fade"),
        (_always(1), "only the first tile fades; the second may be the one to fade"),
    ],
    read=_three_parts,
    names=("m", "l", "o[0]", "o[1]", "o[2]"),
)
def merged(m1, l1, o1, m2, l2, o2):
    """(m, l, o) of both tiles of keys together.

    m is the largest score, l the sum of exp(s − m), o the sum of exp(s − m) times the values.
    """
    return merged_parts(m1, l1, o1, m2, l2, o2)
