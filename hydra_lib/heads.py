"""Heads: one width, split into equal slices and put together again."""

import dataclasses

import torch
from jaxtyping import Shaped

from hydra_lib import _checks

__all__ = [
    "HeadConfig",
    "merge_heads",
    "split_heads",
]

NEAR = 10_000


@dataclasses.dataclass(frozen=True)
class HeadConfig:
    """A width and the number of heads that share it equally: ``head_dim = d_model / n_heads``.

    Raises ValueError when either is not a positive integer or the heads do not divide the width,
    and names numbers near by that fit; for a number of heads it stops looking after 10,000 tries.

    >>> HeadConfig(d_model=768, n_heads=12).head_dim
    64
    """

    d_model: int
    n_heads: int

    def __post_init__(self) -> None:
        for name in ("d_model", "n_heads"):
            object.__setattr__(self, name, _checks.integer(name, getattr(self, name)))
        d, h = self.d_model, self.n_heads
        if d % h:
            # Near ones only: a search through all numbers below a large width would take minutes.
            start = min(h, d)
            fewer = next((n for n in range(start, max(start - NEAR, 0), -1) if d % n == 0), None)
            more = next((n for n in range(h + 1, min(d, h + NEAR) + 1) if d % n == 0), None)
            narrower = d - d % h
            heads = f"n_heads {_either(fewer, more)}, or " if fewer or more else ""
            raise ValueError(
                f"n_heads must divide d_model: got d_model={d}, n_heads={h}; nearest that fit: "
                f"{heads}d_model {_either(narrower, narrower + h)}"
            )

    @property
    def head_dim(self) -> int:
        """Width of one head, d_k = d_v."""
        return self.d_model // self.n_heads

    def parameters(self) -> int:
        """Number of weights in W_q, W_k, W_v and W_o: ``4 d_model²``, whatever the heads.

        >>> HeadConfig(768, 12).parameters()
        2359296
        """
        return 4 * self.d_model**2

    def flops(self, queries: int, keys: int, batch: int = 1) -> dict[str, int]:
        """FLOPs of one forward pass, step by step; a multiplication and an addition are two.

        Softmax, scaling and bias are left out. n_heads · head_dim is d_model: the number of heads
        cancels. Raises ValueError for what is not a positive integer.

        >>> sum(HeadConfig(8, 1).flops(5, 5).values()) == sum(HeadConfig(8, 4).flops(5, 5).values())
        True
        """
        queries, keys = _checks.integer("queries", queries), _checks.integer("keys", keys)
        batch = _checks.integer("batch", batch)
        query_side = 2 * batch * queries * self.d_model**2
        key_side = 2 * batch * keys * self.d_model**2
        attend = self.n_heads * 2 * batch * queries * keys * self.head_dim
        return {
            "W_q": query_side,
            "W_k": key_side,
            "W_v": key_side,
            "scores": attend,
            "mix": attend,
            "W_o": query_side,
        }


def split_heads(
    x: Shaped[torch.Tensor, "*batch T d_model"], n_heads: int
) -> Shaped[torch.Tensor, "*batch h T d_k"]:
    """Cut the width into heads: ``out[…, i, t, c] = x[…, t, i·d_k + c]``. A view, nothing moves.

    ``x`` is (…, T, d_model). ``view`` names the two parts of the last axis; ``transpose``
    swaps strides so that the head comes before the position. Rows of one head stay d_model numbers
    apart in memory. Reshaping to (…, h, T, d_k) at once would instead deal out
    the positions one after the other, T / h to a head.

    Raises TypeError when ``x`` is no tensor, ValueError when it has fewer than two axes or no
    width, or as :class:`HeadConfig`.

    >>> split_heads(torch.arange(8).reshape(2, 4), 2)
    tensor([[[0, 1],
             [4, 5]],
    <BLANKLINE>
            [[2, 3],
             [6, 7]]])
    """
    _checks.tensor("x", x)
    if x.ndim < 2 or not x.shape[-1]:
        raise ValueError(f"x must be (…, T, d_model), got shape {tuple(x.shape)}")
    config = HeadConfig(x.shape[-1], n_heads)
    n, d_k = config.n_heads, config.head_dim
    x = x.view(*x.shape[:-1], n, d_k)  # (..., T, d_model) -> (..., T, h, d_k)
    return x.transpose(-3, -2)  # (..., T, h, d_k) -> (..., h, T, d_k)


def merge_heads(
    x: Shaped[torch.Tensor, "*batch h T d_v"],
) -> Shaped[torch.Tensor, "*batch T d_model"]:
    """Put the heads side by side again: ``out[…, t, i·d_v + c] = x[…, i, t, c]``.

    ``x`` is (…, h, T, d_v). Undoes :func:`split_heads` bit for bit. A copy, unless the rows of all
    heads already lie side by side. Raises TypeError for what is no tensor, ValueError for fewer
    than three axes.

    >>> merge_heads(split_heads(torch.arange(8).reshape(2, 4), 2))
    tensor([[0, 1, 2, 3],
            [4, 5, 6, 7]])
    """
    _checks.tensor("x", x)
    if x.ndim < 3:
        raise ValueError(f"x must be (…, h, T, d_v), got shape {tuple(x.shape)}")
    x = x.transpose(-3, -2)  # (..., h, T, d_v) -> (..., T, h, d_v)
    return x.flatten(-2)  # (..., T, h, d_v) -> (..., T, d_model)


def _either(*numbers: int | None) -> str:
    return " or ".join(str(n) for n in numbers if n)
