"""Checks of the exercises of chapter 05."""

import math

import torch

from hydra_lib import attention, masking
from hydra_lib.exercises import check, same

__all__ = ["attend", "by_hand", "crossing", "hard_lookup", "shuffled"]


def _qkv(seed: int, T: int = 5, d_k: int = 7, d_v: int = 3) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(T, d, generator=generator, dtype=torch.float64) for d in (d_k, d_k, d_v)]


@check
def by_hand(answer) -> str | None:
    """Weights of the query (2, 0, 0, 0) against keys (1, 0, 1, 0), (0, 2, 0, 0), (1, 1, 0, 0)."""
    expected = torch.softmax(torch.tensor([1.0, 0.0, 1.0]), -1)
    if not same(answer, torch.softmax(torch.tensor([2.0, 0.0, 2.0]), -1), 6e-3):
        return "the scores were not divided by √d_k = 2"
    return same(answer, expected, 6e-3)  # two digits


@check
def attend(answer) -> str | None:
    """``answer(q, k, v)``: attention in one line, without a mask."""
    for seed in (0, 1):
        q, k, v = _qkv(seed)
        got = answer(q, k, v)
        if wrong := same(got, attention.scaled_dot_product_attention(q, k, v)):
            s = q @ k.mT
            if not same(got, torch.softmax(s / math.sqrt(7), 0) @ v):
                return "the softmax runs over the queries: each key shares itself out"
            if not same(got, torch.softmax(s, -1) @ v):
                return "the scores are not divided by √d_k"
            return wrong
    return None


@check
def hard_lookup(answer) -> str | None:
    """``answer(q, k, v)``: for each query the value of its best key."""
    for seed in (2, 3):
        q, k, v = _qkv(seed)
        if wrong := same(answer(q, k, v), v[(q @ k.mT).argmax(-1)]):
            return wrong
    return None


@check
def shuffled(answer) -> str | None:
    """``answer(x, order)``: the output of self-attention on ``x[order]``, from that on ``x``.

    ``answer`` gets the output for x, (T, d), and the new order, and must return the output for the
    reordered x without attending again.
    """
    x, _, _ = _qkv(4)
    order = torch.tensor([3, 0, 4, 1, 2])
    out = attention.scaled_dot_product_attention(x, x, x)
    expected = attention.scaled_dot_product_attention(x[order], x[order], x[order])
    got = answer(out, order)
    if not same(got, out):
        return "the output is not the same: each row moves with its token"
    if not same(got, out[order.argsort()]):
        return "that is the inverse of the reordering"
    causal = masking.causal_mask(5)
    masked = attention.scaled_dot_product_attention(x, x, x, causal)
    assert same(masked[order], expected)  # with a causal mask the rule would not hold
    return same(got, expected)


@check
def crossing(answer) -> str | None:
    """n at which 4n²d, the scores and the mixing, costs as much as 4nd², a recurrent step's n."""
    if same(answer(512), torch.tensor(512.0)) or same(answer(128), torch.tensor(128.0)):
        return f"set 4n²d equal to 4nd²: for d = 512 you said {float(answer(512)):g}"
    return None
