"""The package loads lazily; and the kernels compile for GPUs that are not there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hydra_lib import kernels
from tests.refusal import refuses

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def python(*arguments, **environment):
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_triton_is_loaded_when_a_kernel_is_asked_for():
    code = """
import sys
import hydra_lib, hydra_lib.kernels as kernels
assert "triton" not in sys.modules
for name in kernels.__all__:
    assert getattr(kernels, name).__name__ == name
assert "triton" in sys.modules
"""
    python("-c", code)


def test_without_triton(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    message = (
        "tiled_matmul is a Triton kernel, and Triton cannot be imported (import of triton halted; "
        "None in sys.modules): install triton, which is available for Linux, or use the plain "
        "version beside the kernel"
    )
    with refuses(kernels.NoTritonError, message):
        from hydra_lib.kernels import tiled_matmul  # noqa: F401
    assert issubclass(kernels.NoTritonError, ImportError)


@pytest.mark.parametrize("version", ["3.0.0", "3.3.1", "2.1.0"])
def test_triton_is_too_old(monkeypatch, version):
    monkeypatch.setattr("triton.__version__", version)
    message = (
        f"online_softmax is a Triton kernel and needs Triton 3.4 or later, got {version}: torch "
        "2.8 is the first that comes with one, or use the plain version beside the kernel"
    )
    with refuses(kernels.NoTritonError, message):
        kernels.online_softmax  # noqa: B018


@pytest.mark.parametrize("version", ["3.4.0", "3.10.0+git1234", "4.0"])
def test_triton_is_new_enough(monkeypatch, version):
    monkeypatch.setattr("triton.__version__", version)
    assert kernels.online_softmax.__name__ == "online_softmax"


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'tiled'"):
        kernels.tiled  # noqa: B018


def test_every_kernel_compiles_and_fits(tmp_path):
    """For Hopper and for Turing, whose programs may have 227 and 64 KiB of shared memory."""
    out = python(
        *("-m", "tests.compile_kernels", "QUICK"),
        TRITON_INTERPRET="0",
        TRITON_DUMP_PTXAS_LOG="1",
        TRITON_CACHE_DIR=str(tmp_path),
    )
    reports = [json.loads(line) for line in out.splitlines()]
    names = {"_forward", "_keys_backward", "_queries_backward", "_row_sums", "_matmul", "_softmax"}
    for gpu in ("sm_90", "sm_75"):
        here = [r for r in reports if r["gpu"] == gpu]
        assert {r["kernel"] for r in here} == names
        assert all(r["shared"] <= r["room"] for r in here)
        # Hopper's matrix unit is used and never waited for in vain; Turing's is not used.
        with_products = {r["kernel"] for r in here if r["wgmma"]}
        assert with_products == (names - {"_row_sums", "_softmax"} if gpu == "sm_90" else set())
        assert not any(r["serialized"] for r in here)
        # Its tiles come in 16 bytes at a time while others are multiplied.
        copied = {tuple(r["copied_bytes"]) for r in here if r["wgmma"]}
        assert copied <= {(16,), (4, 16)}  # 4: the two numbers a row of the backward pass
