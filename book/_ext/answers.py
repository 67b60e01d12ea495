"""Where an exercise asks for numbers or a choice, its page asks too: a form in place of the cell.

What is right, which mistakes are known and what is said of them are the facts of the check itself
(:mod:`hydra_lib.exercises.compare`), written into the page; ``answers.js`` judges by them. Which
check it is stands in the exercise's own cell, so the text and the notebooks need no mark.
"""

import json
import math
import re
from importlib import import_module

from docutils import nodes

CHECKS = re.compile(r"^from hydra_lib\.exercises import (\w+) as exercises$", re.MULTILINE)
ASKS = re.compile(r"^exercises\.(\w+)\(", re.MULTILINE)
FORM = """<form class="answer" novalidate>
<script type="application/json">{facts}</script>
{fields}
<button type="submit" disabled>Check</button>
<p class="verdict" role="status">Your first answer unlocks the solution.</p>
</form>
"""
ONE = '<label>Your answer <input type="text" autocomplete="off" spellcheck="false"></label>'
OF_SEVERAL = '<input type="text" aria-label="number {at} of {n}" autocomplete="off" size="8">'
OPTION = '<label><input type="checkbox" value="{n}"> {n}</label>'
GROUP = "<fieldset><legend>Your answer</legend>{}</fieldset>"


def fields(facts: dict) -> str:
    if "options" in facts:
        return GROUP.format(" ".join(OPTION.format(n=n) for n in facts["options"]))
    n = len(facts["right"])
    if n == 1:
        return ONE
    return GROUP.format(" ".join(OF_SEVERAL.format(at=at, n=n) for at in range(1, n + 1)))


def written(facts: dict) -> str:
    """The facts as JSON, which knows no infinity, safe inside an element."""

    def finite(thing):
        if isinstance(thing, list | tuple):
            return [finite(part) for part in thing]
        infinite = isinstance(thing, float) and math.isinf(thing)
        return f"{'-' * (thing < 0)}Infinity" if infinite else thing

    plain = {name: finite(fact) for name, fact in facts.items()}
    return json.dumps(plain, ensure_ascii=False, allow_nan=False).replace("<", r"\u003c")


def form(facts: dict) -> str:
    return FORM.format(facts=written(facts), fields=fields(facts))


def ask(app, doctree, docname):
    cells = [c for c in doctree.findall(nodes.container) if "cell" in c["classes"]]
    codes = ["\n".join(block.astext() for block in c.findall(nodes.literal_block)) for c in cells]
    module = CHECKS.search("\n".join(codes))
    for cell, code in zip(cells, codes, strict=True):
        asked = ASKS.search(code)
        if not (module and asked):
            continue
        check = getattr(import_module(f"hydra_lib.exercises.{module[1]}"), asked[1])
        if hasattr(check, "facts"):
            cell.parent.replace(cell, nodes.raw("", form(check.facts), format="html"))
        else:  # no page runs Python: "run the cell again" is said to nobody
            for output in [c for c in cell.children if "cell_output" in c["classes"]]:
                cell.remove(output)


def setup(app):
    app.connect("doctree-resolved", ask)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
