"""How bad input is refused, always in one form: the argument's name, what was expected, what came.

The core takes torch tensors and gives torch tensors. A list or a NumPy array is refused: made into
a tensor, it would get a dtype and a device that nobody chose. A plain number may be Python's or
NumPy's. Values are looked at where a function says so, and then a meta tensor, which has none, is
refused; shapes and dtypes are always looked at first.
"""

import difflib
import math
import numbers
import operator
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import torch

LARGEST = 2**63 - 1  # of torch's sizes


def shown(value: Any) -> str:
    """``repr``, cut to a line."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python writes no integer of more than 4300 digits, in a list neither
        return type(value).__name__
    return text if len(text) <= 80 else text[:79] + "…"


def integer(name: str, value: Any, least: int | None = 1, most: int = LARGEST) -> int:
    """The integer, Python's own; NumPy's pass, a bool or a float does not."""
    try:
        number = (
            None if isinstance(value, bool | np.bool_ | torch.Tensor) else operator.index(value)
        )
    except TypeError:
        number = None
    least = -LARGEST if least is None else least
    if number is None or not least <= number <= most:
        kind = {1: "a positive integer", -LARGEST: "an integer"}.get(least)
        kind = kind or (
            "an integer, 0 or more" if least == 0 else f"an integer of at least {least}"
        )
        if most < LARGEST:
            kind = f"an integer from {least} to {most}"
        elif number is not None and number > most:
            kind += " below 2⁶³"
        raise ValueError(f"{name} must be {kind}, got {shown(value)}")
    return number


def number(name: str, value: Any) -> float | int:
    """A real number, Python's own, that fits in a float; it may be infinite or NaN."""
    if isinstance(value, np.ndarray) and value.ndim == 0:  # as `integer` takes it
        value = value[()]
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    try:
        as_float = float(value)
    except OverflowError:
        raise ValueError(f"{name} must fit in a float, got {shown(value)}") from None
    return operator.index(value) if isinstance(value, numbers.Integral) else as_float


def finite(name: str, value: Any, least: float | int = -math.inf) -> float | int:
    """A finite number, not below ``least``."""
    value = number(name, value)
    if not (math.isfinite(value) and value >= least):
        bound = "" if least == -math.inf else f" and at least {least}"
        raise ValueError(f"{name} must be finite{bound}, got {value!r}")
    return value


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def function(name: str, value: Any) -> None:
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {shown(value)}")


def one_of(name: str, value: Any, known: Collection[str]) -> None:
    """One of these texts; for another, the message names the one that it resembles."""
    if isinstance(value, str) and value in known:
        return
    near = difflib.get_close_matches(value, known, 1) if isinstance(value, str) else []
    meant = f"; did you mean {near[0]!r}?" if near else ""
    kinds = ", ".join(known) or "none"
    raise ValueError(f"{name} must be one of {kinds}, got {shown(value)}{meant}")


def instance(name: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        # torch.dtype: NumPy has one too
        where = "torch." if kind.__module__ in ("torch", "torch._C") else ""
        raise TypeError(f"{name} must be a {where}{kind.__name__}, got {type(value).__name__}")


def generator(value: Any) -> None:
    instance("generator", value, torch.Generator)


def tensor(name: str, x: Any) -> None:
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} must be a torch tensor, got {type(x).__name__}")
    if x.layout is not torch.strided or x.is_nested or x.is_quantized:
        kind = "nested" if x.is_nested else "quantized" if x.is_quantized else x.layout
        raise TypeError(f"{name} must be a dense torch tensor, got {kind}")


def floating(name: str, x: Any) -> None:
    tensor(name, x)
    floating_dtype(name, x.dtype)


def floating_dtype(name: str, dtype: Any) -> None:
    """One that torch can compute in: narrower ones are for storing."""
    instance(name, dtype, torch.dtype)
    if not dtype.is_floating_point:
        raise TypeError(f"{name} must be floating point, got {dtype}")
    if dtype.itemsize < 2:
        raise TypeError(f"{name} must have at least 16 bits, got {dtype}")


def integers(name: str, x: Any) -> None:
    tensor(name, x)
    if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        raise TypeError(f"{name} must be integers, got {x.dtype}")


def has_values(name: str, x: torch.Tensor) -> None:
    """For a function that looks at values: a meta tensor has none."""
    if x.is_meta:
        raise ValueError(f"{name} must hold numbers, got a meta tensor")


def like(name: str, x: Any, other: str, y: torch.Tensor, shape: Sequence | None = None) -> None:
    """The dtype and device of ``y``, called ``other`` in the message; its ``shape``, if given."""
    tensor(name, x)
    verb = "are" if other.endswith("s") else "is"
    if x.dtype != y.dtype:
        raise TypeError(f"{name} must be {y.dtype} like {other}, got {x.dtype}")
    if x.device != y.device:
        raise ValueError(f"{name} is on {x.device}, {other} {verb} on {y.device}")
    if shape is not None and x.shape != tuple(shape):
        raise ValueError(f"{name} must have shape {tuple(shape)}, got {tuple(x.shape)}")


def broadcasts(*shapes: tuple[int, ...]) -> bool:
    """Do these shapes broadcast?"""
    try:
        torch.broadcast_shapes(*shapes)
    except RuntimeError:
        return False
    return True


def fits(name: str, *sizes: int) -> None:
    """Refuse more than 2³¹ numbers, which are gigabytes and seconds, before any work."""
    if math.prod(sizes) > 2**31:
        numbers = " · ".join(map(shown, sizes))
        raise ValueError(f"{name} must make at most 2³¹ numbers, got {numbers}")


def wide(dtype: torch.dtype) -> torch.dtype:
    """What sums are taken in: float32 for the 16-bit types, else the dtype itself."""
    return torch.promote_types(dtype, torch.float32)
