import json
import platform
import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import numpy
import pytest
import torch

from hydra_lib.timing.environment import NoCudaError, environment_of, keep_memory

without_cuda = pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")


def test_machine_says_what_a_time_depends_on():
    found = environment_of()
    assert list(found) == ["device", "cpu", "threads", "tf32", "versions", "date"]
    assert found["device"] == found["cpu"] != ""
    assert found["threads"] == torch.get_num_threads()
    assert found["versions"]["torch"] == torch.__version__
    assert found["versions"]["numpy"] == numpy.__version__
    assert list(found["versions"]) == ["python", "torch", "cuda", "numpy", "triton"]
    age = datetime.now(timezone.utc) - datetime.fromisoformat(found["date"])
    assert timedelta(0) <= age < timedelta(minutes=1)
    assert json.loads(json.dumps(found)) == found


def test_an_absent_package_has_no_version(monkeypatch):
    monkeypatch.setattr("importlib.metadata.distributions", lambda name: [])
    versions = environment_of()["versions"]
    assert versions["numpy"] is versions["triton"] is None


def test_machine_reads_the_tf32_setting():
    before = torch.get_float32_matmul_precision()
    try:
        for setting, tf32 in (("highest", False), ("high", True)):
            torch.set_float32_matmul_precision(setting)
            assert environment_of()["tf32"] is tf32
    finally:
        torch.set_float32_matmul_precision(before)


def test_machine_reads_the_tf32_setting_of_older_torch(monkeypatch):
    class Older:
        allow_tf32 = True

    monkeypatch.setattr(torch.backends.cuda, "matmul", Older)
    assert environment_of()["tf32"] is True


@without_cuda
@pytest.mark.parametrize("device", ["cuda", "cuda:3", torch.device("cuda", 0)])
def test_cuda_without_cuda(device):
    text = f"device must be one of 0 CUDA devices that torch sees, got {device}"
    with pytest.raises(NoCudaError, match=f"^{re.escape(text)}$"):
        environment_of(device)


def test_another_device_is_not_described_as_its_host():
    with pytest.raises(ValueError, match=r"^device must be cpu or cuda, got meta$"):
        environment_of("meta")


FAULTS = """
import resource, torch
from hydra_lib.timing.environment import keep_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(12_000_000)  # 48 MB, freed at once; up to 32 glibc learns to keep
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

given = [faults() for _ in range(3)]
keep_memory()
kept = [faults() for _ in range(25)]  # the first may find only holes that are too small
print(given[-1], kept[-1])
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_kept_memory_is_not_fetched_again():
    # In a process of its own: it cannot be undone.
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True)
    assert done.stderr == ""
    given, kept = map(int, done.stdout.split())
    assert kept < given / 10


def test_another_c_library_is_refused(monkeypatch):
    monkeypatch.setattr("platform.libc_ver", lambda: ("", ""))
    with pytest.raises(RuntimeError, match=r"^only glibc can be told to keep freed memory$"):
        keep_memory()
