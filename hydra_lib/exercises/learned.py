"""Checks of the exercises of chapter 07."""

import math

import torch

from hydra_lib.exercises import check, same
from hydra_lib.toy.language import encode

__all__ = ["first_floor", "induction_targets", "previous_score", "uniform_score", "without_head"]


@check
def first_floor(answer) -> str | None:
    """Entropy in nats of the first symbol after ``^``."""
    names, words = 0.06, 0.94
    expected = names * math.log(8 / names) + words * math.log(24 / words)
    if same(answer, torch.tensor(math.log(32.0)), 1e-3) is None:
        return "that would be 32 symbols, all equally likely; names are rarer than words"
    if same(answer, torch.tensor(expected / math.log(2)), 1e-3) is None:
        return "that is in bits: take natural logarithms"
    return same(answer, torch.tensor(expected), 1e-3)


@check
def previous_score(answer) -> str | None:
    """``answer(weights)``: mean weight on the position just before, weights (T, T)."""
    generator = torch.Generator().manual_seed(7)
    for T in (5, 7):
        weights = torch.rand(T, T, generator=generator, dtype=torch.float64).tril()
        weights /= weights.sum(-1, keepdim=True)
        got = answer(weights)
        below = weights.diagonal(-1)
        if not same(got, weights.diagonal().mean()):
            return "that is the weight on the position itself"
        if not same(got, below.sum() / T):
            return f"position 0 has no position before it: {T} queries, {T - 1} that count"
        if wrong := same(got, below.mean()):
            return wrong
    return None


@check
def uniform_score(answer) -> str | None:
    """Previous-token score of a causal head that spreads its weight evenly, T = 5."""
    if same(answer, torch.tensor(0.2)) is None:
        return "query i has only i + 1 keys, not 5"
    expected = sum(1 / (i + 1) for i in range(1, 5)) / 4
    if same(answer, torch.tensor(sum(1 / (i + 1) for i in range(5)) / 5)) is None:
        return "position 0 has no position before it and does not count"
    return same(answer, torch.tensor(expected), 1e-2)


@check
def induction_targets(answer) -> str | None:
    """``answer(ids)``: (T,) to boolean (T, T), True where symbol j followed a copy of symbol i."""
    for text in ("^abcabcab", "^abab"):
        ids = encode(text)
        T = len(ids)
        same_symbol = (ids[:, None] == ids) & torch.ones(T, T).tril(-1).bool()
        expected = torch.zeros(T, T).bool()
        expected[:, 1:] = same_symbol[:, :-1]
        expected = expected.tril()
        got = torch.as_tensor(answer(ids))
        if got.shape == (T, T) and torch.equal(got.bool(), same_symbol):
            return (
                "that looks at the earlier copy of the symbol itself; what helps is the symbol "
                "that came after it"
            )
        if got.shape == (T, T) and (got.bool() & ~torch.ones(T, T).tril().bool()).any():
            return "a query looks at its future"
        if wrong := same(got.double(), expected):
            return wrong
    return None


@check
def without_head(answer) -> str | None:
    """``answer(W_o, head, d_k)``: the weight of ``nn.Linear`` W_o, (d_model, d_model), with one
    head taken away."""
    W_o = torch.arange(1.0, 37.0, dtype=torch.float64).reshape(6, 6)
    before = W_o.clone()
    expected = W_o.clone()
    expected[:, 2:4] = 0
    rows = W_o.clone()
    rows[2:4] = 0
    got = answer(W_o, 1, 2)
    if not torch.equal(W_o, before):
        return "the weight you were given has changed: work on a copy"
    if not same(got, rows):
        return "those are rows: they silence two outputs of the layer, not one head"
    return same(got, expected)
