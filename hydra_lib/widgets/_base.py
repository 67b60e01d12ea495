"""What the widget classes share: the style, the name in the URL, traits that JSON cannot hold."""

import math

import anywidget
import traitlets

from hydra_lib.widgets._bundle import STATIC

__all__ = ["Extended", "Widget", "decode", "encode", "matrix"]

CSS = (STATIC / "ui.css").read_text(encoding="utf-8")


class Widget(anywidget.AnyWidget):
    _css = CSS
    name = traitlets.Unicode().tag(sync=True)
    """Key of the widget's setting in the URL fragment; give two widgets of a page two names."""


class Extended(traitlets.Float):
    """A float that may be infinite; JSON has no infinities, so they travel as strings."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tag(sync=True, to_json=lambda x, _: encode(x), from_json=lambda x, _: decode(x))


def encode(x: float | None) -> float | str | None:
    return x if x is None or math.isfinite(x) else str(x)


def decode(x: float | str | None) -> float | None:
    return None if x is None else float(x)


def matrix(name: str, value: object) -> list[list]:
    """Rows of one length as nested lists; ValueError when they are ragged or there are none."""
    rows = [list(row) for row in value]
    if not rows or not rows[0] or len({len(row) for row in rows}) != 1:
        raise ValueError(f"{name} must be a matrix with at least one row and column, got {value!r}")
    return rows
