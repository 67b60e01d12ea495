"""A chapter's MyST text as the plain notebook that readers open.

Colab, JupyterLab, VS Code and GitHub know Markdown, but neither directives nor roles. So theorems
and proofs become quotations, exercises headings, solutions with their code folded text, and every
reference a link to the published page or to the paper. What this module does not know it refuses.
"""

import re
from functools import cache
from pathlib import Path
from urllib.parse import quote

import jupytext
import nbformat
import yaml
from pybtex.database import parse_file

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"
REPOSITORY = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]
ADDRESS, BRANCH = REPOSITORY["url"].rstrip("/"), REPOSITORY["branch"]
# Where GitHub Pages publishes a repository, as .github/workflows/ci.yml asks it to.
SITE = "https://{}.github.io/{}/".format(*ADDRESS.split("/")[-2:])
FIRST_CELL = (ROOT / "tools" / "first_cell.py").read_text("utf-8").replace("ADDRESS", ADDRESS)

BLOCK = re.compile(
    r"^(?P<fence>:{3,}|`{3,})\{(?P<name>[^}\n]+)\} *(?P<title>.*)\n"
    r"(?P<options>(?::[\w-]+:.*\n)*)(?P<body>(?:.*\n)*?)(?P=fence) *$",
    re.MULTILINE,
)
NUMBERED = re.compile(r"prf:(?!proof)(\w+)|(exercise)-start")
GATE = re.compile(r"(exercise|solution)-(start|end)")
NAMED = re.compile(r"^\((?P<label>[\w-]+)\)=\n+(?P<heading>#+ (?P<title>.+))$", re.MULTILINE)
ROLE = re.compile(r"\{(?P<name>[\w:]+)\}`(?:(?P<text>[^`<]+?) *<)?(?P<target>[^`<>]+)>?`")
MATH = re.compile(r"\$\$.*?\$\$|\$[^$]+\$", re.DOTALL)
ASIDES = {"warning", "note", "tip", "hint", "important", "caution", "admonition", "dropdown"}
FOLD = "<details>\n<summary><b>{}</b></summary>"
SOLUTION = FOLD.format("Solution")
# What a folded cell shows, when the chapter gives it no title: a form without one is a blank line.
SHOWN = (("Widget(", "the widget"), ("themed(", "the figure"), ("source(", "the code"))
SHOWN = (*SHOWN, ("shader(", "the code"), ("graph(", "the picture"), ("", "the numbers"))
# What a page says of its exercises, and what a notebook does.
TASKS = re.compile(
    r"On the published page an exercise with a field .*?"
    r"replace the `\.\.\.`( and run the\s+cell)?\.",
    re.DOTALL,
)
IN_CELLS = (
    "Replace the `...` in a task's cell and run it: it says whether the answer is right, or what"
    " is wrong with it. Hints and a solution are folded below."
)
# What must not be left: fences, options, roles, targets, cell breaks; links that lead nowhere; a
# button of the page.
MYST = r"^:{3,}.*$|^`{3,}\{.*$|^:[\w-]+:.*$|\{[\w:]+\}`|^\([\w-]+\)=|^\+\+\+.*$|\$\$ *\([\w-]+\)"
NOWHERE = r"\]\((?!https?://)[^)]*\)|\b(?:href|src)=[\"'](?!https?://)[^\"']*"
REFUSED = re.compile(f"{MYST}|{NOWHERE}|the rocket", re.MULTILINE)


def sources() -> list[Path]:
    """The pages that have a notebook: those with a cell whose lines nbval compares."""
    pages = sorted(BOOK.glob("*.md"))
    return [page for page in pages if "nbval-check-output" in page.read_text("utf-8")]


def option(block: re.Match, name: str) -> str:
    found = re.search(rf"^:{name}: *(.*)$", block["options"], re.MULTILINE)
    return found[1] if found else ""


@cache
def places() -> dict[str, tuple[str, str]]:
    """What can be referred to: label -> (its caption on the page, its address)."""
    found = {}
    for text in sorted(BOOK.glob("*.md")):
        source, page = text.read_text("utf-8"), f"{SITE}book/{text.stem}.html"
        counted = {}
        for block in BLOCK.finditer(source):
            if kind := NUMBERED.fullmatch(block["name"]):
                kind, label = (kind[1] or kind[2]).capitalize(), option(block, "label")
                if not label or label in found:
                    raise ValueError(f"{text.name}: a {kind} needs a label of its own")
                counted[kind] = counted.get(kind, 0) + 1
                found[label] = (f"{kind} {int(text.stem[:2])}.{counted[kind]}", f"{page}#{label}")
        for named in NAMED.finditer(source):
            found[named["label"]] = (named["title"], f"{page}#{named['label']}")
    return found


@cache
def papers():
    return parse_file(str(BOOK / "references.bib")).entries


def paper(key: str) -> str:
    """``[Dao et al. 2022](where to read it)``."""
    entry = papers()[key]
    people = entry.persons.get("author") or entry.persons["editor"]
    names = ["".join(map(str, person.rich_last_names)) for person in people]
    who = names[0] + " et al." if len(names) > 2 else " and ".join(names)
    where = f"{SITE}book/references.html"
    if "doi" in entry.fields:
        where = f"https://doi.org/{quote(entry.fields['doi'])}"
    said = " ".join([f"arXiv:{entry.fields.get('eprint')}", *entry.fields.values()])
    if arxiv := re.search(r"arXiv:(\d{4}\.\d+)", said):
        where = f"https://arxiv.org/abs/{arxiv[1]}"
    return f"[{who} {entry.fields['year']}]({where})"


def role(found: re.Match) -> str:
    name, text, target = found["name"], found["text"], found["target"]
    if name == "cite":
        return "(" + "; ".join(paper(key.strip()) for key in target.split(",")) + ")"
    if name in ("ref", "prf:ref"):
        if target not in places():
            raise ValueError(f"nothing in the book has the label of {found[0]}")
        caption, address = places()[target]
        return f"[{text or caption}]({address})"
    raise ValueError(f"no plain Markdown is known for {found[0]}")


def quoted(head: str, body: str) -> str:
    # Many readers take a formula as it stands, with the > of its second line.
    body = MATH.sub(lambda m: " ".join(m[0].split()), body.strip())
    text = f"**{head}.**" + ("\n\n" if body.startswith("$$") else " ") + body
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def folded(head: str, body: str) -> str:
    return FOLD.format(head) + f"\n\n{body.strip()}\n\n</details>"


def block(found: re.Match) -> str:
    name, title, body = found["name"], found["title"].strip(), BLOCK.sub(block, found["body"])
    if name == "index":  # for the site's search
        return ""
    if name == "prf:proof":
        return quoted("Proof", body)
    if name.startswith("prf:"):
        caption = places()[option(found, "label")][0]
        return quoted(f"{caption} ({title})" if title else caption, body)
    if name in ASIDES:
        fold = name == "dropdown" or "dropdown" in option(found, "class")
        return (folded if fold else quoted)(title or name.capitalize(), body)
    raise ValueError(f"no plain Markdown is known for {found[0][:80]!r}")


def plain(text: str, page: str) -> str:
    """MyST to Markdown, for text without gates."""
    text = TASKS.sub(IN_CELLS, NAMED.sub(lambda named: named["heading"], text))
    text = ROLE.sub(role, BLOCK.sub(block, text))
    text = text.replace('href="#', f'href="{SITE}book/{page}.html#')
    text = re.sub(r"\]\((\w+)\.md(#[\w-]+)?\)", rf"]({SITE}book/\1.html\2)", text)
    if left := REFUSED.search(text):
        raise ValueError(f"no plain Markdown is known for {left[0]!r}")
    return text.strip("\n")


def fold(cell):
    """A form in Colab, a closed cell elsewhere."""
    cell.metadata.update(cellView="form", jupyter={"source_hidden": True})
    return cell


def code(cell):
    tags = cell.metadata.get("tags", [])
    folded = {"hide-input", "hide-cell", "remove-input"} & {*tags}
    title = cell.metadata.get("mystnb", {}).get("code_prompt_show")
    if folded and not title:
        title = "Run this for " + next(what for name, what in SHOWN if name in cell.source)
    made = nbformat.v4.new_code_cell((f"# @title {title}\n" if title else "") + cell.source)
    if "nbval-check-output" in tags:
        made.metadata["tags"] = ["nbval-check-output"]
    return fold(made) if folded else made


def cells(source: list, page: str):
    """The chapter's cells; a gate says what the text and code behind it belong to.

    A solution becomes text, its code too: no reader but JupyterLab and Colab folds code.
    """
    heading, solution = "", None
    for cell in source:
        if cell.cell_type == "code":
            if solution is None:
                yield code(cell)
            else:
                solution.append(f"```python\n{cell.source}\n```")
            continue
        position = 0
        gates = [found for found in BLOCK.finditer(cell.source) if GATE.fullmatch(found["name"])]
        for gate in [*gates, None]:
            text = plain(cell.source[position : gate.start() if gate else None], page)
            if text and solution is not None:
                solution.append(text)
            elif text:
                for part in re.split(r"\n(?=#{1,3} )", heading + text):
                    yield nbformat.v4.new_markdown_cell(part.strip("\n"))
                heading = ""
            if gate is None:
                continue
            position = gate.end()
            if gate["name"] == "solution-start":
                solution = []
            elif gate["name"] == "solution-end":
                yield nbformat.v4.new_markdown_cell(folded("Solution", "\n\n".join(solution)))
                solution = None
            elif gate["name"] == "exercise-start":
                caption = places()[option(gate, "label")][0]
                title = gate["title"].strip()
                heading = f"### {caption}{title and ': ' + title}\n\n"


def solutions(notebook) -> list[str]:
    """The code of the solutions, one text for each."""
    texts = [cell.source for cell in notebook.cells if cell.source.startswith(SOLUTION)]
    found = [re.findall(r"^```python\n(.*?)^```$", t, re.MULTILINE | re.DOTALL) for t in texts]
    return ["\n".join(parts) for parts in found]


def derive(text: Path):
    """The notebook of the chapter ``text``, without outputs."""
    try:
        title, *rest = cells(jupytext.read(text).cells, text.stem)
    except ValueError as error:
        raise ValueError(f"{text.name}: {error}") from None
    heading, _, opening = title.source.partition("\n")
    place = f"Chapter {int(text.stem[:2])}" if text.stem[0].isdigit() else "A page"
    title.source = (
        f"{heading}\n\n{place} of [Hydra]({SITE});"
        f" [as a page]({SITE}book/{text.stem}.html) it needs nothing installed. Run the cells in"
        " order, the folded ones too: later ones need them. A cell called *checked ✓* prints"
        " nothing; it fails if what it says is wrong."
    )
    install = fold(nbformat.v4.new_code_cell(FIRST_CELL.strip()))
    opening = nbformat.v4.new_markdown_cell(opening.strip("\n"))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = nbformat.v4.new_notebook(
        cells=[title, install, opening, *rest],
        metadata={"kernelspec": kernel, "language_info": {"name": "python"}},
    )
    if any("hydra_lib.kernels" in cell.source for cell in rest):
        notebook.metadata.update(accelerator="GPU", colab={"gpuType": "T4"})  # what Colab gives
    notebook.nbformat_minor = 4  # the last one without cell ids, which are random
    for cell in notebook.cells:
        del cell["id"]
    nbformat.validate(notebook)
    return notebook
