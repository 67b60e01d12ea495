"""Formulas typeset while the book is built: drawings with MathML, and no script on the page.

MathJax comes with ``sphinx-mathjax-offline``, Node with Playwright. A formula is an SVG in the
colour of its text, MathML for readers, and its TeX, unseen, for who copies it. The outlines of the
glyphs stand once a page.
"""

import html
import importlib.util
import json
import re
import subprocess
from pathlib import Path

from docutils import nodes
from playwright._impl._driver import compute_driver_executable
from sphinx.util import logging

log = logging.getLogger(__name__)
WIDE_EX = 24  # wider than a phone's column inside a theorem
GLYPH = re.compile(r'<path id="(MJX-TEX-[^"]+)"[^>]*></path>')
# A browser breaks a line on either side of a drawing, even before a comma.
INLINE = re.compile(
    r"""[(“]*<span class="math [^>]*>.*?</mjx-container></span>([,.;:!?)”’-]+((?<=’)\w+)?)?""",
    re.DOTALL,
)


class Typesetter:
    """One Node process for all formulas of a build, started by the first."""

    def __init__(self):
        self.process = None
        self.done = {}
        self.glyphs = {}

    def __call__(self, tex: str, display: bool) -> tuple[str, str | None]:
        """The formula's HTML, or its TeX with the reason why it could not be set."""
        if (tex, display) not in self.done:
            answer = self.ask({"tex": tex, "display": display})
            error = answer.get("error")
            shown = html.escape(tex) if error else self.dress(answer["html"], tex)
            self.done[tex, display] = shown, error
        return self.done[tex, display]

    def ask(self, question: dict) -> dict:
        if self.process is None:
            node, _ = compute_driver_executable()
            package = importlib.util.find_spec("sphinx-mathjax-offline")
            self.process = subprocess.Popen(
                [
                    node,
                    Path(__file__).with_name("typeset.cjs"),
                    Path(package.origin).parent / "static" / "mathjax",
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("Node ended while it typeset " + question["tex"])
        return json.loads(answer)

    def dress(self, drawn: str, tex: str) -> str:
        drawn = re.sub(r"MJX-\d+-", "MJX-", drawn).replace("xlink:href", "href")
        self.glyphs.update({glyph[1]: glyph[0] for glyph in GLYPH.finditer(drawn)})
        drawn = re.sub(r"<defs>.*?</defs>", "", drawn, count=1, flags=re.DOTALL)
        drawn = re.sub(r' (data-(c|mml-node|mjx-\w+)|xmlns(:xlink)?|focusable)="[^"]*"', "", drawn)
        drawn = drawn.replace(' class="MathJax"', "").replace(' style="position: relative;"', "")
        drawn = drawn.replace(' role="img"', "", 1)  # hidden from readers, who hear the MathML
        display = 'display="true"' in drawn
        if display and float(re.search(r'width="([\d.]+)ex"', drawn)[1]) > WIDE_EX:
            drawn = drawn.replace(">", ' tabindex="0" role="group" aria-label="formula">', 1)
        dollars = "$$" if display else "$"
        copied = html.escape(f"{dollars}{tex.strip()}{dollars}")
        end = f'<span class="tex" aria-hidden="true">{copied}</span></mjx-container>'
        return drawn.removesuffix("</mjx-container>") + end

    def page_glyphs(self, body: str) -> str:
        used = sorted(set(re.findall(r'href="#(MJX-TEX-[^"]+)"', body)))
        paths = "".join(self.glyphs[name] for name in used)
        return f'<svg class="glyphs" aria-hidden="true"><defs>{paths}</defs></svg>' if used else ""

    def close(self):
        if self.process is not None:
            self.process.communicate()
            self.process = None


typeset = Typesetter()


def show(writer, node, tex, display):
    shown, error = typeset(tex, display)
    if error:
        log.warning("cannot typeset %s: %s", tex, error, location=node)
    writer.body.append(shown)


def visit_math(writer, node):
    writer.body.append(writer.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    show(writer, node, node.astext(), False)
    writer.body.append("</span>")
    raise nodes.SkipNode


def visit_display(writer, node):
    writer.body.append(writer.starttag(node, "div", CLASS="math notranslate nohighlight"))
    show(writer, node, node.astext(), True)
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def add_glyphs(app, pagename, templatename, context, doctree):
    if "body" in context:
        body = INLINE.sub(r'<span class="unbroken">\g<0></span>', context["body"])
        context["body"] = typeset.page_glyphs(body) + body


def setup(app):
    app.add_html_math_renderer("typeset", (visit_math, None), (visit_display, None))
    app.config.html_math_renderer = "typeset"
    app.connect("html-page-context", add_glyphs)
    app.connect("build-finished", lambda app, error: typeset.close())
    # The glyphs and the process are this process's own.
    return {"parallel_read_safe": True, "parallel_write_safe": False}
