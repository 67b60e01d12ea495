"""Strassen beside BLAS: when it is faster than the fastest library here, and what it costs.

    OMP_NUM_THREADS=1 python benchmarks/strassen.py

verifies, then times in one run, and writes ``hydra_lib/records/strassen.json``, and in it
the crossovers that ``strassen_fast`` goes by. About a quarter of an hour. The groups:

- one level: one level beside none, blocks by one library; from these the crossovers
- older kernels: the same by an OpenBLAS that is held to those for an older processor, in a process
  of its own. There products take longer, additions do not, and the crossover moves.
- levels chosen, levels tried, rectangles, two threads: torch.mm, numpy.matmul and strassen_fast in
  turn. The denominator of every ratio is the faster of the first two, named in ``reference``.
- numpy: schemes written on NumPy beside NumPy's product
- ladder: one product in several languages and libraries; Numba and Mojo where they are installed
- errors, workspace: no times
"""

import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from languages import compiled, numpy_rows, torch_rows
from torch.utils._python_dispatch import TorchDispatchMode
from unhindered import unhindered

from hydra_lib.matmul import blas, crossover
from hydra_lib.matmul.counting import triple_loop
from hydra_lib.matmul.fast import strassen_fast
from hydra_lib.matmul.recursion import strassen
from hydra_lib.records import FOLDER, rounded, write
from hydra_lib.timing.accuracy import FailedCheckError, relative_error
from hydra_lib.timing.environment import environment_of
from hydra_lib.timing.measurement import Timing, bench, compare
from hydra_lib.timing.roofline import measure_ceilings
from hydra_lib.timing.rows import pair_rows, row
from hydra_lib.timing.sampling import quantiles

RECORD = FOLDER / "strassen.json"

OLDER = "Haswell"  # the last kernels of OpenBLAS before those with vectors of 512 bits

# Sizes at which one level is tried, around where it is expected to begin to pay.
# At odd ones a strip is peeled off as well.
BOTH = {
    "float32": (512, 768, 1024, 1535, 1536, 2047, 2048, 3071, 3072, 4096),
    "float64": (1024, 1535, 1536, 2047, 2048, 3071, 3072),
}
TORCHS = {"complex64": (768, 1024), "complex128": (640, 768), "int64": (384, 512)}
SIZES = {
    "float32": (512, 1023, 1024, 1031, 1536, 2047, 2048, 2053, 4095, 4096, 8192),
    "float64": (512, 1023, 1024, 1536, 2047, 2048, 4096, 8192),
}
RECTANGLES = ((256, 4096, 4096), (1024, 4096, 1024), (2048, 4096, 3072))
DEPTHS = {("float32", 4096): (1, 2, 3)}
LADDER = (64, 128, 256, 512, 1024, 2048, 4096)
BUDGET = 10.0  # seconds for one comparison, unless the fewest rounds take longer


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


def operands(m: int, k: int, n: int, dtype: torch.dtype) -> tuple:
    g = torch.Generator().manual_seed(0)
    if not (dtype.is_floating_point or dtype.is_complex):
        sizes = ((m, k), (k, n))
        return tuple(torch.randint(-99, 100, s, generator=g, dtype=dtype) for s in sizes)
    return torch.randn(m, k, generator=g, dtype=dtype), torch.randn(k, n, generator=g, dtype=dtype)


def tolerance(dtype: torch.dtype) -> float:
    """Far above the errors of four levels, far below that of a wrong sign."""
    return 1000 * torch.finfo(dtype).eps if dtype.is_floating_point or dtype.is_complex else 0.0


def plain(library: str) -> tuple[str, Callable]:
    """A library's product as its users call it, of torch's tensors: name and function."""
    if library == "torch":
        return "torch.mm", lambda a, b, out: torch.mm(a, b, out=out)

    def matmul(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
        np.matmul(a.numpy(), b.numpy(), out=out.numpy())

    return "numpy.matmul", matmul


def one_level(library: str, n: int, dtype: torch.dtype) -> list[dict]:
    """One level beside none, by one library: two rows."""
    name, multiply = plain(library)
    fast = partial(strassen_fast, levels=1, library=library)
    calls = {name: multiply, f"strassen_fast, 1 level, {library}": fast}
    return contest("one level", calls, (n, n, n), dtype, 1)


def verify(name: str, multiply: Callable, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor):
    """Error of the product on eight vectors of signs, against float64: a row that is off shows."""
    out.zero_()
    multiply(a, b, out)
    wide = torch.complex128 if a.is_complex() else torch.float64
    signs = (2 * torch.randint(2, (b.shape[1], 8)) - 1).to(wide)
    exact = a.to(wide) @ (b.to(wide) @ signs)
    error = relative_error(out.to(wide) @ signs, exact)
    if not error <= tolerance(a.dtype):
        raise FailedCheckError(f"{name} is wrong: error {error:.2e}")
    return error


def against_the_fastest(
    group: str, shape: tuple, dtype: torch.dtype, levels: int | None = None, threads: int = 1
) -> list[dict]:
    """Both libraries and ``strassen_fast`` in turn, in one run, into the same memory: a row each.

    The ratios are over the faster library of this very run, whose row has none.
    """
    torch.set_num_threads(threads)
    calls = dict(plain(library) for library in blas.libraries())
    name = (
        "strassen_fast" if levels is None else f"strassen_fast, {levels} level{'s' * (levels > 1)}"
    )
    calls[name] = partial(strassen_fast, levels=levels)
    if levels is None:
        library = blas.fastest(*shape, dtype, torch.device("cpu"))
        levels = crossover.choose_levels(*shape, dtype, torch.device("cpu"), library)
    with numpys_threads(threads):
        rows = contest(group, calls, shape, dtype, levels)
    torch.set_num_threads(1)
    return rows


def contest(group: str, calls: dict, shape: tuple, dtype: torch.dtype, levels: int) -> list[dict]:
    """A row each, the last one being Strassen's; ratios are over the fastest of the others."""
    m, k, n = shape
    a, b = operands(m, k, n, dtype)
    out = torch.empty(m, n, dtype=dtype)
    errors = {name: verify(name, call, a, b, out) for name, call in calls.items()}
    times = in_turn(calls, (a, b, out))
    kind, about = str(dtype).removeprefix("torch."), environment_of()
    *names, last = calls
    fastest = min(names, key=lambda name: np.median(times[name]))
    sizes = {"n": n} if m == k == n else {"m": m, "k": k, "n": n}
    rows = []
    for name, seconds in times.items():
        found = Timing(*quantiles(seconds), len(seconds), kind, False, 2 * m * k * n, None, about)
        rows.append(row(group, name, sizes, found, errors[name]))
        if name != fastest:
            low, middle, high, spread = quantiles(times[fastest] / seconds)
            rows[-1] |= {"reference": fastest, "ratio": middle, "spread": spread}
            rows[-1] |= {"ratio_p20": low, "ratio_p80": high}
        if name == last:
            rows[-1]["levels"] = levels
        show(rows[-1])
    return rows


def in_turn(calls: dict[str, Callable], arguments: tuple) -> dict[str, np.ndarray]:
    """Seconds of every call, the order turning: seven rounds at least, until BUDGET is spent.

    Three rounds for the largest, which take minutes.

    On one thread those of the processor, for it is shared; on more, those of the clock.
    """
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    rounds: list[dict] = []
    least = 3 if arguments[2].shape[1] >= 8192 else 7
    begin = time.perf_counter()
    while len(rounds) < least or (time.perf_counter() - begin < BUDGET and len(rounds) < 40):
        spent = {}
        for name in sorted(calls, key=list(calls).index, reverse=len(rounds) % 2 == 1):
            start = clock()
            calls[name](*arguments)
            spent[name] = clock() - start
        rounds.append(spent)
    return {name: np.array([spent[name] for spent in rounds]) for name in calls}


@contextlib.contextmanager
def numpys_threads(threads: int):
    """NumPy's OpenBLAS with this many threads; without OpenBLAS there is nothing to set."""
    if found := blas._openblas():
        found["set_threads"](threads)
    yield
    if found:
        found["set_threads"](1)


def show(found: dict) -> None:
    print(*(f"{k}={v}" for k, v in rounded(found).items() if v is not None), flush=True)


def find_crossover(rows: list[dict]) -> int | None:
    """The smallest side from which on one level gains at every side measured."""
    best = None
    for found in sorted(rows, key=lambda r: -r["n"]):
        if found["ratio"] < 1:
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


def ladder(loops: dict[str, Callable]) -> list[dict]:
    """One float32 product by ever better means, from 64 to 4096 where bearable (claim H15)."""
    rungs: dict[str, tuple[Callable, tuple]] = {
        "CPython, triple loop over lists": (triple_loop, (64, 128, 256)),
        "NumPy, one row operation at a time": (numpy_rows, (64, 256, 512)),
        "torch, one row operation at a time": (torch_rows, (64, 256)),
        **{name: (loop, (64, 256, 512, 1024)) for name, loop in loops.items()},
        "torch.mm": (lambda a, b: torch.mm(*map(torch.from_numpy, (a, b))).numpy(), LADDER),
        "numpy.matmul": (np.matmul, LADDER),
        "strassen_fast": (
            lambda a, b: strassen_fast(*map(torch.from_numpy, (a, b))).numpy(),
            LADDER,
        ),
    }
    rows = []
    for kernel, (multiply, sizes) in rungs.items():
        for n in sizes:
            rng = np.random.default_rng(0)
            a, b = (rng.normal(size=(n, n)).astype(np.float32) for _ in range(2))
            given = (a.tolist(), b.tolist()) if multiply is triple_loop else (a, b)
            found = np.asarray(multiply(*given), np.float64)
            error = relative_error(found, a.astype(np.float64) @ b.astype(np.float64))
            if not error < 1e-4:
                raise FailedCheckError(f"{kernel} is wrong: error {error:.2e}")
            timing = bench(multiply, *given, flops=2 * n**3, budget=0.5)
            rows.append(row("ladder", kernel, {"n": n}, timing, error) | {"dtype": "float32"})
            show(rows[-1])
    return rows


def with_older_kernels() -> list[dict]:
    """One level beside none, by OpenBLAS with its OLDER kernels; [] where it has none of them."""
    command = [sys.executable, __file__, OLDER]
    environment = os.environ | {"OPENBLAS_CORETYPE": OLDER}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    *lines, last = done.stdout.splitlines()
    print(*lines, sep="\n", flush=True)
    return json.loads(last)


def held_back() -> list[dict]:
    """What the process of the older kernels does."""
    torch.set_num_threads(1)
    if blas.kernels() != OLDER:
        return []
    rows = []
    for n in BOTH["float32"]:
        for found in one_level("OpenBLAS", n, torch.float32):
            names = (found["kernel"], found["reference"])
            kernel, reference = (name and f"{name}, {OLDER}" for name in names)
            rows.append(
                found | {"group": "older kernels", "kernel": kernel, "reference": reference}
            )
    return rows


def main() -> None:
    kernels = unhindered()
    torch.set_num_threads(1)
    loops, versions, missing = compiled()
    tried = [
        ("torch", dtype, one_level("torch", n, getattr(torch, dtype)))
        for dtype, sizes in TORCHS.items()
        for n in sizes
    ]
    for library, (dtype, sizes) in itertools.product(blas.libraries(), BOTH.items()):
        tried += [(library, dtype, one_level(library, n, getattr(torch, dtype))) for n in sizes]
    sides: dict = {library: {} for library in blas.libraries()}
    for library, dtype in dict.fromkeys((library, dtype) for library, dtype, _ in tried):
        ones = [pair[1] for *about, pair in tried if about == [library, dtype]]
        whole = find_crossover([one for one in ones if one["n"] % 2 == 0])
        peeled = find_crossover([one for one in ones if one["n"] % 2])
        found = {"whole": whole, "peeled": peeled}
        sides[library][dtype] = {kind: side for kind, side in found.items() if side}
    print(sides, flush=True)
    crossover._measured = lambda: {"cpu": sides}  # what follows goes by what was just found
    rows = [found for _, _, pair in tried for found in pair]
    if blas.kernels() not in (None, OLDER):
        rows += with_older_kernels()
    about = environment_of()
    about["versions"] |= versions | kernels
    record = {
        "what": "Strassen's algorithm beside the BLAS libraries present, verified, then timed",
        "environment": about,
        "ceilings": {"float32": measure_ceilings("cpu", torch.float32, budget=2.0).as_record()},
        "settings": {"crossover": {"cpu": sides}},
        "rows": rows,
        "missing": missing,
    }

    for dtype, sizes in SIZES.items():
        for n in sizes:
            rows += against_the_fastest("levels chosen", (n, n, n), getattr(torch, dtype))
    rows += against_the_fastest("two threads", 3 * (8192,), torch.float32, threads=2)
    for shape in RECTANGLES:
        rows += against_the_fastest("rectangles", shape, torch.float32)
    for (dtype, n), depths in DEPTHS.items():
        for levels in depths:
            found = against_the_fastest("levels tried", (n, n, n), getattr(torch, dtype), levels)
            rows += found
    for n in (512, 1024, 2048):
        rows += in_numpy(n, "source's scheme, leaf 64", source_scheme)
    for leaf, sizes in ((64, (512, 1024)), (512, (1024, 2048))):
        for n in sizes:
            rows += in_numpy(n, f"strassen, leaf {leaf}", partial(strassen, leaf=leaf))
    rows += ladder(loops)
    for n, dtype in ((512, torch.bfloat16), (512, torch.float32), (512, torch.float64)):
        rows += errors(n, dtype)
    rows += errors(2048, torch.float32)
    rows += [workspace(n, levels) for n in (1024, 4096, 8192) for levels in (1, 2, 3, 4)]
    write(record, RECORD)
    print(RECORD, RECORD.stat().st_size, "bytes")


if __name__ == "__main__":
    if sys.argv[1:] == [OLDER]:
        print(json.dumps(held_back()))
    else:
        main()
