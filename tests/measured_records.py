"""Made-up records for the tests of the explorer: the shape is that of real ones, no number is."""

import itertools

import torch

from hydra_lib.timing.ladder import LADDER
from hydra_lib.timing.sizes import AttentionSize

VERSIONS = {"python": "3.12.1", "torch": "2.13.0", "cuda": "13.0", "numpy": "2.4.6", "triton": None}
H, FAST = "all heads at once", "SDPA flash"


def timing(p50, flops=None, bytes=None, dtype="bfloat16"):
    return {
        "p20": 0.95 * p50,
        "p50": p50,
        "p80": 1.1 * p50,
        "spread": 0.01,
        "samples": 50,
        "dtype": dtype,
        "flops": flops,
        "bytes": bytes,
    }


def ceiling(p50, **count):
    return timing(p50, **count) | {"flush": False}


def a_row(group, kernel, size, p50, **more):
    """A timed row; ``size`` is (B, h, T, head_dim), or None for what is no attention."""
    about = dict(zip(("B", "h", "T", "head_dim"), size or (), strict=size is not None))
    backward = more.get("pass") == "forward+backward"
    attention = size and AttentionSize(*size)
    more = {
        "flops": attention and attention.flops(backward),
        "bytes": attention and attention.bytes(torch.bfloat16, backward),
        **dict.fromkeys(("reference", "ratio", "ratio_p20", "ratio_p80")),
        "error": 0.0031,
        "peak_bytes": 12_345_678,
        "pass": "forward",
    } | more
    return {"group": group, "kernel": kernel, **about, **timing(p50), **more}


def environment_of(device, cpu="AMD EPYC", date="2026-01-02T03:04:05+00:00"):
    about = {"threads": 2, "tf32": False, "versions": VERSIONS, "date": date}
    return {"device": device, "cpu": cpu, **about}


def gpu_record():
    """Every group of benchmarks/gpu.py, at the sizes it measures on an H200."""
    rows = []
    for backward, T, d in itertools.product((False, True), (1024, 4096, 16384), (64, 128)):
        size = (16384 // T, 2048 // d, T, d)
        more = {"pass": "forward+backward"} if backward else {}
        group, best = "backward" if backward else "forward", (7 if backward else 2) * T * 1.2e-7
        for other, slower in ((FAST, 1.1), ("SDPA cuDNN", 0.9))[: 1 if backward else 2]:
            rows.append(a_row(group, other, size, slower * best, **more))
            pair = {"reference": other, "ratio": round(slower * 0.99, 3), **more}
            rows.append(a_row(group, "Triton", size, best * (1 + slower / 100), **pair))
    names = [name for name in LADDER if name != H]
    for size, loops in (((8, 12, 1024, 64), False), ((1, 12, 32, 64), True)):
        rows.append(a_row("ladder", H, size, 4e-3))
        for i, name in enumerate(names[0 if loops else 1 :]):
            slow = 40 if name == "Python loops" else 10 / (i + 1) ** 2
            rows.append(a_row("ladder", name, size, 4e-3 * slow, reference=H, ratio=1 / slow))
    for d, name in itertools.product(range(16, 129, 8), (FAST, "Triton")):
        more = {"reference": FAST, "ratio": 1.02} if name == "Triton" else {}
        rows.append(a_row("head_dim", name, (4, 16, 2048, d), 1e-4 + 1e-6 * d * len(name), **more))
    for size in ((1, 12, 1024, 64), (1, 16, 16384, 128), (16, 32, 1024, 64)):
        rows.append(a_row("grid", "Triton, one program a head", size, 8e-4))
        more = {"reference": "Triton, one program a head", "ratio": 4.0}
        rows.append(a_row("grid", "Triton", size, 2e-4, **more))
    work = {"n": 4096, "flops": 2 * 4096**3, "bytes": 6 * 4096**2}
    rows.append(a_row("kernels", "torch.mm", None, 2e-4, **work))
    pair = {"reference": "torch.mm", "ratio": 0.7}
    rows.append(a_row("kernels", "Triton matmul", None, 3e-4, **pair, **work))
    rows.append(a_row("kernels", "torch.softmax", None, 3e-5, n=4096, bytes=4 * 4096**2))
    ceilings = {"copy": ceiling(5e-4, bytes=2e9), "matmul": ceiling(1.5e-3, flops=1e12)}
    about = environment_of("NVIDIA H200", date="2026-02-03T03:04:05+00:00")
    return {
        "what": "Made up",
        "environment": about,
        "ceilings": {"bfloat16": ceilings},
        "rows": rows,
    }


def bare_record():
    """The least that a record may have: no ceilings, counts, errors; a row that is no timing."""
    null = ("samples", "flops", "bytes", "reference", "ratio", "ratio_p20", "ratio_p80", "spread")
    null = dict.fromkeys((*null, "error", "peak_bytes"))
    rows = [
        {"group": "mine", "kernel": name, "dtype": "float16", "pass": "forward", "T": 8, **null}
        | {"p20": low, "p50": t, "p80": high}
        for name, low, t, high in (("slow one", 3.0, 3.0, 6.0), ("quick one", None, 2e-9, None))
    ]
    rows.append({"group": "training", "seeds": [3, 5]})
    return {"what": "Bare", "environment": environment_of("AMD EPYC"), "rows": rows}


def crowded_record():
    """Six kernels over lengths up to 2^17 and ten decades of time, most of them at a few lengths,
    close to each other."""
    rows = [a_row("g", "first", (1, 2, T, 16), 1e-9 * T**2) for T in (32, 1024, 32768, 131072)]
    for i, (T, slower) in enumerate(((32, 1.1), (32, 1.3), (1024, 1.2), (32768, 0.9), (32768, 2))):
        rows.append(a_row("g", f"a kernel of {T} only, {i}", (1, 2, T, 16), slower * 1e-9 * T**2))
    return pair_record() | {"rows": rows}


def pair_record():
    """A timed pair, a row that is no timing, and ceilings."""
    rows = [
        a_row("g", "first", (2, 3, 5, 7), 4.0),
        a_row("g", "second", (2, 3, 5, 7), 2.0, reference="first", ratio=2.0),
        {"group": "training", "seeds": [3, 5]},
    ]
    ceilings = {"copy": ceiling(1.0, bytes=2), "matmul": ceiling(1.0, flops=3)}
    about = environment_of("EPYC", cpu="EPYC")
    return {"what": "x", "environment": about, "rows": rows, "ceilings": {"float32": ceilings}}


def run_in_page(measure, rows, wrong=()):
    """A result as a run in a page leaves it; ``rows`` are (line, seconds), all paired or none."""
    clock = "the page's clock"
    about = {"device": "made up", "cpu": "a processor", "threads": None, "software": False}
    about |= {"browser": "Chromium 156", "agent": "x", "clock": clock, "step": 1e-4}
    ceiling = [1e-3, 1e-3, 1e-3, 0.01, 20]
    return {
        "task": {"measure": measure, "T": 256, "h": 12, "D": 64, "n": 512},
        "about": about | {"date": "2026-11-21T01:02:03.004Z"},
        "roof": {"float32": {"copy": [*ceiling, None, 2**27], "matmul": [*ceiling, 2**31, 2**24]}},
        "rows": [[i, t, t, t, 0.01, 20, 3e-7, None, None, None] for i, t in rows],
        "missing": [[11, "Left out: no room."]] if measure == "sweep" else [],
        "made": ["no_wait"] if wrong else [],
        "wrong": list(wrong),
    }
