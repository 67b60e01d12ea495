"""Matrix product by tiles."""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float

from hydra_lib.kernels._launch import check, dot_precision, on, refuse_gradient, tuned
from hydra_lib.kernels.tiles import dot

__all__ = ["tiled_matmul"]


@no_type_check  # Triton compiles the source: a wrapper around it would hide the names in it
@triton.jit(do_not_specialize=["size"])
def _matmul(
    a, b, c, a_strides, b_strides, c_strides, M, N, K, size, PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """A program for each tile of c; a is (M, K), b (K, N), c (M, N)."""
    # Programs that run at the same time should need the same rows of a and columns of b, so that
    # these are read from memory once and then from the cache. So the tiles are taken in bands of
    # GROUP rows, and each band column by column: w programs touch about 2 √w strips, not w.
    down, across = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    band, within = tl.program_id(0) // (GROUP * across), tl.program_id(0) % (GROUP * across)
    height = tl.minimum(down - band * GROUP, GROUP)  # the last band may be lower
    first_row = (band * GROUP + within % height) * BLOCK_M
    first_column = within // height * BLOCK_N
    # Past the edge the index starts again: what is computed there is never stored, and loads in
    # the loop need no mask. 64 bits, because M·K may exceed 32.
    row = ((first_row + tl.arange(0, BLOCK_M)) % M).to(tl.int64)
    column = ((first_column + tl.arange(0, BLOCK_N)) % N).to(tl.int64)
    inner = tl.arange(0, BLOCK_K)
    a += row[:, None] * a_strides[0] + inner[None, :] * a_strides[1]
    b += inner[:, None] * b_strides[0] + column[None, :] * b_strides[1]
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    whole = K // BLOCK_K
    if whole > 0:  # seen to run at least once, the loop may leave products in flight
        for _ in tl.range(whole):
            acc = dot(tl.load(a), tl.load(b), acc, PRECISION)  # (M, K) x (K, N) -> (M, N)
            a += BLOCK_K * a_strides[1]
            b += BLOCK_K * b_strides[0]
    if whole * BLOCK_K < K:
        left = inner < K - whole * BLOCK_K
        rows = tl.load(a, mask=left[None, :], other=0.0)
        columns = tl.load(b, mask=left[:, None], other=0.0)
        acc = dot(rows, columns, acc, PRECISION)
    row, column = first_row + tl.arange(0, BLOCK_M), first_column + tl.arange(0, BLOCK_N)
    c += row[:, None].to(tl.int64) * c_strides[0] + column[None, :].to(tl.int64) * c_strides[1]
    inside = (row < M)[:, None] & (column < N)[None, :]
    tl.store(c, acc.to(c.dtype.element_ty), mask=inside)


def _shared(BLOCK_M, BLOCK_N, BLOCK_K, num_stages, a, **_) -> int:
    """Bytes of shared memory, at most: a tile of a and of b for each stage; the tile of c after."""
    inputs = (BLOCK_M + BLOCK_N) * BLOCK_K * num_stages
    return a.element_size() * max(inputs, BLOCK_M * BLOCK_N)


def _tile(m: int, n: int, k: int, warps: int, stages: int) -> dict:
    blocks = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": 8}
    return {**blocks, "num_warps": warps, "num_stages": stages}


_tuned = tuned(
    _matmul,
    tiles=[
        _tile(128, 256, 64, 8, 4),
        _tile(128, 256, 64, 8, 3),
        _tile(128, 128, 64, 8, 3),
        _tile(128, 128, 64, 4, 3),
        _tile(128, 64, 64, 4, 4),
        _tile(64, 64, 32, 4, 3),
    ],
    plain=_tile(32, 32, 32, 4, 2),
    small={"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP": 2},
    key=["size", "PRECISION"],
    shared=_shared,
)


def tiled_matmul(
    a: Float[torch.Tensor, "M K"], b: Float[torch.Tensor, "K N"]
) -> Float[torch.Tensor, "M N"]:
    """``a @ b`` by tiles: ``c[i, j] = Σ_k a[i, k] b[k, j]``, a program for each tile of c.

    ``a`` is (M, K) and ``b`` (K, N), both float16, bfloat16 or float32, of any sizes and strides.
    The products are summed in float32 and rounded once to the inputs' dtype. float32 is multiplied
    as float32, unless torch's own matmul may use TF32 (``torch.backends.cuda.matmul``). There is
    no gradient.

    Raises TypeError for other dtypes, or bfloat16 on a GPU without it; ValueError for shapes that
    do not fit, an axis of length 0, more than one device, an input that requires a gradient;
    :class:`hydra_lib.timing.environment.NoCudaError` off CUDA without Triton's interpreter.

    Cost: 2·M·N·K FLOPs. Each tile of c reads a strip of a and one of b, M·N·K / tile side · 2
    numbers in all, mostly from the L2 cache; from memory M·K + K·N + M·N at best.
    Source: Tillet et al. (2019), *Triton*.
    """
    check("tiled_matmul", a=a, b=b)
    if not (a.ndim == b.ndim == 2 and a.shape[1] == b.shape[0] and 0 not in a.shape + b.shape):
        raise ValueError(
            "expected a (M, K) and b (K, N), no axis of length 0, "
            f"got {tuple(a.shape)} and {tuple(b.shape)}"
        )
    refuse_gradient("tiled_matmul", a=a, b=b)
    a, b = a.resolve_neg(), b.resolve_neg()  # or the kernel would not see a sign kept for later
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, dtype=a.dtype, device=a.device)
    with on(a.device):
        _tuned[lambda tile: (triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]),)](
            *(a, b, c, a.stride(), b.stride(), c.stride(), M, N, K),
            size=triton.next_power_of_2(max(M, N, K)),  # tuned once for each power of two
            PRECISION=dot_precision(a.dtype),
            enable_fp_fusion=True,
        )
    return c
