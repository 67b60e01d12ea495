"""Digits in the prose of a chapter come from a cell or a formula, or stand on the allowed list.

A number typed by hand is right until the cell beside it changes. A number may stand in prose if it
is glued (``{glue:text}`name:.2f```), if it is a size that a code cell or a formula of the same
section sets, or if ``prose.yml`` allows it and says why. What has a unit is a result, and no size.
"""

import ast
import itertools
import re
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT

CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]_*.md"))
ALLOWED = yaml.safe_load(Path(__file__).with_name("prose.yml").read_text("utf-8"))
# A chapter that has become clean must leave this list.
NOT_YET = ()

NUMBER = re.compile(r"(?<!\w)(?<!\w[.,])\d+(?:,\d{3})*(?:\.\d+)?")
UNIT = re.compile(r"\s?(?:%|×(?!\s?\d)|[mnµ]?s\b|[KMGT]i?B\b|[GT]?FLOP|nats\b|times\b|bytes?\b)")
CELL = re.compile(r"^```\{code-cell\}.*?^```$", re.MULTILINE | re.DOTALL)
OPTIONS = re.compile(r"(?<=\n)---\n.*?^---\n", re.MULTILINE | re.DOTALL)
FORMULA = re.compile(r"\$\$.*?\$\$|(?<!\\)\$[^$\n]*(?:\n[^$\n]+)*?\$", re.DOTALL)
# In this order: what an earlier pattern has taken away, a later one does not see.
NO_PROSE = [
    re.compile(r"\A---\n.*?^---$", re.MULTILINE | re.DOTALL),  # the header
    CELL,
    re.compile(r"^(`{3,})[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL),  # other fences
    re.compile(
        r"^(?:\(\S+\)=|\+\+\+.*|%.*|:{3,}.*|:[\w-]+:.*)$", re.MULTILINE
    ),  # labels, directives
    FORMULA,
    re.compile(r"\{[\w:]+\}`[^`]*`"),  # roles: references, citations, glue
    re.compile(r"(`+)[^`]+\1"),  # code in a line
    re.compile(r"^ *(?:\d+\.|\(\d+\)) ", re.MULTILINE),  # the items of a list
    re.compile(r"\]\([^)]*\)|<[^>\s][^>]*>|https?://\S+"),  # where a link goes, tags
]
SECTION = re.compile(r"^#+ .*$|^:::\{exercise-start\}$", re.MULTILINE)


def blank(text, pattern):
    """The text with every match turned into spaces, so that positions stay."""
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


class Set(ast.NodeVisitor):
    """Numbers that a cell sets: not an index, and not a bound that something lies below."""

    def __init__(self):
        self.numbers = set()

    def visit_Constant(self, node):
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            self.numbers.add(float(node.value))

    def visit_Subscript(self, node):
        self.visit(node.value)

    def visit_Compare(self, node):
        if all(isinstance(op, ast.Eq) for op in node.ops):
            self.generic_visit(node)


def numbers_set(section):
    """What the code cells and the formulas of this part of a chapter set."""
    found = Set()
    for cell in CELL.findall(section):
        lines = OPTIONS.sub("", cell).splitlines()[1:-1]
        code = (re.sub(r"^:\w+:.*|^(\s*)[%!].*", r"\1pass", x) for x in lines)  # tags, magics
        found.visit(ast.parse("\n".join(code)))
    for formula in FORMULA.findall(blank(section, CELL)):
        found.numbers |= {float(n.replace(",", "")) for n in NUMBER.findall(formula)}
    return found.numbers


def offending(text):
    """(line, number, its sentence) for every number in the prose that comes from nowhere."""
    prose = text
    for pattern in NO_PROSE[:3]:
        prose = blank(prose, pattern)
    starts = [0, *(m.start() for m in SECTION.finditer(prose)), len(text)]
    for pattern in [*NO_PROSE[3:], re.compile(r"^#+ .*$", re.MULTILINE)]:
        prose = blank(prose, pattern)
    for entry in ALLOWED:
        prose = blank(prose, re.compile(entry["pattern"]))
    found = []
    for start, end in itertools.pairwise(starts):
        known = numbers_set(text[start:end])
        for match in NUMBER.finditer(prose, start, end):
            size = not UNIT.match(prose, match.end())
            if not (size and float(match[0].replace(",", "")) in known):
                line = text[: match.start()].count("\n") + 1
                found.append((line, match[0], sentence(text, match)))
    return found


def sentence(text, match):
    ends = r"\n\s*\n|(?<=[.?!:])\s|^:::.*$|\n(?=\|)"
    start = max((m.end() for m in re.finditer(ends, text[: match.start()], re.M)), default=0)
    end = re.compile(ends, re.M).search(text, match.end())
    return " ".join(text[start : end.start() if end else None].split())


PAGE = """---
format_version: 0.13
---

# Ten thousand pages, 12 of them empty

(label-3)=
## A section

In 1969, in chapter 3, GPT-2 had 0 or 1. Of {{glue:text}}`n:.0f` keys `k[4]` is $5x$, and
{{cite}}`one2017` [says so](page7.md), with float32 and 5 rows of 64.

:::{{figure}} 8.svg
:width: 80%
A picture
:::

{said}

```{{code-cell}} ipython3
:tags: [hide-input]

%matplotlib inline
d_k, n = 64, 10_000
x = scores[77]
assert d_k < 78
print(99_000, f"{{n:79.2f}}")  # 98
```

## Another

It has {elsewhere}.
"""


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ("Nothing.", []),
        ("Of 64 or 10,000 keys, 99000.", []),
        ("It is 0.53.", ["0.53"]),
        ("An index, 77; a bound, 78; a width, 79; a remark, 98.", ["77", "78", "79", "98"]),
        ("64 % or 64 × as many, 64 ms, 64× and 64 FLOPs a byte.", ["64"] * 5),
        ("Of 64 × 64 scores.", []),
        ("1 % of 1.5, 1,000 and 0.1.", ["1", "1.5", "1,000", "0.1"]),
        ("| a | b |\n|---|---|\n| 2 | **3** |", ["2", "3"]),
        ("- about 3-fold,\n  [4 of them](a.md)", ["3", "4"]),
        ("1. One.\n2. Two, of 6.", ["6"]),
        (":::{note} 3\nIt has 7.\n:::", ["7"]),
        ("1969 sizes", ["1969"]),
        ("It costs \\$3, or \\$4.", ["3", "4"]),
    ],
)
def test_the_checker_finds_what_comes_from_nowhere(said, numbers):
    page = PAGE.format(said=said, elsewhere="none")
    assert [n for _, n, _ in offending(page)] == numbers


def test_the_checker_says_where_and_knows_the_section():
    page = PAGE.format(said="Nothing.", elsewhere="64 keys.\nAnd more")
    assert offending(page) == [(page.split("64 keys")[0].count("\n") + 1, "64", "It has 64 keys.")]


def test_every_allowed_number_is_needed_and_has_a_reason():
    text = "\n".join(p.read_text("utf-8") for p in CHAPTERS)
    for entry in ALLOWED:
        assert entry["reason"]
        assert re.search(entry["pattern"], text), entry["pattern"]


@pytest.mark.parametrize(
    "chapter",
    [
        pytest.param(p, id=p.stem, marks=[pytest.mark.xfail(strict=True)] * (p.stem in NOT_YET))
        for p in CHAPTERS
    ],
)
def test_numbers_in_prose_come_from_somewhere(chapter):
    found = offending(chapter.read_text("utf-8"))
    told = [f"{chapter.name}:{line}: {n}: {said}" for line, n, said in found]
    told += ["Set it in a cell or a formula of the section, glue it, or allow it in prose.yml."]
    assert not found, "\n".join(told)
