"""What a mistake reports beside the truth, and the plain clock with which it is made."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from hydra_lib import _checks
from hydra_lib.timing.environment import check_device

__all__ = ["Mistake", "chosen", "matrix", "repeat", "since"]


@dataclass(frozen=True)
class Mistake:
    """What a mistake reports and what is true, in seconds or as a ratio of two times.

    ``wrong_way`` and ``right_way`` say what was done, ``more`` holds further numbers.
    """

    name: str
    wrong_way: str
    right_way: str
    wrong: float
    right: float
    unit: str = "s"
    more: dict = field(default_factory=dict)

    @property
    def factor(self) -> float:
        """The wrong number over the right one."""
        return self.wrong / self.right


def chosen(device: str | torch.device, name: str, value: int | None, *usual: int) -> tuple:
    """The device, and a positive integer: unless given, what is usual on the CPU, and on CUDA."""
    where = check_device(device)
    if value is None:
        value = usual[where.type == "cuda"]
    return where, _checks.integer(name, value)


def matrix(device: torch.device, n: int) -> torch.Tensor:
    """A normal (n, n) matrix."""
    generator = torch.Generator(device).manual_seed(0)
    return torch.randn(n, n, generator=generator, device=device)


def since(fn: Callable) -> float:
    """Seconds of one call, by the clock on the wall and nothing else."""
    start = time.perf_counter()
    _result = fn()
    return time.perf_counter() - start


def repeat(once: Callable, device: torch.device, budget: int | float) -> list:
    """What ``once`` returns, call after call for ``budget`` seconds; two calls before to warm up.

    On CUDA nothing is left waiting from one call to the next.
    """
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    found: list = []
    start = time.perf_counter()
    while len(found) < 7 or time.perf_counter() - start < budget:
        wait()
        found.append(once())
        wait()
    return found[2:]
