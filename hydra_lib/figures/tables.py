"""Matrices in a line, every entry printed and shaded."""

import math
from typing import Any

import matplotlib.patches
import numpy as np
import torch
from jaxtyping import Num
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from hydra_lib import _checks
from hydra_lib.figures.ink import COLORS, Picture, check_alt, in_lines

DIGITS = 17  # no double has more that say anything
MOST = 2500  # entries: five seconds
FITTING = 5  # letters of an entry, in a cell of the usual size
STRONGEST = 0.6  # of the colours, so that a number on top can be read
LETTER = 0.17  # of a title, about, in cells


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
    tensor or a NumPy array of real numbers. In little room the line goes on in another one, which
    begins with a sign where there is one. ``digits`` are those after the point; zeros at the end
    are left out. Each entry takes about 2 ms. What is too large to be read number by number is an
    image, ``imshow`` of :func:`shades`.

    Raises TypeError for other items, masked arrays among them, and for owners that are no integers;
    ValueError for no matrix at all, one without two axes or without entries, owners that do not
    broadcast to it, more than 2,500 entries in all, ``digits`` outside 0 … 17, a ``highlight`` that
    is not a row of the first and the last matrix, and an ``alt`` that says nothing.

    >>> import torch
    >>> matrices(("weights", torch.eye(2)), alt="the identity")
    Picture: the identity
    """
    check_alt(alt)
    tables = [item if isinstance(item, str) else _table(item) for item in items]
    heights = [t[1].shape[0] for t in tables if not isinstance(t, str)]
    if not heights:
        raise ValueError("items must hold a matrix to draw, (title, matrix), got none")
    if (entries := sum(t[1].numel() for t in tables if not isinstance(t, str))) > MOST:
        raise ValueError(
            f"items must have at most {MOST:,} entries, got {entries:,}: a larger matrix is an "
            "image, imshow(shades(matrix))"
        )
    digits = _checks.integer("digits", digits, 0, DIGITS)
    if highlight is not None:
        highlight = _checks.integer("highlight", highlight, 0, min(heights[0], heights[-1]) - 1)
    widths = [0.5 if isinstance(t, str) else max(t[1].shape[1], LETTER * len(t[0])) for t in tables]
    rows = max(heights)
    own = rows
    tall: list[int] = []  # in cells: a sign is as tall as the matrix that comes next
    for table in reversed(tables):
        own = own if isinstance(table, str) else table[1].shape[0]
        tall.insert(0, own)
    # Every axes as wide as its entries or its title, so that all cells are of one size and the
    # rows of all matrices lie beside each other.
    numbers = (x for t in tables if not isinstance(t, str) for x in t[1].flatten().tolist())
    letters = max(len(_entry(x, digits)) for x in numbers)
    cell = 0.44 * max(1, letters / FITTING)
    gap, below, above = 0.16, 0.07, 0.38  # inches
    across, high = cell * sum(widths) + gap * len(widths), cell * rows + below + above
    fig = Figure(figsize=(across, high))
    left = 0.0
    parts: list[tuple[list[Any], Bbox]] = []
    for index, (width, own) in enumerate(zip(widths, tall, strict=True)):
        under = cell * (rows - own)
        if not index or not isinstance(tables[index - 1], str):  # a sign begins a part
            parts.append(([], Bbox.from_extents(left, under, left, high)))
        axes, box = parts[-1]
        x, y = (left + gap / 2) / across, (under + below) / high
        axes.append(fig.add_axes((x, y, cell * width / across, cell * own / high)))
        left += cell * width + gap
        box.x1 = left
    framed = [i for i, t in enumerate(tables) if not isinstance(t, str)]
    for index, (ax, item) in enumerate(zip(fig.axes, tables, strict=True)):
        ax.set_axis_off()
        if isinstance(item, str):
            ax.text(0.5, 0.5, item, ha="center", va="center", fontsize=13, transform=ax.transAxes)
            continue
        title, matrix, owners = item
        ax.set_title(title, fontsize=10, parse_math=False)
        ax.set_xlim(0, matrix.shape[1])
        ax.set_ylim(matrix.shape[0], 0)
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
                        (j, i), 1, 1, facecolor=color, alpha=STRONGEST * share, linewidth=0
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
    return in_lines(fig, alt, parts)


def shades(
    matrix: Num[torch.Tensor, "rows columns"], largest: float | int | None = None
) -> np.ndarray:
    """The image of a matrix in the colours of :func:`matrices`, (rows, columns, 4), for ``imshow``.

    Orange above 0, blue below, the stronger the larger: fully at ``largest``, the largest absolute
    entry unless given. It is transparent where nothing is, so it serves light pages and dark ones.

    Raises TypeError for what is no tensor of real numbers; ValueError for one without two axes or
    entries, for entries that are not finite, and for a ``largest`` that is not positive.

    >>> import torch
    >>> shades(torch.tensor([[0.0, 2.0]]))[0, :, 3].tolist()
    [0.0, 0.6]
    """
    _checks.tensor("matrix", matrix)
    _checks.has_values("matrix", matrix)
    values = _real("matrix", matrix)
    if not values.isfinite().all():
        raise ValueError(f"matrix must be finite, got {values[~values.isfinite()][0].item()}")
    if largest is None:
        most = values.abs().max().item() or 1.0
    elif (most := float(_checks.finite("largest", largest))) <= 0:
        raise ValueError(f"largest must be positive, got {largest}")
    image = np.empty((*values.shape, 4))
    image[..., :3] = np.where(values[..., None] >= 0, to_rgb(COLORS[1]), to_rgb(COLORS[0]))
    image[..., 3] = STRONGEST * (values.abs() / most).clamp(max=1)
    return image


def _table(item: object) -> tuple[str, torch.Tensor, torch.Tensor | None]:
    matrix: torch.Tensor
    match item:
        case (str(title), np.ma.MaskedArray(), *_):
            raise TypeError(
                f"items, {title!r}: must have no mask, got a masked array: fill what it hides"
            )
        case (str(title), np.ndarray() as array, *rest) if (
            array.dtype.kind in "biufc" and len(rest) < 2
        ):
            matrix = torch.from_numpy(array.copy())
        case (str(title), torch.Tensor() as matrix, *rest) if len(rest) < 2:
            _checks.tensor("items", matrix)
            _checks.has_values("items", matrix)
        case _:
            raise TypeError(
                "items must be signs, (title, matrix) and (title, matrix, owners), the matrix a "
                f"tensor or array, got {_checks.shown(item)}"
            )
    values, shape = _real(f"items, {title!r}:", matrix), tuple(matrix.shape)
    owners: Any = rest[0] if rest else None
    if rest:
        _checks.integers(f"items, {title!r}: owners", owners)
        got = tuple(owners.shape)
        if not _checks.broadcasts(got, shape) or torch.broadcast_shapes(got, shape) != shape:
            raise ValueError(f"items, {title!r}: owners must broadcast to {shape}, got shape {got}")
        owners = owners.expand(shape)
    return title, values, owners


def _real(name: str, matrix: torch.Tensor) -> torch.Tensor:
    """The matrix in float64; refuse what is none of real numbers."""
    if matrix.is_complex():
        raise TypeError(f"{name} must hold real numbers, got {matrix.dtype}")
    if matrix.ndim != 2 or not matrix.numel():
        raise ValueError(f"{name} must have two axes and an entry, got shape {tuple(matrix.shape)}")
    return matrix.detach().double()


def _entry(value: float, digits: int) -> str:
    if math.isnan(value):
        return "NaN"
    text = "∞" if abs(value) == float("inf") else f"{abs(value):.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"−{text}" if value < 0 and text.strip("0.") else text
