"""Records: what a record must be, how it is read, quoted and written."""

import json
import re
from pathlib import Path

import pytest

from hydra_lib.records import FOLDER, check, group, provenance, record, records, rounded, write
from tests.measured_records import a_row, bare_record, ceiling, environment_of, gpu_record

SHIPPED = sorted(path.stem for path in FOLDER.glob("*.json"))


# --- what a record must be --------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_every_record_that_ships_is_one(name):
    check(record(name), name)


def a_record():
    rows = [
        a_row("g", "first", (2, 3, 5, 7), 4.0),
        a_row("g", "second", (2, 3, 5, 7), 2.0, reference="first", ratio=2.0),
        {"group": "training", "seeds": [3, 5]},
    ]
    ceilings = {"copy": ceiling(1.0, bytes=2), "matmul": ceiling(1.0, flops=3)}
    about = environment_of("EPYC", cpu="EPYC")
    return {"what": "x", "environment": about, "rows": rows, "ceilings": {"float32": ceilings}}


@pytest.mark.parametrize("made", [a_record, gpu_record, bare_record])
def test_made_up_records_are_records(made):
    check(made())


def test_a_row_may_be_paired_with_a_kernel_of_other_levels():
    made = a_record()
    made["rows"][1]["levels"] = 0
    check(made)


def changed(path, **fields):
    """A record with other fields at a path; ... takes one away."""
    made = part = a_record()
    for step in path:
        part = part[step]
    for key, value in fields.items():
        part[key] = value
        if value is ...:
            del part[key]
    return made


COPY = ("ceilings", "float32", "copy")
FIRST, SECOND, TRAINING = ("rows", 0), ("rows", 1), ("rows", 2)
WRONG = {
    " must be a dictionary, got None": None,
    " lacks environment, rows; it has what": {"what": "x"},
    " lacks what, environment, rows; it has none": {},
    " may have what, environment, rows, ceilings, settings, checks, mistakes, missing; got date": (
        changed((), date="2026-01-02")
    ),
    ": what must be a text, got ''": changed((), what=""),
    ": rows must be a list, got {}": changed((), rows={}),
    ": missing must be a list, got None": changed((), missing=None),
    ": settings must be a dictionary, got 3": changed((), settings=3),
    ": environment lacks tf32; it has device, cpu, threads, versions, date": (
        changed(("environment",), tf32=...)
    ),
    ": environment may have device, cpu, threads, tf32, versions, date; got unit": (
        changed(("environment",), unit="s")
    ),
    ": environment: device must be a text, got None": changed(("environment",), device=None),
    ": environment: threads must be an integer above 0 or null, got 0": (
        changed(("environment",), threads=0)
    ),
    ": environment: threads must be an integer above 0 or null, got True": (
        changed(("environment",), threads=True)
    ),
    ": environment: tf32 must be true or false or null, got 1": changed(("environment",), tf32=1),
    ": environment: versions must be a dictionary, got {}": changed(("environment",), versions={}),
    ": environment: date must be an ISO 8601 date, got 'today'": (
        changed(("environment",), date="today")
    ),
    ": ceilings, float32 lacks copy; it has matmul": changed(COPY[:2], copy=...),
    ": ceilings, float32, copy: bytes must be a number above 0, got None": changed(
        COPY, bytes=None
    ),
    ": ceilings, float32, copy must have p20 ≤ p50 ≤ p80, got [2.0, 1.0, 1.1]": (
        changed(COPY, p20=2.0, p80=1.1)
    ),
    ": row 2 lacks group; it has seeds": changed(TRAINING, group=...),
    ": row 2: group must be a text, got 3": changed(TRAINING, group=3),
    ": row 0: p50 must be a number above 0, got None": changed(FIRST, p50=None),
    ": row 0: p50 must be a number above 0, got nan": changed(FIRST, p50=float("nan")),
    ": row 0: p20 must be a number above 0 or null, got 0.0": changed(FIRST, p20=0.0),
    ": row 0: error must be a number of at least 0 or null, got -0.5": changed(FIRST, error=-0.5),
    ": row 0: samples must be an integer above 0 or null, got 5.0": changed(FIRST, samples=5.0),
    ": row 0: pass must be forward or forward+backward, got 'backward'": (
        changed(FIRST, **{"pass": "backward"})
    ),
    ": row 0: T must be an integer above 0, got None": changed(FIRST, T=None),
    ": row 0: levels must be an integer of at least 0, got -1": changed(FIRST, levels=-1),
    ": row 0 must have p20 ≤ p50 ≤ p80, got [5.0, 4.0, 4.5]": changed(FIRST, p20=5.0, p80=4.5),
    ": row 1 must have ratio_p20 ≤ ratio ≤ ratio_p80, got [2.0, 1.0]": (
        changed(SECOND, ratio_p80=1.0)
    ),
    ": row 1: reference and ratio must both be there or both be null, got 'first' and None": (
        changed(SECOND, ratio=None)
    ),
    ": row 1: reference must be a kernel with a row of this group and size, got 'third'": (
        changed(SECOND, reference="third")
    ),
    ": row 1: reference must be a kernel with a row of this group and size, got 'first'": (
        changed(SECOND, T=11)
    ),
}


@pytest.mark.parametrize(("message", "made"), WRONG.items(), ids=list(WRONG))
def test_what_is_no_record(message, made):
    with pytest.raises(ValueError, match=f"^it{re.escape(message)}$"):
        check(made, "it")


def test_a_timing_has_all_its_fields_and_no_others():
    whole = a_record()["rows"][0]
    sizes = {"B", "h", "T", "head_dim"}
    for field in whole.keys() - sizes - {"group", "kernel", "p50"}:
        with pytest.raises(ValueError, match=f"^record: row 0 lacks {field}; it has group, "):
            check(changed(FIRST, **{field: ...}))
    for field in ("kernel", "p50"):  # what is left tells that it is a timing
        with pytest.raises(ValueError, match=f"^record: row 0 lacks {field}; it has group, "):
            check(changed(FIRST, **{field: ...}))
    for field in ("unit", "tflop_per_s", "length"):
        with pytest.raises(ValueError, match=f"^record: row 0 may have .*; got {field}$"):
            check(changed(FIRST, **{field: 1}))


# --- read and quoted --------------------------------------------------------------------------


def test_records_by_prefix():
    found = records("at")
    assert list(found) == ["attention"]
    assert found["attention"] == record("attention")
    assert records("no such record") == {}


def test_known_but_not_measured_is_told_from_unknown():
    assert record("gpu-nvidia-imagined") is None
    text = (
        "expected a record among attention, heads, ladder, page, strassen; got 'strasen'; "
        "did you mean 'strassen'?"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        record("strasen")
    with pytest.raises(ValueError, match=r"got 'xyz'$"):
        record("xyz")


def test_groups():
    made = a_record()
    assert group(made, "g") == made["rows"][:2]
    assert group(made, "training") == made["rows"][2:]
    with pytest.raises(ValueError, match=r"^expected a group among g, training; got 'trainings'$"):
        group(made, "trainings")
    with pytest.raises(ValueError, match=r"^expected a group among none; got 'g'$"):
        group(made | {"rows": []}, "g")


@pytest.mark.parametrize(
    ("about", "sentence"),
    [
        (environment_of("EPYC", cpu="EPYC"), "EPYC, 2 threads, 2026-01-02; "),
        (environment_of("EPYC", cpu="EPYC") | {"threads": 1}, "EPYC, 1 thread, 2026-01-02; "),
        (environment_of("EPYC", cpu="EPYC") | {"threads": None}, "EPYC, 2026-01-02; "),
        (environment_of("H200", cpu="EPYC", date="2026-02-03"), "H200, 2026-02-03; "),
    ],
)
def test_provenance(about, sentence):
    versions = "python 3.12.1, torch 2.13.0, cuda 13.0, numpy 2.4.6."
    assert provenance(a_record() | {"environment": about}) == sentence + versions


# --- written ----------------------------------------------------------------------------------


def test_rounding_reaches_everywhere_and_leaves_integers():
    value = {"a": [1.23456, (123456789, 98765.4321)], "b": None, "c": "1.23456", "d": True}
    assert rounded(value) == {
        "a": [1.235, [123456789, 98770.0]],
        "b": None,
        "c": "1.23456",
        "d": True,
    }


def test_what_is_written_is_json_a_line_a_row(tmp_path):
    made = a_record() | {"what": "τ", "missing": [], "settings": {"scale": 1.23456}}
    path = tmp_path / "r.json"
    write(made, path)
    text = path.read_text("utf-8")
    assert json.loads(text) == rounded(made)
    assert json.loads(text)["settings"] == {"scale": 1.235}
    assert text.count("\n") == 2 + 6 + 3 + 1  # braces, keys, rows, the bracket after the rows
    assert "τ" in text
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_record_or_unfinished_does_not_replace_one(tmp_path, monkeypatch):
    path = tmp_path / "r.json"
    write(a_record(), path)
    before = path.read_text("utf-8")
    with pytest.raises(ValueError, match=r"^r: row 0: p50 must be a number above 0, got -1$"):
        write(changed(FIRST, p50=-1), path)
    with pytest.raises(ValueError, match="Out of range float values"):
        write(changed(TRAINING, loss=float("nan")), path)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(OSError, match="disk full"):
        write(a_record(), path)
    assert path.read_text("utf-8") == before
