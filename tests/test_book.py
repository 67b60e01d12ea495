"""The book as files: chapters complete, the library installed gently, a build that can fail."""

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import exercise_list
import jupytext
import nbformat
import notebook_links
import pytest
import yaml

from tests.conftest import ROOT
from tools import imitate

BOOK = ROOT / "book"
CHAPTERS = sorted(BOOK.glob("[0-9][0-9]_*.md"))
HINTS = ["First hint", "Second hint"]
chapters = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda p: p.stem)


@chapters
def test_chapter_asserts_something(chapter):
    code = "\n".join(c.source for c in jupytext.read(chapter).cells if c.cell_type == "code")
    assert len(re.findall(r"^\s*assert\b|assert_close\(", code, re.MULTILINE)) >= 5


@chapters
def test_chapter_has_exercises_with_checks_and_folded_solutions(chapter):
    text = chapter.read_text("utf-8")
    exercises = re.findall(r":::\{exercise-start\}\n:label: (\S+)", text)
    solutions = re.findall(r":::\{solution-start\} (\S+)\n:class: dropdown", text)
    assert len(exercises) >= 4
    assert exercises == solutions
    checks = set()
    for part in text.split(":::{exercise-start}")[1:]:
        question, answer = part.split(":::{solution-start}")
        asked = set(re.findall(r"^exercises\.(\w+)\(", question, re.MULTILINE))
        assert asked, question[:80]
        assert asked == set(re.findall(r"^assert exercises\.(\w+)\(", answer, re.MULTILINE))
        checks |= asked
        title = r"\s:label: \S+\s(:\S+: .*\s)*:::\s\*\*.+?\*\* "
        time = r"\*\w[^*]* (minutes?|hour), (easy|medium|hard)\.\*\s"
        assert re.match(title + time, question), question[:80]
        assert re.findall(r"^:::\{dropdown\} (.*)$", question, re.MULTILINE) == HINTS
    (name,) = set(re.findall(r"^from hydra_lib.exercises import (\w+) as exercises", text, re.M))
    offered = importlib.import_module(f"hydra_lib.exercises.{name}").__all__
    assert checks == {*offered} - {"progress", "Stream"}  # a list, and what one of them is given


def test_every_toc_entry_has_a_file_and_every_chapter_an_entry():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    entries = [toc["root"]] + [c["file"] for part in toc["parts"] for c in part["chapters"]]
    for entry in entries:
        assert (ROOT / entry).with_suffix(".md").exists(), entry
    assert [e for e in entries if re.match(r"book/\d\d_", e)] == [
        f"book/{p.stem}" for p in CHAPTERS
    ]


# --- installing the library --------------------------------------------------------------------


def would_install(tmp_path, project, versions):
    """Names that pip would install for ``project`` where torch and numpy have these versions."""
    for name, version in versions.items():
        info = tmp_path / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "RECORD").write_text("")
        (info / "INSTALLER").write_text("test\n")
    report = tmp_path / "report.json"
    flags = ["--quiet", "--dry-run", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *flags, f"--report={report}", str(project)],
        check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    return {item["metadata"]["name"] for item in json.loads(report.read_text())["install"]}


def sources(tmp_path):
    """The project as a clone has it, so that building its metadata leaves no trace here."""
    copy = tmp_path / "clone"
    shutil.copytree(ROOT / "hydra_lib", copy / "hydra_lib")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, copy)
    return copy


@pytest.mark.slow
def test_installing_the_library_replaces_neither_torch_nor_numpy(tmp_path):
    # Versions as old as the library admits: anything newer is left alone too.
    installed = would_install(tmp_path, sources(tmp_path), {"torch": "2.5.0", "numpy": "1.26.0"})
    assert "hydra_lib" in installed
    assert not installed & {"torch", "numpy"}


@pytest.mark.slow
def test_the_replacement_test_can_fail(tmp_path):
    project = sources(tmp_path)
    config = (project / "pyproject.toml").read_text("utf-8")
    stricter = config.replace("numpy>=1.26", "numpy>=2.0")
    assert stricter != config
    (project / "pyproject.toml").write_text(stricter, "utf-8")
    assert "numpy" in would_install(tmp_path, project, {"torch": "2.5.0", "numpy": "1.26.0"})


# --- the notebooks with other versions -----------------------------------------------------------


def required(path):
    """Name to version of the pins in a file."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", path.read_text("utf-8"), re.MULTILINE))


def test_the_oldest_versions_are_those_of_the_project():
    config = (ROOT / "pyproject.toml").read_text("utf-8")
    block = re.search(r"^dependencies = \[(.*?)^\]", config, re.MULTILINE | re.DOTALL)[1]
    admitted = dict(re.findall(r'"(\w+)>=([\d.]+)"', block))
    oldest = required(ROOT / "tools" / "oldest.txt")
    assert set(oldest) == set(admitted)
    for name, version in admitted.items():
        assert (oldest[name] + ".0").startswith(version + "."), name


def test_colab_is_imitated_with_its_python():
    weekly = yaml.safe_load((ROOT / ".github" / "workflows" / "weekly.yml").read_text("utf-8"))
    places = weekly["jobs"]["elsewhere"]["strategy"]["matrix"]["include"]
    assert {p["versions"]: p["python"] for p in places} == {"colab": "3.13", "oldest": "3.10"}
    assert all((ROOT / "tools" / f"{p['versions']}.txt").exists() for p in places)
    actions = re.findall(r"uses: (\S+)", (ROOT / ".github/workflows/weekly.yml").read_text("utf-8"))
    pinned = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    assert actions
    assert all(action in pinned for action in actions)


BEFORE = {"torch": "torch==2.11.0", "numpy": "numpy==2.1.3"}
BROUGHT = {"hydra_lib": "hydra_lib @ git+file://localhost/x", "jaxtyping": "jaxtyping==1"}


def test_what_the_first_cell_may_change():
    imitate.refuse_changes(BEFORE, BEFORE | BROUGHT)
    for after, said in (
        (BEFORE, r"added \[\]"),
        (BEFORE | BROUGHT | {"scipy": "scipy==1"}, "'scipy'"),
        (BEFORE | BROUGHT | {"numpy": "numpy==2.4"}, "numpy==2.1.3 -> numpy==2.4"),
        (BROUGHT | {"numpy": "numpy==2.1.3"}, "torch==2.11.0 -> None"),
    ):
        with pytest.raises(SystemExit, match=said):
            imitate.refuse_changes(BEFORE, after)


def test_the_first_cell_is_tried_with_this_checkout():
    assert f'"hydra_lib @ git+file://localhost{ROOT}"' in imitate.first_cell()


def imported(path):
    """Packages that a file imports before anything in it runs."""
    body = ast.parse(path.read_text("utf-8")).body
    lines = [n for n in body if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {a.name for n in lines if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module for n in lines if isinstance(n, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


@pytest.mark.long
def test_the_oldest_job_installs_what_its_tests_import():
    weekly = (ROOT / ".github" / "workflows" / "weekly.yml").read_text("utf-8")
    job = re.search(r"^  oldest:.*?(?=^  \w)", weekly, re.MULTILINE | re.DOTALL)[0]
    known = {*re.findall(r"([\w-]+)==", job), *required(ROOT / "tools" / "oldest.txt")}
    known |= {*sys.stdlib_module_names, *(p.stem for p in (BOOK / "_ext").glob("*.py"))}
    known |= {"hydra_lib", "tests", "sympy", "traitlets"}  # of torch, and of anywidget
    tests = [
        path
        for names, star in re.findall(r"tests/test_{(.+?)}(\*?)\.py", job)
        for name in names.split(",")
        for path in (ROOT / "tests").glob(f"test_{name}{star}.py")
    ]
    assert len(tests) > 40
    for path in [ROOT / "tests" / "conftest.py", *tests]:
        assert imported(path) <= known, path.name


@pytest.mark.long
def test_the_tests_need_no_triton_on_the_oldest_python():
    code = "import sys, torch, hypothesis, playwright.sync_api, chromium, pytest\n"
    code += "sys.version_info, sys.modules['triton'] = (3, 10), None\nimport tests.conftest"
    surroundings = {**os.environ, "PYTHONPATH": f"{BOOK / '_ext'}"}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=surroundings)


# --- the list of exercises ------------------------------------------------------------------------

EXERCISE = """
from hydra_lib.exercises import scaling as exercises

:::{exercise-start}
:label: ex-one
:::
**Where is it?** *A quarter of an hour, hard.* Look for it.

```{code-cell} ipython3
exercises.NAME(...)
```

:::{exercise-end}
"""


@pytest.mark.parametrize(
    ("check", "where"), [("predicted_variance", ", on the page"), ("right_temperature", "")]
)
def test_an_exercise_in_the_list(tmp_path, check, where):
    chapter = tmp_path / "01_one.md"
    chapter.write_text(EXERCISE.replace("NAME", check), "utf-8")
    assert exercise_list.rows(chapter) == [
        f"| {{ref}}`ex-one` | Where is it? | a quarter of an hour, hard{where} |"
    ]


def test_an_exercise_that_does_not_say_how_hard_it_is(tmp_path):
    chapter = tmp_path / "01_one.md"
    chapter.write_text(EXERCISE.replace(", hard", ""), "utf-8")
    message = "^01_one.md has an exercise that does not say how long and how hard$"
    with pytest.raises(ValueError, match=message):
        exercise_list.rows(chapter)


@chapters
def test_every_exercise_is_in_the_list(chapter):
    lines = exercise_list.rows(chapter)
    assert len(lines) == chapter.read_text("utf-8").count(":::{exercise-start}")


# --- the build ----------------------------------------------------------------------------------


@pytest.fixture
def reached(monkeypatch):
    """``reached(code, root)``: files of the library that code depends on, relative to it."""
    monkeypatch.syspath_prepend(str(BOOK / "_ext"))
    from reach import reached

    def names(code, root=ROOT):
        return {p.relative_to(root / "hydra_lib").as_posix() for p in reached(code, root)}

    return names


@pytest.mark.parametrize(
    ("code", "some", "never"),
    [
        ("from hydra_lib import aggregate", {"aggregation.py", "masking.py"}, {"boltzmann.py"}),
        ("from hydra_lib import strassen_fast", {"matmul/fast.py", "records/strassen.json"}, {}),
        ("from hydra_lib.matmul import strassen_fast", {"records/strassen.json"}, {"recursion.py"}),
        ("from hydra_lib.timing.mistakes import make_all", {"timing/mistakes/clock.py"}, {}),
        ("from hydra_lib.kernels import online_softmax", {"kernels/softmax.py"}, {}),
        ("from hydra_lib.widgets import MaskWidget", {"widgets/static/boltzmann.js"}, {"trace.py"}),
        ("from hydra_lib import boltzmann", {"boltzmann.py"}, {"attention.py"}),
        ("import hydra_lib.toy", {"toy/roles.py", "records/toy.safetensors"}, {}),
        ("def f():\n    from hydra_lib.toy import stored", {"toy/model.py"}, {"toy/roles.py"}),
        ("import torch", set(), {"__init__.py"}),
    ],
)
def test_what_a_piece_of_code_reaches(reached, code, some, never):
    assert some <= reached(code)
    assert not reached(code) & set(never)


def test_another_name_in_an_import_is_followed_to_its_own_module(reached, tmp_path):
    package = tmp_path / "hydra_lib"
    package.mkdir()
    imports = "from hydra_lib.one import a as b\nfrom hydra_lib.two import c\n"
    (package / "__init__.py").write_text(imports)
    (package / "one.py").write_text("a = 1\n")
    (package / "two.py").write_text("c = 1\n")
    assert reached("from hydra_lib import b", tmp_path) == {"__init__.py", "one.py"}
    assert reached("from hydra_lib import c", tmp_path) == {"__init__.py", "two.py"}


def test_notebooks_are_laid_beside_a_page_and_nothing_else(tmp_path):
    beside = tmp_path / "_sources" / "book"
    beside.mkdir(parents=True)
    for builder, failure in (("linkcheck", None), ("html", ValueError())):
        app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(name=builder))
        notebook_links.copy(app, failure)
        assert not list(beside.iterdir())
    notebook_links.copy(app, None)
    assert (beside / "all_of_it.ipynb").exists()


@pytest.mark.slow
def test_what_is_reached_is_what_python_loads(reached):
    """For a whole module nothing may be missing; Python, for its part, loads more."""
    code = "import hydra_lib.timing.roofline"
    show = "import sys; print(*[m.__file__ for n, m in sys.modules.items() if n[:5] == 'hydra'])"
    command = [sys.executable, "-c", f"{code}; {show}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {Path(f).relative_to(ROOT / "hydra_lib").as_posix() for f in found.stdout.split()}
    assert "timing/sampling.py" in reached(code)
    assert reached(code) <= loaded


@pytest.mark.slow
def test_only_chapters_that_reach_a_change_are_executed_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BOOK / "_ext"))
    from execution import code_of, fingerprint

    shutil.copytree(ROOT / "hydra_lib", tmp_path / "hydra_lib")
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    codes = {p.stem[:2]: code_of(jupytext.read(p)) for p in CHAPTERS}

    def fingerprints():
        return {stem: fingerprint(code, tmp_path) for stem, code in codes.items()}

    def changed(name):
        nonlocal now
        before, path = now, tmp_path / name
        path.write_text(path.read_text("utf-8") + "\n", "utf-8")
        now = fingerprints()
        return {stem for stem in codes if now[stem] != before[stem]}

    now = fingerprints()

    assert changed("hydra_lib/toy/roles.py") == {"04", "07"}
    assert changed("hydra_lib/kernels/tiles.py") == {"10", "11"}
    assert changed("hydra_lib/widgets/static/boltzmann.js") == {
        "01",
        "02",
        "03",
        "04",
        "05",
        "06",
        "08",
    }
    assert changed("hydra_lib/multihead.py") == set(codes) - {"01", "02", "03", "09", "10"}
    assert changed("hydra_lib/matmul/counting.py") == {"09"}
    assert changed("requirements.txt") == set(codes)


@pytest.mark.long
def test_chapters_that_take_times_run_alone(monkeypatch):
    monkeypatch.syspath_prepend(str(BOOK / "_ext"))
    from execution import code_of, takes_times

    timed = {p.stem[:2] for p in CHAPTERS if takes_times(code_of(jupytext.read(p)))}
    assert timed == {"09", "10"}
    assert takes_times("result = compare(one, other, inputs)")
    assert not takes_times("from hydra_lib.timing import AttentionSize, compare")
    assert not takes_times("shapes_compare(one)")


MINIMUM = ("_config.yml", "requirements.txt", "book/_ext", "book/_static", "book/references.bib")


def build(folder: Path, **pages: str):
    """Build a book of a notebook for each piece of code, with this project's configuration."""
    for name in MINIMUM:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    root, *others = (f"book/{name}" for name in pages)
    toc = {"format": "jb-book", "root": root, "chapters": [{"file": name} for name in others]}
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc))
    for name, code in pages.items():
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_markdown_cell("# Only"), nbformat.v4.new_code_cell(code)],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        nbformat.write(notebook, folder / "book" / f"{name}.ipynb")
    command = [Path(sys.executable).with_name("jupyter-book"), "build", str(folder)]
    command += ["-W", "-n", "--keep-going"]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.slow
def test_a_cell_that_fails_fails_the_build(tmp_path):
    """Each with a warning of its own, which -W makes an error; the one that is well has none."""
    result = build(
        tmp_path,
        healthy="print(1 + 1)",
        error="1 / 0",
        display="class Broken:\n    def _repr_html_(self):\n        1 / 0\n\nBroken()",
        warning="import warnings\n\nwarnings.warn('careful')",
    )
    assert result.returncode != 0
    warnings = re.findall(r"book/(\w+)\.ipynb:\S* WARNING: (.*)", result.stderr)
    failed = "Executing notebook failed: CellExecutionError"
    assert {("error", failed), ("display", failed)} <= set(warnings), result.stderr
    assert {page for page, _ in warnings} == {"error", "display", "warning"}
    (careful,) = (text for page, text in warnings if page == "warning")
    assert "stderr was found" in careful
    assert "healthy" not in dict(warnings)


def test_the_front_page_says_how_to_cite_it_and_what_is_allowed():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    text = (ROOT / "book/intro.md").read_text("utf-8")
    year = cited["date-released"].year
    authors = ", ".join(author["name"] for author in cited["authors"])
    assert f"> {authors}. *{cited['title']}.* Version {cited['version']}, {year}.\n" in text
    assert cited["license"] == ["MIT", "CC-BY-4.0"]
    footer = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["html"]["extra_footer"]
    for place in (text, footer, (ROOT / "README.md").read_text("utf-8")):
        assert "CC BY 4.0" in place
        assert "https://creativecommons.org/licenses/by/4.0/" in place
        assert "MIT" in place


def test_make_bench_runs_what_writes_a_record():
    text = (ROOT / "Makefile").read_text("utf-8")
    writing = [p.stem for p in (ROOT / "benchmarks").glob("*.py") if " write(" in p.read_text()]
    assert re.search(r"^RECORDED = (.*)$", text, re.MULTILINE)[1].split() == sorted(writing)
    assert "\nbench: book\n" in text  # which page.py measures
