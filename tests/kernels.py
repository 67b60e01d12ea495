"""Where the kernels' tests run, and on what: shared by ``test_kernels_*.py``."""

import pytest
import torch

from hydra_lib.kernels._launch import INTERPRETED

DTYPES = [torch.float16, torch.bfloat16, torch.float32]

# Compiled on a GPU where there is one, else interpreted on the CPU; never both in one run, because
# Triton decides when a kernel is defined.
interpreted = pytest.mark.skipif(not INTERPRETED, reason="the kernels are compiled in this run")
compiled = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA"),
    pytest.mark.skipif(INTERPRETED, reason="the kernels are interpreted in this run"),
]
devices = pytest.mark.parametrize(
    "device", [pytest.param("cpu", marks=interpreted), pytest.param("cuda", marks=compiled)]
)


def random(*shape, seed=0, dtype=torch.float32, device="cpu"):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(device, dtype)


def negated(x):
    """−x, of which only the sign is kept: the numbers in memory are those of x."""
    result = torch.complex(torch.zeros_like(x), x).conj().imag
    assert result.is_neg()
    return result
