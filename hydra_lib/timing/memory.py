"""How much memory a call holds at its fullest."""

from collections.abc import Callable

import torch

from hydra_lib import _checks
from hydra_lib.timing.environment import NoCudaError, check_device

__all__ = ["peak_bytes"]


def peak_bytes(fn: Callable, *args: object, device: str | torch.device = "cuda") -> int:
    """Most bytes of CUDA memory that one call holds at once beside what was held before it.

    The arguments do not count, the result does, and what the backward pass keeps.

    Raises :class:`hydra_lib.timing.environment.NoCudaError` where torch does not keep these books,
    TypeError for what is no function.
    """
    _checks.function("fn", fn)
    if (device := check_device(device)).type != "cuda":
        raise NoCudaError(f"device must be CUDA, where torch counts peak memory, got {device}")
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    _result = fn(*args)  # still held when the books are read
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before
