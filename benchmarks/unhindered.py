"""What must not be set where products are timed, and the kernels that run then."""

import os

from hydra_lib.matmul import blas

# Each sets what a library would choose for this processor: kernels, the size of blocks, or threads.
HINDRANCES = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "OPENBLAS_NUM_THREADS",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_CBWR",
    "MKL_NUM_THREADS",
    "ATEN_CPU_CAPABILITY",
)


def unhindered() -> dict[str, str]:
    """For a record's versions, the kernels of NumPy's OpenBLAS, where it brings that.

    Raises SystemExit unless OMP_NUM_THREADS is 1 and none of HINDRANCES is set.
    """
    if os.environ.get("OMP_NUM_THREADS") != "1":
        raise SystemExit("NumPy's BLAS takes its threads at the start: set OMP_NUM_THREADS=1")
    if found := [f"{name}={os.environ[name]}" for name in HINDRANCES if name in os.environ]:
        raise SystemExit(f"the libraries must choose for themselves: unset {', '.join(found)}")
    return {"openblas": f"with kernels for {name}"} if (name := blas.kernels()) else {}
