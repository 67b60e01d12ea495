"""How a named tuple of steps is shown: what each one is, and its shape."""

from html import escape


def shape_table(steps: tuple) -> str:
    """Names and shapes, as text."""
    wide = max(map(len, steps._fields))
    rows = zip(steps._fields, steps, strict=True)
    return "\n".join(f"{name:<{wide}}  {tuple(tensor.shape)}" for name, tensor in rows)


def html_table(steps: tuple) -> str:
    """Names, formulas and shapes, as a notebook shows them."""
    rows = [("step", "formula", "shape")]
    for name, formula, tensor in zip(steps._fields, steps.formulas, steps, strict=True):
        rows.append((name, formula, " × ".join(map(str, tensor.shape)) or "one number"))
    rows = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    rows[0] = rows[0].replace("td>", "th>")
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"
