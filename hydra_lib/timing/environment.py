"""What a measured number depends on besides the code: the machine, its settings, the date."""

import ctypes
import platform
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

import torch

from hydra_lib import _checks

__all__ = ["NoCudaError", "check_device", "environment_of", "keep_memory"]


class NoCudaError(ValueError):
    """CUDA was asked for where torch sees no CUDA device."""


def check_device(device: str | torch.device) -> torch.device:
    """The device, if it can be timed here; raises as :func:`environment_of`."""
    try:
        # torch takes numbers too, and lists a dozen devices, of which two can be timed.
        found = torch.device(device) if isinstance(device, str | torch.device) else None
    except RuntimeError:
        found = None
    if found is None or found.type not in ("cpu", "cuda"):
        raise ValueError(f"device must be cpu or cuda, got {found or _checks.shown(device)}")
    if found.type == "cuda" and (found.index or 0) >= (count := torch.cuda.device_count()):
        raise NoCudaError(
            f"device must be one of {count} CUDA devices that torch sees, got {found}"
        )
    return found


def environment_of(device: str | torch.device = "cpu") -> dict:
    """Describe ``device`` and what a time on it depends on, ready for JSON.

    ``device`` and ``cpu`` are the names of the device and of its host's processor, ``threads``
    the CPU threads torch uses, ``tf32`` whether a float32 matmul on CUDA may round its inputs to
    TF32, ``versions`` those of python, torch, its CUDA, numpy and triton (None: absent), ``date``
    the time of the call, UTC, ISO 8601.

    Raises :class:`NoCudaError` for a CUDA device where there is none, ValueError for a device
    that is neither a CPU nor CUDA.

    >>> environment_of()["versions"]["torch"] == torch.__version__
    True
    """
    device = check_device(device)
    cpu = platform.processor() or platform.machine()
    if (info := Path("/proc/cpuinfo")).exists():  # elsewhere the platform's own word must do
        lines = info.read_text().splitlines()
        cpu = next((x.partition(": ")[2] for x in lines if x.startswith("model name")), cpu)
    versions: dict[str, str | None] = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }
    for name in ("numpy", "triton"):  # asked without importing them
        found = next(iter(metadata.distributions(name=name)), None)
        versions[name] = found.version if found else None
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else cpu,
        "cpu": cpu,
        "threads": torch.get_num_threads(),
        "tf32": tf32_allowed(),
        "versions": versions,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def tf32_allowed() -> bool:
    """Whether torch's matmul may round float32 to TF32 on CUDA."""
    matmul = torch.backends.cuda.matmul
    # Since torch 2.9 the older flag cannot be read once the newer setting has been used.
    newer = getattr(matmul, "fp32_precision", None)
    return matmul.allow_tf32 if newer is None else newer == "tf32"


def keep_memory() -> None:
    """From here on this process keeps freed memory for its next call, instead of giving it back.

    Otherwise the C library returns large blocks to the system, and a call whose result is large
    fetches them anew, page by page, which counts in its time. The first calls may still do that,
    until what was freed leaves holes that are large enough. This is for the whole process, and
    cannot be undone: time what shall be as given before it.

    Raises RuntimeError where the C library is not glibc.
    """
    trim_threshold, mmap_max = -1, -4  # of malloc.h: no block of its own for a large one
    adjust = getattr(ctypes.CDLL(None), "mallopt", None) if platform.libc_ver()[0] else None
    if not (adjust and adjust(mmap_max, 0) and adjust(trim_threshold, 2**31 - 1)):
        raise RuntimeError("only glibc can be told to keep freed memory")
