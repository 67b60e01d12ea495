"""What must not be set where products are timed, and the kernels that run then."""

import os

from hydra_lib.matmul import blas

# Each keeps a library from the kernels that it would choose for this processor.
HINDRANCES = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_CBWR",
    "ATEN_CPU_CAPABILITY",
)


def unhindered() -> dict[str, str]:
    """For a record's versions, the kernels of NumPy's OpenBLAS, where it brings that.

    Raises SystemExit unless NumPy's BLAS was loaded for one thread and free to choose its kernels.
    """
    if os.environ.get("OMP_NUM_THREADS") != "1":
        raise SystemExit("NumPy's BLAS takes its threads at the start: set OMP_NUM_THREADS=1")
    if found := [f"{name}={os.environ[name]}" for name in HINDRANCES if name in os.environ]:
        raise SystemExit(f"the libraries must choose their own kernels: unset {', '.join(found)}")
    return {"openblas": f"with kernels for {name}"} if (name := blas.kernels()) else {}
