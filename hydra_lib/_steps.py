"""How a named tuple of steps is shown: what each one is, and its shape."""

from html import escape
from typing import Any


def shape_table(steps: Any) -> str:
    """Names and shapes, as text."""
    wide = max(map(len, steps._fields))
    shapes = [tuple(getattr(x, "shape", ())) for x in steps]  # whatever it holds, it can be shown
    rows = zip(steps._fields, shapes, strict=True)
    return "\n".join(f"{name:<{wide}}  {shape}" for name, shape in rows)


def html_table(steps: Any, *formulas: str) -> str:
    """Names, formulas and shapes, as a notebook shows them."""
    lines = ["<th>step</th><th>formula</th><th>shape</th>"]
    for name, formula, tensor in zip(steps._fields, formulas, steps, strict=True):
        shape = " × ".join(map(str, getattr(tensor, "shape", "—")))
        cells = name, formula, shape or "one number"
        lines.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
