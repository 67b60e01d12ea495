"""The gradient of attention without the weights: they are made again, block by block.

The plain form of what a fused kernel does. The forward pass leaves its output and one number a
query, log Z; the (Tq, Tk) matrices of the backward pass never exist as a whole.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float

from hydra_lib.attention import shape_table
from hydra_lib.backward import check_backward, check_like
from hydra_lib.masking import apply_mask

__all__ = ["InputGradients", "attention_backward_recomputed"]


class InputGradients(NamedTuple):
    """What is left when no step is kept. Printed, it is the table of their shapes."""

    grad_q: Float[torch.Tensor, "*q_batch Tq d_k"]
    grad_k: Float[torch.Tensor, "*k_batch Tk d_k"]
    grad_v: Float[torch.Tensor, "*v_batch Tk d_v"]

    __repr__ = shape_table


def attention_backward_recomputed(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    output: torch.Tensor,
    log_z: torch.Tensor,
    grad_output: torch.Tensor,
    mask: torch.Tensor | None = None,
    temperature: float | int | None = None,
    block=64,
) -> InputGradients:
    """The gradients of q, k and v without a stored weight: ``P_ij = exp(S_ij − log Z_i)``.

    ``block`` queries at a time. δ is ``dO_i · O_i``, so no row of P must be whole before dS is.
    ``output`` (…, Tq, d_v) and ``log_z`` (…, Tq), the log-partition of the scaled and masked
    scores, come from the forward pass; a query with no key to attend to has log Z = −∞.

    Other arguments and errors as :func:`hydra_lib.backward.attention_backward`, but scores are not
    looked at: NaN in, NaN out. ValueError for a ``block`` that is not a positive integer. Cost: one
    product more, :func:`hydra_lib.backward.backward_flops` with ``recompute``; 3·block·Tk numbers
    in place of 3·Tq·Tk. Source: as there, algorithm 4.

    >>> q, k, v, out = torch.zeros(1, 1), torch.zeros(2, 1), torch.eye(2), torch.full((1, 2), 0.5)
    >>> log_z = torch.tensor([2.0]).log()
    >>> attention_backward_recomputed(q, k, v, out, log_z, torch.ones(1, 2)).grad_v
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    tau = check_backward(q, k, v, mask, temperature, grad_output)
    check_like("output", output, q, grad_output.shape)
    rows = (*torch.broadcast_shapes(q.shape[:-2], k.shape[:-2]), q.shape[-2])
    check_like("log_z", log_z, q, rows)
    if not isinstance(block, int) or isinstance(block, bool) or block < 1:
        raise ValueError(f"block must be a positive integer, got {block!r}")
    length, wide = q.shape[-2], grad_output.shape[:-2]
    if mask is not None:
        mask = mask.expand(torch.broadcast_shapes(mask.shape, (length, k.shape[-2])))
    # exp(−∞ − ∞) is 0, where −∞ − (−∞) would be NaN.
    log_z = log_z.masked_fill(log_z == -torch.inf, torch.inf)
    delta = (grad_output * output).sum(-1)  # (..., Tq, d_v) -> (..., Tq)
    grad_q, grad_k, grad_v = (x.new_zeros(*wide, *x.shape[-2:]) for x in (q, k, v))
    for start in range(0, length, block):
        rows = slice(start, start + block)
        q_rows, grad_rows = q[..., rows, :], grad_output[..., rows, :]
        scaled = q_rows @ k.mT / tau  # (..., block, d_k) x (..., d_k, Tk) -> (..., block, Tk)
        if mask is not None:
            scaled = apply_mask(scaled, mask[..., rows, :])
        weights = (scaled - log_z[..., rows, None]).exp()
        grad_v += weights.mT @ grad_rows  # (..., Tk, block) x (..., block, d_v) -> (..., Tk, d_v)
        grad_weights = grad_rows @ v.mT  # (..., block, d_v) x (..., d_v, Tk) -> (..., block, Tk)
        grad_scaled = weights * (grad_weights - delta[..., rows, None])
        grad_q[..., rows, :] = grad_scaled @ k / tau
        grad_k += grad_scaled.mT @ q_rows / tau
    pairs = (grad_q, q), (grad_k, k), (grad_v, v)
    return InputGradients(*(grad.sum_to_size(x.shape) for grad, x in pairs))
