import importlib.util
import json
import os
import subprocess
import sys
import types

import kernel_checks
import pytest
import torch
from kernel_checks import CHECKS, Check, run_checks

from hydra_lib.attention import scaled_dot_product_attention
from hydra_lib.masking import causal_mask, padding_mask

pytestmark = pytest.mark.slow


def plain(q, k, v, causal, lengths, split_queries):
    """Stands in for the kernel."""
    mask = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool)
    if causal:
        mask = causal_mask(q.shape[-2])
    if lengths is not None:
        mask = mask & padding_mask(lengths, q.shape[-2])[:, None]
    return scaled_dot_product_attention(q, k, v, mask)


def deaf(q, k, v, causal, lengths, split_queries):
    return plain(q, k, v, causal, None, split_queries)


@pytest.fixture
def kernels(monkeypatch):
    module = types.ModuleType("hydra_lib.kernels")
    module.flash_attention = plain
    module.tiled_matmul = torch.mm
    module.online_softmax = lambda x, temperature: torch.softmax(x / temperature, -1)
    monkeypatch.setitem(sys.modules, "hydra_lib.kernels", module)
    return module


@pytest.mark.parametrize(
    "check",
    [
        Check("attention", "float32", (3, 2, 7, 5)),
        Check("attention", "float32", (3, 2, 7, 5), causal=False),
        Check("attention", "float32", (3, 2, 7, 5), padded=True),
        Check("attention", "float32", (3, 2, 7, 5), causal=False, padded=True, backward=False),
        Check("matmul", "float32", (3, 5, 7)),
        Check("softmax", "float32", (3, 5)),
    ],
)
def test_a_right_kernel_passes_and_a_wrong_one_fails(kernels, check):
    (found,) = run_checks([check], "cpu")
    assert found["failure"] is None
    assert 0 <= found["error"] < 1e-5
    assert found["shape"] == list(check.shape)
    name = {"attention": "flash_attention", "matmul": "tiled_matmul", "softmax": "online_softmax"}
    right = getattr(kernels, name[check.kernel])
    setattr(kernels, name[check.kernel], lambda *a, **k: 1.01 * right(*a, **k))
    (found,) = run_checks([check], "cpu")
    assert found["error"] is None
    assert found["failure"].startswith(
        f"FailedCheckError: {check.kernel} is wrong: a row is off by"
    )


def test_padding_is_really_asked_for(kernels):
    kernels.flash_attention = deaf
    (found,) = run_checks([Check("attention", "float32", (3, 2, 7, 5), padded=True)], "cpu")
    assert found["failure"].startswith("FailedCheckError")


def test_only_compiling_looks_at_nothing(kernels):
    kernels.tiled_matmul = lambda a, b: torch.zeros(1)
    (found,) = run_checks([Check("matmul", "float32", (3, 5, 7), verify=False)], "cpu")
    assert found["error"] is found["failure"] is None


def test_what_there_was_no_time_for_is_a_failure(kernels):
    found = run_checks([Check("matmul", "float32", (3, 5, 7))], "cpu", seconds=0)
    assert [x["failure"] for x in found] == ["not done after 0 s, or its process died"]


def test_every_problem_is_reported_and_the_next_check_runs(kernels):
    def stop(a, b):
        raise ZeroDivisionError("in the kernel")

    kernels.tiled_matmul = stop
    checks = [Check("matmul", "float32", (3, 5, 7)), Check("softmax", "float32", (3, 5))]
    found = run_checks(checks, "cpu")
    assert [x["failure"] for x in found] == ["ZeroDivisionError: in the kernel", None]
    assert [x["kernel"] for x in found] == ["matmul", "softmax"]


def test_processes_share_the_checks_and_keep_their_order():
    # Without CUDA every check ends with a reason, which is enough to see that each was tried.
    checks = [Check("matmul", "float32", (3, 5, n)) for n in (3, 5, 7)]
    found = run_checks(checks, "cpu", workers=2, seconds=100)
    assert [x["shape"][2] for x in found] == [3, 5, 7]
    assert not any("not done" in (x["failure"] or "") for x in found)


def test_a_process_that_hangs_is_stopped():
    found = run_checks(list(CHECKS[:2]), "cpu", workers=1, seconds=0)
    assert [x["failure"] for x in found] == ["not done after 0 s, or its process died"] * 2


def test_the_checks_fit_no_tile():
    for check in CHECKS:
        assert check.verify
        sides = check.shape[2:3] if check.kernel == "attention" else check.shape
        assert all(side % 2 for side in sides)
    attention = [c for c in CHECKS if c.kernel == "attention"]
    assert {c.dtype for c in attention} == {"bfloat16", "float16", "float32"}
    assert {c.shape[3] for c in attention} >= {16, 24, 40, 64, 72, 128, 256}
    for flag in ("causal", "padded", "split"):
        assert {getattr(c, flag) for c in attention} == {True, False}


@pytest.mark.skipif(
    not (importlib.util.find_spec("triton") and importlib.util.find_spec("hydra_lib.kernels")),
    reason="needs Triton and the kernels",
)
def test_the_interpreted_kernels_pass():
    code = """
import json
from kernel_checks import Check, run_checks
checks = [
    Check("attention", "float32", (2, 1, 19, 8), padded=True),
    Check("attention", "bfloat16", (1, 2, 17, 24), causal=False, split=False),
    Check("matmul", "float32", (17, 5, 19)),
    Check("softmax", "float32", (3, 37)),
]
print(json.dumps(run_checks(checks, "cpu")))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert [x["failure"] for x in found] == [None] * 4


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_the_compiled_kernels_pass():
    found = run_checks(list(CHECKS), "cuda", workers=min(8, os.cpu_count() or 1), seconds=300)
    assert [x["failure"] for x in found] == [None] * len(CHECKS)


def test_nothing_is_imported_before_it_is_asked_for():
    assert "triton" not in vars(kernel_checks)
