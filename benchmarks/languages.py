"""One matrix product in several languages: the rungs of the ladder below a library's own.

Numba and Mojo are optional: where they are not installed, :func:`compiled` says so.
"""

import ctypes
import importlib.util
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np
import torch


def numpy_rows(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Row i of the result is the sum of the rows of b, each times an entry of row i of a."""
    c = np.zeros((len(a), b.shape[1]), a.dtype)
    for i, p in itertools.product(range(len(a)), range(len(b))):
        c[i] += a[i, p] * b[p]
    return c


def torch_rows(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same loops over torch's rows."""
    a, b = torch.from_numpy(a), torch.from_numpy(b)
    c = torch.zeros(len(a), b.shape[1], dtype=a.dtype)
    for i, p in itertools.product(range(len(a)), range(len(b))):
        c[i] += a[i, p] * b[p]
    return c.numpy()


def numba_loops() -> dict[str, Callable]:
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

    return {"Numba, triple loop": multiply}


def mojo_loops() -> dict[str, Callable]:
    """The same loop by Mojo, and one along vectors of numbers, compiled to a library."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "multiply.so"
        source = Path(__file__).with_name("matmul.mojo")
        command = ["mojo", "build", "--emit", "shared-lib", "-o", library, source]
        subprocess.run(command, check=True, capture_output=True)
        loaded = ctypes.CDLL(str(library))

    def callable_from_numpy(loop: Callable) -> Callable:
        loop.argtypes, loop.restype = 4 * [ctypes.c_int64], None

        def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            c = np.empty_like(a)
            loop(a.ctypes.data, b.ctypes.data, c.ctypes.data, len(a))
            return c

        return multiply

    names = {"Mojo, triple loop": loaded.loops, "Mojo, triple loop in vectors": loaded.vectors}
    return {name: callable_from_numpy(loop) for name, loop in names.items()}


def compiled() -> tuple[dict[str, Callable], dict[str, str], list[dict]]:
    """The compiled loops by name, the versions of their languages, and what is missing, and why."""
    loops, versions, missing = {}, {}, []
    there = {"Numba": importlib.util.find_spec("numba"), "Mojo": shutil.which("mojo")}
    for language, make in (("Numba", numba_loops), ("Mojo", mojo_loops)):
        if there[language]:
            loops |= make()
            versions[language.lower()] = metadata.version(language.lower())
        else:
            missing.append({"group": "ladder", "what": language, "reason": "not installed here"})
    return loops, versions, missing
