"""Mistakes with the clock: when it is read, and how often."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import torch

from hydra_lib import _checks
from hydra_lib.timing.measurement import bench
from hydra_lib.timing.mistakes._mistake import Mistake, chosen, matrix, repeat, since
from hydra_lib.timing.sampling import stopwatch

__all__ = ["cold_start", "no_synchronize", "one_sample", "unpaired"]


def no_synchronize(device: str = "cpu", n: int | None = None, budget: int | float = 0.5) -> Mistake:
    """A clock stopped when a product is launched, not when it is done.

    On the CPU nothing is launched; a stand-in hands the product to another thread, as a kernel is
    handed to the GPU, and stops the clock before it has an answer.
    """
    _checks.finite("budget", budget, least=0)
    where, n = chosen(device, "n", n, 512, 4096)
    a = matrix(where, n)
    out = torch.empty_like(a)
    if where.type == "cuda":
        waiting = repeat(lambda: since(lambda: torch.mm(a, a, out=out)), where, budget)
        right = bench(lambda a: torch.mm(a, a, out=out), a, device=device, budget=budget).p50
        return Mistake(
            "no synchronize",
            "clock around the call",
            "events around the work, waited for",
            float(np.median(waiting)),
            right,
        )
    with ThreadPoolExecutor(1) as pool:

        def handed_over() -> tuple[float, float]:
            start = time.perf_counter()
            future = pool.submit(torch.mm, a, a, out=out)
            launched = time.perf_counter() - start
            future.result()
            return launched, time.perf_counter() - start

        times = np.median(repeat(handed_over, where, budget), axis=0)
    return Mistake(
        "no synchronize",
        "stand-in: stopped when another thread has the work",
        "clock stopped when the result is there",
        *times.tolist(),
    )


_FRESH = """
import json, sys, time, torch
device, n, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(threads)
wait = torch.cuda.synchronize if device != "cpu" else lambda: None
a, times = torch.ones(n, n, device=device), []
wait()
for _ in range(21):
    start = time.perf_counter()
    torch.mm(a, a)
    wait()
    times.append(time.perf_counter() - start)
print(json.dumps(times))
"""


def cold_start(device: str = "cpu", n: int | None = None) -> Mistake:
    """The first product of a new Python process, which also loads and sets up the library."""
    where, n = chosen(device, "n", n, 256, 2048)
    command = [sys.executable, "-c", _FRESH, str(where), str(n), str(torch.get_num_threads())]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    first, *rest = json.loads(done.stdout.splitlines()[-1])
    ways = "the first call of a process", "the median of the next 20"
    return Mistake("cold start", *ways, first, float(np.median(rest)))


def one_sample(device: str = "cpu", n: int | None = None, blocks: int = 20) -> Mistake:
    """A function compared with itself: by one sample of either, and by medians of 20.

    The true ratio is 1. Reported is how far off, turned above 1, at least one comparison in ten is.
    """
    (where, n), blocks = chosen(device, "n", n, 192, 2048), _checks.integer("blocks", blocks)
    a, b = (times.reshape(blocks, 20) for times in _pairs(where, n, 20 * blocks))
    single, medians = a / b, np.median(a, 1) / np.median(b, 1)
    wrong, right = (float(np.exp(np.quantile(np.abs(np.log(r)), 0.9))) for r in (single, medians))
    ways = "one sample of either; one in ten is off by", "medians of 20; one in ten is off by"
    return Mistake("one sample", *ways, wrong, right, unit="ratio")


_NEIGHBOUR = """
import sys
gpu = sys.argv[1] != "cpu"
if gpu:
    import torch
    a = torch.ones(4096, 4096, device=sys.argv[1])
print("here", flush=True)
while True:
    if gpu:
        a @ a
        torch.cuda.synchronize()
"""


@contextmanager
def neighbours(device: torch.device) -> Iterator[None]:
    """Other programs that keep the device busy: one on a GPU, one for every core of a CPU."""
    count = (os.cpu_count() or 1) if device.type == "cpu" else 1
    command = [sys.executable, "-c", _NEIGHBOUR, str(device)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for one in running:
            one.stdout.readline()  # type: ignore[union-attr]  # a pipe; until it is at work
        yield
    finally:
        for one in running:
            one.kill()
            one.communicate()


def unpaired(device: str = "cpu", n: int | None = None, rounds: int = 25) -> Mistake:
    """A function compared with itself, while between two runs a neighbour moves in.

    The true ratio is 1. ``wrong``: the median of the second run over that of the first; ``right``:
    the median ratio of neighbouring calls in both, turned above 1. Both come from the same samples.
    """
    # Long enough to be interrupted: of short calls most fit between two turns of a neighbour.
    (where, n), rounds = chosen(device, "n", n, 768, 2048), _checks.integer("rounds", rounds)
    first = _pairs(where, n, rounds)
    with neighbours(where):
        second = _pairs(where, n, rounds)
    a, b = np.concatenate([first, second], 1)
    wrong = float(np.median(second[1]) / np.median(first[0]))
    right = float(np.exp(abs(np.log(np.median(a / b)))))
    ways = "medians of two runs, a neighbour came between", "median ratio of neighbouring calls"
    return Mistake("unpaired", *ways, wrong, right, unit="ratio")


def _pairs(device: torch.device, n: int, count: int) -> np.ndarray:
    """Times of one product, measured in pairs: two rows."""
    a, seconds = matrix(device, n), stopwatch(device, flush=False)
    return np.array([[seconds(torch.mm, (a, a)) for _ in range(2)] for _ in range(count + 5)])[5:].T
