"""Triton kernels, each with its wrapper: check, allocate, launch.

``tiled_matmul`` (:mod:`hydra_lib.kernels.matmul`), ``online_softmax``
(:mod:`hydra_lib.kernels.softmax`), ``flash_attention`` and ``launch_grid``
(:mod:`hydra_lib.kernels.attention`; its gradient is in
``attention_backward``). They stand on top of the library, which works
without them; Triton is loaded when the first of them is asked for.

They need Triton 3.4 or later, and run on CUDA. With ``TRITON_INTERPRET=1`` in the environment
before Triton is first imported they run on the CPU instead, one program after another: slow, but
the way to step through a kernel without a GPU.
"""

from importlib import import_module
from typing import Any

__all__ = ["NoTritonError", "flash_attention", "launch_grid", "online_softmax", "tiled_matmul"]

_HOME = {
    "flash_attention": "attention",
    "launch_grid": "attention",
    "online_softmax": "softmax",
    "tiled_matmul": "matmul",
}


class NoTritonError(ImportError):
    """A kernel was asked for where Triton cannot be imported, or is older than 3.4."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import triton
    except ImportError as error:
        raise NoTritonError(
            f"{name} is a Triton kernel, and Triton cannot be imported ({error}): install triton, "
            "which is available for Linux, or use the plain version beside the kernel"
        ) from error
    if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 4):
        raise NoTritonError(
            f"{name} is a Triton kernel and needs Triton 3.4 or later, got {triton.__version__}: "
            "torch 2.8 is the first that comes with one, or use the plain version beside the kernel"
        )
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
