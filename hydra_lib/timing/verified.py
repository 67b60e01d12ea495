"""Kernels for attention, verified and timed: what becomes a row of a record."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch

from hydra_lib import _checks
from hydra_lib.timing.accuracy import FailedCheckError, relative_error
from hydra_lib.timing.exact import exact_attention, exact_gradients, forward_and_backward, row_error
from hydra_lib.timing.ladder import LADDER, Rung, refusal
from hydra_lib.timing.measurement import bench, check_options, compare
from hydra_lib.timing.memory import peak_bytes
from hydra_lib.timing.rows import pair_rows, row
from hydra_lib.timing.sizes import AttentionSize

__all__ = ["climb", "measure", "measure_pair", "tolerance", "verify"]

REFERENCE = "all heads at once"  # of the ladder: torch's plain operations, which run on any device


def measure(
    group: str,
    kernel: Rung,
    size: AttentionSize,
    dtype: torch.dtype,
    device: str | torch.device = "cpu",
    *,
    backward: bool = False,
    flush: bool = False,
    budget: int | float = 1.0,
) -> dict:
    """Check one kernel against float64, then time it alone: one row.

    ``flush`` and ``budget`` as in :func:`hydra_lib.timing.measurement.bench`.

    Raises :class:`hydra_lib.timing.accuracy.FailedCheckError` for a wrong kernel; TypeError for a
    ``kernel`` or ``size`` that is none; and what the kernel and ``bench`` raise.
    """
    how: dict[str, Any] = {"flush": flush, "budget": budget}
    check_options({}, device=device, **how)
    tensors, exact = _prepare(group, {"kernel": kernel}, size, dtype, device, backward)
    call = forward_and_backward(kernel.attend) if backward else kernel.attend
    error = verify(kernel.name, call(*tensors), exact, dtype)
    counts = _counts(kernel, size, dtype, backward)
    del exact  # it would hold memory while the kernel is timed
    timing = bench(call, *tensors, device=device, **counts, **how)
    found = row(group, kernel.name, asdict(size), timing, error, backward=backward)
    return found | {"peak_bytes": _peak(call, tensors)}


def measure_pair(
    group: str,
    reference: Rung,
    candidate: Rung,
    size: AttentionSize,
    dtype: torch.dtype,
    device: str | torch.device = "cpu",
    *,
    backward: bool = False,
    tensors: tuple | None = None,
    flush: bool = False,
    budget: int | float = 2.0,
) -> tuple[dict, dict]:
    """Check two kernels against float64, then time them in pairs: two rows, the reference's first.

    ``tensors`` (q, k, v, gradient) stand in for those of ``size``, if given; ``flush`` and
    ``budget`` as in :func:`hydra_lib.timing.measurement.compare`. Raises as :func:`measure`.
    """
    how: dict[str, Any] = {"flush": flush, "budget": budget}
    check_options({}, device=device, **how)
    both = (reference, candidate)
    kernels = {"reference": reference, "candidate": candidate}
    tensors, exact = _prepare(group, kernels, size, dtype, device, backward, tensors)
    calls = [forward_and_backward(k.attend) if backward else k.attend for k in both]
    for kernel, call in zip(both, calls, strict=True):
        verify(kernel.name, call(*tensors), exact, dtype)
    answer = [exact]

    def known(*_: object) -> object:
        return answer.pop()  # asked for once, and not kept while the kernels are timed

    del exact
    how |= {"exact": known, "tolerance": tolerance(dtype), "device": device}
    found = compare(calls[0], calls[1], tensors, **how)
    first, second = rows = pair_rows(
        group, (reference.name, candidate.name), asdict(size), found, backward=backward
    )
    for one, kernel, call in zip(rows, both, calls, strict=True):
        one |= _counts(kernel, size, dtype, backward) | {"peak_bytes": _peak(call, tensors)}
    return first, second


def climb(
    size: AttentionSize,
    dtype: torch.dtype,
    device: str | torch.device = "cpu",
    *,
    backward: bool = False,
    flush: bool = False,
    budget: int | float = 2.0,
) -> tuple[list[dict], list[dict]]:
    """The whole ladder at one size: a row for each rung that runs there.

    All are timed in pairs with one, "all heads at once". The second list says why others were left
    out: ``{"group", "what", "reason"}``. A rung that is wrong is among them, and one whose backward
    pass fails. ``flush`` and ``budget`` are as for :func:`measure_pair`.

    Raises ValueError for a size at which that one does not run.
    """
    _checks.instance("size", size, AttentionSize)
    _checks.flag("backward", backward)
    how: dict[str, Any] = {"flush": flush, "budget": budget}
    check_options({}, device=device, **how)
    *heads, _ = size.tensors(dtype, device)
    heads = [x.detach().requires_grad_(backward) for x in heads]
    reasons = {name: refusal(name, *heads) for name in LADDER}
    del heads
    if why := reasons[REFERENCE]:
        raise ValueError(f"size must let {REFERENCE!r} run, got {size}: {why}")
    options = {"backward": backward, **how}
    rows, references = [], []
    for name in [n for n in LADDER if n != REFERENCE and reasons[n] is None]:
        pair = (LADDER[REFERENCE], LADDER[name])
        try:
            first, second = measure_pair("ladder", *pair, size, dtype, device, **options)
        except (FailedCheckError, RuntimeError) as error:  # RuntimeError: torch's own
            reasons[name] = str(error).partition("\n")[0]
        else:
            references.append(first)
            rows.append(second)
    if not references:
        references = [measure("ladder", LADDER[REFERENCE], size, dtype, device, **options)]
    # The reference took part in every pair; of its rows the one in the middle stands for all.
    rows.append(sorted(references, key=lambda r: r["p50"])[len(references) // 2])
    rows.sort(key=lambda r: list(LADDER).index(r["kernel"]))
    about = f"B={size.B} h={size.h} T={size.T} head_dim={size.head_dim}"
    about += ", forward+backward" if backward else ""
    refused = [
        {"group": "ladder", "what": f"{name}, {about}", "reason": reason}
        for name, reason in reasons.items()
        if reason is not None
    ]
    return rows, refused


def tolerance(dtype: torch.dtype, of_query: bool = False) -> float:
    """Largest error that rounding explains in attention and its gradients: 8 ε, in float32 128 ε.

    Narrower types round the weights as well, but their sums run in float32. ``of_query``: in a row
    of the gradient of a query 64 ε of a narrower type. Kernels take Σ dO·O from the output as it
    was rounded, and subtract it, where one weight is nearly 1, from a number nearly equal to it.

    >>> tolerance(torch.bfloat16), tolerance(torch.bfloat16, of_query=True)
    (0.0625, 0.5)
    """
    eps = torch.finfo(dtype).eps
    return 128 * eps if eps < 2**-20 else (64 if of_query else 8) * eps


def verify(name: str, results: object, exact: object, dtype: torch.dtype) -> float:
    """The largest relative error of tensors whose every row is right; otherwise an error.

    A tuple holds the output, then the gradients of q, k and v. Raises
    :class:`hydra_lib.timing.accuracy.FailedCheckError` for a row that is off by more than
    :func:`tolerance`, see :func:`hydra_lib.timing.exact.row_error`.
    """
    results, exact = (x if isinstance(x, tuple) else (x,) for x in (results, exact))
    for i, (result, truth) in enumerate(zip(results, exact, strict=True)):
        allowed = tolerance(dtype, of_query=i == 1)
        if not (worst := row_error(result, truth)) <= allowed:  # NaN fails too
            off = f"a row is off by {worst:.2e}, allowed {allowed:.2e}"
            raise FailedCheckError(f"{name} is wrong: {off}")
    return max(relative_error(x, y) for x, y in zip(results, exact, strict=True))


def _prepare(
    group, kernels: dict, size, dtype, device, backward: bool, tensors: tuple | None = None
) -> tuple:
    """The arguments of a call, and what it must return; refuse what cannot be measured."""
    _checks.instance("group", group, str)
    for name, kernel in kernels.items():
        _checks.instance(name, kernel, Rung)
    _checks.instance("size", size, AttentionSize)
    _checks.instance("dtype", dtype, torch.dtype)
    _checks.flag("backward", backward)
    if tensors is not None and (not isinstance(tensors, tuple) or len(tensors) != 4):
        raise ValueError(f"tensors must be q, k, v, gradient, got {_checks.shown(tensors)}")
    q, k, v, gradient = tensors or size.tensors(dtype, device)
    shape = (size.B, size.h, size.T, size.head_dim)  # what the counts of a row are of
    for name, x in (("q", q), ("k", k), ("v", v), ("gradient", gradient)):
        _checks.tensor(name, x)
        if x.dtype != dtype:
            raise TypeError(f"{name} must be {dtype}, got {x.dtype}")
        if x.shape != shape:
            raise ValueError(f"{name} must have the size's shape {shape}, got {tuple(x.shape)}")
    if not backward:
        return (q, k, v), exact_attention(q, k, v)
    exact = exact_gradients(q, k, v, gradient)
    return (*(x.detach().requires_grad_() for x in (q, k, v)), gradient), exact


def _counts(kernel: Rung, size: AttentionSize, dtype: torch.dtype, backward: bool) -> dict:
    moved = size.bytes(dtype, backward, kernel.passes[backward])
    return {"flops": size.flops(backward), "bytes": moved}


def _peak(call: Callable, tensors: tuple) -> int | None:
    device = tensors[0].device
    return peak_bytes(call, *tensors, device=device) if device.type == "cuda" else None
