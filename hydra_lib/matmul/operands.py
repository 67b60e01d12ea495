"""What can be multiplied with what, and into what: the checks before any work, and its room."""

from typing import Any

import numpy as np
import torch

from hydra_lib import _checks

__all__ = ["Matrix", "check_out", "check_pair", "empty", "product_shape"]

# A numpy array or a torch tensor. Not spelt as a type, so that check_pair can say what is wrong.
Matrix = Any

# Without float8 and the wider unsigned integers, which torch can store and not add.
MULTIPLIED = (
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.complex64, torch.complex128),
)
OTHERS = (np.ma.MaskedArray, np.matrix)


def check_pair(a: Matrix, b: Matrix) -> None:
    """Make sure that ``a`` (…, m, k) and ``b`` (…, k, n) are two of a kind with the same k.

    Raises TypeError unless both are numpy arrays or both dense torch tensors, of one dtype that
    can be multiplied (so neither bool nor, in torch, float8 or wide unsigned integers), and for
    masked arrays and ``np.matrix``, whose products are others; ValueError for two devices, fewer
    than two axes or inner sizes that differ.

    >>> check_pair(np.ones((2, 3)), np.ones((3, 5)))
    """
    if not any(isinstance(a, kind) and isinstance(b, kind) for kind in (np.ndarray, torch.Tensor)):
        raise TypeError(
            "a and b must be two numpy arrays or two torch tensors, got "
            f"{type(a).__name__} and {type(b).__name__}"
        )
    if isinstance(a, OTHERS) or isinstance(b, OTHERS):
        kinds = f"{type(a).__name__} and {type(b).__name__}"
        raise TypeError(f"a and b must be plain numpy arrays without a mask, got {kinds}")
    for name, x in (("a", a), ("b", b)):
        if isinstance(x, torch.Tensor):
            _checks.tensor(name, x)
    if a.dtype != b.dtype:
        raise TypeError(f"expected a and b of one dtype, got {a.dtype} and {b.dtype}")
    if isinstance(a, np.ndarray) and a.dtype.kind not in "iufcO":
        raise TypeError(f"a and b must be integer, floating or complex numbers, got {a.dtype}")
    if isinstance(a, torch.Tensor) and a.dtype not in MULTIPLIED:
        raise TypeError(f"a and b must be numbers that torch can multiply, got {a.dtype}")
    if isinstance(a, torch.Tensor) and a.device != b.device:
        raise ValueError(f"expected a and b on one device, got {a.device} and {b.device}")
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ValueError(
            "expected a (…, m, k) and b (…, k, n) with the same k, got "
            f"{tuple(a.shape)} and {tuple(b.shape)}"
        )


def empty(like: Matrix, rows: int, columns: int) -> Matrix:
    """An uninitialized matrix of the kind, dtype and device of ``like``."""
    if isinstance(like, torch.Tensor):
        return like.new_empty(rows, columns)
    return np.empty((rows, columns), dtype=like.dtype)


def product_shape(a: torch.Tensor, b: torch.Tensor) -> tuple[int, ...]:
    """Shape (…, m, n) of ``a @ b``, the leading axes broadcast.

    Raises ValueError where they do not.

    >>> product_shape(torch.ones(7, 2, 3), torch.ones(3, 5))
    (7, 2, 5)
    """
    if a.ndim == b.ndim == 2:
        return (a.shape[0], b.shape[1])
    try:
        batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except RuntimeError:
        raise ValueError(
            f"leading axes of a and b must broadcast, got {tuple(a.shape)} and {tuple(b.shape)}"
        ) from None
    return (*batch, a.shape[-2], b.shape[-1])


def check_out(out: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    """Make sure that ``a @ b`` can be built up in ``out`` while ``a`` and ``b`` are still read.

    Raises TypeError for another kind or dtype; ValueError for another shape or device, for an
    ``out`` whose strides do not nest, so that one number could stand in two places, and for address
    ranges that meet those of ``a`` or ``b``, if only between each other's rows.

    >>> check_out(torch.empty(2, 5), torch.ones(2, 3), torch.ones(3, 5))
    """
    _checks.tensor("out", out)
    _checks.like("out", out, "a", a, product_shape(a, b))
    if _repeats(out) or _meet(out, a) or _meet(out, b):
        raise ValueError("out must not overlap a, b or itself, got memory that does")


def _repeats(x: torch.Tensor) -> bool:
    """Whether a step along one axis may land where steps along the shorter ones do."""
    if x.is_contiguous():
        return False
    reach = 0
    for step, n in sorted(zip(x.stride(), x.shape, strict=True)):
        if n > 1 and step <= reach:
            return True
        reach += step * (n - 1)
    return False


def _meet(x: torch.Tensor, y: torch.Tensor) -> bool:
    (first, end), (other, other_end) = _span(x), _span(y)
    some = not x.is_meta and min(x.numel(), y.numel()) > 0  # a meta tensor has no address
    return some and first < other_end and other < end


def _span(x: torch.Tensor) -> tuple[int, int]:
    """The addresses of the first byte and of the byte after the last."""
    if x.is_contiguous():
        length = x.numel()
    else:
        length = 1 + sum((n - 1) * step for n, step in zip(x.shape, x.stride(), strict=True))
    return x.data_ptr(), x.data_ptr() + length * x.element_size()
