"""The faults that the mutation tool plants: where, which, and where none."""

import re
import subprocess
import sys

import pytest

from tests import test_widgets
from tests.conftest import ROOT
from tools import mutants, mutants_js


def planted(source):
    return [mutants.planted(source, node, change) for node, change in mutants.mutants(source)]


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("x = a < b", ["x = (a <= b)", "x = (a >= b)"]),
        ("x = a + 2", ["x = (a - 2)", "x = a + (3)", "x = a + (1)"]),
        ("x = a and not b", ["x = (a or not b)", "x = a and (b)"]),
        ("x = -a", ["x = (a)"]),
        ("x = True", ["x = (False)"]),
        ("x = a if b else c", ["x = (a if not b else c)"]),
        ("x = s.amax(-1, keepdim=k)", ["x = (s.amax(-1))", "x = (s.amin)(-1, keepdim=k)"]),
        ("f(a)", ["pass"]),
        ("def f(a):\n    return a", ["def f(a):\n    return None"]),
        ("def f(a):\n    a = g(a)", ["def f(a):\n    pass"]),
        (
            "if a:\n    raise E(f'{1 + 1}')",
            ["if (not (a)):\n    raise E(f'{1 + 1}')", "if a:\n    pass"],
        ),
        ("x = 'τ', a\nx = b - a", ["x = 'τ', a\nx = (b + a)"]),
    ],
)
def test_faults(source, changed):
    found = planted(source)
    assert [c for c in changed if c not in found] == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / mutants_js.STATIC).glob("*.js")), ids=lambda p: p.name
)
def test_a_widgets_file_has_tests(path):
    assert [t for t in mutants_js.tests_of(path.name) if not (ROOT / t).is_file()] == []


def test_a_fault_is_shown_to_what_runs_or_reads_scripts():
    assert mutants_js.runs_javascript(test_widgets.test_numbers_as_text)
    assert mutants_js.runs_javascript(test_widgets.test_classes_are_those_of_the_style)
    assert not mutants_js.runs_javascript(
        test_widgets.test_a_change_that_does_not_fit_is_taken_back
    )


@pytest.mark.parametrize(
    "source",
    [
        '"""Over 1."""',
        "from a import b",
        "__all__ = ['a'] + ['b']",
        "x: int | None",
        "def f(a: 1 + 1) -> 2 + 2: ...",
        "x = zip(a, b, strict=True)",
        "x = f'{a + b}'",
    ],
)
def test_what_is_no_fault(source):
    assert planted(source) in ([], [source.replace("...", "pass")])


@pytest.mark.long
def test_every_fault_of_a_module_still_parses():
    source = (ROOT / "hydra_lib" / "boltzmann.py").read_text("utf-8")
    changed = planted(source)
    assert len(set(changed)) > 100
    assert source not in changed
    for text in changed:
        compile(text, "boltzmann.py", "exec")


def test_a_module_of_the_core_stands_in_every_list_of_them():
    core = {path.stem for path in (ROOT / "hydra_lib").glob("[a-z]*.py")} - {"notebook"}
    page = (ROOT / "book" / "library" / "core.md").read_text("utf-8")
    assert set(re.findall(r"automodule:: hydra_lib\.(\w+)", page)) == core
    assert {*mutants.CORE.split(), "sentence"} == core
    weekly = (ROOT / ".github" / "workflows" / "weekly.yml").read_text("utf-8")
    listed = re.findall(r"tests/test_\{(.+?)\}\.py", weekly)
    assert core - {"sentence"} <= set(",".join(listed).split(","))


@pytest.mark.parametrize(("tool", "known"), [(mutants, "toy.model"), (mutants_js, "tiles.js")])
def test_an_unknown_name_is_answered_with_the_known_ones(tool, known, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tool", known, "nonesuch"])
    monkeypatch.setattr(tool.shutil, "copytree", None)
    with pytest.raises(SystemExit, match=r"^2$"):
        tool.main()
    said = capsys.readouterr().err
    assert f", {known}, " in said
    assert said.endswith(", got nonesuch\n")


@pytest.mark.slow
@pytest.mark.parametrize("tool", [("mutants.py", "masking"), ("mutants_js.py", "limits.js")])
def test_the_copy_holds_all_that_its_tests_need(tool):
    run = [sys.executable, ROOT / "tools" / tool[0], tool[1], "--sample", "1"]
    ended = subprocess.run(run, capture_output=True, encoding="utf-8", timeout=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "of 1 killed" in ended.stdout
