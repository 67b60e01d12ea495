"""The BLAS libraries present, and which of them is the faster one here.

torch brings a library of its own; NumPy's wheels for Linux bring OpenBLAS, which NumPy has loaded
and which is called here by its address. Which of the two is faster depends on the processor, so it
is measured, once in a process and when it first matters; nothing is written anywhere.
"""

import ctypes
import functools
import itertools
import time
from typing import Any

import torch
from numpy.linalg import _umath_linalg  # a part of NumPy that is linked with its BLAS

__all__ = ["fastest", "kernels", "libraries", "multiply"]

TORCH, OPENBLAS = "torch", "OpenBLAS"

# Fewer multiplications than this take a few milliseconds, and are not worth the question.
LARGE = 512**3

LETTERS = {torch.float32: "s", torch.float64: "d"}

BY_ROWS, BY_COLUMNS, AS_IT_IS, TRANSPOSED = 101, 102, 111, 112  # cblas.h


def libraries() -> tuple[str, ...]:
    """Names of the libraries present: "torch", and "OpenBLAS" where NumPy brings that.

    It does in its wheels for Linux. Where NumPy stands on another library, or hides it, as on
    Windows, all products are torch's.

    >>> libraries()[0]
    'torch'
    """
    return (TORCH, OPENBLAS) if _openblas() else (TORCH,)


def kernels() -> str | None:
    """The processor whose kernels OpenBLAS runs here, such as "Haswell"; None without OpenBLAS.

    It chooses when it is loaded, unless the variable ``OPENBLAS_CORETYPE`` names another: others
    may take twice as long, so a time of a product means little without this name.

    >>> (kernels() is None) == ("OpenBLAS" not in libraries())
    True
    """
    found = _openblas()
    return found["kernels"]().decode() if found else None


def fastest(m: int, k: int, n: int, dtype: torch.dtype, device: torch.device) -> str:
    """The library for a product of (m, k) with (k, n): on a CPU the one that is faster here.

    Small products, other dtypes than float32 and float64 and other devices are torch's. The first
    larger product of a dtype and number of threads has both libraries multiply 1023 × 1023 ones,
    five times in turn: some tenths of a second, once in a process. The better of the best times
    wins.

    >>> fastest(3, 5, 7, torch.float32, torch.device("cpu"))
    'torch'
    """
    if dtype not in LETTERS or device.type != "cpu" or m * k * n < LARGE or not _openblas():
        return TORCH
    return _race(dtype, torch.get_num_threads())


def multiply(
    library: str,
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor,
    start: torch.Tensor | None = None,
    threads: int | None = None,
) -> None:
    """``out = a b``, or ``out = start + a b``, by one library.

    OpenBLAS takes so many ``threads``, or as many as torch has now; torch takes its own.
    ``a`` is (m, k), ``b`` (k, n), ``out`` and ``start`` (m, n), of one dtype; ``start`` may be
    ``out``. What OpenBLAS does not take is torch's: other dtypes and devices, strides along both
    axes or of 2³¹ and more, and views that negate or repeat their numbers.

    Cost: ``2mnk`` FLOPs, and a copy if ``start`` lies elsewhere. Nothing is checked here.

    >>> c = torch.ones(2, 2)
    >>> multiply("torch", torch.ones(2, 3), torch.ones(3, 2), c, start=c)
    >>> c
    tensor([[4., 4.],
            [4., 4.]])
    """
    orders = [_order(x) for x in (out, a, b)] if library == OPENBLAS else [None]
    if None not in orders:
        if start is not None and start is not out:
            out.copy_(start)
        _gemm(orders, a, b, out, start is not None, threads or torch.get_num_threads())
    elif start is None:
        torch.mm(a, b, out=out)
    else:
        torch.addmm(start, a, b, out=out)


def _order(x: torch.Tensor) -> tuple[int, int] | None:
    """How a matrix lies in memory and the step from line to line; None if not as BLAS wants it."""
    plain = type(x) in (torch.Tensor, torch.nn.Parameter) and x.dtype in LETTERS
    if not plain or x.device.type != "cpu" or x.is_neg() or max(*x.shape, *x.stride()) >= 2**31:
        return None
    (rows, columns), (down, right) = x.shape, x.stride()
    if (right == 1 or columns == 1) and (down >= columns or rows == 1):
        return BY_ROWS, max(down, columns)
    if (down == 1 or rows == 1) and (right >= rows or columns == 1):
        return BY_COLUMNS, max(right, rows)
    return None


def _gemm(
    orders: list, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, add: bool, threads: int
) -> None:
    """cblas_?gemm in the order of ``out``; a factor that lies the other way is transposed."""
    found = _openblas()
    (order, width), *factors = orders
    (way_a, width_a), (way_b, width_b) = (
        (AS_IT_IS if way == order else TRANSPOSED, width) for way, width in factors
    )
    (m, n), k = out.shape, a.shape[1]
    left, right, into = a.data_ptr(), b.data_ptr(), out.data_ptr()
    before = found["threads"]()
    if threads != before:
        found["set_threads"](threads)
    gemm, beta = found[LETTERS[out.dtype]], 1.0 if add else 0.0
    gemm(order, way_a, way_b, m, n, k, 1.0, left, width_a, right, width_b, beta, into, width)
    if threads != before:
        found["set_threads"](before)
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)  # as every change in place does


@functools.cache
def _openblas() -> dict[str, Any]:
    """OpenBLAS's functions, or none of them. Their names tell how long its integers are."""
    try:
        loaded = ctypes.CDLL(_umath_linalg.__file__)  # finds what the file is linked with, too
    except OSError:
        return {}
    names = itertools.product(("", "scipy_"), (("", ctypes.c_int32), ("64_", ctypes.c_int64)))
    known = [x for x in names if hasattr(loaded, f"{x[0]}openblas_get_num_threads{x[1][0]}")]
    if not known:
        return {}
    prefix, (suffix, integer) = known[0]

    def function(name: str, *arguments: Any) -> Any:
        found = getattr(loaded, f"{prefix}{name}{suffix}")
        found.argtypes = arguments
        return found

    made = {
        "threads": function("openblas_get_num_threads"),
        "set_threads": function("openblas_set_num_threads", ctypes.c_int),
        "kernels": function("openblas_get_corename"),
    }
    made["kernels"].restype = ctypes.c_char_p
    for letter, number in (("s", ctypes.c_float), ("d", ctypes.c_double)):
        matrix = (ctypes.c_void_p, integer)
        sizes = (*3 * (ctypes.c_int,), *3 * (integer,))
        made[letter] = function(
            f"cblas_{letter}gemm", *sizes, number, *matrix, *matrix, number, *matrix
        )
    return made


@functools.cache
def _race(dtype: torch.dtype, threads: int) -> str:
    """The faster library for a dtype, with as many threads as there now are."""
    clock = time.process_time if threads == 1 else time.perf_counter  # others may keep it busy
    a, b, out = torch.ones(3, 1023, 1023, dtype=dtype, device="cpu")
    best = dict.fromkeys(libraries(), float("inf"))
    for _, library in itertools.product(range(5), best):
        start = clock()
        multiply(library, a, b, out)
        best[library] = min(best[library], clock() - start)
    return min(best, key=lambda library: best[library])
