"""Strassen beside BLAS, on one thread: when it is faster, and what it costs in digits.

    OMP_NUM_THREADS=1 python benchmarks/strassen.py

verifies, then times in pairs, and writes ``hydra_lib/records/strassen.json``, and in it
the crossovers that ``strassen_fast`` goes by. About 12 minutes; with ``--quick``, small sizes only
and nothing written.
"""

import importlib.util
import itertools
import json
import os
import sys

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hydra_lib.matmul import crossover
from hydra_lib.matmul.counting import triple_loop
from hydra_lib.matmul.fast import strassen_fast
from hydra_lib.matmul.recursion import strassen
from hydra_lib.records import FOLDER
from hydra_lib.timing.environment import environment_of
from hydra_lib.timing.measurement import Comparison, bench, compare

RECORD = FOLDER / "strassen.json"

MARGIN = 1.02  # a level must gain this much to be taken, for other machines differ

# Sizes at which one level is tried, around where it is expected to begin to pay.
SMALL = {
    "float32": (384, 512, 640, 768, 896, 1024, 1280),
    "float64": (384, 512, 768, 1024, 1280, 1536),
    "complex64": (384, 512, 640, 768, 1024),
    "complex128": (384, 512, 640, 768, 1024),
    "int32": (384, 512, 768, 1024),
    "int64": (384, 512, 768, 1024),
}
SIZES = (512, 768, 1023, 1024, 1536, 1537, 2047, 2048, 3072, 4095, 4096)
LARGEST = 8192
RECTANGLES = ((256, 4096, 4096), (4096, 256, 4096), (1024, 4096, 1024), (8192, 768, 768))
DEPTHS = {("float32", 2048): (1, 2, 3, 4), ("float64", 2048): (1, 2, 3), ("float32", 4096): (2, 4)}


def source_scheme(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The scheme of the post this book follows: leaf 64, odd sides padded, a float64 result."""
    n = len(a)
    if n <= 64:
        return a @ b
    if n % 2:
        return source_scheme(np.pad(a, (0, 1)), np.pad(b, (0, 1)))[:n, :n]
    first, second = slice(None, n // 2), slice(n // 2, None)
    (a11, a12), (a21, a22) = ((a[i, first], a[i, second]) for i in (first, second))
    (b11, b12), (b21, b22) = ((b[i, first], b[i, second]) for i in (first, second))
    m1 = source_scheme(a11 + a22, b11 + b22)
    m2 = source_scheme(a21 + a22, b11)
    m3 = source_scheme(a11, b12 - b22)
    m4 = source_scheme(a22, b21 - b11)
    m5 = source_scheme(a11 + a12, b22)
    m6 = source_scheme(a21 - a11, b11 + b12)
    m7 = source_scheme(a12 - a22, b21 + b22)
    c = np.zeros((n, n))
    c[first, first] = m1 + m4 - m5 + m7
    c[first, second] = m3 + m5
    c[second, first] = m2 + m4
    c[second, second] = m1 - m2 + m3 + m6
    return c


def numpy_rows(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Row i of the result is the sum of the rows of b, each times an entry of row i of a."""
    c = np.zeros((len(a), b.shape[1]), a.dtype)
    for i, p in itertools.product(range(len(a)), range(len(b))):
        c[i] += a[i, p] * b[p]
    return c


def operands(m: int, k: int, n: int, dtype: torch.dtype, device: str = "cpu") -> tuple:
    g = torch.Generator(device).manual_seed(0)
    if not (dtype.is_floating_point or dtype.is_complex):
        sizes = ((m, k), (k, n))
        return tuple(
            torch.randint(-99, 100, s, generator=g, dtype=dtype, device=device) for s in sizes
        )
    a = torch.randn(m, k, generator=g, dtype=dtype, device=device)
    return a, torch.randn(k, n, generator=g, dtype=dtype, device=device)


def tolerance(dtype: torch.dtype) -> float:
    """Far above the errors of four levels, far below that of a wrong sign."""
    return 1000 * torch.finfo(dtype).eps if dtype.is_floating_point or dtype.is_complex else 0.0


def against_blas(
    shape: tuple, dtype: torch.dtype, levels: int | None = None, device: str = "cpu", **how
) -> dict:
    """One paired comparison of ``strassen_fast`` with ``torch.mm``, both into the same memory."""
    m, k, n = shape
    a, b = operands(m, k, n, dtype, device)
    out = torch.empty(m, n, dtype=dtype, device=device)
    pair = compare(
        lambda a, b: torch.mm(a, b, out=out),
        lambda a, b: strassen_fast(a, b, out, levels),
        (a, b),
        exact=torch.mm,
        tolerance=tolerance(dtype),
        flops=2 * m * k * n,
        **how,
    )
    if levels is None:
        levels = crossover.choose_levels(m, k, n, dtype, a.device)
    return row(pair, dtype=str(dtype).removeprefix("torch."), m=m, k=k, n=n, levels=levels)


def row(pair: Comparison, **what: object) -> dict:
    """A flat record of a comparison: ratios (above 1: faster than BLAS), milliseconds, errors."""
    found = {
        **what,
        **{f"ratio_{q}": digits(getattr(pair, q)) for q in ("p20", "p50", "p80")},
        "ratio_of_medians": digits(pair.reference.p50 / pair.candidate.p50),
        "samples": pair.reference.samples,
        **{f"blas_ms_{q}": digits(1e3 * getattr(pair.reference, q)) for q in ("p20", "p50", "p80")},
        **{f"ms_{q}": digits(1e3 * getattr(pair.candidate, q)) for q in ("p20", "p50", "p80")},
        "blas_error": digits(pair.reference_error),
        "error": digits(pair.candidate_error),
    }
    print(*(f"{k}={v}" for k, v in found.items() if k[-4:] not in ("_p20", "_p80")), flush=True)
    return found


def digits(x: float) -> float:
    return float(f"{x:.4g}")


def find_crossover(rows: list[dict]) -> int | None:
    """The smallest side from which on one level gains at least MARGIN at every side measured."""
    best = None
    for found in sorted(rows, key=lambda r: -r["n"]):
        if found["ratio_p50"] < MARGIN:
            break
        best = found["n"]
    return best


def in_numpy(n: int, name: str, fn) -> dict:
    """A scheme written on numpy beside numpy's own product, float32."""
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(n, n)).astype(np.float32) for _ in range(2))
    # The source's result is float64 (claim H14); the cast is a hundredth of its time.
    cast = lambda a, b: fn(a, b).astype(a.dtype, copy=False)  # noqa: E731
    pair = compare(np.matmul, cast, (a, b), tolerance=1e-3, flops=2 * n**3)
    return row(pair, scheme=name, dtype="float32", n=n)


class Taken(TorchDispatchMode):
    """Bytes of the memory that the operations inside take."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes, self.seen = 0, set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = [*args, *(kwargs or {}).values()]
        self.seen |= {x.untyped_storage()._cdata for x in given if isinstance(x, torch.Tensor)}
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor) and out.untyped_storage()._cdata not in self.seen:
            self.seen.add(out.untyped_storage()._cdata)
            self.bytes += out.untyped_storage().nbytes()
        return out


def workspace(n: int, levels: int) -> dict:
    """Bytes that one call takes beside A, B and C. Tensors without numbers tell it as well."""
    a, b = (torch.empty(n, n, device="meta") for _ in range(2))
    with Taken() as taken:
        c = strassen_fast(a, b, levels=levels)
    size = taken.bytes - c.untyped_storage().nbytes()
    share = digits(size / c.untyped_storage().nbytes())
    return {"n": n, "levels": levels, "dtype": "float32", "bytes": size, "share_of_c": share}


def errors(n: int, dtype: torch.dtype) -> list[dict]:
    """Largest error of one product by form and level, and its bound, for normal entries.

    ``bound`` is Higham (2002), section 23.2, with the unit roundoff u and the largest entries of A
    and B for the norms: ``n² u`` for the plain product, ``(f^L (n₀² + g n₀) − g n) u`` for L levels
    down to n₀, with f = 12, g = 5 for Strassen's form and f = 18, g = 6 for Winograd's.
    """
    seed = torch.Generator().manual_seed(0)
    a, b = (torch.randn(n, n, generator=seed, dtype=torch.float64).to(dtype) for _ in range(2))
    # float64 is measured against numpy's longer numbers (64 bits of mantissa on x86).
    wide = np.longdouble if dtype == torch.float64 else np.float64
    exact = a.double().numpy().astype(wide) @ b.double().numpy().astype(wide)
    unit = torch.finfo(dtype).eps / 2 * a.abs().max().item() * b.abs().max().item()
    found = []
    for form, levels in itertools.product(("strassen", "winograd"), range(6)):
        leaf = n >> levels
        f, g = (12, 5) if form == "strassen" else (18, 6)
        fast = form == "winograd"
        c = strassen_fast(a, b, levels=levels) if fast else strassen(a, b, leaf=leaf)
        difference = np.abs(c.double().numpy().astype(wide) - exact).max()
        growth = f**levels * (leaf**2 + g * leaf) - g * n if levels else n**2
        found.append(
            {
                "dtype": str(dtype).removeprefix("torch."),
                "n": n,
                "form": form,
                "levels": levels,
                "error": digits(difference),
                "relative": digits(difference / np.abs(exact).max()),
                "bound": digits(growth * unit),
            }
        )
        print(*(f"{k}={v}" for k, v in found[-1].items()), flush=True)
    return found


def ladder(rows: list[dict]) -> list[dict]:
    """One product by ever better means: 2n³ operations over the seconds (claim H15)."""
    rng = np.random.default_rng(0)

    def step(what: str, fn, n: int, dtype: str, as_given=lambda x: x) -> dict:
        a, b = (rng.normal(size=(n, n)).astype(dtype) for _ in range(2))
        np.testing.assert_allclose(fn(as_given(a), as_given(b)), a @ b, rtol=0, atol=1e-3 * n)
        time = bench(fn, as_given(a), as_given(b), flops=2 * n**3)
        return rung(what, n, dtype, time.p50, time.samples)

    def rung(what: str, n: int, dtype: str, seconds: float, samples: int) -> dict:
        found = {"what": what, "n": n, "dtype": dtype, "seconds": digits(seconds)}
        found |= {"samples": samples, "gflop_per_s": digits(2 * n**3 / seconds / 1e9)}
        print(*(f"{k}={v}" for k, v in found.items()), flush=True)
        return found

    rungs = [
        step("CPython, triple loop over lists", triple_loop, 128, "float64", np.ndarray.tolist),
        step("NumPy, one row operation at a time", numpy_rows, 512, "float32"),
    ]
    if importlib.util.find_spec("numba"):
        rungs.append(step("Numba, triple loop", compiled_loop(), 1024, "float32"))
    rungs += [step("NumPy, its BLAS", np.matmul, 2048, d) for d in ("float64", "float32")]
    for found in rows:
        if found["m"] == found["k"] == found["n"] >= 4096:
            n, dtype, samples = found["n"], found["dtype"], found["samples"]
            rungs.append(rung("torch.mm", n, dtype, found["blas_ms_p50"] / 1e3, samples))
            fast = f"strassen_fast, {found['levels']} levels"
            rungs.append(rung(fast, n, dtype, found["ms_p50"] / 1e3, samples))
    return rungs


def compiled_loop():
    """The triple loop by Numba, its inner loop along the rows, where memory is read in order."""
    import numba

    @numba.njit(fastmath=True)
    def multiply(a, b):
        c = np.zeros((a.shape[0], b.shape[1]), a.dtype)
        for i in range(a.shape[0]):
            for p in range(a.shape[1]):
                for j in range(b.shape[1]):
                    c[i, j] += a[i, p] * b[p, j]
        return c

    return multiply


def on_cuda() -> list[dict]:
    """Levels 1 to 3 on the GPU: float32 (TF32 off) to 16384, bfloat16 to 32768."""
    torch.backends.cuda.matmul.allow_tf32 = False
    cases = [("float32", n) for n in (2048, 4096, 8192, 16384)]
    cases += [("bfloat16", n) for n in (4096, 8192, 16384, 32768)]
    return [
        against_blas((n, n, n), getattr(torch, dtype), levels, "cuda", budget=3.0)
        for (dtype, n), levels in itertools.product(cases, (1, 2, 3))
    ]


def main(quick: bool) -> None:
    if os.environ.get("OMP_NUM_THREADS") != "1":
        raise SystemExit("numpy's BLAS takes its threads at the start: set OMP_NUM_THREADS=1")
    torch.set_num_threads(1)
    small = {"float32": (512, 1024)} if quick else SMALL
    trials = [
        against_blas((n, n, n), getattr(torch, dtype), 1, budget=1.5)
        for dtype, sizes in small.items()
        for n in sizes
    ]
    if quick:
        return
    cuda = on_cuda() if torch.cuda.is_available() else []
    sides = {"cpu": {}, "cuda": {}}
    for kind, rows in (("cpu", trials), ("cuda", [r for r in cuda if r["levels"] == 1])):
        for dtype in dict.fromkeys(r["dtype"] for r in rows):
            if side := find_crossover([r for r in rows if r["dtype"] == dtype]):
                sides[kind][dtype] = side
    about = environment_of("cuda" if cuda else "cpu")
    crossover._measured = lambda: sides  # what follows goes by what was just found

    shapes = [(n, n, n) for n in SIZES]
    rows = [against_blas(s, torch.float32) for s in shapes + list(RECTANGLES)]
    rows += [against_blas(s, torch.float64) for s in shapes]
    rows += [
        against_blas((n, n, n), getattr(torch, dtype), levels)
        for (dtype, n), depths in DEPTHS.items()
        for levels in depths
    ]
    schemes = [in_numpy(n, "source", source_scheme) for n in (512, 1024, 2048, 4096)]
    schemes += [in_numpy(n, "strassen, leaf 64", strassen) for n in (512, 1024, 2048)]
    blocks = lambda a, b: strassen(a, b, leaf=512)  # noqa: E731
    schemes += [in_numpy(n, "strassen, leaf 512", blocks) for n in (1024, 2048, 4096)]
    rows += [
        against_blas((LARGEST,) * 3, dtype, budget=0.0) for dtype in (torch.float32, torch.float64)
    ]
    record = {
        "what": "strassen_fast beside torch.mm into the same memory, one thread, in pairs",
        "unit": "ratio: time of BLAS / time of the other, above 1 it is faster; times in ms",
        "environment": about,
        "crossover": sides,
        "one_level": trials,
        "ratios": rows,
        "numpy_schemes": schemes,
        "cuda": cuda,
        "errors": [
            found
            for n, dtype in ((512, torch.bfloat16), (512, torch.float32), (512, torch.float64))
            for found in errors(n, dtype)
        ]
        + errors(2048, torch.float32),
        "workspace": [workspace(n, levels) for n in (1024, 4096, 8192) for levels in (1, 2, 3, 4)],
        "ladder": ladder(rows),
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    print(RECORD, RECORD.stat().st_size, "bytes")


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
