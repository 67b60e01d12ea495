"""Checks of the exercises of chapter 01."""

import torch

from hydra_lib import aggregation
from hydra_lib.exercises import check, same

__all__ = ["differences", "next_number", "normalized", "predicted_mean", "previous"]

_LENGTHS = (2, 3, 5, 7)


@check
def predicted_mean(answer) -> str | None:
    """The running mean of 2, 4, 6, 8, 10 at its fourth row."""
    if answer == 20:
        return "20 is the running sum there; the running mean divides it by how many were added"
    return same(answer, torch.tensor(5.0))


@check
def previous(answer) -> str | None:
    """``answer(T)``: weights whose output row i is value i − 1, and zero at the start."""
    for T in _LENGTHS:
        expected = torch.diag(torch.ones(T - 1), -1)
        got = torch.as_tensor(answer(T), dtype=torch.float32)
        if got.shape == expected.shape and torch.equal(got, expected.mT):
            return "that looks one step ahead: row i takes value i + 1"
        if wrong := same(got, expected):
            return f"for T = {T}: {wrong}"
    return None


@check
def differences(answer) -> str | None:
    """``answer(T)``: weights that undo the running sum."""
    for T in _LENGTHS:
        undone = torch.as_tensor(answer(T), dtype=torch.float32) @ aggregation.running_sum(T)
        if wrong := same(undone, torch.eye(T)):
            return f"for T = {T}, your weights @ running_sum should be the identity: {wrong}"
    return None


@check
def next_number(answer) -> str | None:
    """One row of four weights that continues every sequence with constant steps."""
    row = torch.as_tensor(answer, dtype=torch.float64)
    if row.shape != (4,):
        return f"expected 4 weights, got shape {tuple(row.shape)}"
    for start, step in ((2, 2), (8, 2), (-3, 5), (7, 0)):
        numbers = start + step * torch.arange(4, dtype=torch.float64)
        guess = (row @ numbers).item()
        if not abs(guess - (start + 4 * step)) < 1e-4:
            return f"{numbers.int().tolist()} goes on with {start + 4 * step}, not {guess:g}"
    return None


@check
def normalized(answer) -> str | None:
    """``answer(weights)``: every row divided by its own sum."""
    for T in _LENGTHS:
        weights = aggregation.running_sum(T) * torch.arange(1.0, T + 1)
        got = torch.as_tensor(answer(weights.clone()))
        if got.shape == weights.shape and torch.allclose(got.sum(0), torch.ones(T)):
            return "the columns sum to 1; an output is made from a row, so the rows must"
        if wrong := same(got, weights / weights.sum(-1, keepdim=True)):
            return f"for T = {T}: {wrong}"
    return None
