import json
from pathlib import Path

import pytest
import torch

from hydra_lib.timing import roofline
from hydra_lib.timing.environment import environment_of
from hydra_lib.timing.measurement import Comparison, Timing
from hydra_lib.timing.roofline import measure_ceilings, place
from hydra_lib.timing.rows import ceilings_of, file_name, rounded, row, write
from hydra_lib.timing.sizes import AttentionSize

SIZE = AttentionSize(2, 3, 5, 7)


def timed(p50, spread=0.25):
    about = {"dtype": "bfloat16, bfloat16", "flush": True, "flops": 3e12, "bytes": 10**9}
    return Timing(p50 / 2, p50, p50 * 2, spread, 9, **about, environment=environment_of())


def test_a_row_by_hand():
    assert row("forward", "mine", SIZE, timed(0.5), 1e-3, peak_bytes=64) == {
        "group": "forward",
        "kernel": "mine",
        "B": 2,
        "h": 3,
        "T": 5,
        "head_dim": 7,
        "dtype": "bfloat16",
        "pass": "forward",
        "p20": 0.25,
        "p50": 0.5,
        "p80": 1.0,
        "unit": "s",
        "flops": 3e12,
        "bytes": 10**9,
        "tflop_per_s": 6.0,
        "gb_per_s": 2.0,
        "reference": None,
        "ratio": None,
        "spread": 0.25,
        "error": 1e-3,
        "peak_bytes": 64,
    }


def test_a_row_with_a_reference_and_one_without_a_size():
    pair = Comparison(0.9, 1.23456, 1.5, 0.125, timed(2.0), timed(1.0), 0.1, 0.2)
    found = row("g", "k", None, timed(1.0), 0.2, backward=True, reference="other", pair=pair)
    assert (found["reference"], found["ratio"], found["spread"]) == ("other", 1.235, 0.125)
    assert found["pass"] == "forward+backward"
    assert [found[x] for x in ("B", "h", "T", "head_dim")] == [None] * 4
    assert list(found) == list(row("g", "k", SIZE, timed(1.0), 0.2))


def test_rounding_reaches_everywhere_and_leaves_integers():
    value = {"a": [1.23456, (123456789, 98765.4321)], "b": None, "c": "1.23456", "d": True}
    assert rounded(value) == {
        "a": [1.235, [123456789, 98770.0]],
        "b": None,
        "c": "1.23456",
        "d": True,
    }


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
    assert file_name(device) == name


def test_what_is_written_is_json_a_line_an_entry(tmp_path):
    record = {"what": "τ", "environment": {"a": 1}, "rows": [{"x": 1}, {"x": 2}], "missing": []}
    path = tmp_path / "r.json"
    write(record, path)
    text = path.read_text("utf-8")
    assert json.loads(text) == record
    assert text.count("\n") == 9
    assert "τ" in text
    assert list(tmp_path.iterdir()) == [path]


def test_an_unfinished_record_does_not_replace_a_complete_one(tmp_path, monkeypatch):
    path = tmp_path / "r.json"
    write({"rows": [1]}, path)
    with pytest.raises(ValueError, match="Out of range float values"):
        write({"rows": [float("nan")]}, path)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(OSError, match="disk full"):
        write({"rows": [2]}, path)
    assert json.loads(path.read_text("utf-8")) == {"rows": [1]}


def test_ceilings_come_back_from_a_record(monkeypatch):
    monkeypatch.setattr(roofline, "CPU_SIZES", (4096, 16))
    measured = measure_ceilings("cpu", torch.float32, budget=0)
    kept = measured.as_record()
    about = kept["copy"].pop("environment")
    del kept["matmul"]["environment"]
    record = json.loads(json.dumps({"environment": about, "ceilings": {"float32": kept}}))
    again = ceilings_of(record)["float32"]
    assert again.copy == measured.copy
    assert again.matmul.p50 == measured.matmul.p50
    assert place(again, 100, 10, 1.0) == place(measured, 100, 10, 1.0)
