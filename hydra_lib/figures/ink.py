"""Matplotlib drawings as inline SVG that follow the page's theme: black becomes ink.

Matplotlib draws text, axes and ticks in black unless told otherwise. Here black becomes
``currentColor``, the colour of the text around the figure, so one picture serves light and dark.
"""

import inspect
import io
import itertools
import re
from html import escape
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from hydra_lib import _checks

COLORS = ("#1a8cab", "#d9822b", "#8f63b8", "#5c8f3a", "#c24d6b")
"""Line colours that keep their contrast on white and on near-black."""

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
    width: float | int = 6.0,
    height: float | int = 2.6,
    **options: Any,
) -> tuple[Figure, Any]:
    """A figure and its axes, (width, height) in inches; ``options`` go to ``Figure.subplots``.

    Not registered with pyplot, so it is shown only where :func:`themed` puts it.

    Raises TypeError for an unknown option; ValueError for rows and columns that are no
    positive integers, and for a size that is not positive and finite.
    """
    rows = _checks.integer("rows", rows, 1, MOST)
    columns = _checks.integer("columns", columns, 1, MOST)
    for name, inches in (("width", width), ("height", height)):
        if not _checks.finite(name, inches) > 0:
            raise ValueError(f"{name} must be positive, in inches, got {inches}")
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
    room the figure is shown a fifth larger than its inches; where there is too little, charts of
    one row stand below each other, unless they share a legend, a title or the names along y. The
    layout is fixed then: what is added to the figure later finds no room made for it.
    Raises TypeError for anything but a figure and a text, ValueError when the text is empty.
    """
    if not isinstance(fig, Figure):
        kind = type(fig).__name__
        raise TypeError(
            "fig must be a matplotlib Figure, the first of the two that figure() returns, "
            f"got {kind}"
        )
    check_alt(alt)
    # Where there is room, letters of ten points are as large as the text around them. On a phone
    # five inches fit, at three fifths or more.
    told, width = f'role="img" aria-label="{escape(alt)}"', fig.get_figwidth() * 96
    charts = _charts(fig) if width > 5 * 96 else []
    if not charts:
        # Wider ones shrink to 26 rem, but to no less than half, where a letter has six pixels:
        # then they scroll.
        least = f"min({0.6 * width:.0f}px,max(26rem,{0.54 * width:.0f}px))"
        fluid = f"width:{1.2 * width:.0f}px;height:auto;max-width:max(100%,{least})"
        return Picture(_svg(fig, f'{told} style="{fluid}"'), alt)
    row = "display:flex;flex-wrap:wrap;justify-content:center;row-gap:0.5rem"
    parts = ""
    for chart, box in charts:
        # In less room than two thirds each wants a line of its own, in more they share one.
        share = box.width * 96
        fluid = (
            f"height:auto;min-width:0;max-width:min(100%,{1.2 * share:.0f}px);"
            f"flex:{share:.0f} 1 calc(({0.68 * width:.0f}px - 100%)*999)"
        )
        for ax in fig.axes:
            ax.set_visible(ax is chart)
        parts += _svg(fig, f'style="{fluid}"', box)
    for ax in fig.axes:
        ax.set_visible(True)
    return Picture(f'<div {told} style="{row}">{parts}</div>', alt)


def _charts(fig: Figure) -> list[tuple[Any, Bbox]]:
    """The axes of one row, each with its part of the figure in inches; none if it is one piece."""
    grids = {spec.get_gridspec() for ax in fig.axes if (spec := ax.get_subplotspec())}
    one_row = [(grid.nrows, grid.ncols) for grid in grids] == [(1, len(fig.axes))]
    shared = len(fig.get_children()) > 1 + len(fig.axes)  # the background, and what else there is
    shared |= not all(ax.yaxis.get_tick_params()["labelleft"] for ax in fig.axes)
    if shared or not one_row or len(fig.axes) == 1:
        return []
    fig.draw_without_rendering()  # the axes find their places, and keep them without the others
    fig.set_layout_engine("none")
    boxes = [box for ax in fig.axes if (box := ax.get_tightbbox())]
    inner = ((a.x1 + b.x0) / 2 / fig.dpi for a, b in itertools.pairwise(boxes))
    edges = itertools.pairwise((0.0, *inner, fig.get_figwidth()))
    parts = [Bbox.from_extents(x0, 0, x1, fig.get_figheight()) for x0, x1 in edges]
    return list(zip(fig.axes, parts, strict=True))


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
    return svg.replace("<svg", f'<svg fill="currentColor" {attributes}', 1)


def _hundredths(number: re.Match) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
