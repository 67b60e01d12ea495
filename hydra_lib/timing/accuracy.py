"""How wrong a result is: its distance from the same computation in float64."""

from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np
import torch

from hydra_lib import _checks

__all__ = [
    "FailedCheckError",
    "as_tensor",
    "check",
    "leaves",
    "relative_error",
    "to_float64",
    "tolerance_for",
]


class FailedCheckError(ValueError):
    """A function's result disagrees with the float64 computation."""


def leaves(results: object) -> list:
    """The tensors, arrays and numbers in nested tuples, lists and dictionaries, in order.

    >>> leaves((1.0, {"k": [2, None]}))
    [1.0, 2]
    """
    if isinstance(results, torch.Tensor | np.ndarray | Number):
        return [results]
    if isinstance(results, Mapping):
        results = list(results.values())
    if isinstance(results, tuple | list):
        return [leaf for item in results for leaf in leaves(item)]
    return []


def to_float64(argument: Any) -> Any:
    """A floating or complex tensor or array in float64 or complex128; anything else unchanged.

    A tensor that requires a gradient comes back as a leaf that requires its own.

    >>> to_float64(torch.ones(1, dtype=torch.float16)).dtype
    torch.float64
    """
    if isinstance(argument, torch.Tensor):
        if argument.is_floating_point() or argument.is_complex():
            wide = argument.detach().to(
                torch.complex128 if argument.is_complex() else torch.float64
            )
            return wide.requires_grad_(argument.requires_grad)
    elif isinstance(argument, np.ndarray) and argument.dtype.kind in "fc":
        return argument.astype(np.promote_types(argument.dtype, np.float64))
    return argument


def as_tensor(value: object) -> torch.Tensor:
    """A tensor, array or number as a tensor; a Python float keeps its 64 bits.

    >>> as_tensor(0.5).dtype
    torch.float64
    """
    # A copy, because torch takes no read-only arrays and no negative strides.
    return value if isinstance(value, torch.Tensor) else torch.from_numpy(np.array(value))


def tolerance_for(dtype: torch.dtype) -> float:
    """Largest :func:`relative_error` that rounding explains in a sum of a few thousand products.

    32 ε for float32, float64 and complex; 4 ε for narrower types, because their sums run in
    float32 and only inputs and results are rounded; 0 for integers. TF32 is not float32: it fails.

    >>> tolerance_for(torch.float32) == 32 * 2.0**-23
    True
    """
    _checks.instance("dtype", dtype, torch.dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0
    eps = torch.finfo(dtype).eps
    return 32 * eps if eps < 2**-20 else 4 * eps


def relative_error(result: object, exact: object) -> float:
    """``max |result − exact| / max |exact|`` over all elements; equal infinities differ by 0.

    Tensors, arrays or numbers of one shape: ``exact`` float64, complex128 or integers, ``result``
    of any dtype. A wrong NaN or infinity gives NaN or ∞. Where ``exact`` has no finite element
    but zeros, the error is absolute. Integers of 64 bits are compared in all of them.

    Raises ValueError for shapes that differ and no elements, TypeError for an ``exact`` of fewer
    digits, and for anything that holds no numbers.

    >>> relative_error(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]).double())
    0.5
    """
    for name, value in (("result", result), ("exact", exact)):
        if not isinstance(value, torch.Tensor | np.ndarray | Number):
            kind = type(value).__name__
            raise TypeError(f"{name} must be a tensor, an array or a number, got {kind}")
        try:
            value = as_tensor(value)
        except TypeError:
            dtype = np.asarray(value).dtype
            raise TypeError(f"{name} must hold numbers that torch has, got {dtype}") from None
        _checks.tensor(name, value)
        _checks.has_values(name, value)
    result, exact = as_tensor(result).detach(), as_tensor(exact).detach()
    if to_float64(exact).dtype != exact.dtype:
        raise TypeError(f"exact must be float64, complex128 or integers, got {exact.dtype}")
    if result.shape != exact.shape:
        got, expected = tuple(result.shape), tuple(exact.shape)
        raise ValueError(f"result must have the shape of exact, {expected}, got {got}")
    if not exact.numel():
        raise ValueError(f"exact must have an element, got shape {tuple(exact.shape)}")
    wide = torch.complex128 if result.is_complex() or exact.is_complex() else torch.float64
    (high, low), (true_high, true_low) = (
        _halves(x.to(exact.device), wide) for x in (result, exact)
    )
    same = (high == true_high) & (low == true_low)  # infinities too, whose difference is NaN
    difference = ((high - true_high) + (low - true_low)).abs().masked_fill(same, 0)
    size = exact.to(wide).abs()
    scale = float(size.masked_fill(~size.isfinite(), 0).max())
    return float(difference.max()) / (scale or 1.0)


def _halves(x: torch.Tensor, wide: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """``x`` as a sum of two: float64 keeps 53 bits of an integer, and there may be 64."""
    if x.dtype not in (torch.int64, torch.uint64):
        return x.to(wide), torch.zeros_like(x, dtype=wide)
    bits = x.view(torch.int64)
    low = bits & 2047 if x.dtype == torch.uint64 else bits.fmod(2048)
    high = (bits >> 11 & 2**53 - 1).to(wide) * 2048 if x.dtype == torch.uint64 else bits - low
    return high.to(wide), low.to(wide)


def check(name: str, results: list, exact: list, tolerance: int | float | None = None) -> float:
    """The largest relative error of ``results`` against ``exact``, both lists of leaves.

    Each may be at most ``tolerance``, by default :func:`tolerance_for` its dtype.

    Raises :class:`FailedCheckError`, which calls the results ``name``.
    """
    if len(results) != len(exact):
        counts = f"{len(results)} results, the float64 computation {len(exact)}"
        raise FailedCheckError(f"{name} returned {counts}")
    errors = []
    for result, truth in zip(map(as_tensor, results), map(as_tensor, exact), strict=True):
        if result.shape != truth.shape:
            shapes = f"{tuple(result.shape)}, the float64 computation {tuple(truth.shape)}"
            raise FailedCheckError(f"{name} returned shape {shapes}")
        allowed = tolerance_for(result.dtype) if tolerance is None else tolerance
        errors.append(relative_error(result, truth))
        if not errors[-1] <= allowed:  # NaN fails too
            raise FailedCheckError(
                f"{name} is wrong: error {errors[-1]:.2e} against float64, allowed {allowed:.2e}"
            )
    return max(errors)
