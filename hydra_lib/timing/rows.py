"""A measured attention as one row of a record, the same on every device.

A row is flat, so that a table, a chart or a widget can filter it:

``group``, ``kernel``
    What the measurement is for, and what was measured.
``B``, ``h``, ``T``, ``head_dim``, ``dtype``, ``pass``
    The size; ``pass`` is "forward" or "forward+backward".
``p20``, ``p50``, ``p80``, ``unit``
    Quantiles of the time of one call, in seconds.
``flops``, ``bytes``, ``tflop_per_s``, ``gb_per_s``
    What the call needs (:class:`hydra_lib.timing.sizes.AttentionSize`), and that over the median
    time.
``reference``, ``ratio``, ``spread``
    Time of the reference over this kernel's, in pairs: above 1 this one is faster. None without a
    reference; a kernel that was measured against two has two rows. ``spread`` is the relative
    half-width of the 95 % interval of that ratio's median, or of the time's.
``error``
    Largest relative error against float64.
``peak_bytes``
    Most CUDA memory held beside the inputs; None on a CPU.
"""

import json
import re
from pathlib import Path

from hydra_lib.timing.measurement import Comparison, Timing
from hydra_lib.timing.roofline import Ceilings
from hydra_lib.timing.sizes import AttentionSize

__all__ = ["ceilings_of", "file_name", "rounded", "row", "write"]

_RATES = ("flops", "bytes", "tflop_per_s", "gb_per_s")


def row(
    group: str,
    kernel: str,
    size: AttentionSize | None,
    timing: Timing,
    error: float,
    *,
    backward: bool = False,
    reference: str | None = None,
    pair: Comparison | None = None,
    peak_bytes: int | None = None,
) -> dict:
    """One row, as described at the top of this module, floats to four digits.

    ``pair`` is the comparison with the kernel named ``reference``. A ``size`` of None
    leaves the four sizes None: what was measured is no attention.
    """
    return rounded(
        {
            "group": group,
            "kernel": kernel,
            **{name: getattr(size, name, None) for name in ("B", "h", "T", "head_dim")},
            "dtype": timing.dtype.partition(",")[0],
            "pass": "forward+backward" if backward else "forward",
            **{name: getattr(timing, name) for name in ("p20", "p50", "p80")},
            "unit": "s",
            **{name: getattr(timing, name) for name in _RATES},
            "reference": reference,
            "ratio": pair and pair.p50,
            "spread": (pair or timing).spread,
            "error": error,
            "peak_bytes": peak_bytes,
        }
    )


def ceilings_of(record: dict) -> dict[str, Ceilings]:
    """The measured ceilings of a record by dtype, for :func:`hydra_lib.timing.roofline.place`."""
    found = {}
    for name, both in record["ceilings"].items():
        timings = {
            key: Timing(
                **{k: v for k, v in one.items() if k in Timing.__dataclass_fields__},
                environment=record["environment"],
            )
            for key, one in both.items()
        }
        found[name] = Ceilings(**timings)
    return found


def file_name(device: str) -> str:
    """The name of a GPU's record, from the name of the device.

    >>> file_name("NVIDIA H200")
    'gpu-nvidia-h200.json'
    """
    return f"gpu-{re.sub('[^a-z0-9]+', '-', device.lower()).strip('-')}.json"


def rounded(value: object) -> object:
    """Floats to four significant digits, in nested dictionaries, lists and tuples too.

    >>> rounded({"p50": 0.123456, "h": 12})
    {'p50': 0.1235, 'h': 12}
    """
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(v) for v in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def write(record: dict, path: Path) -> None:
    """Write a record as JSON, one line for every entry of a list at its top.

    The old file stays until the new one is complete.
    """
    lines = []
    for key, value in record.items():
        text = _text(value)
        if isinstance(value, list) and value:
            inner = ",\n".join(map(_text, value))
            text = f"[\n{inner}\n]"
        lines.append(f"{json.dumps(key)}: {text}")
    new = path.with_suffix(".new")
    new.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    new.replace(path)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
