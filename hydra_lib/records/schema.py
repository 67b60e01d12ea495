"""What a record holds, the same for every benchmark, and the one place that checks it.

At its top, of which the first three must be there:

``what``
    A sentence.
``environment``
    :func:`hydra_lib.timing.environment.environment_of`: the device, its settings, versions, date.
``rows``
    Dictionaries, each with a ``group``: what the row was measured for.
``ceilings``
    By name, the ``copy`` and the ``matmul`` of :class:`hydra_lib.timing.roofline.Ceilings`.
``checks``, ``mistakes``, ``missing``
    What was verified before, what was measured wrong on purpose, what was not measured and why.
``settings``
    What was fixed for all rows.

Units are SI (seconds, bytes), rates are left to the reader, and null is what was not measured.

A row with a ``kernel`` is a timing. It is flat, and has all of these fields:

``group``, ``kernel``, ``dtype``, ``pass``
    What was measured; ``pass`` is "forward" or "forward+backward".
``p20``, ``p50``, ``p80``, ``samples``
    Quantiles of the seconds of one call, and of how many calls.
``flops``, ``bytes``
    What one call needs, as counted by the benchmark.
``reference``, ``ratio``, ``ratio_p20``, ``ratio_p80``
    The kernel it was paired with, whose own row stands in the same group, and quantiles of that
    one's time over this one's: above 1 this one is faster.
``spread``
    Relative half-width of the 95 % interval of the ratio's median, or of the time's; of fewer than
    six samples that of their range.
``error``
    Relative error against float64, as found before it was timed: the largest of what the
    benchmark compares, which need not be all of the result.
``peak_bytes``
    Most CUDA memory held beside the inputs.

and of the sizes those that apply: ``B``, ``h``, ``T``, ``head_dim``, ``d_model``; ``m``, ``k``,
``n`` of a product (m, k) x (k, n), or ``n`` alone where all are n; ``levels`` of Strassen's
recursion. Any other row has fields of its own.
"""

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

from hydra_lib import _checks

__all__ = ["SIZES", "check"]

SIZES = ("B", "h", "T", "head_dim", "d_model", "m", "k", "n", "levels")
"""The sizes that a timed row may have.

:meta hide-value:
"""


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _date(value: Any) -> bool:
    try:
        return bool(datetime.fromisoformat(value))
    except (TypeError, ValueError):
        return False


# What a field is expected to be, in words, and whether a value is that.
_KINDS: dict[str, Callable[[Any], bool]] = {
    "a text": lambda value: isinstance(value, str) and value != "",
    "a list": lambda value: isinstance(value, list),
    "a dictionary": lambda value: isinstance(value, dict) and value != {},
    "true or false": lambda value: isinstance(value, bool),
    "a number above 0": lambda value: _number(value) and value > 0,
    "a number of at least 0": lambda value: _number(value) and value >= 0,
    "an integer above 0": lambda value: type(value) is int and value > 0,
    "an integer of at least 0": lambda value: type(value) is int and value >= 0,
    "forward or forward+backward": lambda value: value in ("forward", "forward+backward"),
    "an ISO 8601 date": _date,
}
_NULL = " or null"
_TOP = {"what": "a text", "environment": "a dictionary", "rows": "a list"}
_MORE = dict.fromkeys(("ceilings", "settings"), "a dictionary")
_MORE |= dict.fromkeys(("checks", "mistakes", "missing"), "a list")
_ENVIRONMENT = {
    **dict.fromkeys(("device", "cpu"), "a text"),
    "threads": "an integer above 0" + _NULL,
    "tf32": "true or false" + _NULL,
    "versions": "a dictionary",
    "date": "an ISO 8601 date",
}
_CEILINGS = dict.fromkeys(("copy", "matmul"), "a dictionary")
_TIMING = {
    "dtype": "a text",
    "p20": "a number above 0" + _NULL,
    "p50": "a number above 0",
    "p80": "a number above 0" + _NULL,
    "samples": "an integer above 0" + _NULL,
    **dict.fromkeys(("flops", "bytes", "spread"), "a number of at least 0" + _NULL),
}
_TIMED = {
    **dict.fromkeys(("group", "kernel"), "a text"),
    "pass": "forward or forward+backward",
    **_TIMING,
    "reference": "a text" + _NULL,
    **dict.fromkeys(("ratio", "ratio_p20", "ratio_p80"), "a number above 0" + _NULL),
    **dict.fromkeys(("error", "peak_bytes"), "a number of at least 0" + _NULL),
}
_SIZES = dict.fromkeys(SIZES, "an integer above 0") | {"levels": "an integer of at least 0"}


def check(record: Any, name: str = "record") -> None:
    """Raise ValueError unless ``record`` is one; the error says where, what was expected and came.

    ``name`` is what the error calls it.

    >>> check({"what": "Nothing.", "environment": {}, "rows": []})
    Traceback (most recent call last):
    ValueError: record: environment must be a dictionary, got {}
    """
    _checks.instance("name", name, str)
    _fields(name, record, _TOP, _MORE)
    _fields(f"{name}: environment", record["environment"], _ENVIRONMENT, {})
    for key, both in record.get("ceilings", {}).items():
        where = f"{name}: ceilings, {key}"
        _fields(where, both, _CEILINGS, {})
        for kind, counted in (("copy", "bytes"), ("matmul", "flops")):
            needed = _TIMING | {"flush": "true or false", counted: "a number above 0"}
            _fields(f"{where}, {kind}", both[kind], needed, {})
            _ordered(f"{where}, {kind}", both[kind], "p20", "p50", "p80")
    kernels = set()
    for i, row in enumerate(record["rows"]):
        where = f"{name}: row {i}"
        _fields(where, row, {"group": "a text"})
        if "kernel" in row or "p50" in row:
            _fields(where, row, _TIMED, _SIZES)
            _ordered(where, row, "p20", "p50", "p80")
            _ordered(where, row, "ratio_p20", "ratio", "ratio_p80")
            kernels.add(_place(row, row["kernel"]))
    for i, row in enumerate(record["rows"]):
        if "kernel" in row:
            reference, ratio = row["reference"], row["ratio"]
            if (reference is None) != (ratio is None):
                expected = "reference and ratio must both be there or both be null"
                raise ValueError(f"{name}: row {i}: {expected}, got {reference!r} and {ratio}")
            if reference is not None and _place(row, reference) not in kernels:
                expected = "reference must be a kernel with a row of this group and size"
                raise ValueError(f"{name}: row {i}: {expected}, got {reference!r}")


def _fields(where: str, value: object, needed: dict, more: dict | None = None) -> None:
    """A dictionary with the fields ``needed``, and of others only ``more`` (None: any)."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be a dictionary, got {_checks.shown(value)}")
    if lacks := [key for key in needed if key not in value]:
        has = ", ".join(map(str, value)) or "none"
        raise ValueError(f"{where} must have {', '.join(lacks)}, got {has}")
    kinds = needed | (more or {})
    if more is not None and (unknown := [key for key in value if key not in kinds]):
        has = ", ".join(map(str, unknown))
        raise ValueError(f"{where} must have only {', '.join(kinds)}, got {has}")
    for key in value.keys() & kinds.keys():
        kind = kinds[key].removesuffix(_NULL)
        null = value[key] is None and kind != kinds[key]
        if not (null or _KINDS[kind](value[key])):
            got = _checks.shown(value[key])
            raise ValueError(f"{where}: {key} must be {kinds[key]}, got {got}")


def _ordered(where: str, row: dict, *keys: str) -> None:
    found = [row[key] for key in keys if row[key] is not None]
    if found != sorted(found):
        raise ValueError(f"{where} must have {' ≤ '.join(keys)}, got {found}")


def _place(row: dict, kernel: str) -> tuple:
    """What a pair has in common; levels are the kernel's own."""
    sizes = [row.get(key) for key in SIZES if key != "levels"]
    return kernel, row["group"], row["pass"], row["dtype"], *sizes


def machine(environment: dict) -> str:
    """The device, and for a processor how many threads torch used, where that is known."""
    device, threads = environment["device"], environment["threads"]
    if device != environment["cpu"] or threads is None:
        return device
    return f"{device}, {threads} thread{'s' * (threads > 1)}"
