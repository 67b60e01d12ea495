"""Checks of the exercises of chapter 04."""

import math

import torch

from hydra_lib.exercises import check, same

__all__ = ["attention_weights", "predicted_variance", "right_temperature", "shifted", "uniform"]


@check
def predicted_variance(answer) -> str | None:
    """Var(q·k) for d_k = 64 and independent zero-mean entries with standard deviation 2."""
    if answer == 256:
        return "256 is σ²·d_k; each product q_c k_c has variance σ² · σ²"
    return same(answer, torch.tensor(64 * 2.0**4))


@check
def right_temperature(answer) -> str | None:
    """``answer(d_k, sigma)``: the τ that gives scores s / τ unit variance."""
    for d_k, sigma in ((64, 1.0), (64, 2.0), (25, 0.5)):
        got = float(answer(d_k, sigma))
        if sigma != 1 and math.isclose(got, math.sqrt(d_k)):
            return f"√d_k is right for σ = 1 only; here σ = {sigma}"
        if sigma != 1 and math.isclose(got, sigma * math.sqrt(d_k)):
            return "q and k both carry a σ, so the score's standard deviation has two"
        if wrong := same(got, torch.tensor(sigma**2 * math.sqrt(d_k))):
            return f"for d_k = {d_k}, σ = {sigma}: {wrong}"
    return None


@check
def uniform(answer) -> str | None:
    """Var(q·k) for d_k = 36 and independent entries uniform on [−1, 1]."""
    if answer == 36:
        return "36 would need entries of variance 1; a uniform on [−1, 1] has variance 1/3"
    if answer == 12:
        return "that is d_k times one variance; the product of two entries has both"
    return same(answer, torch.tensor(36 / 9))


@check
def shifted(answer) -> str | None:
    """Largest change of any weight when all scores of a row grow by 100."""
    return same(answer, torch.tensor(0.0))


@check
def attention_weights(answer) -> str | None:
    """``answer(q, k)``: softmax(q kᵀ / √d_k) for (h, T, d_k) queries and keys."""
    generator = torch.Generator().manual_seed(4)
    for h, T, d_k in ((2, 3, 5), (3, 5, 7)):
        q, k = torch.randn(2, h, T, d_k, generator=generator)
        got = answer(q, k)
        if wrong := same(got, torch.softmax(q @ k.mT / math.sqrt(d_k), -1)):
            if not same(got, torch.softmax(q @ k.mT / math.sqrt(h * d_k), -1)):
                return "it divides by √d_model; the sum in a head's score has d_k terms"
            if not same(got, torch.softmax(q @ k.mT, -1)):
                return "it does not scale at all"
            return f"for h = {h}, d_k = {d_k}: {wrong}"
    return None
