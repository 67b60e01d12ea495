"""Timings as rows of a record: :mod:`hydra_lib.records.schema` says what the fields mean."""

from hydra_lib import _checks
from hydra_lib.timing.measurement import Comparison, Timing

__all__ = ["pair_rows", "row"]


def row(
    group: str,
    kernel: str,
    sizes: dict[str, int],
    timing: Timing,
    error: float | None = None,
    *,
    backward: bool = False,
) -> dict:
    """What was timed alone, as one row; ``sizes`` by the names of the axes.

    A record takes those of ``hydra_lib.records.SIZES``.

    Raises TypeError for a ``group`` or ``kernel`` that is no text, ``sizes`` that are no dictionary
    and a ``timing`` that is none; ValueError for a size that is not an integer of at least 0.
    """
    for argument, value in (("group", group), ("kernel", kernel)):
        _checks.instance(argument, value, str)
    _checks.instance("sizes", sizes, dict)
    sizes = {name: _checks.integer(name, size, least=0) for name, size in sizes.items()}
    _checks.instance("timing", timing, Timing)
    _checks.flag("backward", backward)
    return {
        "group": group,
        "kernel": kernel,
        **sizes,
        "dtype": timing.dtype,
        "pass": "forward+backward" if backward else "forward",
        **{n: getattr(timing, n) for n in ("p20", "p50", "p80", "samples", "flops", "bytes")},
        **dict.fromkeys(("reference", "ratio", "ratio_p20", "ratio_p80")),
        "spread": timing.spread,
        "error": error,
        "peak_bytes": None,
    }


def pair_rows(
    group: str,
    kernels: tuple[str, str],
    sizes: dict[str, int],
    pair: Comparison,
    *,
    backward: bool = False,
) -> list[dict]:
    """What was timed in pairs, as two rows: the reference's, and the candidate's with the ratio.

    Raises as :func:`row`, ValueError for other than two ``kernels``, and TypeError for a ``pair``
    that is none.
    """
    _checks.instance("pair", pair, Comparison)
    if not isinstance(kernels, tuple) or [*map(type, kernels)] != [str, str]:
        raise ValueError(f"kernels must be a tuple of two names, got {_checks.shown(kernels)}")
    timings = (pair.reference, pair.candidate)
    errors = (pair.reference_error, pair.candidate_error)
    both = zip(kernels, timings, errors, strict=True)
    first, second = (
        row(group, kernel, sizes, timing, error, backward=backward)
        for kernel, timing, error in both
    )
    second |= {"reference": kernels[0], "ratio": pair.p50, "spread": pair.spread}
    second |= {"ratio_p20": pair.p20, "ratio_p80": pair.p80}
    return [first, second]
