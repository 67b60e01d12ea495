"""The gradient of attention without the weights: they are made again, block by block.

The plain form of what a fused kernel does. The forward pass leaves its output and one number a
query, log Z; the (Tq, Tk) matrices of the backward pass never exist as a whole.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float

from hydra_lib import _checks
from hydra_lib._steps import html_table, shape_table
from hydra_lib.attention import widened
from hydra_lib.backward import check_backward
from hydra_lib.masking import apply_mask

__all__ = ["InputGradients", "attention_backward_recomputed"]


class InputGradients(NamedTuple):
    """What is left when no step is kept. Printed, it is the table of their shapes."""

    grad_q: Float[torch.Tensor, "*q_batch Tq d_k"]
    grad_k: Float[torch.Tensor, "*k_batch Tk d_k"]
    grad_v: Float[torch.Tensor, "*v_batch Tk d_v"]

    def __repr__(self) -> str:
        return shape_table(self)

    def _repr_html_(self) -> str:
        return html_table(self, "dQ = dS K / τ", "dK = dSᵀ Q / τ", "dV = Pᵀ dO")


def attention_backward_recomputed(
    q: Float[torch.Tensor, "*q_batch Tq d_k"],
    k: Float[torch.Tensor, "*k_batch Tk d_k"],
    v: Float[torch.Tensor, "*v_batch Tk d_v"],
    output: Float[torch.Tensor, "*batch Tq d_v"],
    log_z: Float[torch.Tensor, "*scores Tq"],
    grad_output: Float[torch.Tensor, "*batch Tq d_v"],
    mask: Bool[torch.Tensor, "*mask"] | None = None,
    causal: bool = False,
    *,
    temperature: float | int | None = None,
    block: int = 64,
) -> InputGradients:
    """The gradients of q, k and v without a stored weight: ``P_ij = exp(S_ij − log Z_i)``.

    ``block`` queries at a time. δ is ``dO_i · O_i``, so dS needs no complete row of P.
    ``output`` (…, Tq, d_v) and ``log_z`` (…, Tq), the log-partition of the scaled and masked
    scores, come from the forward pass; a query with no key to attend to has log Z = −∞. Where the
    inputs have 16 bits, sums are taken in float32, and ``log_z`` is float32, computed from scores
    in float32: an error of log Z is a relative error of every weight.

    Other arguments and errors as :func:`hydra_lib.backward.attention_backward`, but scores are not
    looked at: NaN in, NaN out. ValueError for a ``block`` that is not a positive integer. Cost: one
    product more, :func:`hydra_lib.backward.backward_flops` with ``recompute``; at once it holds
    6·block·Tk numbers, and keeps none. Error: bounded as there; in 16 bits at most twice that of
    torch's own flash kernel. In float32 it can be several times that where scores are rounded
    differently from those that ``log_z`` sums, as with other blocks: their difference is a relative
    error of the weights. Source: as there, algorithm 4.

    >>> q, k, v, out = torch.zeros(1, 1), torch.zeros(2, 1), torch.eye(2), torch.full((1, 2), 0.5)
    >>> log_z = torch.tensor([2.0]).log()
    >>> attention_backward_recomputed(q, k, v, out, log_z, torch.ones(1, 2)).grad_v
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    tau = check_backward(q, k, v, mask, causal, temperature, grad_output)
    _checks.like("output", output, "the inputs", q, grad_output.shape)
    shape = (*torch.broadcast_shapes(q.shape[:-2], k.shape[:-2]), q.shape[-2])
    dtype, (q, k, v, output, grad_output) = q.dtype, widened(q, k, v, output, grad_output)
    _checks.like("log_z", log_z, "the sums", q, shape)
    block = _checks.integer("block", block)
    (length, keys), wide = (q.shape[-2], k.shape[-2]), grad_output.shape[:-2]
    if mask is not None:
        mask = mask.expand(torch.broadcast_shapes(mask.shape, (length, keys)))
    # exp(−∞ − ∞) is 0, where −∞ − (−∞) would be NaN.
    log_z = log_z.masked_fill(log_z == -torch.inf, torch.inf)
    delta = (grad_output * output).sum(-1)  # (..., Tq, d_v) -> (..., Tq)
    grad_q, grad_k, grad_v = (x.new_zeros(*wide, *x.shape[-2:]) for x in (q, k, v))
    position = torch.arange(length, device=q.device)
    for start in range(0, length, block):
        rows = slice(start, start + block)
        q_rows, grad_rows = q[..., rows, :], grad_output[..., rows, :]
        scaled = q_rows @ k.mT / tau  # (..., block, d_k) x (..., d_k, Tk) -> (..., block, Tk)
        if mask is not None:
            scaled = apply_mask(scaled, mask[..., rows, :])
        if causal:
            scaled = apply_mask(scaled, position <= position[rows, None])
        weights = (scaled - log_z[..., rows, None]).exp()
        grad_v += weights.mT @ grad_rows  # (..., Tk, block) x (..., block, d_v) -> (..., Tk, d_v)
        grad_weights = grad_rows @ v.mT  # (..., block, d_v) x (..., d_v, Tk) -> (..., block, Tk)
        grad_scaled = weights * (grad_weights - delta[..., rows, None])
        grad_q[..., rows, :] = grad_scaled @ k / tau
        grad_k += grad_scaled.mT @ q_rows / tau
    pairs = (grad_q, q), (grad_k, k), (grad_v, v)
    return InputGradients(*(grad.sum_to_size(x.shape).to(dtype) for grad, x in pairs))
