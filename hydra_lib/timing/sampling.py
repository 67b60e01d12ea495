"""A stopwatch for functions: wait for the device that works, repeat until the spread is known."""

import math
import time
from collections.abc import Callable

import numpy as np
import torch

from hydra_lib.timing.accuracy import leaves

__all__ = [
    "EmptyWorkloadError",
    "NothingToWaitForError",
    "device_of",
    "first_call",
    "quantiles",
    "sample",
    "spread",
    "stopwatch",
]

# The spread that ends sampling: ratios are shown to two decimals. Half of it would take four times
# as many rounds.
PRECISION = 0.01
FLUSH_BYTES = 2**28  # above twice the last-level cache of any NVIDIA GPU of 2025


class EmptyWorkloadError(ValueError):
    """An argument or a result has no elements: there is no work to time."""


class NothingToWaitForError(TypeError):
    """No tensor, array or number came back: nothing tells where the work ran and when it ended."""


def first_call(
    name: str, fn: Callable, arguments: list | tuple, devices: set[torch.device]
) -> list:
    """Call ``fn`` once; its results' leaves. Every tensor's device is added to ``devices``.

    Raises :class:`EmptyWorkloadError` (before the call, if an argument is empty) and
    :class:`NothingToWaitForError`; both say ``name``.

    >>> first_call("square", torch.square, (torch.tensor(3.0),), set())
    [tensor(9.)]
    """
    _look_through(f"an argument of {name}", leaves(arguments), devices)
    value = fn(*arguments)
    results = leaves(value)
    if not results:
        kind = type(value).__name__
        raise NothingToWaitForError(f"{name} must return a tensor, array or number, got {kind}")
    _look_through(f"a result of {name}", results, devices)
    return results


def _look_through(what: str, values: list, devices: set[torch.device]) -> None:
    for x in values:
        if 0 in (shape := tuple(getattr(x, "shape", ()))):
            raise EmptyWorkloadError(f"{what} must have an element, got shape {shape}")
        if isinstance(x, torch.Tensor):
            devices.add(x.device)


def device_of(used: set[torch.device], asked: str | torch.device | None) -> torch.device:
    """The device to wait for: the accelerator if one was used, else the CPU.

    Raises ValueError for several accelerators, for one that is not CUDA, and for another device
    than ``asked``, unless that is None.

    >>> device_of({torch.ones(1).device}, None)
    device(type='cpu')
    """
    cpu = torch.device("cpu")
    device, *more = sorted(used - {cpu} or {cpu}, key=str)
    if more or device.type not in ("cpu", "cuda"):
        names = ", ".join(map(str, [device, *more]))
        raise ValueError(f"fn must work on the CPU or on one CUDA device, got {names}")
    wanted = torch.device(asked or device)
    if wanted.type != device.type or wanted.index not in (None, device.index):
        raise ValueError(f"device must be {device}, where it ran, got {wanted}")
    return device


def stopwatch(device: torch.device, flush: bool) -> Callable:
    """A function ``seconds(fn, arguments)`` that times one call on ``device``."""
    scrap = torch.zeros(FLUSH_BYTES // 4, device=device) if flush else None

    def seconds(fn: Callable, arguments: tuple) -> float:
        if scrap is not None:
            scrap.add_(1)  # reads and writes: a plain fill may bypass the cache
        if device.type == "cpu":
            start = time.perf_counter()
            _result = fn(*arguments)  # kept until the clock has stopped: freeing is not the work
            return time.perf_counter() - start
        with torch.cuda.device(device):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            _result = fn(*arguments)
            end.record()
            torch.cuda.synchronize()
            return begin.elapsed_time(end) / 1e3  # milliseconds

    return seconds


def spread(values: np.ndarray) -> float:
    """Half-width of the 95 % interval of the median, relative to the median.

    The interval runs between the order statistics of ranks n/2 ± (0.98 √n + ½): the normal
    approximation to the sign test with its continuity correction. It holds for independent values
    of any continuous distribution; from n = 6 on it covers at least 95 %, and for n = 5 the whole
    range covers 94 %. Source: Conover (1999), Practical Nonparametric Statistics.

    >>> spread(np.array([9.0, 10.0, 10.0, 10.0, 11.0]))
    0.1
    """
    n, ordered = len(values), np.sort(values)
    reach = 0.98 * math.sqrt(n) + 0.5
    low, high = max(0, math.floor(n / 2 - reach)), min(n, math.ceil(n / 2 + reach)) - 1
    return float((ordered[high] - ordered[low]) / 2 / np.median(values))


def quantiles(values: np.ndarray) -> tuple[float, float, float, float]:
    """The quantiles 0.2, 0.5 and 0.8 (interpolated), and the :func:`spread`.

    >>> quantiles(np.array([8.0, 9.0, 10.0, 11.0, 14.0, 16.0]))[:3]
    (9.0, 10.5, 14.0)
    """
    p20, p50, p80 = np.quantile(values, (0.2, 0.5, 0.8)).tolist()
    return p20, p50, p80, spread(values)


def sample(
    fns: list[Callable], arguments: tuple, seconds: Callable, budget: int | float
) -> np.ndarray:
    """Seconds of every call: a row for each of one or two functions, a column for each round.

    A round calls every function on the same arguments. The order turns after each round, so that
    neither function always finds what the other left in the cache. After a warm-up of ``budget`` /
    10 seconds, rounds go on until :func:`spread` of the times (of their ratio, for two) is at most
    1 %, at least 20 and for ``budget`` / 10 seconds; or until ``budget`` seconds are over, at least
    5.
    """
    start, warm = time.perf_counter(), False
    while not warm or time.perf_counter() - start < budget / 10:
        for fn in fns:
            seconds(fn, arguments)
        warm = True
    rounds: list[list[float]] = []
    look, start = 20, time.perf_counter()
    while True:
        times = [0.0] * len(fns)
        for i in sorted(range(len(fns)), reverse=len(rounds) % 2 == 1):
            times[i] = seconds(fns[i], arguments)
        rounds.append(times)
        spent = time.perf_counter() - start
        over = len(rounds) >= 5 and spent >= budget
        if over or (len(rounds) >= look and spent >= budget / 10):
            table = np.array(rounds).T
            if over or spread(table[0] / table[1] if len(fns) == 2 else table[0]) <= PRECISION:
                return table
            look = math.ceil(len(rounds) * 1.1)  # looking costs a sort
