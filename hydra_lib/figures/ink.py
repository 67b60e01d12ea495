"""Matplotlib drawings as inline SVG that follow the page's theme: black becomes ink.

Matplotlib draws text, axes and ticks in black unless told otherwise. Here black becomes
``currentColor``, the colour of the text around the figure, so one picture serves light and dark.
"""

import inspect
import io
import itertools
import math
import re
from html import escape
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from hydra_lib import _checks

COLORS = ("#1a8cab", "#d9822b", "#8f63b8", "#5c8f3a", "#c24d6b")
"""Line colours that keep their contrast on white and on near-black."""

LEAST = 0.82  # of its inches, for a part of a figure that can go on in another line

MOST = 100  # axes along a side; drawing more takes minutes


class Picture:
    """An SVG with a text alternative, shown by Jupyter and by the published page."""

    def __init__(self, svg: str, alt: str):
        self.svg, self.alt = svg, alt

    def _repr_html_(self) -> str:
        return f'<div class="themed" style="overflow-x:auto">{self.svg}</div>'

    def __repr__(self) -> str:
        return f"Picture: {self.alt}"


def figure(
    rows: int = 1,
    columns: int = 1,
    width: float | int = 4.4,
    height: float | int = 3.0,
    **options: Any,
) -> tuple[Figure, Any]:
    """A figure and its axes, (width, height) in inches; ``options`` go to ``Figure.subplots``.

    The usual width leaves letters of ten points ten pixels on a phone.
    Not registered with pyplot, so it is shown only where :func:`themed` puts it.

    Raises TypeError for an unknown option; ValueError for rows and columns that are no
    positive integers up to 100, and for a size that is not 0.1 to 100 inches.
    """
    rows = _checks.integer("rows", rows, 1, MOST)
    columns = _checks.integer("columns", columns, 1, MOST)
    for name, inches in (("width", width), ("height", height)):
        if not 0.1 <= _checks.number(name, inches) <= 100:
            got = _checks.shown(inches)
            raise ValueError(f"{name} must be from 0.1 to 100 inches, got {got}")
    known = inspect.signature(Figure.subplots).parameters.keys() - {"self", "nrows", "ncols"}
    if unknown := sorted(options.keys() - known):
        names = ", ".join(sorted(known | {"rows", "columns", "width", "height"}))
        raise TypeError(f"figure has no option {unknown[0]!r}, only {names}")
    fig = Figure(figsize=(width, height), layout="constrained")
    return fig, fig.subplots(rows, columns, **options)


def check_alt(alt: str) -> None:
    """Refuse what says nothing, before a figure is drawn for it."""
    _checks.instance("alt", alt, str)
    if not alt.strip():
        raise ValueError("alt must say what the figure shows, got an empty text")


def themed(fig: Figure, alt: str) -> Picture:
    """Inline SVG of ``fig``, black drawn in the colour of the surrounding text.

    ``alt`` says in a sentence what the figure shows, for readers who do not see it. Where there is
    room the figure is shown a fifth larger than its inches; where there is too little, the columns
    of its grid go on in another line, unless they share a legend, a title or the names along y.
    The layout is fixed then: what is added to the figure later finds no room made for it.
    Raises TypeError for anything but a figure and a text, ValueError when the text is empty.
    """
    if not isinstance(fig, Figure):
        kind = type(fig).__name__
        raise TypeError(
            "fig must be a matplotlib Figure, the first of the two that figure() returns, "
            f"got {kind}"
        )
    check_alt(alt)
    width = fig.get_figwidth() * 96
    if width > 5 * 96 and (columns := _columns(fig)):
        return in_lines(fig, alt, columns)
    # Where there is room, letters of ten points are as large as the text around them. What is wider
    # than a phone shrinks to 26 rem, but to no less than half, where a letter has six pixels: then
    # it scrolls.
    least = f"min({0.6 * width:.0f}px,max(26rem,{0.54 * width:.0f}px))"
    fluid = f"width:{1.2 * width:.0f}px;height:auto;max-width:max(100%,{least})"
    return Picture(_svg(fig, f'{_told(alt)} style="{fluid}"'), alt)


def in_lines(fig: Figure, alt: str, parts: list[tuple[list[Any], Bbox]]) -> Picture:
    """The parts of a figure, its axes and their box in inches, in one line or in several.

    In little room they shrink, to no less than ``LEAST`` of their inches; then lines are broken,
    and all keep one scale: what is compared stays comparable.
    """
    width = sum(box.width for _, box in parts)
    pieces = ""
    for axes, box in parts:
        inches, share = 96 * box.width, math.floor(1e4 * box.width / width) / 100
        least, usual, most = (f"{scale * inches:.0f}px" for scale in (0.6, LEAST, 1.2))
        fluid = (
            f"height:auto;min-width:0;max-width:clamp({least},100%,{most});"
            f"flex:0 0 max({usual},{share}%)"
        )
        for ax in fig.axes:
            ax.set_visible(ax in axes)
        pieces += _svg(fig, f'style="{fluid}"', box)
    for ax in fig.axes:
        ax.set_visible(True)
    line = (
        "display:flex;flex-wrap:wrap;justify-content:safe center;align-items:start;row-gap:0.5rem;"
        f"margin-inline:auto;max-width:{1.2 * 96 * width:.0f}px"
    )
    return Picture(f'<div {_told(alt)} style="{line}">{pieces}</div>', alt)


def _told(alt: str) -> str:
    return f'role="img" aria-label="{escape(alt)}"'


def _columns(fig: Figure) -> list[tuple[list[Any], Bbox]]:
    """The columns of a grid, each with its part of the figure; none if it is one piece."""
    specs = [(ax, spec) for ax in fig.axes if (spec := ax.get_subplotspec())]
    grids = {spec.get_gridspec() for _, spec in specs}
    if len(specs) < len(fig.axes) or len(grids) != 1:
        return []
    shared = len(fig.get_children()) > 1 + len(fig.axes)  # the background, and what else there is
    shared |= not all(ax.yaxis.get_tick_params()["labelleft"] for ax in fig.axes)
    columns: dict[int, list[Any]] = {}
    for ax, spec in specs:
        columns.setdefault(spec.colspan.start, []).append(ax)
    if shared or len(columns) == 1 or any(len(spec.colspan) > 1 for _, spec in specs):
        return []
    fig.draw_without_rendering()  # the axes find their places, and keep them without the others
    fig.set_layout_engine("none")
    boxes = [
        Bbox.union([b for ax in axes if (b := ax.get_tightbbox())]) for axes in columns.values()
    ]
    inner = ((a.x1 + b.x0) / 2 / fig.dpi for a, b in itertools.pairwise(boxes))
    edges = itertools.pairwise((0.0, *inner, fig.get_figwidth()))
    parts = [Bbox.from_extents(x0, 0, x1, fig.get_figheight()) for x0, x1 in edges]
    return list(zip(columns.values(), parts, strict=True))


def _svg(fig: Figure, attributes: str, box: Bbox | None = None) -> str:
    out = io.StringIO()
    # A fixed salt and no date: the same figure is the same text at every build.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hydra"}):
        fig.savefig(out, format="svg", transparent=True, metadata={"Date": None}, bbox_inches=box)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].replace("#000000", "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # A hundredth of a point is seen by nobody, and digits pack badly. What is written keeps them.
    svg = re.sub("<[^>]+>", lambda tag: re.sub(r"\d+\.\d{3,}", _hundredths, tag[0]), svg)
    # Names of groups, used by nobody and repeated by the next figure of the page.
    svg = re.sub(r' id="[a-z0-9]+(?:\.[a-z]+)*_\d+"', "", svg)
    # A rotation by nothing, and the one family of every text, which inherits it. Of the digits in
    # powers matplotlib names no second choice: where there is no DejaVu they came out in Times.
    svg = re.sub(r' transform="rotate\(-0 [^"]*"', "", svg)
    svg = re.sub(r"; font-family: 'DejaVu Sans'[^;\"]*", "", svg)
    svg = re.sub(r"\s*\n\s*", " ", svg)  # each point of a curve stands in a line of its own
    attributes += " font-family=\"'DejaVu Sans', Verdana, sans-serif\""
    return svg.replace("<svg", f'<svg fill="currentColor" {attributes}', 1)


def _hundredths(number: re.Match) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
