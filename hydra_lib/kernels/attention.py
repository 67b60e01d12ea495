"""Attention for all heads in one kernel: the wrapper, and the gradient it hands to autograd."""

import torch
from jaxtyping import Float, Integer

from hydra_lib import _checks
from hydra_lib.attention import check_causal
from hydra_lib.kernels._launch import check
from hydra_lib.kernels.attention_backward import launch_backward
from hydra_lib.kernels.attention_forward import launch_forward, programs

__all__ = ["flash_attention", "launch_grid"]

WIDEST = 256


class _FlashAttention(torch.autograd.Function):
    """Forward keeps one number a row, log Σ exp of its scores; backward makes the weights again."""

    @staticmethod
    def forward(ctx, q, k, v, lengths, causal, split_queries):
        out, lse = launch_forward(q, k, v, lengths, causal, split_queries)
        ctx.save_for_backward(q, k, v, lengths, out, lse)
        ctx.causal = causal
        return out

    @staticmethod
    def backward(ctx, grad):
        if torch.is_grad_enabled():  # what is computed here would be taken for a constant
            raise NotImplementedError(
                "flash_attention has no second gradient: its backward ran with create_graph=True"
            )
        q, k, v, lengths, out, lse = ctx.saved_tensors
        grads = launch_backward(q, k, v, out, lse, grad.resolve_neg(), lengths, ctx.causal)
        return *grads, None, None, None


def flash_attention(
    q: Float[torch.Tensor, "B h Tq d_k"],
    k: Float[torch.Tensor, "B h Tk d_k"],
    v: Float[torch.Tensor, "B h Tk d_k"],
    *,
    causal: bool = False,
    lengths: Integer[torch.Tensor, " B"] | None = None,
    split_queries: bool = True,
) -> Float[torch.Tensor, "B h Tq d_k"]:
    """:func:`hydra_lib.attention.fused_attention` by this book's own kernel, one for all heads.

    ``out = softmax(q kᵀ / √d_k) v``, by tiles: a program holds a tile of queries, walks over the
    keys tile by tile, and rescales what it has summed whenever a larger score turns up. No
    (Tq, Tk) matrix is ever in memory. With ``causal``, tiles above the diagonal are skipped.

    ``q`` is (B, h, Tq, d_k), ``k`` and ``v`` are (B, h, Tk, d_k), all float16, bfloat16 or float32,
    with any strides: what :func:`hydra_lib.heads.split_heads` returns goes in as it is, and the
    output is laid out as ``q`` is, so that :func:`hydra_lib.heads.merge_heads` copies nothing.
    d_k is at most 256 and is padded to a power of two inside the tiles: 72 costs what 128 does.

    ``causal``: position i attends to j ≤ i; needs Tq = Tk. ``lengths`` (B,), integers between 0
    and Tk: every query of entry b attends to its first ``lengths[b]`` keys, as under
    :func:`hydra_lib.masking.padding_mask`. There is no other mask. Queries in the padding are
    queries like any other: drop their rows. A query with no key to attend to gets zeros, and gives
    zero gradients.

    ``split_queries``: a program for each tile of queries, :func:`launch_grid`. False keeps one
    program for each (batch, head), which walks over the queries too: what most GPUs are too wide
    for, kept to be measured against.

    The gradient is taken once, by two more kernels that make the weights again from q, k and one
    number a row. float32 is multiplied as float32, unless torch's own matmul may use TF32
    (``torch.backends.cuda.matmul``). Values are not looked at: NaN in, NaN out.

    Raises TypeError for other dtypes, bfloat16 on a GPU without it, or a ``causal`` that is not
    True or False; ValueError for other shapes,
    an axis of length 0, d_k > 256, ``causal`` with Tq ≠ Tk, lengths out of range, more than one
    device; :class:`hydra_lib.timing.environment.NoCudaError` off CUDA without Triton's interpreter.

    Cost: forward 4·B·h·Tq·Tk·d_k FLOPs, half of them if causal, and one exponential a score;
    backward 14 for these 4, where 10 would do if the weights were made once and not twice.
    Memory traffic: q and out once, k and v once for each tile of queries, mostly from the L2 cache.
    Kept for the gradient: q, k, v, out and 4·B·h·Tq bytes.

    Source: Dao et al. (2022), *FlashAttention*; Dao (2023), *FlashAttention-2*; the online softmax,
    Milakov and Gimelshein (2018); Tillet et al. (2019), *Triton*.
    """
    check("flash_attention", q=q, k=k, v=v)
    if isinstance(causal, torch.Tensor):
        kinds = "the kernel takes no mask, only causal and lengths"
        raise TypeError(f"causal must be True or False, got a tensor: {kinds}")
    causal = _checks.flag("causal", causal)
    split_queries = _checks.flag("split_queries", split_queries)
    _check_shapes(q.shape, k.shape, v.shape, causal)
    if lengths is not None:
        _check_lengths(lengths, q.shape[0], k.shape[-2], q.device)
        lengths = lengths.long().contiguous()
    q, k, v = (x.resolve_neg() for x in (q, k, v))
    return _FlashAttention.apply(q, k, v, lengths, causal, split_queries)


def launch_grid(
    batch: int, heads: int, queries: int, split_queries: bool = True, block: int = 128
) -> int:
    """Number of programs of one forward launch.

    ``B·h`` with a program for each (batch, head); ``B·h·⌈Tq / block⌉`` with a program for each tile
    of ``block`` queries. (:func:`flash_attention` chooses its tiles by measuring, of 64 or 128
    queries; of 16 for what no matrix instruction multiplies: float32 unless TF32 is allowed, and
    anything before Ampere.) An H200 has 132 multiprocessors to keep busy.

    Raises ValueError for sizes that are no positive integers, TypeError for a ``split_queries``
    that is neither True nor False.

    >>> launch_grid(1, 12, 4096, split_queries=False), launch_grid(1, 12, 4096)
    (12, 384)
    """
    batch, heads = _checks.integer("batch", batch), _checks.integer("heads", heads)
    queries, block = _checks.integer("queries", queries), _checks.integer("block", block)
    split_queries = _checks.flag("split_queries", split_queries)
    return programs(batch, heads, queries, split_queries, block)


def _check_shapes(q: tuple, k: tuple, v: tuple, causal: bool) -> None:
    fits = len(q) == 4 and k == v == (*q[:2], *k[2:3], q[3]) and 0 not in q + k
    if not fits:
        raise ValueError(
            "expected q (B, h, Tq, d_k), k and v (B, h, Tk, d_k), no axis of length 0, got "
            f"{tuple(q)}, {tuple(k)} and {tuple(v)}"
        )
    if q[3] > WIDEST:
        raise ValueError(f"d_k must be at most {WIDEST}, got {q[3]}")
    check_causal(causal, q[2], k[2])


def _check_lengths(lengths: torch.Tensor, batch: int, keys: int, device: torch.device) -> None:
    _checks.integers("lengths", lengths)
    if lengths.shape != (batch,):
        raise ValueError(f"lengths must be (B,) = ({batch},), got {tuple(lengths.shape)}")
    if lengths.device != device:
        raise ValueError(f"lengths is on {lengths.device}, q, k and v are on {device}")
    if ((lengths.long() < 0) | (lengths.long() > keys)).any():
        got = _checks.shown(lengths.tolist())
        raise ValueError(f"lengths must lie between 0 and {keys}, got {got}")
