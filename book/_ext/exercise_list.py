"""``{exercises}`` stands for a table of all exercises, as their chapters introduce them."""

import re
from importlib import import_module
from pathlib import Path

from answers import ASKS, CHECKS
from sphinx.util.docutils import SphinxDirective

BOOK = Path(__file__).parents[1]
# Each begins with its kind, the time it is likely to take, and how hard it is.
INTRODUCED = re.compile(
    r"^:::\{exercise-start\}\n:label: (\S+)\n:::\n"
    r"\*\*(.+?)\.?\*\* \*(.+?), (easy|medium|hard)\.\*(.*?)^:::\{exercise-end\}",
    re.MULTILINE | re.DOTALL,
)


def rows(chapter: Path) -> list[str]:
    """Lines of a Markdown table, one for each exercise of a chapter."""
    text = chapter.read_text("utf-8")
    found = INTRODUCED.findall(text)
    if len(found) != text.count(":::{exercise-start}"):
        raise ValueError(f"{chapter.name} has an exercise that does not say how long and how hard")
    lines = []
    for label, kind, time, hard, rest in found:
        checks = import_module(f"hydra_lib.exercises.{CHECKS.search(text)[1]}")
        here = hasattr(getattr(checks, ASKS.search(rest)[1]), "facts")
        lines.append(
            f"| {{ref}}`{label}` | {kind} | {time.lower()}, {hard}{', on the page' * here} |"
        )
    return lines


class Exercises(SphinxDirective):
    def run(self):
        lines = ["| exercise | name | how long, how hard |", "|---|---|---|"]
        for chapter in sorted(BOOK.glob("[0-9][0-9]_*.md")):
            self.env.note_dependency(str(chapter))
            lines += rows(chapter)
        parsed = self.parse_text_to_nodes("\n".join(lines))
        parsed[0]["classes"].append("stacked")
        return parsed


def setup(app):
    app.add_directive("exercises", Exercises)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
