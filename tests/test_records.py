"""Records: how they are read, quoted and written."""

import json
import re
from pathlib import Path

import pytest

from hydra_lib.records import FOLDER, group, provenance, record, records, rounded, write
from tests.measured_records import environment_of, pair_record


def test_records_by_prefix():
    found = records("at")
    assert list(found) == ["attention"]
    assert found["attention"] == record("attention")
    assert records("no such record") == {}


def test_known_but_not_measured_is_told_from_unknown():
    assert record("gpu-nvidia-imagined") is None
    text = (
        "name must be one of attention, heads, ladder, page, parallel, strassen, got 'strasen'; "
        "did you mean 'strassen'?"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        record("strasen")
    for name in ("xyz", "../records/ladder", str(FOLDER / "ladder")):
        with pytest.raises(ValueError, match=rf"got '{name}'($|; did you mean)"):
            record(name)


def test_groups():
    made = pair_record()
    assert group(made, "g") == made["rows"][:2]
    assert group(made, "training") == made["rows"][2:]
    text = "name must be one of g, training, got 'trainings'; did you mean 'training'?"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        group(made, "trainings")
    with pytest.raises(ValueError, match=r"^name must be one of none, got 'g'$"):
        group(made | {"rows": []}, "g")


@pytest.mark.parametrize(
    ("about", "sentence"),
    [
        (environment_of("EPYC", cpu="EPYC"), "EPYC, 2 threads, 2026-01-02;\n"),
        (environment_of("EPYC", cpu="EPYC") | {"threads": 1}, "EPYC, 1 thread, 2026-01-02;\n"),
        (environment_of("EPYC", cpu="EPYC") | {"threads": None}, "EPYC, 2026-01-02;\n"),
        (environment_of("H200", cpu="EPYC", date="2026-02-03"), "H200, 2026-02-03;\n"),
    ],
)
def test_provenance(about, sentence):
    versions = "python 3.12.1, torch 2.13.0, cuda 13.0, numpy 2.4.6."
    assert provenance(pair_record() | {"environment": about}) == sentence + versions


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
    made = pair_record() | {"what": "τ", "missing": [], "settings": {"scale": 1.23456}}
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
    write(pair_record(), path)
    before = path.read_text("utf-8")
    wrong, unfinished = pair_record(), pair_record()
    wrong["rows"][0]["p50"] = -1
    unfinished["rows"][2]["loss"] = float("nan")
    with pytest.raises(ValueError, match=r"^r: row 0: p50 must be a number above 0, got -1$"):
        write(wrong, path)
    with pytest.raises(ValueError, match="Out of range float values"):
        write(unfinished, path)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(OSError, match="disk full"):
        write(pair_record(), path)
    assert path.read_text("utf-8") == before
