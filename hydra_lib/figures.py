"""Figures that follow the page's theme: matplotlib drawings as inline SVG, black becoming ink.

Matplotlib draws text, axes and ticks in black unless told otherwise. Here black becomes
``currentColor``, the colour of the text around the figure, so one picture serves light and dark.
"""

import inspect
import io
import math
import re
from html import escape
from typing import Any

import matplotlib
import matplotlib.patches
import numpy as np
import torch
from matplotlib.figure import Figure

from hydra_lib import _checks

__all__ = ["COLORS", "Picture", "figure", "graph", "matrices", "themed"]

COLORS = ("#1a8cab", "#d9822b", "#8f63b8", "#5c8f3a", "#c24d6b")
"""Line colours that keep their contrast on white and on near-black."""

DIGITS = 17  # no double has more that say anything
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


def themed(fig: Figure, alt: str) -> Picture:
    """Inline SVG of ``fig``, black drawn in the colour of the surrounding text.

    ``alt`` says in a sentence what the figure shows, for readers who do not see it.
    Raises TypeError for anything but a figure and a text, ValueError when the text is empty.
    """
    if not isinstance(fig, Figure):
        kind = type(fig).__name__
        raise TypeError(
            "fig must be a matplotlib Figure, the first of the two that figure() returns, "
            f"got {kind}"
        )
    _checks.instance("alt", alt, str)
    if not alt.strip():
        raise ValueError("alt must say what the figure shows, got an empty text")
    out = io.StringIO()
    # A fixed salt and no date: the same figure is the same text at every build.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hydra"}):
        fig.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].replace("#000000", "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Names of groups, used by nobody and repeated by the next figure of the page.
    svg = re.sub(r' id="[a-z0-9]+(?:\.[a-z]+)*_\d+"', "", svg)
    # On a phone five inches fit, at two thirds; wider figures scroll rather than shrink to less.
    width = fig.get_figwidth() * 96
    fluid = f"width:{width:.0f}px;height:auto;max-width:max(100%,min(26rem,{0.68 * width:.0f}px))"
    head = f'<svg role="img" aria-label="{escape(alt)}" fill="currentColor" style="{fluid}"'
    return Picture(svg.replace("<svg", head, 1), alt)


def matrices(
    *items: str
    | tuple[str, torch.Tensor | np.ndarray]
    | tuple[str, torch.Tensor | np.ndarray, torch.Tensor],
    alt: str,
    digits: int = 2,
    highlight: int | None = None,
) -> Picture:
    """A line of matrices and signs, each entry printed and shaded by sign and size.

    ``items`` are (title, matrix) pairs and strings such as "@" and "=" between them. Entries
    are shaded up to the largest absolute entry of their matrix, orange above 0, blue below; what is
    not finite is not shaded. (title, matrix, owners) colours each entry by whose it is instead, of
    which head or rank: ``owners`` are integers that broadcast to the matrix, and one below 0 is
    nobody's. ``highlight`` frames one row of the first and of the last matrix. A matrix is a torch
    tensor or a NumPy array of real numbers.

    Raises TypeError for other items and owners that are no integers; ValueError for no matrix at
    all, one without two axes or without entries, owners that do not broadcast to it, ``digits``
    outside 0 … 17, and a ``highlight`` that is not a row of the first and the last matrix.

    >>> import torch
    >>> matrices(("weights", torch.eye(2)), alt="the identity")
    Picture: the identity
    """
    tables = [item if isinstance(item, str) else _table(item) for item in items]
    heights = [t[1].shape[0] for t in tables if not isinstance(t, str)]
    if not heights:
        raise ValueError("items must hold a matrix to draw, (title, matrix), got none")
    digits = _checks.integer("digits", digits, 0, DIGITS)
    if highlight is not None:
        highlight = _checks.integer("highlight", highlight, 0, min(heights[0], heights[-1]) - 1)
    widths = [0.5 if isinstance(t, str) else t[1].shape[1] for t in tables]
    rows = max(heights)
    cell = 0.44
    fig = Figure(figsize=(cell * (sum(widths) + 0.4 * len(widths)), cell * rows + 0.45))
    fig.subplots(1, len(tables), width_ratios=widths)
    fig.subplots_adjust(left=0.01, right=0.99, bottom=0.02, top=1 - 0.38 / fig.get_figheight())
    framed = [i for i, t in enumerate(tables) if not isinstance(t, str)]
    for index, (ax, item) in enumerate(zip(fig.axes, tables, strict=True)):
        ax.set_axis_off()
        if isinstance(item, str):
            ax.text(0.5, 0.5, item, ha="center", va="center", fontsize=13, transform=ax.transAxes)
            continue
        title, matrix, owners = item
        ax.set_title(title, fontsize=10)
        ax.set_xlim(0, matrix.shape[1])
        ax.set_ylim(rows, 0)
        ax.set_aspect("equal")
        largest = matrix.abs().nan_to_num(0, 0, 0).max().clamp(min=1e-300)
        for i, row in enumerate(matrix.tolist()):
            for j, value in enumerate(row):
                if owners is None:
                    share = abs(value) / largest.item() if math.isfinite(value) else 0
                    color = COLORS[1] if value >= 0 else COLORS[0]
                else:
                    owner = int(owners[i, j])
                    share, color = float(owner >= 0), COLORS[owner % len(COLORS)]
                ax.add_patch(
                    matplotlib.patches.Rectangle(
                        (j, i), 1, 1, facecolor=color, alpha=0.6 * share, linewidth=0
                    )
                )
                ax.text(
                    j + 0.5, i + 0.5, _entry(value, digits), ha="center", va="center", fontsize=9
                )
        if highlight is not None and index in (framed[0], framed[-1]):
            ax.add_patch(
                matplotlib.patches.Rectangle(
                    (0, highlight), matrix.shape[1], 1, fill=False, edgecolor=COLORS[0], linewidth=2
                )
            )
    return themed(fig, alt)


def graph(
    places: dict[str, tuple[float | int, float | int]],
    arrows: list[tuple[str, ...]],
    alt: str,
    *,
    width: float | int = 7.0,
    height: float | int = 2.7,
) -> Picture:
    """What is made of what: names at (x, y), and arrows with a text along each.

    An arrow is (start, end, text), in the colour of ink; a fourth text draws a second, orange one
    that comes back beside it. (width, height) are in inches.

    Raises TypeError for other places and arrows; ValueError for no place at all, and for an arrow
    that does not join two of them; and as :func:`figure` and :func:`themed`.

    >>> graph({"x": (0, 0), "y": (1, 0)}, [("x", "y", "f")], alt="y is f of x", height=1)
    Picture: y is f of x
    """
    _checks.instance("places", places, dict)
    _checks.instance("arrows", arrows, list)
    if not places:
        raise ValueError("places must hold a name to draw, {name: (x, y)}, got none")
    for name, place in places.items():
        if not isinstance(name, str) or not isinstance(place, tuple) or len(place) != 2:
            got = f"{_checks.shown(name)}: {_checks.shown(place)}"
            raise TypeError(f"places must map names to (x, y), got {got}")
        for at in place:
            _checks.finite("places", at)
    for arrow in arrows:
        if (
            not isinstance(arrow, tuple)
            or len(arrow) not in (3, 4)
            or not all(isinstance(text, str) for text in arrow)
        ):
            got = _checks.shown(arrow)
            raise TypeError(
                f"arrows must be (start, end, text) or (start, end, text, text), got {got}"
            )
        for name in arrow[:2]:
            if name not in places:
                raise ValueError(f"arrows must join {', '.join(places)}, got {name!r}")
        if places[arrow[0]] == places[arrow[1]]:
            raise ValueError(f"arrows must join two places, got {arrow[0]!r} and {arrow[1]!r}")
    fig, ax = figure(width=width, height=height)
    for start, end, *texts in arrows:
        a, b = (np.array(places[name], dtype=float) for name in (start, end))
        along = (b - a) / np.hypot(*(b - a))
        aside = np.array([-along[1], along[0]])  # to the left of the way
        near, far = (at + side * (0.3 + 0.12 * len(name)) * along
                     for at, side, name in ((a, 1, start), (b, -1, end)))  # fmt: skip
        for text, side, ends in zip(texts, (1, -1), ((near, far), (far, near)), strict=False):
            color = "black" if side > 0 else COLORS[1]
            tail, head = (at + 0.1 * side * aside for at in ends)
            how = {"arrowstyle": "->", "color": color, "linewidth": 1.3}
            ax.annotate("", head, tail, arrowprops=how)
            ax.text(
                *((near + far) / 2 + 0.32 * side * aside), text, fontsize=9, ha="center",
                va="center", rotation=np.degrees(np.arctan2(along[1], along[0])),
                rotation_mode="anchor", transform_rotates_text=True,
            )  # fmt: skip
    for name, (x, y) in places.items():
        ax.text(x, y, name, ha="center", va="center", fontsize=13)
    (left, right), (low, high) = ((min(c), max(c)) for c in zip(*places.values(), strict=True))
    ax.set(xlim=(left - 0.5, right + 0.5), ylim=(low - 0.5, high + 0.5), aspect="equal")
    ax.set_axis_off()
    return themed(fig, alt)


def _table(item: object) -> tuple[str, torch.Tensor, torch.Tensor | None]:
    matrix: torch.Tensor
    match item:
        case (str(title), np.ndarray() as array, *rest) if (
            array.dtype.kind in "biufc" and len(rest) < 2
        ):
            matrix = torch.from_numpy(array.copy())
        case (str(title), torch.Tensor() as matrix, *rest) if len(rest) < 2:
            _checks.tensor("items", matrix)
            _checks.has_values(("items", matrix))
        case _:
            raise TypeError(
                "items must be signs, (title, matrix) and (title, matrix, owners), the matrix a "
                f"tensor or array, got {_checks.shown(item)}"
            )
    if matrix.is_complex():
        raise TypeError(f"items, {title!r}: must hold real numbers, got {matrix.dtype}")
    shape = tuple(matrix.shape)
    if matrix.ndim != 2 or not matrix.numel():
        raise ValueError(f"items, {title!r}: must have two axes and an entry, got shape {shape}")
    owners: Any = rest[0] if rest else None
    if rest:
        _checks.integers(f"items, {title!r}: owners", owners)
        got = tuple(owners.shape)
        if not _checks.broadcast(got, shape) or torch.broadcast_shapes(got, shape) != shape:
            raise ValueError(f"items, {title!r}: owners must broadcast to {shape}, got shape {got}")
        owners = owners.expand(shape)
    return title, matrix.detach().double(), owners


def _entry(value: float, digits: int) -> str:
    if math.isnan(value):
        return "NaN"
    text = "∞" if abs(value) == float("inf") else f"{abs(value):.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"−{text}" if value < 0 and text.strip("0.") else text
