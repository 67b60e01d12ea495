"""The whole of benchmarks/gpu.py on a CPU, at sizes where it takes seconds."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from hydra_lib.records import FOLDER, check
from hydra_lib.timing import mistakes, roofline
from hydra_lib.timing.environment import environment_of
from hydra_lib.timing.ladder import LADDER
from hydra_lib.timing.mistakes import Mistake
from hydra_lib.timing.roofline import ceilings_of, place
from hydra_lib.timing.sizes import AttentionSize

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def script(name):
    """A benchmark as a module; under its own name, so that it cannot shadow the library's."""
    spec = importlib.util.spec_from_file_location(
        f"benchmark_{name}", ROOT / "benchmarks" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


gpu = script("gpu")


def tiny(**changes):
    size = AttentionSize(2, 2, 16, 8)
    plan = gpu.Plan(
        device="cpu",
        tokens=32,
        d_model=16,
        lengths=(16, 32),
        head_dims=(8, 16),
        ladder=(size,),
        sweep=size,
        sweep_dims=(8, 24),
        grid=(size,),
        small=(size, AttentionSize(1, 3, 17, 8)),
        product=16,
        strassen=(16, 32),
        checks=tuple(
            gpu.Check(kernel, dtype, shape)
            for kernel, shape in (("attention", (2, 1, 19, 8)), ("matmul", (3, 5, 7)))
            for dtype in ("bfloat16", "float32")
        ),
        workers=0,
        budget=0.0,
        flush=False,
    )
    return replace(plan, **changes)


@pytest.fixture
def small_machine(monkeypatch):
    monkeypatch.setattr(roofline, "CPU_SIZES", (4096, 16))
    quick = {"no synchronize": {"n": 8, "budget": 0}, "threads": {"n": 8, "budget": 0}, "TF32": {}}
    for name in list(mistakes.MISTAKES):
        if name in quick:
            make = partial(mistakes.MISTAKES[name], **quick[name])
            monkeypatch.setitem(mistakes.MISTAKES, name, make)
        else:
            monkeypatch.delitem(mistakes.MISTAKES, name)


def run(folder, plan, seconds=1000.0):
    path, failed = gpu.measure_all(plan, folder, seconds)
    return json.loads(path.read_text("utf-8")), path, failed


def test_everything_but_the_kernels_runs_on_a_cpu(tmp_path, small_machine, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "hydra_lib.kernels", None)  # no Triton, wherever this runs
    record, path, failed = run(tmp_path, tiny())
    assert path.name == gpu.file_name(environment_of()["device"])
    check(record)
    assert set(record["settings"]) == {"tokens", "d_model", "seconds"}
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert failed  # no kernel was there to pass its check
    assert {x["failure"].split(":")[0] for x in record["checks"]} == {"ModuleNotFoundError"}
    reasons = {(x["group"], x["reason"]) for x in record["missing"]}
    assert ("all", "no check passed") in reasons
    assert ("forward", "needs CUDA, got cpu") in reasons
    assert ("mistakes", "device must be CUDA, where this mistake is made, got cpu") in reasons
    assert not any("Error" in reason for group, reason in reasons if group != "ladder")

    rows = record["rows"]
    groups = {"forward", "backward", "ladder", "head_dim", "launches", "fused", "strides"}
    assert {r["group"] for r in rows} == groups | {"strassen"}
    for r in rows:
        assert ("n" in r) == (r["group"] == "strassen")
        assert ("levels" in r) == (r["group"] == "strassen" and r["reference"] is not None)
        assert ("head_dim" in r) == (r["group"] != "strassen")
        assert None not in (r["p20"], r["p80"], r["samples"])
    climbed = [r["kernel"] for r in rows if r["group"] == "ladder" and r["pass"] == "forward"]
    first = ["Python loops", "one head at a time", "all heads at once", "SDPA math", "SDPA flash"]
    assert climbed == first
    assert "Python loops" not in [r["kernel"] for r in rows if r["pass"] == "forward+backward"]
    main = {(r["B"], r["h"], r["T"], r["head_dim"]) for r in rows if r["group"] == "forward"}
    assert main == {(2, 2, 16, 8), (2, 1, 16, 16), (1, 2, 32, 8), (1, 1, 32, 16)}
    levels = [r.get("levels") for r in rows if r["group"] == "strassen" and r["n"] == 32]
    assert levels == [None, 2, None, 1, None, 1, None, 2]  # the one that is kept time for, first

    assert {x["name"] for x in record["mistakes"]} == {"no synchronize", "threads"}
    ceilings = ceilings_of(record)
    assert set(ceilings) == {"bfloat16", "float32"}
    assert place(ceilings["bfloat16"], 1e9, 1e6, 1.0)["share"] > 0
    printed = capsys.readouterr().out
    assert "about" in printed.splitlines()[0]
    assert "missing: all: Triton attention: no check passed" in printed


def test_out_of_time_nothing_optional_is_started(tmp_path, small_machine, monkeypatch):
    monkeypatch.setitem(sys.modules, "hydra_lib.kernels", None)
    # A clock that stands still: how fast this machine is must not decide.
    monkeypatch.setattr(gpu, "Clock", partial(gpu.Clock, now=lambda: 0.0))
    plan = tiny()
    record, _, _ = run(tmp_path, plan, 19.9)
    left_out = [x["what"] for x in record["missing"] if x["reason"] == "no time left"]
    assert left_out == ["B=2 h=2 T=16 head_dim=8, forward+backward"]  # would take 20 s on a GPU
    assert {"forward", "backward", "ladder", "fused"} <= {r["group"] for r in record["rows"]}
    record, _, _ = run(tmp_path, plan, 0.0)
    assert record["rows"] == []
    assert record["ceilings"]
    assert {x["reason"] for x in record["missing"]} >= {"no time left"}


def test_one_failure_costs_one_point(tmp_path, small_machine, monkeypatch):
    monkeypatch.setitem(sys.modules, "hydra_lib.kernels", None)

    def fail(*_, **__):
        raise RuntimeError("the device is\non fire")

    good = gpu.Point("forward", "good", 1.0, lambda: [{"group": "forward"}])
    bad = gpu.Point("forward", "bad", 1.0, fail)
    refused = gpu.Point(
        "grid", "too large", 1.0, partial(gpu.strassen, 16, torch.float32, 1, "cpu")
    )

    def decline():
        raise gpu.RefusedError("not here")

    monkeypatch.setattr(
        gpu, "points", lambda *_: [bad, replace(refused, run=decline), replace(good, group="x")]
    )
    monkeypatch.setattr(gpu, "table", lambda record: None)
    record, _, failed = run(tmp_path, tiny(checks=()))
    assert failed
    assert record["rows"] == [{"group": "forward"}]
    said = {x["what"]: x["reason"] for x in record["missing"]}
    assert said["bad"] == "RuntimeError: the device is\non fire"
    assert said["too large"] == "not here"
    monkeypatch.setattr(gpu, "points", lambda *_: [replace(refused, run=decline)])
    assert run(tmp_path, tiny(checks=()))[2] is False


def test_the_record_is_written_after_every_group(tmp_path, small_machine, monkeypatch):
    monkeypatch.setitem(sys.modules, "hydra_lib.kernels", None)
    path = tmp_path / gpu.file_name(environment_of()["device"])
    seen = []

    def look():
        seen.append([r["group"] for r in json.loads(path.read_text("utf-8"))["rows"]])
        return [{"group": "one"}]

    found = [gpu.Point(g, "", 0.0, look) for g in ("a", "a", "b")]
    monkeypatch.setattr(gpu, "points", lambda *_: found)
    monkeypatch.setattr(gpu, "table", lambda record: None)
    run(tmp_path, tiny(checks=()))
    assert seen == [[], [], ["one", "one"]]


def test_the_plan_for_an_h200():
    plan = gpu.Plan()
    sizes = plan.main_sizes()
    assert len(sizes) == 10
    assert {s.B * s.T for s in sizes} == {16384}
    assert {s.d_model for s in sizes} == {2048}
    found = gpu.points(plan, True)
    groups = [p.group for p in found]
    assert set(groups) == {
        *("forward", "backward", "ladder", "mistakes", "head_dim", "grid", "launches", "fused"),
        *("strides", "kernels", "strassen"),
    }
    assert groups.count("forward") == 20
    assert groups.count("backward") == 10
    assert groups.count("head_dim") == 15
    assert [p.required for p in found] == sorted((p.required for p in found), reverse=True)
    required = {p.what for p in found if p.required and p.group == "strassen"}
    assert required == {"n=16384, torch.float32, 2 levels"}
    assert [p.what for p in found if p.group == "strassen"].count(*required) == 1
    assert plan.check_seconds + sum(p.seconds for p in found) < 600 - 20
    without = gpu.points(plan, False)
    assert not any("Triton" in p.what for p in without)
    assert {p.group for p in without} == set(groups) - {"grid", "kernels"}


def test_what_the_checks_compile_covers_what_is_timed():
    plan = gpu.Plan()
    warm = plan.compiled()
    assert len(set(warm)) == len(warm)
    assert not any(c.verify for c in warm)
    attention = [c for c in warm if c.kernel == "attention"]
    assert [c.shape for c in warm if c not in attention] == [(256, 256, 256)]
    compiled = {(c.shape[1], c.shape[3], c.split, c.backward) for c in attention}
    for size in plan.main_sizes():
        assert (size.h, size.head_dim, True, True) in compiled
    assert {d for h, d, split, _ in compiled if split} >= set(range(16, 129, 8))
    assert {(12, 64, False, False), (16, 128, False, False)} <= compiled
    assert max(c.shape[2] for c in attention) <= 1024


@pytest.mark.parametrize(
    ("point", "later", "spent", "fits"),
    [
        ((4, True), [(9, True)], 6, True),  # required: only its own time counts
        ((4, True), [], 6.1, False),
        ((4, False), [(9, False)], 6, True),
        ((4, False), [(1, True), (9, False)], 5, True),
        ((4, False), [(1, True), (9, False)], 5.1, False),
    ],
)
def test_the_clock_keeps_time_for_what_is_required(point, later, spent, fits):
    times = iter([100.0, 100.0 + spent])
    clock = gpu.Clock(10, now=lambda: next(times))
    made = [gpu.Point("g", "", s, list, required) for s, required in (point, *later)]
    assert clock.fits(made[0], made[1:]) is fits


def checked(kernel="attention", dtype="bfloat16", failure=None, verify=True):
    about = {"kernel": kernel, "dtype": dtype, "shape": [1, 2, 3, 4], "verify": verify}
    return about | {"error": None if failure else 0.123456, "failure": failure}


@pytest.mark.parametrize(
    ("found", "works"),
    [
        ([checked()], True),
        ([], False),
        ([checked(failure="NoCudaError: none")], False),
        ([checked(), checked(failure="OutOfResources: shared memory")], True),
        ([checked(), checked(failure="FailedCheckError: attention is wrong")], False),
        ([checked(), checked(dtype="float32", failure="FailedCheckError: wrong")], True),
        ([checked(), checked("matmul", failure="FailedCheckError: wrong")], True),
        ([checked(), checked(failure="CompilationError", verify=False)], True),
        ([checked(verify=False)], False),
    ],
)
def test_a_wrong_kernel_is_not_timed(found, works):
    record = {"checks": [], "missing": []}
    assert gpu.note_checks(found, record, torch.bfloat16) is works
    assert len(record["checks"]) == sum(x["verify"] for x in found)
    assert ("Triton attention" in [x["what"] for x in record["missing"]]) is not works


def test_mistakes_and_ladders_are_sorted_into_the_record():
    record = {"rows": [], "mistakes": [], "missing": []}
    gpu.take(record, ([Mistake("m", "w", "r", 2.00001, 1.0)], {"TF32": "needs CUDA"}))
    gpu.take(record, ([{"group": "ladder"}], [{"group": "ladder", "what": "x", "reason": "y"}]))
    gpu.take(record, ({"group": "grid"}, {"group": "grid"}))
    assert [r["group"] for r in record["rows"]] == ["ladder", "grid", "grid"]
    assert record["mistakes"][0]["wrong"] == 2.00001
    assert [x["what"] for x in record["missing"]] == ["TF32", "x"]


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("NVIDIA H200", "gpu-nvidia-h200.json"),
        ("NVIDIA A100-SXM4-80GB", "gpu-nvidia-a100-sxm4-80gb.json"),
        ("Tesla T4", "gpu-tesla-t4.json"),
        (" AMD (R) / x ", "gpu-amd-r-x.json"),
    ],
)
def test_file_names(device, name):
    assert gpu.file_name(device) == name


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_without_cuda_it_says_so_and_writes_nothing(tmp_path):
    before = sorted(FOLDER.iterdir())
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "gpu.py"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1
    assert done.stdout == ""
    expected = f"measures a GPU, and torch {torch.__version__} sees no CUDA device\n"
    assert done.stderr == f"benchmarks/gpu.py {expected}"
    assert sorted(FOLDER.iterdir()) == before


@pytest.mark.skipif(
    not (importlib.util.find_spec("triton") and importlib.util.find_spec("hydra_lib.kernels")),
    reason="needs Triton and the kernels",
)
def test_everything_runs_with_the_kernels_interpreted(tmp_path):
    """In a process of its own, since Triton decides once whether it interprets."""
    code = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "benchmarks")!r}]
from pathlib import Path
import numpy as np
from hydra_lib.timing import measurement, mistakes, roofline
from hydra_lib.timing.sizes import AttentionSize
from tests.test_gpu_benchmark import gpu, tiny
roofline.CPU_SIZES = (4096, 16)
mistakes.MISTAKES.clear()
# What is interpreted takes long: it is timed once.
measurement.sample = lambda functions, given, seconds, budget: np.array(
    [[seconds(function, given)] for function in functions]
)
size = AttentionSize(1, 2, 5, 8)
plan = tiny(
    lengths=(16,), head_dims=(8,), ladder=(size,), sweep=size, sweep_dims=(8,), grid=(size,),
    small=(size, size), product=8, strassen=(16,),
)
_, failed = gpu.measure_all(plan, Path({str(tmp_path)!r}), 1000.0)
sys.exit(failed)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.iterdir()
    record = json.loads(path.read_text("utf-8"))
    assert all(x["failure"] is None for x in record["checks"])
    assert {x["kernel"] for x in record["checks"]} == {"attention", "matmul"}
    ours = {r["group"] for r in record["rows"] if r["kernel"].startswith("Triton")}
    assert ours == {
        *("forward", "backward", "ladder", "head_dim", "grid", "launches", "strides", "kernels")
    }
    against = {r["reference"] for r in record["rows"] if r["kernel"] == "Triton"}
    assert {"SDPA flash", "all heads at once", LADDER["Triton, one program a head"].name} <= against
