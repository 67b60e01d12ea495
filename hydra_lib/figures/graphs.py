"""What is made of what: names, and arrows between them."""

import numpy as np

from hydra_lib import _checks
from hydra_lib.figures.ink import COLORS, Picture, check_alt, figure, themed


def graph(
    places: dict[str, tuple[float | int, float | int]],
    arrows: list[tuple[str, ...]],
    alt: str,
    *,
    height: float | int = 2.7,
) -> Picture:
    """What is made of what: names at (x, y), and arrows with a text along each.

    An arrow is (start, end, text), in the colour of ink; a fourth text draws a second, orange one
    that comes back beside it. ``height`` is in inches.

    Raises TypeError for other places and arrows; ValueError for no place at all, and for an arrow
    that does not join two of them; and as :func:`hydra_lib.figures.ink.figure` and
    :func:`hydra_lib.figures.ink.themed`.

    >>> graph({"x": (0, 0), "y": (1, 0)}, [("x", "y", "f")], alt="y is f of x", height=1)
    Picture: y is f of x
    """
    check_alt(alt)
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
    fig, ax = figure(width=5.5, height=height)
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
                *((near + far) / 2 + 0.36 * side * aside), text, fontsize=10, ha="center",
                va="center", rotation=np.degrees(np.arctan2(along[1], along[0])),
                rotation_mode="anchor", transform_rotates_text=True,
            )  # fmt: skip
    for name, (x, y) in places.items():
        ax.text(x, y, name, ha="center", va="center", fontsize=13)
    (left, right), (low, high) = ((min(c), max(c)) for c in zip(*places.values(), strict=True))
    ax.set(xlim=(left - 0.5, right + 0.5), ylim=(low - 0.5, high + 0.5), aspect="equal")
    ax.set_axis_off()
    return themed(fig, alt)
