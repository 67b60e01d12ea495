"""Rotary positions: queries and keys are turned by an angle that grows with their position."""

from typing import Any

import torch
from jaxtyping import Float

from hydra_lib import _checks
from hydra_lib.multihead import MultiHeadAttention

__all__ = ["RotaryAttention", "rotate"]

BASE = 10_000.0


def rotate(
    x: Float[torch.Tensor, "*batch T d"],
    start: int = 0,
) -> Float[torch.Tensor, "*batch T d"]:
    """Turn each pair of neighbouring coordinates by an angle proportional to the position.

    ``(x[t, 2i], x[t, 2i+1])`` is turned by ``(start + t) · 10000^(−2i/d)`` radians, t = 0, 1, ….
    Turning q by its position and k by its own leaves a score in which only the difference of the
    positions counts: ``rotate(q)[s] · rotate(k)[t] = q · R(t − s) k``. Lengths do not change. The
    products are computed in float32 at least, and only their sums rounded to a narrower dtype. Many
    code bases pair coordinate i with i + d/2: the same up to the order of the coordinates, but
    weights trained with the one are wrong with the other.

    ``x`` is (…, T, d), floating; ``start``, the position of its first row, is above 0 where rows
    before it are already turned, as in a KV cache. Raises TypeError for anything other than a
    floating tensor, ValueError for an odd d and for a ``start`` that is no integer from 0 to
    2⁵³ − T, beyond which float64 merges positions. Cost: 3 d FLOPs a position, and the angles.
    Source: Su et al. (2021), *RoFormer*.

    >>> rotate(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    _checks.floating("x", x)
    if x.ndim < 2 or x.shape[-1] % 2:
        shape = tuple(x.shape)
        raise ValueError(f"x must be (…, T, d) with an even d, got {shape}")
    start = _checks.integer("start", start, 0, 2**53 - x.shape[-2])
    # In float32 an angle loses a digit with every tenfold of the position; not on every device is
    # there a float64.
    even = torch.arange(0, x.shape[-1], 2, dtype=torch.float64)
    position = start + torch.arange(x.shape[-2], dtype=torch.float64)
    angle = position[:, None] * BASE ** (-even / x.shape[-1])  # (T, d/2)
    wide = _checks.wide(x.dtype)  # a narrow sine would change lengths
    cos, sin = (part.to(x.device, wide) for part in (angle.cos(), angle.sin()))
    a, b = x[..., 0::2].to(wide), x[..., 1::2].to(wide)
    turned = torch.stack((a * cos - b * sin, a * sin + b * cos), -1)
    return turned.flatten(-2).to(x.dtype)  # (..., T, d/2, 2) -> (..., T, d)


class RotaryAttention(MultiHeadAttention):
    """:class:`hydra_lib.multihead.MultiHeadAttention` that knows positions.

    Queries and keys are turned after they are split into heads, both from position 0 on, so it
    reads whole texts and does not decode with a KV cache; values are not turned. Everything else,
    arguments, masks, errors, cost, is as there. Raises ValueError for an odd
    head_dim; TypeError for conversion from and to ``torch.nn.MultiheadAttention``, which knows no
    positions.
    """

    @classmethod
    def _check_config(cls, config: Any, bias: object) -> None:
        super()._check_config(config, bias)
        if config.head_dim % 2:
            raise ValueError(
                "config must have an even head_dim, since rotary positions turn pairs, got "
                f"{config.head_dim}"
            )

    def split(
        self,
        q: Float[torch.Tensor, "*batch Tq d_model"],
        k: Float[torch.Tensor, "*batch Tk d_model"],
        v: Float[torch.Tensor, "*batch Tk d_model"],
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Heads of q, k and v, each (…, h, T, d_k), with q and k turned by their positions."""
        q, k, v = super().split(q, k, v)
        return rotate(q), rotate(k), v
