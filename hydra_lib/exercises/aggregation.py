"""Checks of the exercises of chapter 1."""

import torch

from hydra_lib import aggregation
from hydra_lib.exercises import check, progress
from hydra_lib.exercises.compare import DIGITS, function, value
from hydra_lib.exercises.differences import how_many
from hydra_lib.exercises.reader import numbers

__all__ = ["differences", "next_number", "normalized", "predicted_mean", "previous", "progress"]

_LENGTHS = [(2,), (3,), (5,), (7,)]


def _below(T: int, diagonal: int = -1) -> torch.Tensor:
    return torch.diag(torch.ones(T + diagonal), diagonal)


def _everything_before(T: int) -> torch.Tensor:
    return torch.ones(T, T).tril(-1)


@value(
    mistakes=[
        (20, "20 is the running sum there; the running mean divides it by how many were added"),
        (2, "2 is the fourth value itself; the mean takes those before it too"),
        (6, "that is the third row, or the third value: the fourth row takes all four"),
        (4, "that is the mean of two, or divided by five; a running mean takes all so far"),
        (4.5, "that is the median; the mean is the sum divided by how many there are"),
    ]
)
def predicted_mean():
    """The running mean of 3, 9, 6, 2 at its fourth row."""
    return 5


@function(
    _LENGTHS,
    mistakes=[
        (lambda T: _below(T).mT, "that looks one step ahead: row i takes value i + 1"),
        (torch.eye, "that is the position itself; the diagonal is off by one"),
        (lambda T: _below(T, -2), "that is two steps back: the diagonal is off by one"),
        (lambda T: torch.eye(T).roll(1, 0), "the first row takes the last value; it has none"),
        (_everything_before, "that adds up everything before it, not only the position before"),
        (
            lambda T: _everything_before(T) / torch.arange(T).clamp(min=1)[:, None],
            "that is the mean of everything before it, not only the position before",
        ),
        (lambda T: torch.eye(T) + _below(T), "the position itself is added too"),
    ],
)
def previous(T):
    """Weights (T, T) whose output row i is value i − 1, and zero at the start."""
    return _below(T)


@function(
    _LENGTHS,
    mistakes=[
        (
            torch.eye,
            "your weights @ running_sum should be the identity; this undoes nothing",
        ),
        (
            lambda T: torch.eye(T) - torch.eye(T).roll(1, 0),
            "row 0 has nothing before it: an index of −1 is the last",
        ),
        (
            lambda T: 1 / aggregation.running_sum(T),
            "1 / inverts number by number; the inverse of a matrix is torch.linalg.inv",
        ),
        (_below, "that is only what was taken away: the value itself is missing"),
        (lambda T: torch.eye(T) + _below(T), "what came before is added instead of taken away"),
        (aggregation.running_sum, "that is the running sum itself, it sums once more"),
        (
            lambda T: aggregation.running_mean(T).inverse(),
            "that undoes the running mean, not the running sum",
        ),
        (
            lambda T: torch.eye(T) - _below(T).mT,
            "that takes away the value after it; that is the transpose",
        ),
        (
            lambda T: torch.eye(T) - _everything_before(T),
            "it takes away all values before it; the sum before it is only the entry before",
        ),
    ],
)
def differences(T):
    """Weights (T, T) that undo the running sum."""
    return torch.eye(T) - _below(T)


@check
def next_number(answer) -> str | None:
    """One row of four weights that continues every sequence with constant steps."""
    row = numbers(answer).squeeze()
    if row.shape != (4,):
        return f"expected 4 weights, got {how_many(row)}"
    for mistake, sentence in (
        ([0.25] * 4, "that is the average: it stays in the middle of what was seen"),
        ([0.5] * 4, "that is twice the average: [8, 10, 12, 14] goes on with 16, not 22"),
        ([0, 0, 0, 1], "that repeats the last number: the step is missing"),
        ([2, -1, 0, 0], "reversed: the last weight belongs to the latest number"),
        ([0, 0, -1, 1], "that is the step alone: it starts from the last number"),
        ([0, 0, 1, -2], "the sign is the other way round"),
    ):
        if torch.allclose(row, numbers(mistake), atol=1e-5):
            return sentence
    for start, step in ((2, 2), (8, 2), (-3, 5), (7, 0)):
        sequence = start + step * torch.arange(4, dtype=torch.float64)
        guess = (row @ sequence).item()
        if not abs(guess - (start + 4 * step)) < 1e-4:
            if torch.allclose(row, torch.tensor([-1 / 3, 0, 0, 4 / 3]).double(), atol=5e-3):
                return DIGITS
            return f"{sequence.int().tolist()} goes on with {start + 4 * step}, not {guess:g}"
    return None


def _to_normalize() -> list[tuple]:
    """Positive numbers: a triangle, a square, more columns than rows and fewer, sums below 1."""
    generator = torch.Generator().manual_seed(1)
    triangle = aggregation.running_sum(5) * torch.arange(1.0, 6)
    return [
        (triangle,),
        *((1 + torch.rand(shape, generator=generator),) for shape in ((3, 3), (2, 5), (7, 3))),
        (torch.tensor([[0.1, 0.3], [0.25, 0.25]]),),
    ]


@function(
    _to_normalize(),
    mistakes=[
        (
            lambda w: w / w.sum(0, keepdim=True),
            "the columns sum to 1: wrong axis; an output is made from a row, so the rows must",
        ),
        (
            lambda w: w / w.sum(-1, keepdim=True).clamp(min=1),
            "a row whose sum is below 1 must be divided by it as well",
        ),
        (
            lambda w: w / w.sum(0)[: len(w), None],  # as a loop does, which takes what it needs
            "row j is divided by the sum of column j: wrong axis",
        ),
        (lambda w: w / w.sum(), "sum() over everything: divide each row by its own sum"),
        (
            lambda w: w / w.sum(-1),
            "column j is divided by the sum of row j: keepdim=True is missing",
        ),
        (lambda w: w / w.sum(0)[:, None], "row j is divided by the sum of column j: wrong axis"),
        (lambda w: torch.softmax(w, -1), "that is a softmax: no exponentials were asked for"),
        (lambda w: w / w.amax(-1, keepdim=True), "that divides by the largest, not by the sum"),
        (
            lambda w: w / w.max(),
            "that divides by the largest of all: divide each row by its own sum",
        ),
        (lambda w: w / len(w), "that divides by how many there are, not by their sum"),
        (lambda w: w / w.shape[1], "that divides by how many there are, not by their sum"),
        (
            lambda w: w / torch.arange(1, len(w) + 1)[:, None],
            "that divides by the number of the row, not by its sum",
        ),
        (
            lambda w: w.tril() / w.tril().sum(-1, keepdim=True),
            "what is right of the diagonal belongs to the row too, and to its sum",
        ),
        (lambda w: w / w.norm(dim=-1, keepdim=True), "that divides by the length, not by the sum"),
        (
            lambda w: w / w.mean(-1, keepdim=True),
            "that divides by the mean: the rows sum to how many there are, not to 1",
        ),
        (lambda w: w, "nothing has changed: the rows do not sum to 1"),
    ],
)
def normalized(weights):
    """Every row divided by its own sum."""
    return weights / weights.sum(-1, keepdim=True)
