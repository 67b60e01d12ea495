"""The roofline: how fast a computation could be, from two measured ceilings."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from hydra_lib import _checks
from hydra_lib.records import check
from hydra_lib.timing.environment import check_device
from hydra_lib.timing.measurement import Timing, bench

__all__ = ["Ceilings", "ceilings_of", "measure_ceilings", "place"]

# Bytes to copy, far more than the caches hold, and the side of the matmul.
CPU_SIZES = (2**28, 2048)
CUDA_SIZES = (2**30, 8192)


@dataclass(frozen=True)
class Ceilings:
    """The fastest copy and the fastest square matmul that were measured on one device."""

    copy: Timing
    matmul: Timing

    def as_record(self) -> dict:
        """Both timings, ready for a record, at whose top the machine stands once for all."""
        both = asdict(self)
        for timing in both.values():
            del timing["environment"]
        return both


def ceilings_of(record: dict) -> dict[str, Ceilings]:
    """The measured ceilings of a record by dtype, for :func:`place`; {} where there are none.

    Raises ValueError as :func:`hydra_lib.records.check`.
    """
    check(record)
    about, kinds = {"environment": record["environment"]}, ("copy", "matmul")
    return {
        name: Ceilings(*(Timing(**both[kind], **about) for kind in kinds))
        for name, both in record.get("ceilings", {}).items()
    }


def measure_ceilings(
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    budget: int | float = 1.0,
) -> Ceilings:
    """Time a copy of ``dtype`` memory far larger than the caches, and a large square matmul.

    The copy moves 2 × 256 MiB on a CPU, 2 × 1 GiB on CUDA, read once and written once; the matmul
    is n × n with n = 2048 or 8192, ``2 n³`` FLOPs, on a CPU the faster of torch's and NumPy's. Each
    gets ``budget`` seconds, see :func:`hydra_lib.timing.measurement.bench`, and at least a few
    calls: on a CPU without instructions for 16-bit products those take minutes. A float32 matmul
    is measured with TF32 as it is set.

    Raises :class:`hydra_lib.timing.environment.NoCudaError` for CUDA where there is none,
    TypeError for a dtype that is not floating or has fewer than 16 bits.
    """
    _checks.floating_dtype("dtype", dtype)
    _checks.finite("budget", budget, least=0)
    size, n = CUDA_SIZES if check_device(device).type == "cuda" else CPU_SIZES
    source = torch.ones(size // dtype.itemsize, dtype=dtype, device=device)
    copy = bench(torch.empty_like(source).copy_, source, bytes=2 * size, budget=budget)
    # Random entries: a GPU clocks higher on constant ones, which switch fewer transistors.
    generator = torch.Generator(device).manual_seed(0)
    a, b = (torch.randn(n, n, generator=generator, device=device).to(dtype) for _ in range(2))
    out = torch.empty_like(a)
    how: dict[str, Any] = {"flops": 2 * n**3, "budget": budget}
    products = [bench(lambda a, b: torch.mm(a, b, out=out), a, b, **how)]
    if out.device.type == "cpu" and dtype in (torch.float32, torch.float64):
        # NumPy may bring another BLAS than torch: a ceiling is the better of the two.
        into = out.numpy()
        arrays = (a.numpy(), b.numpy())
        products.append(bench(lambda a, b: np.matmul(a, b, out=into), *arrays, **how))
    return Ceilings(copy, min(products, key=lambda product: product.p50))


def place(ceilings: Ceilings, flops: int | float, bytes: int | float, seconds: float) -> dict:
    """Where ``flops`` operations on ``bytes`` bytes in ``seconds`` stand under the ceilings.

    The roof over an intensity I = flops / bytes is ``min(peak, I × bandwidth)``, so the least
    time is ``max(flops / peak, bytes / bandwidth)`` and the larger term is the bound.

    Returns ``intensity`` (FLOP/byte), ``ridge`` (the intensity where the ceilings meet),
    ``bound`` ("memory" or "compute"), ``least_seconds``, and ``share`` of the roof reached
    (above 1: the caches helped, or the count is wrong). Source: Williams, Waterman and Patterson
    (2009), Roofline.

    Raises ValueError unless they are finite, bytes > 0, seconds > 0 and flops ≥ 0.
    """
    _checks.instance("ceilings", ceilings, Ceilings)
    flops, bytes = _checks.finite("flops", flops), _checks.finite("bytes", bytes)
    seconds = _checks.finite("seconds", seconds)
    if not (bytes > 0 and seconds > 0 and flops >= 0):
        got = f"flops={flops}, bytes={bytes}, seconds={seconds}"
        raise ValueError(f"bytes and seconds must be positive, flops not negative: got {got}")
    if ceilings.matmul.flops is None or ceilings.copy.bytes is None:
        raise ValueError("ceilings must have counted the matmul's flops and the copy's bytes")
    peak = ceilings.matmul.flops / ceilings.matmul.p50
    bandwidth = ceilings.copy.bytes / ceilings.copy.p50
    moving, computing = bytes / bandwidth, flops / peak
    return {
        "intensity": flops / bytes,
        "ridge": peak / bandwidth,
        "bound": "memory" if moving > computing else "compute",
        "least_seconds": max(moving, computing),
        "share": max(moving, computing) / seconds,
    }
