"""Checks of the exercises of chapter 02."""

import torch

from hydra_lib import boltzmann, masking
from hydra_lib.exercises import check, same

__all__ = ["gradient_pairs", "masked_weights", "packed", "predicted_leak", "strictly_before"]


@check
def predicted_leak(answer) -> str | None:
    """Weight that row 0 of 5 gives to the future when forbidden scores become 0, all scores 0."""
    if answer == 0.2:
        return "1/5 is what each single position gets; the future of row 0 has four of them"
    return same(answer, torch.tensor(4 / 5))


@check
def strictly_before(answer) -> str | None:
    """``answer(T)``: a mask in which position i sees only positions j < i."""
    for T in (2, 3, 5, 7):
        got = torch.as_tensor(answer(T))
        if got.dtype != torch.bool:
            return "expected a boolean tensor, True = may attend"
        if torch.equal(got, masking.causal_mask(T)):
            return "that is the causal mask: it lets every position see itself"
        if wrong := same(got, torch.ones(T, T).tril(-1)):
            return f"for T = {T}: {wrong}"
    return None


@check
def packed(answer) -> str | None:
    """``answer(documents)``: causal, and only inside the own document."""
    for documents in ([0, 0, 1, 1, 1, 2], [0, 1], [3, 3, 3, 1, 1]):
        ids = torch.tensor(documents)
        got = torch.as_tensor(answer(ids))
        if got.dtype != torch.bool:
            return "expected a boolean tensor, True = may attend"
        inside = ids[:, None] == ids
        if wrong := same(got, inside & masking.causal_mask(len(ids))):
            ahead = torch.equal(got, inside)
            return "it looks ahead" if ahead else f"for documents {documents}: {wrong}"
    return None


@check
def masked_weights(answer) -> str | None:
    """``answer(scores, mask)``: softmax over what is allowed."""
    generator = torch.Generator().manual_seed(2)
    cases = [(T, masking.causal_mask(T), 0.0) for T in (3, 5, 7)]
    cases += [(5, masking.window_mask(5, 3).mT, 0.0), (5, masking.window_mask(5, 2), -1e9)]
    for T, mask, shift in cases:
        scores = torch.randn(T, T, generator=generator, dtype=torch.float64) + shift
        got = torch.as_tensor(answer(scores.clone(), mask.clone()))
        expected = boltzmann.probabilities(masking.apply_mask(scores, mask))
        ones = torch.ones(T, dtype=got.dtype)
        if got.shape == scores.shape and not torch.allclose(got.sum(-1), ones):
            return f"row 0 sums to {got[0].sum():.3f}: a row must sum to 1 over what is allowed"
        if wrong := same(got, expected):
            about = f", scores near {shift:g}" if shift else ""
            return f"for T = {T}{about}: {wrong}"
        if (got[~mask] != 0).any():
            return "a forbidden weight is small, but not zero"
    return None


@check
def gradient_pairs(answer) -> str | None:
    """Pairs (output i, value j) with a non-zero gradient under the causal mask, T = 7."""
    if answer == 49:
        return "49 counts the pairs (i, j) with j > i too; no gradient flows there"
    if answer == 21:
        return "21 leaves out the diagonal; a position sees itself"
    return same(answer, torch.tensor(28.0))
