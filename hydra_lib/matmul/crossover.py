"""When Strassen's algorithm pays: the recursion depth, from crossovers that were measured."""

import functools
import math

import torch

from hydra_lib import _checks
from hydra_lib.matmul.blas import libraries
from hydra_lib.records import record

__all__ = ["choose_levels"]


def choose_levels(
    m: int, k: int, n: int, dtype: torch.dtype, device: torch.device, library: str = "torch"
) -> int:
    """Recursion depth for a product of (m, k) with (k, n): halve as long as that pays.

    That is while the smallest side is at least the crossover, or less than a 64th of itself below
    it: the smallest side tried from which on one level was no slower than none. Where 2^L does not
    divide a side, a strip must be peeled off, and the smallest side must be at least a second
    crossover, that of odd sides, for any halving. Both are what ``benchmarks/strassen.py`` measured
    on square matrices of this dtype on this kind of device, with blocks multiplied by this
    ``library`` on one thread, and wrote to the record ``strassen``. Where nothing was measured, or
    no gain, the depth is 0. More threads speed up the products but hardly the additions, which wait
    for memory, so crossovers are taken in proportion to their number.

    Raises ValueError for sides that are no integers or negative and for a ``library`` that is none
    of :func:`hydra_lib.matmul.blas.libraries`, TypeError for anything but torch's dtypes and
    devices.

    >>> choose_levels(64, 64, 64, torch.float32, torch.device("cpu"))
    0
    """
    m, k, n = (_checks.integer(*side, 0) for side in (("m", m), ("k", k), ("n", n)))
    _checks.instance("dtype", dtype, torch.dtype)
    _checks.instance("device", device, torch.device)
    _checks.one_of("library", library, libraries())
    return levels_of_checked(m, k, n, dtype, device, library)


def levels_of_checked(
    m: int, k: int, n: int, dtype: torch.dtype, device: torch.device, library: str
) -> int:
    """The same for arguments that need no check, which beside a small product takes its time."""
    kind = str(dtype)[len("torch.") :]
    crossover = _measured().get(device.type, {}).get(library, {}).get(kind, {})
    if "whole" not in crossover:
        return 0
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    # Crossovers are from a coarse row of sides: what is hardly smaller than one is as large.
    smallest, levels = min(m, k, n) * (1 + 1 / 64) / threads, 0
    while smallest >= crossover["whole"] << levels:
        levels += 1
    if levels and any(side % (1 << levels) for side in (m, k, n)):
        return levels if smallest >= crossover.get("peeled", math.inf) else 0
    return levels


@functools.cache
def _measured() -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    found = record("strassen")
    return found["settings"]["crossover"] if found else {}
