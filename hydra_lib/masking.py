"""Masks: which key positions a query may attend to.

A mask is boolean. True means *may attend*. A forbidden score becomes −∞, so that
its exponential, and with it the weight, is exactly zero.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float, Integer

from hydra_lib import _checks

__all__ = ["apply_mask", "causal_mask", "padding_mask", "window_mask"]


def causal_mask(length: int) -> Bool[torch.Tensor, "T T"]:
    """Position i may attend to positions j ≤ i: the lower triangle.

    ``mask[i, j] = (j ≤ i)``, with query position i and key position j of a sequence of
    T = ``length`` positions.

    Raises ValueError when ``length`` is not a positive integer, or T² is more than 2³¹.
    Source: the decoder mask of Vaswani et al. (2017), *Attention Is All You Need*, section 3.2.3.

    >>> causal_mask(3).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    return window_mask(length, length)


def window_mask(length: int, width: int) -> Bool[torch.Tensor, "T T"]:
    """Position i may attend to itself and the ``width − 1`` positions before it.

    ``mask[i, j] = (i − width < j ≤ i)`` for a sequence of T = ``length`` positions. A width of T
    or more is the causal mask.

    Raises ValueError when either number is not a positive integer, or T² is more than 2³¹. Cost:
    T² booleans.
    Source: the sliding window of Beltagy, Peters and Cohan (2020), *Longformer*.

    >>> window_mask(4, 2).int()
    tensor([[1, 0, 0, 0],
            [1, 1, 0, 0],
            [0, 1, 1, 0],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    length = _checks.integer("length", length)
    width = _checks.integer("width", width)
    _checks.fits("length", length, length)
    square = torch.ones(length, length, dtype=torch.bool)  # (T, T)
    return square.tril_().triu_(1 - width)


def padding_mask(
    lengths: Integer[torch.Tensor, " B"],
    length: int,
) -> Bool[torch.Tensor, "B 1 T"]:
    """Every query of sequence b may attend to the first ``lengths[b]`` keys; the rest is padding.

    ``mask[b, 0, j] = (j < lengths[b])``. The middle axis has length 1 and broadcasts over queries,
    so ``causal_mask(T) & padding_mask(lengths, T)`` is the mask of a padded batch, (B, T, T).

    ``lengths`` holds B integers of any width, between 0 and T = ``length``; a sequence of length 0
    has only fully masked rows. Raises TypeError for lengths that are not a tensor of integers,
    ValueError for lengths that are not one axis, fall outside 0 … T, or are on the meta device,
    and when B·T is more than 2³¹.
    Cost: B·T booleans.

    >>> padding_mask(torch.tensor([1, 3]), 3).int()
    tensor([[[1, 0, 0]],
    <BLANKLINE>
            [[1, 1, 1]]], dtype=torch.int32)
    """
    _checks.integers("lengths", lengths)
    if lengths.ndim != 1:
        shape = tuple(lengths.shape)
        raise ValueError(f"lengths must have one axis, (B,), got shape {shape}")
    length = _checks.integer("length", length)
    _checks.fits("length", len(lengths), length)
    _checks.has_values("lengths", lengths)
    wide = lengths.long()  # a small integer type may not hold ``length``
    if ((wide < 0) | (wide > length)).any():
        got = _checks.shown(lengths.tolist())
        raise ValueError(f"lengths must lie between 0 and {length}, got {got}")
    return (torch.arange(length, device=lengths.device) < wide[:, None])[:, None]


def apply_mask(
    scores: Float[torch.Tensor, "*shape"], mask: Bool[torch.Tensor, "*mask"]
) -> Float[torch.Tensor, "*shape"]:
    """Replace every forbidden score by −∞.

    ``scores`` is (…, Tq, Tk), in any floating dtype of 16 bits or more; ``mask`` is boolean, True =
    may attend, and broadcasts to the shape of the scores. The result has the scores' shape, dtype
    and device.

    Raises TypeError when either is no tensor, the mask is not boolean (0/1 and −∞/0 masks mean
    opposite things in different libraries, so neither is guessed) or the scores are not floating;
    ValueError when the mask does not broadcast or lies on another device. Cost: one pass over the
    scores.

    >>> apply_mask(torch.zeros(2, 2), causal_mask(2))
    tensor([[0., -inf],
            [0., 0.]])
    """
    _checks.floating("scores", scores)
    check_mask(mask, scores.shape, scores.device)
    return scores.masked_fill(~mask, -torch.inf)


def check_mask(mask: Any, shape: tuple[int, ...], device: torch.device) -> None:
    """Refuse a mask that does not fit scores of this ``shape``, which need not be there yet."""
    _checks.tensor("mask", mask)
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be torch.bool with True = may attend, got {mask.dtype}")
    if mask.device != device:
        raise ValueError(f"mask is on {mask.device}, scores are on {device}")
    pairs = zip(reversed(mask.shape), reversed(shape), strict=False)  # leading axes may be missing
    if mask.ndim > len(shape) or any(m not in (1, s) for m, s in pairs):
        raise ValueError(
            f"mask must broadcast to scores {tuple(shape)}, got shape {tuple(mask.shape)}"
        )
