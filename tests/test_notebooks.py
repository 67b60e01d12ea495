"""The notebooks that readers open: in step with the text, plain, without spoilers, linked."""

import ast
import dis
import html
import importlib.util
import json
import os
import re
import subprocess
import types
import urllib.parse

import nbformat
import pytest
import yaml
from nbclient import NotebookClient

from tests.conftest import ROOT, SITE
from tools import export, sync

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]
CHAPTERS = [p for p in NOTEBOOKS if p.stem[0].isdigit()]
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)

# Whatever a reader without MyST would see as a riddle. Written anew, not taken from the derivation.
MARKERS = {
    "directive": r":::|```\s*\{",
    "role": r"\{(?:ref|numref|eq|cite|math|doc|term|prf|exercise|solution)[:\w]*\}",
    "label": r"^\([\w-]+\)=|\$\$\s*\([\w-]+\)",
    "option": r"^:[a-z-]+:(?:\s|$)",
    "cell break or comment": r"^\+\+\+|^% ",
    "substitution": r"\{\{.*\}\}",
}


def cells(path, kind):
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == kind]


def markers(text):
    return {k: len(re.findall(p, text, re.MULTILINE)) for k, p in MARKERS.items()}


def test_every_chapter_has_its_notebook_and_its_stored_lines():
    chapters = [p.stem for p in export.sources()]
    assert {p.stem for p in (ROOT / "book").glob("[0-9][0-9]_*.md")} < {*chapters}
    assert [p.stem for p in NOTEBOOKS] == chapters
    assert [p.stem for p in sorted((ROOT / "tests" / "printed").iterdir())] == chapters
    assert not list((ROOT / "book").glob("*.ipynb"))


@every_notebook
def test_in_step_with_the_text(path):
    """Run make sync after editing a chapter."""
    assert nbformat.read(path, as_version=4) == export.derive(ROOT / "book" / f"{path.stem}.md")


def test_no_chapter_loses_its_notebook_without_a_word(tmp_path, monkeypatch):
    for name in ("BOOK", "NOTEBOOKS", "PRINTED"):
        monkeypatch.setattr(sync, name, tmp_path / name)
        (tmp_path / name).mkdir()
    monkeypatch.setattr(sync, "sources", list)
    notebook, text = tmp_path / "NOTEBOOKS" / "12_new.ipynb", tmp_path / "BOOK" / "12_new.md"
    notebook.touch()
    text.touch()
    said = (
        "12_new.md has no cell tagged nbval-check-output any more: tag one, or delete 12_new.ipynb"
    )
    with pytest.raises(SystemExit, match=f"^{re.escape(said)}$"):
        sync.main()
    assert notebook.exists()
    text.unlink()  # a chapter that is gone takes its notebook along
    sync.main()
    assert not notebook.exists()


def thrown_away(source):
    """Pictures that a cell makes and does not show: only the last expression of a cell is shown."""
    body = ast.parse(source).body
    calls = [
        x.value for x in body[:-1] if isinstance(x, ast.Expr) and isinstance(x.value, ast.Call)
    ]
    return [x for x in calls if getattr(x.func, "id", None) in ("themed", "matrices", "source")]


@every_notebook
def test_every_picture_is_shown(path):
    assert thrown_away("themed(fig)\nx = 1")  # it can fail
    for cell in cells(path, "code"):
        if not cell.source.startswith("%"):
            assert not thrown_away(cell.source), cell.source


@every_notebook
def test_no_marker_survives(path):
    found = {}
    for cell in cells(path, "markdown"):
        assert not any(markers(cell.source).values()), (markers(cell.source), cell.source)
        found[cell.source] = markers(cell.source)
    assert found


def test_the_marker_count_counts():
    text = ":::{note}\n(a)=\n:label: b\n{cite}`c` and {prf:ref}`d`\n```{figure} e\n$$x$$ (f)\n"
    assert markers(text + "{{ g }}\n+++\n") == {
        "directive": 2,
        "role": 2,
        "label": 2,
        "option": 1,
        "cell break or comment": 1,
        "substitution": 1,
    }


@every_notebook
def test_nothing_is_given_away(path):
    """No outputs; no solution is a cell; what nbval compares lies beside the tests."""
    for cell in cells(path, "code"):
        assert cell.outputs == []
        assert cell.execution_count is None
        folded = cell.metadata.get("cellView") == "form"
        assert folded == (cell.metadata.get("jupyter") == {"source_hidden": True})
        assert "assert exercises." not in cell.source  # that is a solution
        if folded:  # a form without a title is a blank line
            assert re.match("# @title .", cell.source), cell.source
    checked = [c for c in cells(path, "code") if "nbval-check-output" in c.metadata.get("tags", [])]
    stored = json.loads((ROOT / "tests" / "printed" / f"{path.stem}.json").read_text("utf-8"))
    assert len(stored) == len(checked) > 0
    assert all(stored)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
def test_each_exercise_is_followed_by_a_solution_that_is_closed_and_executed(path):
    text = (ROOT / "book" / f"{path.stem}.md").read_text("utf-8")
    parts = re.split(r"^### Exercise \d+\.\d+", as_text(path), flags=re.MULTILINE)[1:]
    assert len(parts) == text.count(":::{exercise-start}") >= 4
    executed = export.solutions(nbformat.read(path, as_version=4))  # see notebooks/conftest.py
    assert len(executed) == len(parts)
    for part, code in zip(parts, executed, strict=True):
        question, _, answer = part.partition("<details>\n<summary><b>Solution</b></summary>")
        assert re.search(r"^exercises\.\w+\(", question, re.MULTILINE), question
        assert re.search(r"^assert exercises\.\w+\(", code, re.MULTILINE), code
        assert "assert exercises." not in question
        assert answer.count("assert exercises.") == code.count("assert exercises.")
        assert answer.count("</details>") == 1


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
def test_every_widget_has_a_name_and_python_talks_to_one(path):
    code = [cell.source for cell in cells(path, "code")]
    made = re.findall(r"^(.*)\b\w+Widget\(", "\n".join(code), re.MULTILINE)
    assert made
    assert all(re.fullmatch(r"\w+ = ", before) for before in made), made
    talks = [c for c in code if c.startswith("# Python and the widget share their settings")]
    assert len(talks) == 1
    assert re.search(r"^w\.\w+.* = ", talks[0], re.MULTILINE)


def reads_and_sets(code):
    """What a cell reads before it sets it, and what it sets other than by an import."""
    reads, sets, before = set(), set(), ""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            reads |= {step.argval} - sets
        elif step.opname == "STORE_NAME" and not before.startswith("IMPORT"):
            sets.add(step.argval)
        elif isinstance(step.argval, types.CodeType):  # a function, a comprehension
            reads |= reads_and_sets(step.argval)[0] - sets
        before = step.opname
    return reads, sets


def taken_away(sources):
    """Names that a cell reads and a later one sets: so it cannot be run again after that one."""
    names = [reads_and_sets(compile(source, "cell", "exec")) for source in sources]
    return {
        f"{name}, which cell {at} reads, is set again by cell {later}"
        for at, (reads, _) in enumerate(names)
        for later in range(at + 1, len(names))
        for name in reads & names[later][1] - {"generator"}  # cells may go on drawing from any
    }


@every_notebook
def test_a_cell_can_be_run_again_after_all_others(path):
    said = "x, which cell 1 reads, is set again by cell 2"
    assert taken_away(["x = 1", "print(x)", "for x in (1, 2):\n    y = x"]) == {said}
    assert taken_away(["import a as x", "def f():\n    return x", "x = 1"]) == {said}
    assert not taken_away(["x = 1\nprint([x for y in (1,)])", "x = y = 2", "import x"])
    plain = [cell.source for cell in cells(path, "code") if not cell.source.startswith("%")]
    assert not taken_away(plain)


def as_text(path):
    return "\n".join(c.source for c in nbformat.read(path, as_version=4).cells)


def test_kernels_start_without_what_tests_set_for_triton(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    place = importlib.util.spec_from_file_location("own", ROOT / "notebooks" / "conftest.py")
    place.loader.exec_module(own := importlib.util.module_from_spec(place))
    starting = own.pytest_runtest_setup()
    next(starting)  # nbval starts the kernel here
    assert "TRITON_INTERPRET" not in os.environ
    assert next(starting, "ended") == "ended"
    assert os.environ["TRITON_INTERPRET"] == "1"


# --- links ---------------------------------------------------------------------------------------


def page_of(address):
    """The built page of an address of the published site."""
    path = address.removeprefix(export.SITE)
    return (SITE / (path or "index.html")).read_text("utf-8")


def links(path):
    text = "\n".join(c.source for c in cells(path, "markdown"))
    return re.findall(r"\[([^\]]*)\]\(([^)\s]+)\)", text) + [
        (body, html.unescape(address))
        for address, body in re.findall(r'<a href="([^"]*)">(.*?)</a>', text, re.DOTALL)
    ]


@pytest.mark.slow
@every_notebook
def test_every_link_leads_somewhere(path):
    found = links(path)
    assert len(found) >= 2
    for _, address in found:
        base, _, fragment = address.partition("#")
        if not address.startswith(export.SITE):
            assert re.match(r"https://(arxiv\.org/abs/|doi\.org/10\.|github\.com/)", address)
        elif "=" in fragment:  # the setting of a widget
            widget = urllib.parse.unquote(fragment).partition(".")[0]
            assert f'"name": "{widget}"' in page_of(base), address
        else:
            assert not fragment or f'id="{fragment}"' in page_of(base), address


OLDER = "if the built page is older than its chapter: make book"


@pytest.mark.slow
@every_notebook
def test_numbers_are_those_of_the_page(path):
    page = page_of(f"{export.SITE}book/{path.stem}.html")
    on_page = re.findall(r'<span class="caption-number">([^<]+?) *</span>', page)
    quoted = r"^(?:> \*\*|### )([A-Z][a-z]+ \d+\.\d+)"
    in_notebook = re.findall(quoted, as_text(path), re.MULTILINE)
    assert in_notebook == [c for c in on_page if not c.startswith("Solution")], OLDER
    for text, address in links(path):
        if re.fullmatch(r"[A-Z][a-z]+ \d+\.\d+", text):
            base, _, label = address.partition("#")
            assert re.search(rf'id="{label}">\s*<p [^>]*><span [^>]*>{text} ', page_of(base))


@pytest.mark.slow
@every_notebook
def test_the_page_offers_the_notebook_and_its_text(path):
    page = page_of(f"{export.SITE}book/{path.stem}.html")
    repository = CONFIG["url"].removeprefix("https://github.com/")
    colab = f"https://colab.research.google.com/github/{repository}/blob/{CONFIG['branch']}/"
    assert re.findall(r'href="(https://colab[^"]*)"', page) == [f"{colab}notebooks/{path.name}"]
    edit = f"{CONFIG['url']}/edit/{CONFIG['branch']}/book/{path.stem}.md"
    assert re.findall(r'href="([^"]*/edit/[^"]*)"', page) == [edit]
    assert f'href="../_sources/book/{path.name}"' in page
    assert (SITE / "_sources" / "book" / path.name).read_bytes() == path.read_bytes(), OLDER


# --- the derivation ------------------------------------------------------------------------------


def test_theorem_becomes_a_quotation_with_its_number_and_formulas_on_one_line():
    text = (
        ":::{prf:theorem} Softmax has the largest entropy\n:label: thm-maxent\n\n"
        "Let $a\n= b$:\n\n$$\nc\nd\n$$\n:::"
    )
    assert export.plain(text, "03_softmax") == (
        "> **Theorem 3.1 (Softmax has the largest entropy).** Let $a = b$:\n>\n> $$ c d $$"
    )


def test_links_are_absolute():
    text = '(here)=\n## Title\n<a href="#t.tau=0">x</a> [y](notation.md#z) {prf:ref}`thm-maxent`'
    book = f"{export.SITE}book/"
    assert export.plain(text, "02_masking") == (
        f'## Title\n<a href="{book}02_masking.html#t.tau=0">x</a> [y]({book}notation.html#z)'
        f" [Theorem 3.1]({book}03_softmax.html#thm-maxent)"
    )


def test_papers_are_linked_where_they_can_be_read():
    assert export.plain("{cite}`milakov2018`", "x") == (
        "([Milakov and Gimelshein 2018](https://arxiv.org/abs/1805.02867))"
    )
    assert export.paper("winograd1971") == (
        "[Winograd 1971](https://doi.org/10.1016/0024-3795%2871%2990009-7)"
    )
    assert export.paper("gibbs1902") == f"[Gibbs 1902]({export.SITE}book/references.html)"


def test_what_a_page_says_of_its_exercises_is_said_of_cells():
    text = (
        "On the published page an exercise with a field is checked right there. In a\nnotebook ("
        "the rocket) all can be run: replace the `...` and run the\ncell. The checks name mistakes."
    )
    assert export.plain(text, "x") == f"{export.IN_CELLS} The checks name mistakes."


def test_a_drop_down_is_folded():
    text = "::::{admonition} Hint\n:class: dropdown\nLook *up*.\n::::"
    wanted = "<details>\n<summary><b>Hint</b></summary>\n\nLook *up*.\n\n</details>"
    assert export.plain(text, "x") == wanted


@pytest.mark.parametrize(
    "text",
    [
        "{eq}`a`",
        ":::{mermaid}\na\n:::",
        "```{figure} a.png\n```",
        "[a](b.png)",
        '<img src="a.png">',
        "$$a$$ (b)",
        ":label: a",
        "press the rocket",
    ],
)
def test_what_is_not_known_is_refused(text):
    with pytest.raises(ValueError, match="no plain Markdown is known for"):
        export.plain(text, "03_softmax")


def test_a_label_that_nothing_has_is_refused():
    text = "nothing in the book has the label of {ref}`nowhere`"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        export.plain("see {ref}`nowhere`", "03_softmax")


def test_a_refusal_names_the_chapter(tmp_path):
    chapter = tmp_path / "03_softmax.md"
    text = (ROOT / "book" / chapter.name).read_text("utf-8")
    chapter.write_text(text + "\n{eq}`a`\n")
    with pytest.raises(ValueError, match=r"^03_softmax\.md: no plain Markdown is known for \{eq\}"):
        export.derive(chapter)


# --- the first cell ------------------------------------------------------------------------------


@every_notebook
def test_the_first_cell_names_the_configured_address(path):
    first = cells(path, "code")[0].source
    assert re.findall(r'"hydra_lib @ git\+([^"]+)"', first) == [CONFIG["url"]]
    assert "google.colab" not in as_text(path)


def first_cell(monkeypatch, missing, returncode=0, stderr=""):
    """Run the first cell; the commands it gave."""
    commands = []

    def run(command, **options):
        commands.append(command)
        return types.SimpleNamespace(returncode=returncode, stderr=stderr)

    if missing:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", run)
    exec(cells(NOTEBOOKS[0], "code")[0].source, {})
    return commands


def test_nothing_is_installed_where_the_library_can_be_imported(monkeypatch):
    assert first_cell(monkeypatch, missing=False) == []


def test_the_library_is_installed_where_it_is_missing(monkeypatch):
    (command,) = first_cell(monkeypatch, missing=True)
    assert command[1:] == ["-m", "pip", "install", "--quiet", f"hydra_lib @ git+{CONFIG['url']}"]


def test_an_address_that_cannot_be_reached_is_said_with_what_to_do(monkeypatch, capsys):
    with pytest.raises(ModuleNotFoundError) as said:
        first_cell(monkeypatch, missing=True, returncode=1, stderr="no route to host")
    assert capsys.readouterr().out == "no route to host\n"
    assert str(said.value) == (
        f"pip could not install 'hydra_lib @ git+{CONFIG['url']}': see what it said above. It needs"
        " the Internet (on Kaggle: Settings, Internet) and git. With a copy of the book at hand,"
        " run 'pip install .' in its folder instead."
    )


@pytest.mark.slow
def test_the_kernels_chapter_runs_to_its_end_without_triton(tmp_path):
    (tmp_path / "triton.py").write_text("raise ImportError('not on this system')")
    notebook = nbformat.read(ROOT / "notebooks" / "11_kernel.ipynb", as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(ROOT / "notebooks")}},
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
    )
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    own = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    client.execute(env=own | {"PYTHONPATH": paths})
    text = str([cell.get("outputs") for cell in notebook.cells])
    assert "Triton cannot be imported (not on this system)" in text
