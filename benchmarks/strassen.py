"""Strassen beside BLAS, on one thread: when it is faster, and what it costs in digits.

    OMP_NUM_THREADS=1 python benchmarks/strassen.py

verifies, then times in pairs, and writes ``hydra_lib/records/strassen.json``, and in it
the crossovers that ``strassen_fast`` goes by. About 12 minutes; with ``--quick``, small sizes only
and nothing written.
"""

import importlib.util
import itertools
import os
import sys
from functools import partial

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hydra_lib.matmul import crossover
from hydra_lib.matmul.counting import triple_loop
from hydra_lib.matmul.fast import strassen_fast
from hydra_lib.matmul.recursion import strassen
from hydra_lib.records import FOLDER, rounded, write
from hydra_lib.timing.environment import environment_of
from hydra_lib.timing.measurement import bench, compare
from hydra_lib.timing.rows import pair_rows, row

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


def operands(m: int, k: int, n: int, dtype: torch.dtype) -> tuple:
    g = torch.Generator().manual_seed(0)
    if not (dtype.is_floating_point or dtype.is_complex):
        sizes = ((m, k), (k, n))
        return tuple(torch.randint(-99, 100, s, generator=g, dtype=dtype) for s in sizes)
    return torch.randn(m, k, generator=g, dtype=dtype), torch.randn(k, n, generator=g, dtype=dtype)


def tolerance(dtype: torch.dtype) -> float:
    """Far above the errors of four levels, far below that of a wrong sign."""
    return 1000 * torch.finfo(dtype).eps if dtype.is_floating_point or dtype.is_complex else 0.0


def against_blas(
    group: str, shape: tuple, dtype: torch.dtype, levels: int | None = None, **how
) -> list[dict]:
    """``strassen_fast`` paired with ``torch.mm``, both into the same memory: two rows."""
    m, k, n = shape
    a, b = operands(m, k, n, dtype)
    out = torch.empty(m, n, dtype=dtype)
    pair = compare(
        lambda a, b: torch.mm(a, b, out=out),
        lambda a, b: strassen_fast(a, b, out, levels),
        (a, b),
        exact=torch.mm,
        tolerance=tolerance(dtype),
        flops=2 * m * k * n,
        **how,
    )
    name = "strassen_fast"
    if levels is None:
        levels = crossover.choose_levels(m, k, n, dtype, a.device)
    else:
        name += f", {levels} level{'s' * (levels > 1)}"
    sizes = {"n": n} if m == k == n else {"m": m, "k": k, "n": n}
    rows = pair_rows(group, ("torch.mm", name), sizes, pair)
    rows[1]["levels"] = levels
    show(rows[1])
    return rows


def show(found: dict) -> None:
    print(*(f"{k}={v}" for k, v in rounded(found).items() if v is not None), flush=True)


def find_crossover(rows: list[dict]) -> int | None:
    """The smallest side from which on one level gains at least MARGIN at every side measured."""
    best = None
    for found in sorted(rows, key=lambda r: -r["n"]):
        if found["ratio"] < MARGIN:
            break
        best = found["n"]
    return best


def in_numpy(n: int, name: str, fn) -> list[dict]:
    """A scheme written on numpy beside numpy's own product, float32: two rows."""
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(n, n)).astype(np.float32) for _ in range(2))
    # The source's result is float64 (claim H14); the cast is a hundredth of its time.
    cast = lambda a, b: fn(a, b).astype(a.dtype, copy=False)  # noqa: E731
    pair = compare(np.matmul, cast, (a, b), tolerance=1e-3, flops=2 * n**3)
    rows = pair_rows("numpy", ("numpy.matmul", name), {"n": n}, pair)
    show(rows[1])
    return rows


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
    return {"group": "workspace", "n": n, "levels": levels, "dtype": "float32", "bytes": size}


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
                "group": "errors",
                "dtype": str(dtype).removeprefix("torch."),
                "n": n,
                "form": form,
                "levels": levels,
                "error": float(difference),
                "relative": float(difference / np.abs(exact).max()),
                "bound": growth * unit,
            }
        )
        show(found[-1])
    return found


def ladder() -> list[dict]:
    """One product by ever better means, up to the library's own (claim H15)."""
    rng = np.random.default_rng(0)

    def step(kernel: str, fn, n: int, dtype: str, as_given=lambda x: x) -> dict:
        a, b = (rng.normal(size=(n, n)).astype(dtype) for _ in range(2))
        np.testing.assert_allclose(fn(as_given(a), as_given(b)), a @ b, rtol=0, atol=1e-3 * n)
        found = row("ladder", kernel, {"n": n}, bench(fn, as_given(a), as_given(b), flops=2 * n**3))
        found["dtype"] = dtype  # lists of numbers have none
        show(found)
        return found

    rungs = [
        step("CPython, triple loop over lists", triple_loop, 128, "float64", np.ndarray.tolist),
        step("NumPy, one row operation at a time", numpy_rows, 512, "float32"),
    ]
    if importlib.util.find_spec("numba"):
        rungs.append(step("Numba, triple loop", compiled_loop(), 1024, "float32"))
    return rungs + [step("NumPy, its BLAS", np.matmul, 2048, d) for d in ("float64", "float32")]


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


def main(quick: bool) -> None:
    if os.environ.get("OMP_NUM_THREADS") != "1":
        raise SystemExit("numpy's BLAS takes its threads at the start: set OMP_NUM_THREADS=1")
    torch.set_num_threads(1)
    small = {"float32": (512, 1024)} if quick else SMALL
    rows = [
        found
        for dtype, sizes in small.items()
        for n in sizes
        for found in against_blas("one level", (n, n, n), getattr(torch, dtype), 1, budget=1.5)
    ]
    if quick:
        return
    tried = [r for r in rows if r["reference"]]
    found = {d: find_crossover([r for r in tried if r["dtype"] == d]) for d in SMALL}
    sides = {"cpu": {dtype: side for dtype, side in found.items() if side}}
    crossover._measured = lambda: sides  # what follows goes by what was just found
    record = {
        "what": "Strassen's algorithm beside BLAS on one thread, verified, then timed in pairs",
        "environment": environment_of(),
        "settings": {"crossover": sides},
        "rows": rows,
    }

    for dtype, n in itertools.product((torch.float32, torch.float64), SIZES):
        rows += against_blas("levels chosen", (n, n, n), dtype)
    for shape in RECTANGLES:
        rows += against_blas("rectangles", shape, torch.float32)
    for (dtype, n), depths in DEPTHS.items():
        for levels in depths:
            rows += against_blas("levels tried", (n, n, n), getattr(torch, dtype), levels)
    for dtype in (torch.float32, torch.float64):
        rows += against_blas("levels chosen", (LARGEST,) * 3, dtype, budget=0.0)
    for n in (512, 1024, 2048, 4096):
        rows += in_numpy(n, "source's scheme, leaf 64", source_scheme)
    for leaf, sizes in ((64, (512, 1024, 2048)), (512, (1024, 2048, 4096))):
        for n in sizes:
            rows += in_numpy(n, f"strassen, leaf {leaf}", partial(strassen, leaf=leaf))
    rows += ladder()
    for n, dtype in ((512, torch.bfloat16), (512, torch.float32), (512, torch.float64)):
        rows += errors(n, dtype)
    rows += errors(2048, torch.float32)
    rows += [workspace(n, levels) for n in (1024, 4096, 8192) for levels in (1, 2, 3, 4)]
    write(record, RECORD)
    print(RECORD, RECORD.stat().st_size, "bytes")


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
