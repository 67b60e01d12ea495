"""Mistakes with the work: what runs between the two looks at the clock."""

import os
from collections.abc import Callable

import numpy as np
import torch

from hydra_lib import _checks
from hydra_lib.timing.accuracy import relative_error
from hydra_lib.timing.environment import NoCudaError, check_device
from hydra_lib.timing.measurement import bench
from hydra_lib.timing.mistakes._mistake import Mistake, chosen, matrix, repeat, since
from hydra_lib.timing.sampling import stopwatch

__all__ = ["allocation", "cached_inputs", "tf32", "threads"]


def tf32(device: str = "cuda", n: int = 4096, budget: int | float = 0.5) -> Mistake:
    """A float32 product whose inputs CUDA was allowed to round to 10 bits of mantissa.

    Raises :class:`NoCudaError` for the CPU and ValueError for a GPU older than Ampere: they have no
    TF32.
    """
    _checks.finite("budget", budget, least=0)
    where, n = chosen(device, "n", n)
    if where.type != "cuda":
        raise NoCudaError(f"device must be CUDA, where this mistake is made, got {where}")
    if (capability := torch.cuda.get_device_capability(where)) < (8, 0):
        has = ".".join(map(str, capability))
        raise ValueError(f"device must have TF32, compute capability 8.0 or later, got {has}")
    a = matrix(where, n)
    exact, before = a.double() @ a.double(), torch.get_float32_matmul_precision()
    found = {}
    try:
        for precision in ("high", "highest"):
            torch.set_float32_matmul_precision(precision)
            seconds = bench(torch.mm, a, a, device=device, budget=budget).p50
            found[precision] = seconds, relative_error(a @ a, exact)
    finally:
        torch.set_float32_matmul_precision(before)
    (wrong, wrong_error), (right, right_error) = found["high"], found["highest"]
    more = {"wrong_error": wrong_error, "right_error": right_error, "n": n}
    ways = "float32 by name, TF32 inside", "float32"
    return Mistake("TF32", *ways, wrong, right, more=more)


def allocation(device: str = "cpu", size: int = 2**26, budget: int | float = 0.5) -> Mistake:
    """A sum that writes to memory fetched from the system inside the timed call; ``size`` bytes.

    On CUDA torch keeps freed memory for the next call, which costs next to nothing (``reused``, in
    seconds); here the wrong way empties that pool before the clock starts.
    """
    _checks.finite("budget", budget, least=0)
    where, size = check_device(device), _checks.integer("size", size, least=4)  # one float32
    x = torch.ones(size // 4, device=where)
    out = torch.empty_like(x)
    fresh = bench(torch.add, x, 1.0, device=device, budget=budget).p50
    right = bench(lambda x: torch.add(x, 1.0, out=out), x, device=device, budget=budget).p50
    ways = "result in new memory from the system", "result in memory that is there"
    if where.type == "cpu":
        return Mistake("allocation", *ways, fresh, right)

    def added() -> None:
        torch.add(x, 1.0)
        torch.cuda.synchronize(where)

    def emptied() -> float:
        torch.cuda.empty_cache()
        return since(added)

    wrong = float(np.median(repeat(emptied, where, budget)))
    return Mistake("allocation", *ways, wrong, right, more={"reused": fresh})


def cached_inputs(
    device: str = "cpu", size: int | None = None, budget: int | float = 0.5
) -> Mistake:
    """The same input again and again, so small that it stays in the cache; ``size`` bytes."""
    _checks.finite("budget", budget, least=0)
    where = check_device(device)
    if size is None:
        size = 2**20
        if where.type == "cuda":
            about = torch.cuda.get_device_properties(where)
            size = getattr(about, "L2_cache_size", 2**23) // 2
    size = _checks.integer("size", size, least=4)  # one float32
    x = torch.ones(size // 4, device=device)
    scrap = torch.zeros(max(2**28, 4 * size) // 4, device=device)

    clock = stopwatch(where, flush=False)

    def seconds(before: Callable) -> float:
        before()
        return clock(x.sum, ())

    def touch() -> None:
        x.sum()
        if where.type == "cuda":
            torch.cuda._sleep(400_000)  # as the sweep does: launched while the GPU is busy

    wrong, right = (
        float(np.median(repeat(lambda b=b: seconds(b), where, budget)))
        for b in (touch, lambda: scrap.add_(1))
    )
    ways = "input in the cache from the last call", "caches swept before each call"
    return Mistake("cached inputs", *ways, wrong, right)


def threads(device: str = "cpu", n: int = 1024, budget: int | float = 0.5) -> Mistake:
    """A time on all the processor's threads, not said so, beside one on a single thread.

    Raises ValueError for another device than the CPU.
    """
    _checks.finite("budget", budget, least=0)
    where, n = chosen(device, "n", n)
    if where.type != "cpu":
        raise ValueError(f"device must be the CPU, whose threads are counted, got {where}")
    a = matrix(where, n)
    before, everyone = torch.get_num_threads(), os.cpu_count() or 1
    try:
        found = []
        for count in (everyone, 1):
            torch.set_num_threads(count)
            found.append(bench(torch.mm, a, a, budget=budget).p50)
    finally:
        torch.set_num_threads(before)
    return Mistake("threads", f"all threads ({everyone})", "one thread", found[0], found[1])
