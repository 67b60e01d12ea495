"""What a record must be: every record that ships, and every way not to be one."""

import re

import pytest

from hydra_lib.records import FOLDER, check, record
from tests.measured_records import bare_record, gpu_record, pair_record

SHIPPED = sorted(path.stem for path in FOLDER.glob("*.json"))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_record_that_ships_is_one(name):
    check(record(name), name)


@pytest.mark.parametrize("made", [pair_record, gpu_record, bare_record])
def test_made_up_records_are_records(made):
    check(made())


def test_a_row_may_be_paired_with_a_kernel_of_other_levels():
    made = pair_record()
    made["rows"][1]["levels"] = 0
    check(made)


def changed(path, **fields):
    """A record with other fields at a path; ... takes one away."""
    made = part = pair_record()
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
    " must have environment, rows, got what": {"what": "x"},
    " must have what, environment, rows, got none": {},
    " must have only what, environment, rows, ceilings, settings, checks, mistakes, missing, "
    "got date": (changed((), date="2026-01-02")),
    ": what must be a text, got ''": changed((), what=""),
    ": rows must be a list, got {}": changed((), rows={}),
    ": missing must be a list, got None": changed((), missing=None),
    ": settings must be a dictionary, got 3": changed((), settings=3),
    ": environment must have tf32, got device, cpu, threads, versions, date": (
        changed(("environment",), tf32=...)
    ),
    ": environment must have only device, cpu, threads, tf32, versions, date, got unit": (
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
    ": ceilings, float32 must have copy, got matmul": changed(COPY[:2], copy=...),
    ": ceilings, float32, copy: bytes must be a number above 0, got None": changed(
        COPY, bytes=None
    ),
    ": ceilings, float32, copy must have p20 ≤ p50 ≤ p80, got [2.0, 1.0, 1.1]": (
        changed(COPY, p20=2.0, p80=1.1)
    ),
    ": row 2 must have group, got seeds": changed(TRAINING, group=...),
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
    ": row 0: reference and ratio must both be there or both be null, got None and 2.0": (
        changed(FIRST, ratio=2.0)
    ),
    ": row 0: p50 must be a number above 0, got inf": changed(FIRST, p50=float("inf")),
    ": row 0: p50 must be a number above 0, got True": changed(FIRST, p50=True),
    ": row 0: levels must be an integer of at least 0, got 2.5": changed(FIRST, levels=2.5),
    ": ceilings, float32 must have only copy, matmul, got tf32": changed(COPY[:2], tf32={}),
    ": ceilings, float32, copy must have only dtype, p20, p50, p80, samples, flops, bytes, spread, "
    "flush, got unit": changed(COPY, unit="s"),
}


@pytest.mark.parametrize(("message", "made"), WRONG.items(), ids=list(WRONG))
def test_what_is_no_record(message, made):
    with pytest.raises(ValueError, match=f"^it{re.escape(message)}$"):
        check(made, "it")


@pytest.mark.parametrize(
    "other", [{"T": 11}, {"group": "other"}, {"pass": "forward+backward"}, {"dtype": "float32"}]
)
def test_a_pair_stands_in_one_group_and_size(other):
    made = changed(SECOND, **other)
    made["rows"].insert(0, made["rows"].pop())  # also where it is the last row
    message = "reference must be a kernel with a row of this group and size, got 'first'"
    with pytest.raises(ValueError, match=f"^record: row 2: {message}$"):
        check(made)


def test_a_timing_has_all_its_fields_and_no_others():
    whole = pair_record()["rows"][0]
    sizes = {"B", "h", "T", "head_dim"}
    for field in whole.keys() - sizes - {"group", "kernel", "p50"}:
        with pytest.raises(ValueError, match=f"^record: row 0 must have {field}, got group, "):
            check(changed(FIRST, **{field: ...}))
    for field in ("kernel", "p50"):  # what is left tells that it is a timing
        with pytest.raises(ValueError, match=f"^record: row 0 must have {field}, got group, "):
            check(changed(FIRST, **{field: ...}))
    for field in ("unit", "tflop_per_s", "length"):
        with pytest.raises(ValueError, match=f"^record: row 0 must have only .*, got {field}$"):
            check(changed(FIRST, **{field: 1}))
