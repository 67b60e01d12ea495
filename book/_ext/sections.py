"""What the site's search looks through: every section by itself, in ``_static/sections.js``.

Sphinx's own index knows pages, and a page of this book is twenty screens high. A section's text is
its prose; the words of an ``{index}`` in it are those that readers use and the book does not.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from docutils.utils.math import tex2unichar
from sphinx import addnodes
from sphinx.environment.collectors import EnvironmentCollector

TABLES = ("mathalpha", "mathbin", "mathclose", "mathop", "mathopen", "mathord", "mathrel")
SIGNS = {name: sign for table in TABLES for name, sign in getattr(tex2unichar, table).items()}
SIGNS |= {"lVert": "‖", "rVert": "‖", "dots": "…"}
# Of the other commands a function's name is said, and nothing of those that lay out.
LAYOUT = re.compile(r"\\(?:[bB]ig[lr]|left|right|q?quad|(?:text|display)style)(?![a-zA-Z])")
STYLE = re.compile(r"\\(?:text|math(?:rm|sf|bb)|operatorname)(?![a-zA-Z])")
GROUP = r"\s*(?:\{([^{}]*)\}|(\w))"  # the second without braces: \tfrac12
# Found, but after what explains: what is corrected, cited, listed or asked there.
ASIDE = re.compile(r"book/(changes|claims|references|teaching)$")
CODE = (nodes.literal_block, nodes.doctest_block, addnodes.desc_signature)
# Each term of the glossary is an entry itself.
UNSAID = (*CODE, nodes.comment, nodes.raw, nodes.target, addnodes.index, addnodes.glossary)


def plain(tex: str) -> str:
    r"""TeX as it is typed where there is no TeX, from the innermost braces outwards.

    >>> plain(r"\frac{q \cdot k + 1}{\sqrt{d_k}} \le \tfrac12 \tau")
    '(q ⋅ k + 1)/√d_k ≤ 1/2 τ'
    """

    def one(part: str | None) -> str:
        part = (part or "").strip()
        return part if re.fullmatch(r"[√\\]?[\w']*|\([^()]*\)", part) else f"({part})"

    tex = LAYOUT.sub("", STYLE.sub(" ", re.sub(r"\\(?:begin|end)\{\w+\}|\\[^a-zA-Z]", " ", tex)))
    before = ""
    while tex != before:
        before = tex
        tex = re.sub(r"\\sqrt" + GROUP, lambda m: "√" + one(m[1] or m[2]), tex)
        tex = re.sub(r"([_^])\s*\{([^{}]*)\}", lambda m: m[1] + one(m[2]), tex)
        fraction = r"\\[td]?frac" + GROUP + GROUP
        tex = re.sub(fraction, lambda m: f" {one(m[1] or m[2])}/{one(m[3] or m[4])} ", tex)
        if tex == before:  # what is left are braces around nothing but letters
            tex = re.sub(r"\{([^{}]*)\}", r"\1", tex)
    tex = re.sub(r"\\([a-zA-Z]+)", lambda name: SIGNS.get(name[1], f" {name[1]} "), tex)
    return " ".join(tex.replace("&", " ").split())


def said(node: nodes.Node) -> Iterator[str]:
    """The prose under ``node``: no code, no outputs, no hint and no solution."""
    if isinstance(node, nodes.math):
        yield plain(node.astext())
    elif isinstance(node, nodes.math_block):
        yield f" {plain(node.astext())} "
    elif isinstance(node, nodes.Text):
        yield str(node)
    elif isinstance(node, addnodes.pending_xref) and not node.get("refexplicit"):
        yield "" if node["refdomain"] == "cite" else "…"  # a label, not words
    elif not hides(node):
        inside = node.children[1:] if titled(node) else node.children
        yield from (text for child in inside if not titled(child) for text in said(child))
        if not isinstance(node, nodes.Inline):
            yield " "


def text_of(node: nodes.Node) -> str:
    return " ".join("".join(said(node)).split())


def hides(node: nodes.Element) -> bool:
    folded = node.get("design_component") == "dropdown" or node.tagname == "solution_node"
    return isinstance(node, UNSAID) or folded or "cell" in node.get("classes", [])


def titled(node: nodes.Node) -> bool:
    return isinstance(node, nodes.section) and isinstance(node.children[0], nodes.title)


def indexed(node: nodes.Element) -> Iterator[str]:
    """The words of the ``{index}`` entries that stand in a section itself."""
    for child in node.children:
        if isinstance(child, addnodes.index):
            yield from (entry[1] for entry in child["entries"])


class Sections(EnvironmentCollector):
    """Keeps, with what Sphinx keeps of a page, what each of its sections and terms says."""

    def clear_doc(self, app, env, docname):
        self.of(env).pop(docname, None)

    def merge_other(self, app, env, docnames, other):
        self.of(env).update(
            (name, said) for name, said in self.of(other).items() if name in docnames
        )

    def process_doc(self, app, doctree):
        self.of(app.env)[app.env.docname] = list(heard(doctree))

    @staticmethod
    def of(env) -> dict[str, list[tuple]]:
        if not hasattr(env, "said_in_sections"):
            env.said_in_sections = {}
        return env.said_in_sections


def heard(doctree: nodes.document) -> Iterator[tuple]:
    """(id, its title, the words of its index, its text) of each section, then of each term."""
    for section in filter(titled, doctree.findall(nodes.section)):
        name = "" if section.parent is doctree else section["ids"][0]
        yield name, text_of(section[0]), ", ".join(indexed(section)), text_of(section)
    for glossary in doctree.findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            yield item[0]["ids"][0], text_of(item[0]), "", text_of(item[-1])


def entries(env, docname: str) -> Iterator[list]:
    """[page, id, title, words, text, is it beside the point] of each section and each term."""
    numbers = env.toc_secnumbers.get(docname, {})
    library = docname.startswith("book/library/")  # whose index entries are Python's names
    for name, title, words, text in Sections.of(env)[docname]:
        number = ".".join(map(str, numbers.get(f"#{name}" if name else "", ())))
        beside = bool(ASIDE.search(docname)) or title in ("Sources", "Exercises")
        place = f"{env.titles[docname].astext()} › " if name and not number else ""
        title = f"{number}. {title}" if number else place + title
        yield [docname, name, title, "" if library else words, text, beside]


def write(app, error):
    if error or app.builder.name != "html":
        return
    found = [entry for name in sorted(app.env.found_docs) for entry in entries(app.env, name)]
    text = f"const SECTIONS = {json.dumps(found, ensure_ascii=False)};\n"
    (Path(app.outdir) / "_static" / "sections.js").write_text(text, "utf-8")


def setup(app):
    app.add_env_collector(Sections)
    app.connect("build-finished", write)
    return {"env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
