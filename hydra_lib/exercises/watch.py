"""Watching a computation: which torch functions ran, on what shapes. Arrays are not seen."""

from typing import NamedTuple

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["Call", "watched"]

_PRODUCTS = {
    "__matmul__",
    "__rmatmul__",
    "addbmm",
    "addmm",
    "baddbmm",
    "bmm",
    "chain_matmul",
    "einsum",
    "inner",
    "linalg_matmul",
    "linalg_multi_dot",
    "linear",
    "matmul",
    "mm",
    "tensordot",
}


class Call(NamedTuple):
    """One call of a torch function: the shapes of the tensors that went in and came out."""

    product: bool  # was it a matrix product
    given: list[tuple[int, ...]]
    returned: list[tuple[int, ...]]


class _Watch(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if getattr(function, "__name__", "") == "__get__":
            return result  # x.T, x.shape: nothing is computed
        product = getattr(function, "__name__", "") in _PRODUCTS
        self.calls.append(Call(product, _shapes(args), _shapes(result)))
        return result


def watched(function, *arguments) -> tuple[object, list[Call]]:
    """What ``function(*arguments)`` returns, and the torch calls it made."""
    with _Watch() as watch:
        result = function(*arguments)
    return result, watch.calls


def _shapes(thing) -> list[tuple[int, ...]]:
    if isinstance(thing, torch.Tensor):
        return [tuple(thing.shape)]
    if isinstance(thing, list | tuple):
        return [shape for part in thing for shape in _shapes(part)]
    return []
