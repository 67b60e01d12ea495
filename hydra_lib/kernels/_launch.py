"""What every kernel's wrapper does before and around a launch."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
import triton

from hydra_lib import _checks
from hydra_lib.timing.environment import NoCudaError, tf32_allowed

__all__ = ["INTERPRETED", "check", "dot_precision", "on", "refuse_gradient", "tuned"]

INTERPRETED = triton.knobs.runtime.interpret  # decided once, when a kernel is defined
DTYPES = (torch.float16, torch.bfloat16, torch.float32)


def check(name: str, **tensors: torch.Tensor) -> None:
    """Refuse tensors that the kernel ``name`` cannot take, or cannot take on this device.

    Raises TypeError for what is no dense tensor, for dtypes other than one of float16, bfloat16 and
    float32, and for bfloat16 on a GPU that has none; ValueError for more than one device,
    :class:`NoCudaError` for tensors that are not on CUDA, unless the interpreter runs the kernels.
    """
    for argument, x in tensors.items():
        _checks.tensor(argument, x)
    names, dtypes = " and ".join(tensors), [x.dtype for x in tensors.values()]
    devices = [x.device for x in tensors.values()]
    if dtypes[0] not in DTYPES or len(set(dtypes)) > 1:
        got = ", ".join(map(str, dtypes))
        kinds = "one dtype, " * (len(tensors) > 1) + "float16, bfloat16 or float32"
        raise TypeError(f"{name} needs {names} in {kinds}, got {got}")
    if len(set(devices)) > 1:
        raise ValueError(f"{names} must be on one device, got {', '.join(map(str, devices))}")
    if devices[0].type == "cpu" and INTERPRETED:
        return
    if devices[0].type != "cuda":
        raise NoCudaError(
            f"{name} is a Triton kernel and needs {names} on CUDA, got {devices[0]}; to run it on "
            "the CPU, slowly, set TRITON_INTERPRET=1 before Triton is first imported"
        )
    check_age(name, dtypes[0], torch.cuda.get_device_capability(devices[0]))


def check_age(name: str, dtype: torch.dtype, capability: tuple[int, int]) -> None:
    """Refuse a GPU that is too old: for Triton (before Turing), or for bfloat16 (before Ampere)."""
    version = "{}.{}".format(*capability)
    if capability < (7, 5):
        raise NoCudaError(f"{name} needs a GPU of compute capability 7.5 or later, got {version}")
    if dtype == torch.bfloat16 and capability < (8, 0):
        raise TypeError(
            f"{name} in bfloat16 needs a GPU of compute capability 8.0 or later, got {version}: "
            "use float16 or float32"
        )


def refuse_gradient(name: str, **tensors: torch.Tensor) -> None:
    """Refuse what autograd would have to follow: a result cut off from its inputs is wrong."""
    for argument, x in tensors.items():
        if torch.is_grad_enabled() and x.requires_grad:
            raise ValueError(
                f"{argument} must be detached, {name} having no gradient: got one that requires it"
            )


def dot_precision(dtype: torch.dtype) -> str:
    """How ``tl.dot`` multiplies float32: ``ieee``, or ``tf32`` where torch's own matmul may.

    Narrower types are multiplied exactly and summed in float32 either way.
    """
    return "tf32" if dtype == torch.float32 and tf32_allowed() else "ieee"


def on(device: torch.device) -> AbstractContextManager:
    """Triton launches on the current device, which need not be the tensors'.

    A GPU does not warn of ∞ − ∞, and neither does the interpreter, which is NumPy.
    """
    return torch.cuda.device(device) if device.type == "cuda" else np.errstate(all="ignore")


def tuned(
    kernel: Any,  # what triton.jit returns depends on Triton's version and on the interpreter
    tiles: list[dict],
    plain: dict,
    small: dict,
    key: list[str],
    shared: Callable,
) -> triton.runtime.Autotuner:
    """``kernel``, which tries ``tiles`` once for each value of ``key`` and keeps the fastest.

    A tile is the kernel's block sizes, ``num_warps`` and ``num_stages``. Not tried are tiles for
    which ``shared(**arguments)`` bytes are more than a program may have of the device's shared
    memory. ``plain`` is the tile for what no matrix instruction multiplies: float32, and anything
    on a GPU older than Ampere (Triton does not use Turing's). Every product then passes through
    the registers, and a larger tile would not fit them. The interpreter always takes ``small``.
    """
    if INTERPRETED:
        return triton.autotune([_config(small)], key=[])(kernel)

    def fitting(configs: list, named: dict, **rest: object) -> list:
        driver = triton.runtime.driver.active
        room = driver.utils.get_device_properties(driver.get_current_device())["max_shared_mem"]
        exact = named[kernel.arg_names[0]].dtype == torch.float32 and rest["PRECISION"] == "ieee"
        if exact or driver.get_current_target().arch < 80:
            return configs[-1:]
        arguments = {**named, **rest}
        fit = [c for c in configs[:-1] if shared(**{**arguments, **c.all_kwargs()}) <= room]
        return fit or configs[-1:]

    prune = {"early_config_prune": fitting}
    configs = [_config(tile) for tile in (*tiles, plain)]
    return triton.autotune(configs, key, prune_configs_by=prune)(kernel)


def _config(tile: dict) -> triton.Config:
    blocks = {name: value for name, value in tile.items() if name.isupper()}
    return triton.Config(blocks, **{n: v for n, v in tile.items() if n not in blocks})
