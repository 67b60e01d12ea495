"""Timing one piece of work, or two in pairs.

The usual mistakes are refused or made visible: a launch read as a run (device work is waited for),
a cold first call (warm-up), one lucky sample (quantiles of many), two moments of one machine
(pairs, in one run), a fast wrong answer (checked in float64 first), a number without its machine.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import numpy as np
import torch
from torch.utils._pytree import tree_map

from hydra_lib import _checks
from hydra_lib.records.schema import machine
from hydra_lib.timing.accuracy import FailedCheckError, as_tensor, check, leaves, to_float64
from hydra_lib.timing.display import percent, quantity
from hydra_lib.timing.environment import check_device, environment_of
from hydra_lib.timing.sampling import (
    device_of,
    first_call,
    quantiles,
    sample,
    stopwatch,
)

__all__ = ["Comparison", "Timing", "bench", "compare"]

Count = int | float | None
Device = str | torch.device | None


@dataclass(frozen=True, repr=False)
class Timing:
    """Quantiles of the time of one call, in seconds, with what is needed to read them.

    ``spread`` is the relative half-width of the median's 95 % interval; ``flops`` and ``bytes``
    are the caller's counts for one call, shown as rates by the median. None: not counted.
    """

    p20: float
    p50: float
    p80: float
    spread: float
    samples: int
    dtype: str
    flush: bool
    flops: Count
    bytes: Count
    environment: dict

    def __repr__(self) -> str:
        median, low, high = quantity("s", self.p50, self.p20, self.p80)
        parts = [f"{median} ({low} … {high}, {self.samples} samples)", self.dtype]
        for count, unit in ((self.flops, "FLOP/s"), (self.bytes, "B/s")):
            parts += [] if count is None else quantity(unit, count / self.p50)
        parts += ["caches flushed"] if self.flush else []
        return ", ".join([*parts, machine(self.environment)])

    def _repr_html_(self) -> str:
        return f"<p>{_bold(self)}</p>"


@dataclass(frozen=True, repr=False)
class Comparison:
    """Quantiles of reference time / candidate time over pairs: above 1 the candidate is faster.

    Errors are the largest :func:`hydra_lib.timing.accuracy.relative_error` of all results.
    """

    p20: float
    p50: float
    p80: float
    spread: float
    reference: Timing
    candidate: Timing
    reference_error: float
    candidate_error: float

    def __repr__(self) -> str:
        found = f"candidate {self.p50:.2f} × as fast as reference ({self.p20:.2f} … {self.p80:.2f}"
        pairs = f"median of {self.reference.samples} pairs"
        return f"{found}, {pairs}, {percent(self.spread)} on the median)"

    def _repr_html_(self) -> str:
        both = (
            ("reference", self.reference, self.reference_error),
            ("candidate", self.candidate, self.candidate_error),
        )
        rows = [
            f"<tr><th>{name}</th><td>{_bold(timing)}</td><td>error {error:.1e}</td></tr>"
            for name, timing, error in both
        ]
        return f"<p>{escape(repr(self))}</p><table>{''.join(rows)}</table>"


def _bold(timing: Timing) -> str:
    median, _, rest = escape(repr(timing)).partition(" (")
    return f"<strong>{median}</strong> ({rest}"


def bench(
    fn: Callable,
    *args: object,
    device: Device = None,
    flops: Count = None,
    bytes: Count = None,
    flush: bool = False,
    budget: int | float = 1.0,
) -> Timing:
    """Time ``fn(*args)``, one call a sample, on the device its arguments and results are on.

    CUDA work is timed between events on the current stream, CPU work by ``perf_counter``.
    Allocating the result counts, freeing it does not. ``fn`` must not change its arguments.
    ``device`` only asserts where the work must run. ``flush`` sweeps the caches before every
    sample; on CUDA that also hides the launch, which otherwise is most of a short kernel's time.
    After a warm-up, samples are taken until the median's 95 % interval is within ± 1 %, or
    ``budget`` seconds are over: see :func:`hydra_lib.timing.sampling.sample`.

    Raises :class:`hydra_lib.timing.environment.NoCudaError`,
    :class:`hydra_lib.timing.sampling.NothingToWaitForError` and
    :class:`hydra_lib.timing.sampling.EmptyWorkloadError`;
    ValueError for work that ran elsewhere than asked or where it cannot be timed, and for
    numbers below 0; TypeError for what is no function or no number.

    >>> bench(torch.add, torch.ones(1000), 1.0, flops=1000, budget=0.01).dtype
    'float32'
    """
    check_options({"fn": fn}, flush, device, flops=flops, bytes=bytes, budget=budget)
    devices = set[torch.device]()
    results = first_call("fn", fn, args, devices)
    where, dtype = device_of(devices, device), _dtypes(results[:1])
    del results  # it would hold memory while fn is timed
    times = sample([fn], args, stopwatch(where, flush), budget)[0]
    return Timing(*quantiles(times), times.size, dtype, flush, flops, bytes, environment_of(where))


def compare(
    reference: Callable,
    candidate: Callable,
    inputs: tuple,
    *,
    exact: Callable | None = None,
    tolerance: Count = None,
    device: Device = None,
    flops: Count = None,
    bytes: Count = None,
    flush: bool = False,
    budget: int | float = 2.0,
) -> Comparison:
    """Check both functions against float64, then time them in alternating pairs in one run.

    Both take ``inputs`` as their arguments. ``exact`` (by default ``reference``) is called on the
    same in float64 and must stay there; where that is a module, give its copy in float64. An error
    above ``tolerance`` (by default :func:`hydra_lib.timing.accuracy.tolerance_for` the dtype)
    refuses a function, as does a candidate of another dtype, or an input that it changed. Pairs are
    timed until the interval of the median ratio is within ± 1 %; ``flops`` and ``bytes`` count for
    both; the rest as in :func:`bench`.

    Raises as :func:`bench`, TypeError for ``inputs`` that are no tuple, and
    :class:`hydra_lib.timing.accuracy.FailedCheckError`.

    >>> x = torch.ones(1000)
    >>> compare(lambda x: x + x, lambda x: 2 * x, (x,), budget=0.01).candidate_error
    0.0
    """
    exact = _in_float64(reference) if exact is None else exact
    fns = {"reference": reference, "candidate": candidate, "exact": exact}
    numbers = {"flops": flops, "bytes": bytes, "budget": budget, "tolerance": tolerance}
    check_options(fns, flush, device, **numbers)
    _checks.instance("inputs", inputs, tuple)
    devices = set[torch.device]()
    # The candidate runs before the answer is anywhere in memory: it must not find it there.
    calls: tuple[tuple, ...] = (
        ("candidate", candidate, inputs, devices),
        ("exact", exact, tree_map(to_float64, inputs), set()),
        ("reference", reference, inputs, devices),
    )
    got = {}
    for name, fn, given, on in calls:
        before = _versions(given)
        # Copies, because all of them may write to one buffer of the caller's.
        got[name] = [as_tensor(x).detach().clone() for x in first_call(name, fn, given, on)]
        if _versions(given) != before:
            raise FailedCheckError(f"{name} changed its inputs: each call would do something else")
    errors = [check(n, got[n], got["exact"], tolerance) for n in ("reference", "candidate")]
    mine, theirs = _dtypes(got["candidate"]), _dtypes(got["reference"])
    if mine != theirs:
        raise FailedCheckError(f"candidate returned {mine}, reference {theirs}")
    where, dtype = device_of(devices, device), theirs.partition(",")[0]
    del calls, got  # they would hold memory while the functions are timed
    times = sample([reference, candidate], inputs, stopwatch(where, flush), budget)
    about = environment_of(where)
    one, two = (
        Timing(*quantiles(t), times.shape[1], dtype, flush, flops, bytes, about) for t in times
    )
    return Comparison(*quantiles(times[0] / times[1]), one, two, *errors)


def _in_float64(reference: Callable) -> Callable:
    """The reference, which is called in float64 and may not have been made for it."""

    def exact(*inputs):
        try:
            return reference(*inputs)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise FailedCheckError(
                f"reference in float64 raised {why}: if it keeps numbers of another dtype, as a "
                "module does, exact must be a copy of it in float64"
            ) from error

    return exact


def _versions(inputs: tuple) -> list[int]:
    """How often each tensor was written to, as torch counts it for autograd; of arrays a sum."""
    return [
        x._version
        if isinstance(x, torch.Tensor)
        else zlib.crc32(np.ascontiguousarray(x).view(np.uint8).data)
        for x in leaves(inputs)
        if (isinstance(x, torch.Tensor) and not x.is_inference())
        or (isinstance(x, np.ndarray) and not x.dtype.hasobject)
    ]


def check_options(fns: dict, flush: bool, device: Device, **numbers: Count) -> None:
    """Refuse what cannot be timed, or not in this way."""
    for name, fn in fns.items():
        _checks.function(name, fn)
    _checks.flag("flush", flush)
    if device is not None:
        check_device(device)
    for name, value in numbers.items():
        if value is not None or name == "budget":
            _checks.finite(name, value, least=0)


def _dtypes(results: list) -> str:
    return ", ".join(str(as_tensor(x).dtype).removeprefix("torch.") for x in results)
