"""Checks of the exercises of chapter 06."""

import torch

from hydra_lib import heads
from hydra_lib.exercises import check, same

__all__ = ["head_count", "merge", "per_head_parameters", "split", "with_output_projection"]


def _layer_parts():
    """Per-head outputs (h, T, d_k) and an output projection (d_model, d_model), small integers."""
    generator = torch.Generator().manual_seed(6)
    outputs = torch.randint(-3, 4, (3, 5, 2), generator=generator).double()
    W_O = torch.randint(-3, 4, (6, 6), generator=generator).double()
    return outputs, W_O


@check
def head_count(answer) -> str | None:
    """Head counts from 1 to 16 that divide a width of 72, as a list."""
    expected = [1, 2, 3, 4, 6, 8, 9, 12]
    got = sorted(int(n) for n in answer)
    if got == expected:
        return None
    for n in got:
        if 72 % n:
            return f"72 / {n} leaves a remainder of {72 % n}"
        if n > 16:
            return f"{n} is more than 16"
    return f"some are missing: {next(n for n in expected if n not in got)} divides 72"


@check
def split(answer) -> str | None:
    """``answer(x, n_heads)``: (T, d_model) into (h, T, d_k)."""
    for T, h, d_k in ((5, 3, 2), (7, 2, 3)):
        x = torch.arange(T * h * d_k).reshape(T, h * d_k)
        got = answer(x, h)
        if got.shape == (h, T, d_k) and torch.equal(got, x.reshape(h, T, d_k)):
            token, first = divmod(int(got[1, 0, 0]), h * d_k)
            return (
                f"the shape is right, but head 1 at position 0 holds entry {first} of token "
                f"{token}: the permute is missing"
            )
        if wrong := same(got, heads.split_heads(x, h)):
            return wrong
    return None


@check
def merge(answer) -> str | None:
    """``answer(x)``: (h, T, d_k) back into (T, d_model)."""
    for T, h, d_k in ((5, 3, 2), (7, 2, 3)):
        x = torch.arange(T * h * d_k).reshape(T, h * d_k)
        split_x = heads.split_heads(x, h)
        got = answer(split_x)
        if got.shape == x.shape and torch.equal(got, split_x.reshape(T, h * d_k)):
            return "row 0 now holds several tokens of head 0: swap the axes back before you reshape"
        if wrong := same(got, x):
            return wrong
    return None


@check
def with_output_projection(answer) -> str | None:
    """``answer(outputs, W_O)``: merge the heads and let W_O mix them."""
    outputs, W_O = _layer_parts()
    merged = heads.merge_heads(outputs)
    got = answer(outputs, W_O)
    if not same(got, merged):
        return "the heads stand side by side and never meet: W_O is missing"
    if not same(got, merged @ W_O.T):
        return "that is W_O transposed: here out = merged @ W_O"
    return same(got, merged @ W_O)


@check
def per_head_parameters(answer) -> str | None:
    """Parameters of W_Q, W_K and W_V that belong to one head of ANDREA-480M."""
    if answer == 1536 * 64:
        return "that is one matrix; a head has its own part of three"
    if answer == 3 * 1536 * 1536:
        return "those are the three matrices of all heads together"
    return same(answer, torch.tensor(3.0 * 1536 * 64))
