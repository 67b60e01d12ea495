"""The widget of the five steps; its arithmetic is ``static/attention.js``."""

import torch
import traitlets

from hydra_lib.attention import trace
from hydra_lib.widgets._base import Extended, Widget, matrix
from hydra_lib.widgets._bundle import bundle

__all__ = ["TraceWidget"]


class TraceWidget(Widget):
    """Every matrix of the five steps; point at a number to see the arithmetic that made it.

    ``q`` is (Tq, d_k), ``k`` is (Tk, d_k), ``v`` is (Tk, d_v); ``mask`` broadcasts to (Tq, Tk),
    True = may attend; ``temperature`` is √d_k unless given. ``cell`` is the number explained, as
    ``"weights.1.2"``: a table (q, kT, scores, scaled, masked, weights, v, output), its row and its
    column, both counted from 1; empty for none.

    Raises ValueError for ragged or empty matrices and for a cell that does not exist; and what
    :func:`hydra_lib.attention.trace` raises.
    """

    _esm = bundle("trace_widget.js")
    name = traitlets.Unicode("trace").tag(sync=True)
    q = traitlets.List().tag(sync=True)
    k = traitlets.List().tag(sync=True)
    v = traitlets.List().tag(sync=True)
    mask = traitlets.List(None, allow_none=True).tag(sync=True)
    temperature = Extended(None, allow_none=True)
    cell = traitlets.Unicode("").tag(sync=True)

    def __init__(self, q, k, v, mask=None, temperature=None, **traits):
        q, k, v = (
            torch.tensor(matrix(name, value), dtype=torch.float64)
            for name, value in (("q", q), ("k", k), ("v", v))
        )
        if mask is not None:
            mask = torch.tensor(matrix("mask", mask))
        scores = trace(q, k, v, mask, temperature=temperature).scores  # refuses what does not fit
        if mask is not None:
            mask = mask.expand_as(scores).tolist()
        super().__init__(
            q=q.tolist(), k=k.tolist(), v=v.tolist(), mask=mask, temperature=temperature, **traits
        )

    @traitlets.validate("cell")
    def _check_cell(self, proposal):
        cell = proposal["value"]
        queries, keys, d_k, d_v = len(self.q), len(self.k), len(self.q[0]), len(self.v[0])
        shapes = {
            "q": (queries, d_k),
            "kT": (d_k, keys),
            **dict.fromkeys(("scores", "scaled", "weights"), (queries, keys)),
            "v": (keys, d_v),
            "output": (queries, d_v),
        }
        if self.mask is not None:
            shapes["masked"] = (queries, keys)
        # Leading zeros and signs are refused with the rest: one cell, one name.
        names = (
            f"{t}.{i + 1}.{j + 1}"
            for t, (m, n) in shapes.items()
            for i in range(m)
            for j in range(n)
        )
        if cell and cell not in names:
            raise ValueError(f"cell must be table.row.column, counted from 1, got {cell!r}")
        return cell
