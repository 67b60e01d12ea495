"""Attention on a GPU: this book's kernels beside torch's, and what the chapter on timing claims.

    python benchmarks/gpu.py [seconds]

verifies every kernel against float64, then measures, most important first, and stops adding points
when ``seconds`` (540 unless given) would not suffice. It writes
``hydra_lib/records/gpu-<device>.json`` after every group, so that one that is killed leaves what it
had. Status 1 if there is no CUDA device (then nothing is written), if a check failed, or if a point
could not be measured.

In the record (:mod:`hydra_lib.records.schema`) stand:

``settings``
    The sizes of the main groups, ``tokens`` in a batch (B · T) and ``d_model`` (h · head_dim), and
    the ``seconds`` that the whole took.
``checks``
    A :class:`kernel_checks.Check` each, with ``error`` against float64 or ``failure``.
``ceilings``
    "bfloat16", "float32" and "tf32".
``rows``
    Measured kernels by ``group``:

    - forward, backward: causal attention by length and head_dim; Triton against SDPA
    - ladder: every rung for 12 heads of 64, against all heads at once
    - head_dim: a sweep in steps of 8
    - grid: query rows split over programs, against one program a (batch, head)
    - launches: one call for twelve heads, against twelve calls
    - fused: the projection and the attention of all heads at once, against head by head
    - strides: on packed heads, against the strided view that a layer gives
    - kernels, strassen: matrix products and softmax of n x n matrices

    Caches are swept before every call, which hides the launch, but in the groups launches, fused
    and strides, where the launch counts.
``mistakes``
    The fields of :class:`hydra_lib.timing.mistakes.Mistake` each.
``missing``
    ``group``, ``what`` and ``reason`` of everything that was not measured: refused, wrong, no time.
"""

import itertools
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from kernel_checks import CHECKS, Check, run_checks

from hydra_lib.heads import split_heads
from hydra_lib.matmul.fast import strassen_fast
from hydra_lib.records import FOLDER, write
from hydra_lib.timing.environment import NoCudaError, environment_of
from hydra_lib.timing.exact import exact_attention
from hydra_lib.timing.ladder import LADDER, Rung, refusal
from hydra_lib.timing.measurement import compare
from hydra_lib.timing.mistakes import make_all
from hydra_lib.timing.roofline import measure_ceilings
from hydra_lib.timing.rows import pair_rows
from hydra_lib.timing.sizes import AttentionSize
from hydra_lib.timing.verified import climb, measure, measure_pair, tolerance

SECONDS = 540

OURS, ALONE = LADDER["Triton"], LADDER["Triton, one program a head"]
FLASH, CUDNN = LADDER["SDPA flash"], LADDER["SDPA cuDNN"]
EAGER = LADDER["all heads at once"]
SWEEP = AttentionSize(4, 16, 2048, 64)


class RefusedError(ValueError):
    """A kernel says that it does not run here: a result, not a failure."""


@dataclass(frozen=True)
class Plan:
    """What is measured: on an H200 as it stands here, in the tests with small numbers."""

    device: str = "cuda"
    dtype: torch.dtype = torch.bfloat16
    tokens: int = 16384
    d_model: int = 2048
    lengths: tuple = (1024, 2048, 4096, 8192, 16384)
    head_dims: tuple = (64, 128)
    ladder: tuple = (AttentionSize(8, 12, 1024, 64), AttentionSize(1, 12, 32, 64))
    sweep: AttentionSize = SWEEP
    sweep_dims: tuple = tuple(range(16, 129, 8))
    grid: tuple = (
        AttentionSize(1, 12, 1024, 64),
        AttentionSize(1, 12, 8192, 64),
        AttentionSize(1, 16, 16384, 128),
        AttentionSize(16, 32, 1024, 64),
    )
    small: tuple = (
        AttentionSize(1, 12, 128, 64),
        AttentionSize(1, 12, 1024, 64),
        AttentionSize(8, 12, 1024, 64),
    )
    product: int = 4096
    strassen: tuple = (4096, 8192, 16384)
    checks: tuple = CHECKS
    check_seconds: int = 150
    workers: int = min(12, os.cpu_count() or 1)
    budget: float = 0.5
    flush: bool = True

    def main_sizes(self) -> list[AttentionSize]:
        """B and h such that every size has the same number of tokens and the same width."""
        return [
            AttentionSize(max(1, self.tokens // T), max(1, self.d_model // d), T, d)
            for T, d in itertools.product(self.lengths, self.head_dims)
        ]

    def compiled(self) -> list[Check]:
        """The timed calls of our kernels, for the checks' processes to compile."""
        calls = [(size, True, True) for size in (*self.main_sizes(), *self.ladder)]
        calls += [(replace(self.sweep, head_dim=d), True, False) for d in self.sweep_dims]
        calls += [(size, False, False) for size in (*self.grid, *self.ladder)]
        calls += [(replace(size, h=1), True, False) for size in self.small]  # a call for each head
        dtype = str(self.dtype).removeprefix("torch.")
        checks = {
            # One length stands for all: a kernel is compiled for a head_dim, not for a length.
            (size.h, size.head_dim, split, backward): Check(
                "attention",
                dtype,
                (1, size.h, min(size.T, 1024), size.head_dim),
                split=split,
                backward=backward,
                verify=False,
            )
            for size, split, backward in calls
        }
        side = min(self.product, 256)  # a multiple of 16, which is compiled apart from others
        return [*checks.values(), Check("matmul", dtype, (side, side, side), verify=False)]


@dataclass(frozen=True)
class Point:
    """Something to measure: rows, in about so many seconds. ``required`` ones come first."""

    group: str
    what: str
    seconds: float
    run: Callable[[], list[dict]]
    required: bool = False


class Clock:
    """Seconds that are left, and whether a point still fits into them."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.perf_counter) -> None:
        self.now, self.start, self.seconds = now, now(), seconds

    def spent(self) -> float:
        return self.now() - self.start

    def fits(self, point: Point, later: list[Point]) -> bool:
        """A required point needs its own time, another also that of the required ones to come."""
        reserve = 0 if point.required else sum(p.seconds for p in later if p.required)
        return self.spent() + point.seconds + reserve <= self.seconds


def points(plan: Plan, triton: bool) -> list[Point]:
    """All that is measured, in order; without ``triton`` only what needs none of our kernels."""
    options = {"budget": plan.budget, "flush": plan.flush}
    swept = (plan.dtype, plan.device)
    found = []

    def add(group: str, what: str, seconds: float, run: Callable, required=False) -> None:
        found.append(Point(group, what, seconds, run, required))

    for backward, size in itertools.product((False, True), plan.main_sizes()):
        group = "backward" if backward else "forward"
        rest = {"backward": backward, **options}
        for other in (FLASH,) if backward else (FLASH, CUDNN):
            what = f"{other.name}, {_text(size)}"
            run = partial(against, group, other, triton, size, *swept, **rest)
            add(group, what, 5 if backward else 3.5, run, True)
    for size in plan.ladder:
        add("ladder", _text(size), 18, partial(climb, size, *swept, **options), True)
    add("mistakes", plan.device, 15, partial(make_all, plan.device), True)

    def multiply(n: int, dtype: torch.dtype, levels: int, budget: float, required=False) -> None:
        run = partial(strassen, n, dtype, levels, plan.device, budget=budget)
        seconds = 2 + 6 * (n / 16384) ** 3 + 2 * required
        add("strassen", f"n={n}, {dtype}, {levels} levels", seconds, run, required)

    # One round of it takes long: it gets more of them, and time is kept for it.
    largest = (max(plan.strassen), torch.float32, 2)
    multiply(*largest, 4 * plan.budget, required=True)
    for d in plan.sweep_dims:
        size = replace(plan.sweep, head_dim=d)
        run = partial(against, "head_dim", FLASH, triton, size, *swept, **options)
        add("head_dim", _text(size), 4, run)
    if triton:
        for size in plan.grid:
            run = partial(measure_pair, "grid", ALONE, OURS, size, *swept, **options)
            add("grid", _text(size), 6, run)
    plain = {"budget": plan.budget}
    fused = (FLASH, OURS) if triton else (FLASH,)
    for group, rungs in (("launches", fused), ("fused", (EAGER,))):
        for size, rung in itertools.product(plan.small, rungs):
            run = partial(launches, group, rung, size, *swept, **plain)
            add(group, f"{rung.name}, {_text(size)}", 2, run)
    for size in plan.small:
        run = partial(projection, size, *swept, **plain)
        add("fused", f"projection, {_text(size)}", 2, run)
    for size in plan.small[1:]:
        for rung in (EAGER, *fused):
            run = partial(strides, rung, size, *swept, **plain)
            add("strides", f"{rung.name}, {_text(size)}", 2, run)
        add("strides", f"q @ kᵀ, {_text(size)}", 4, partial(scores, size, *swept, **plain))
    for size in plan.ladder[:1]:
        run = partial(climb, size, *swept, backward=True, **options)
        add("ladder", f"{_text(size)}, forward+backward", 20, run)
    if triton:
        add("kernels", f"n={plan.product}", 8, partial(other_kernels, plan, **options))
    for n, dtype in itertools.product(plan.strassen, (torch.float32, torch.bfloat16)):
        for levels in (1, 2) if n == max(plan.strassen) else (1,):
            if (n, dtype, levels) != largest:
                multiply(n, dtype, levels, plan.budget)
    return found


def against(
    group: str, other: Rung, triton: bool, size: AttentionSize, dtype, device, **options
) -> list[dict]:
    """Ours against another kernel; the other alone where ours cannot be timed."""
    *heads, _ = size.tensors(dtype, device)
    if reason := refusal(other.name, *heads):
        raise RefusedError(reason)
    del heads
    if not triton:
        return [measure(group, other, size, dtype, device, **options)]
    return list(measure_pair(group, other, OURS, size, dtype, device, **options))


def launches(group: str, rung: Rung, size: AttentionSize, dtype, device, **options) -> list[dict]:
    """Reference: a call for each head. Candidate: one call for all, and views of its result."""

    def by_head(q, k, v):
        heads = zip(*(x.split(1, 1) for x in (q, k, v)), strict=True)
        return [rung.attend(*one) for one in heads]

    def at_once(q, k, v):
        return list(rung.attend(q, k, v).split(1, 1))

    def exact(q, k, v):
        return list(exact_attention(q, k, v).split(1, 1))

    names = (f"{rung.name}, {size.h} calls", f"{rung.name}, one call")
    options |= {"flops": size.flops(), "bytes": size.bytes(dtype, passes=rung.passes[0])}
    options |= {"exact": exact, "tolerance": tolerance(dtype)}
    inputs = size.tensors(dtype, device)[:3]
    return plain_pair(group, names, (by_head, at_once), inputs, asdict(size), **options)


def projection(size: AttentionSize, dtype, device, **options) -> list[dict]:
    """Reference: one product a head. Candidate: one product for all heads, and views of it."""
    tokens, width = size.B * size.T, size.d_model
    x, weight = random(dtype, device, (size.B, size.T, width), (width, width))

    def by_head(x, weight):
        return [F.linear(x, w) for w in weight.chunk(size.h)]

    def at_once(x, weight):
        return list(split_heads(F.linear(x, weight), size.h).unbind(-3))

    names = ("projection, one head at a time", "projection, all heads at once")
    options |= {"flops": 2 * tokens * width**2}
    options |= {"bytes": (2 * tokens * width + width**2) * dtype.itemsize}
    return plain_pair("fused", names, (by_head, at_once), (x, weight), asdict(size), **options)


def strides(rung: Rung, size: AttentionSize, dtype, device, **options) -> list[dict]:
    """Reference: on the strided view that a layer gives. Candidate: on heads packed beforehand."""
    tensors = size.tensors(dtype, device)
    packed = [x.contiguous() for x in tensors[:3]]
    on_packed = Rung(f"{rung.name}, packed", lambda *_: rung.attend(*packed), rung.passes)
    pair = (replace(rung, name=f"{rung.name}, strided"), on_packed)
    return list(measure_pair("strides", *pair, size, dtype, device, tensors=tensors, **options))


def scores(size: AttentionSize, dtype, device, **options) -> list[dict]:
    """q @ kᵀ on strided heads, against heads packed beforehand, and packed on the way."""
    q, k, _, _ = size.tensors(dtype, device)
    near, pairs = (q.contiguous(), k.contiguous()), size.B * size.h * size.T**2

    def product(q, k):
        return q @ k.mT

    options |= {"flops": 2 * pairs * size.head_dim, "exact": product}
    options |= {"bytes": (2 * q.numel() + pairs) * dtype.itemsize}
    rows = []
    for name, fn in (
        ("q @ kᵀ, packed", lambda *_: product(*near)),
        ("q @ kᵀ, packing included", lambda q, k: product(q.contiguous(), k.contiguous())),
    ):
        names = ("q @ kᵀ, strided", name)
        rows += plain_pair("strides", names, (product, fn), (q, k), asdict(size), **options)
    return rows


def other_kernels(plan: Plan, **options) -> list[dict]:
    """Triton's matrix product and softmax beside torch's."""
    from hydra_lib.kernels import online_softmax, tiled_matmul  # Triton is optional

    n, dtype = plan.product, plan.dtype
    a, b = random(dtype, plan.device, (n, n), (n, n))
    matrix = n * n * dtype.itemsize
    names, fns = ("torch.mm", "Triton matmul"), (torch.mm, tiled_matmul)
    counts = {"flops": 2 * n**3, "bytes": 3 * matrix}
    sizes = {"n": n}
    rows = plain_pair("kernels", names, fns, (a, b), sizes, **counts, **options)
    names = ("torch.softmax", "Triton softmax")
    fns = (lambda x: torch.softmax(x, -1), lambda x: online_softmax(x, 1.0))
    return rows + plain_pair("kernels", names, fns, (a,), sizes, bytes=2 * matrix, **options)


def strassen(n: int, dtype: torch.dtype, levels: int, device: str, **options) -> list[dict]:
    """``strassen_fast`` beside ``torch.mm``, both into the same memory; float32 without TF32."""
    if device == "cuda":
        needed, free = n * n * (80 + 6 * dtype.itemsize), torch.cuda.mem_get_info()[0]
        if needed > free:
            raise RefusedError(f"needs {needed:.1e} bytes, {free:.1e} are free")
    a, b = random(dtype, device, (n, n), (n, n))
    out = torch.empty_like(a)
    names = ("torch.mm", f"strassen_fast, {levels} level{'s' * (levels > 1)}")
    fns = (
        lambda a, b: torch.mm(a, b, out=out),
        lambda a, b: strassen_fast(a, b, out, levels),
    )
    # In bfloat16 every sum of blocks is rounded to 8 bits before it is multiplied.
    options |= {"exact": torch.mm, "tolerance": 1e-4 if dtype == torch.float32 else 0.2}
    options |= {"flops": 2 * n**3, "bytes": 3 * n * n * dtype.itemsize}
    rows = plain_pair("strassen", names, fns, (a, b), {"n": n}, **options)
    rows[1]["levels"] = levels
    return rows


def plain_pair(
    group: str, names: tuple, fns: tuple, inputs: tuple, sizes: dict, **options
) -> list[dict]:
    """Two rows of functions that are not attention as a whole: reference and candidate."""
    return pair_rows(group, names, sizes, compare(*fns, inputs, **options))


def random(dtype: torch.dtype, device: str, *shapes: tuple) -> list[torch.Tensor]:
    generator = torch.Generator(device).manual_seed(0)
    return [torch.randn(s, generator=generator, device=device).to(dtype) for s in shapes]


def ceilings(device: str, budget: float) -> dict:
    """The fastest copy and matmul by dtype, and of float32 in TF32; without the machine."""
    before, found = torch.get_float32_matmul_precision(), {}
    cases = [("bfloat16", torch.bfloat16, "highest"), ("float32", torch.float32, "highest")]
    if device == "cuda":
        cases.append(("tf32", torch.float32, "high"))
    try:
        for name, dtype, precision in cases:
            torch.set_float32_matmul_precision(precision)
            found[name] = measure_ceilings(device, dtype, budget).as_record()
    finally:
        torch.set_float32_matmul_precision(before)
    return found


def file_name(device: str) -> str:
    """The name of the record of a device: "gpu-nvidia-h200.json"."""
    return f"gpu-{re.sub('[^a-z0-9]+', '-', device.lower()).strip('-')}.json"


def measure_all(plan: Plan, folder: Path, seconds: float) -> tuple[Path, bool]:
    """Verify, measure, write; the file, and whether something failed."""
    clock = Clock(seconds)
    torch.set_float32_matmul_precision("highest")
    about = environment_of(plan.device)
    path = folder / file_name(about["device"])
    record = {
        "what": "Causal attention and its parts on one GPU, verified, then timed in pairs",
        "environment": about,
        "settings": {"tokens": plan.tokens, "d_model": plan.d_model},
        "checks": [],
        "ceilings": {},
        "rows": [],
        "mistakes": [],
        "missing": [],
    }

    def save() -> None:
        record["settings"]["seconds"] = clock.spent()
        write(record, path)

    estimate = plan.check_seconds + 10 + sum(p.seconds for p in points(plan, True))
    print(f"{about['device']}: about {estimate:.0f} s, at most {seconds:.0f} s", flush=True)
    warm = plan.compiled() if plan.workers else []
    checks = [*plan.checks, *warm]
    found = run_checks(checks, plan.device, plan.workers, plan.check_seconds)
    triton = note_checks(found, record, plan.dtype)
    print(f"{len(found)} checks, {clock.spent():.0f} s", flush=True)
    record["ceilings"] = ceilings(plan.device, plan.budget)
    save()

    failed = any(x["failure"] for x in record["checks"])
    todo = points(plan, triton)
    for i, point in enumerate(todo):
        started, reason = clock.spent(), None
        if not clock.fits(point, todo[i + 1 :]):
            reason = "no time left"
        else:
            try:
                if plan.device == "cuda":
                    torch.cuda.empty_cache()
                take(record, point.run())
            except (RefusedError, NoCudaError, torch.cuda.OutOfMemoryError) as error:
                reason = str(error).partition("\n")[0]
            except Exception as error:  # one point must not cost the others
                reason, failed = f"{type(error).__name__}: {str(error)[:300]}", True
        took = f"{clock.spent() - started:5.1f} s of {point.seconds:.1f}"
        print(f"{point.group:9} {point.what:60} {reason or took}", flush=True)
        if reason:
            record["missing"].append({"group": point.group, "what": point.what, "reason": reason})
        if i + 1 == len(todo) or todo[i + 1].group != point.group:
            save()
    table(record)
    return path, failed


def note_checks(found: list[dict], record: dict, dtype: torch.dtype) -> bool:
    """Put the checks into the record; whether the attention kernel may be timed.

    It may unless it was wrong in this dtype, or was never seen to work.
    """
    record["checks"] = [x for x in found if x["verify"]]
    for x in (x for x in found if x["failure"]):
        what = f"{x['kernel']} {x['dtype']} {tuple(x['shape'])}"
        print(f"check failed: {what}: {x['failure']}", flush=True)
        if not x["verify"]:
            record["missing"].append({"group": "checks", "what": what, "reason": x["failure"]})
    name = str(dtype).removeprefix("torch.")
    mine = [x for x in record["checks"] if (x["kernel"], x["dtype"]) == ("attention", name)]
    wrong = [x for x in mine if (x["failure"] or "").startswith("FailedCheckError")]
    works = not wrong and any(x["failure"] is None for x in mine)
    if not works:
        reason = "wrong in a check" if wrong else "no check passed"
        record["missing"].append({"group": "all", "what": "Triton attention", "reason": reason})
    return works


def take(record: dict, found: object) -> None:
    """Sort what a point returns into the record: rows, or pairs of what was made and what not."""
    if isinstance(found, list | tuple) and found and isinstance(found[0], dict):
        record["rows"] += found
        return
    made, others = found
    if isinstance(others, dict):  # mistakes, and why some could not be made
        record["mistakes"] = [asdict(x) for x in made]
        others = [{"group": "mistakes", "what": k, "reason": v} for k, v in others.items()]
    else:
        record["rows"] += made
    record["missing"] += others


def table(record: dict) -> None:
    """The goals of the kernel: speed, share of the matmul ceiling, and ratios to torch's."""
    matmul = record["ceilings"]["bfloat16"]["matmul"]
    peak = matmul["flops"] / matmul["p50"] / 1e12
    took = record["settings"]["seconds"]
    print(f"\nbfloat16 matmul {peak:.4g} TFLOP/s; {len(record['rows'])} rows, {took:.0f} s")
    print("pass        T  head_dim  kernel                TFLOP/s  share   ratio to")
    for r in record["rows"]:
        if r["group"] in ("forward", "backward"):
            ratio = "" if r["ratio"] is None else f"{r['ratio']:5.2f}  {r['reference']}"
            speed = r["flops"] / r["p50"] / 1e12
            print(
                f"{r['group']:8} {r['T']:>6}  {r['head_dim']:>7}  {r['kernel']:20}"
                f" {speed:>8.4g}  {speed / peak:>5.0%}  {ratio}"
            )
    for x in record["missing"]:
        print(f"missing: {x['group']}: {x['what']}: {x['reason']}")


def _text(size: AttentionSize) -> str:
    return f"B={size.B} h={size.h} T={size.T} head_dim={size.head_dim}"


def main(seconds: float) -> None:
    if not torch.cuda.is_available():
        raise SystemExit(
            f"benchmarks/gpu.py measures a GPU, and torch {torch.__version__} sees no CUDA device"
        )
    path, failed = measure_all(Plan(), FOLDER, seconds)
    print(path, path.stat().st_size, "bytes")
    if failed:
        raise SystemExit("some of it failed: see checks and missing in the record")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)
