"""The widget of the five steps; its arithmetic is ``static/attention.js``."""

import math

import torch
import traitlets

from hydra_lib import _checks
from hydra_lib.attention import trace
from hydra_lib.widgets._base import MOST, Setting, SettingError, Text, Widget, proposed
from hydra_lib.widgets._bundle import bundle

__all__ = ["TraceWidget"]

SIZE = {"shape": (16, 16)}
MATRIX = {"low": -MOST, "high": MOST, **SIZE}
GIVEN = ("q", "k", "v", "mask", "temperature")


class TraceWidget(Widget):
    """The five steps, one after the other; point at a number to see the arithmetic that made it.

    A number of ``q`` or ``k`` that is chosen can be changed by steps of one, from −9 to 9.

    ``q`` is (Tq, d_k), ``k`` is (Tk, d_k), ``v`` is (Tk, d_v), at most 16 × 16; ``mask`` is a
    matrix that broadcasts to (Tq, Tk), True = may attend; ``temperature`` is √d_k unless given.
    ``words`` names the positions of queries and of keys, which then are as many; none by default.
    Where all values are colours, three numbers from 0 to 1, they and the outputs are shown as
    paint. ``cell`` is the number explained, as ``"weights.1.2"``: a table (q, kT, scores, scaled,
    masked, weights, v, output), its row and its column, both counted from 1; empty for none.
    ``step`` is the last step carried out, from 1 (compare) to 5 (mix); the cell's own step is
    carried out in any case.

    Raises ValueError for other matrices, another temperature, words that are not one for each
    query and key, and a cell that does not exist; TypeError for words that are no words; and
    what :func:`hydra_lib.attention.trace` raises.
    """

    _esm = bundle("trace_widget.js")
    name = Text("trace").tag(sync=True)
    q = Setting([[0.0]], **MATRIX)
    k = Setting([[0.0]], **MATRIX)
    v = Setting([[0.0]], **MATRIX)
    mask = Setting(None, options=(True, False), allow_none=True, **SIZE)
    temperature = Setting(None, low=1e-6, high=MOST, options=(None, math.inf))
    words = traitlets.List(Text(), read_only=True).tag(sync=True)
    cell = Text("").tag(sync=True)
    step = Setting(5, low=1, high=5, whole=True)

    def __init__(self, q, k, v, mask=None, temperature=None, words=(), **traits):
        if mask is not None:
            mask = torch.tensor(TraceWidget.mask.validate(self, mask))
            sizes = [len(TraceWidget.q.validate(self, q)), len(TraceWidget.k.validate(self, k))]
            if all(own in (1, size) for own, size in zip(mask.shape, sizes, strict=True)):
                mask = mask.expand(sizes)
        super().__init__(q=q, k=k, v=v, mask=mask, temperature=temperature, **traits)
        if not (isinstance(words, list | tuple) and all(isinstance(w, str) for w in words)):
            raise TypeError(f"words must be a list of str, got {_checks.shown(words)}")
        if words and not len(words) == len(self.q) == len(self.k):
            sizes = f"{len(self.q)} queries and {len(self.k)} keys"
            raise ValueError(f"words must be one for each position, got {len(words)} for {sizes}")
        self.set_trait("words", list(words))

    @traitlets.validate(*GIVEN, "cell")
    def _check_fit(self, proposal):
        setting = proposed(proposal, *GIVEN, "cell")
        cell = setting.pop("cell")
        q, k, v = (torch.tensor(setting[name], dtype=torch.float64) for name in "qkv")
        mask = None if setting["mask"] is None else torch.tensor(setting["mask"])
        try:
            steps = trace(q, k, v, mask, temperature=setting["temperature"])._asdict()
        except ValueError as error:
            raise SettingError(str(error)) from None
        steps |= {"q": q, "kT": k.mT, "v": v}
        if mask is None:
            del steps["masked"]
        # Leading zeros and signs are refused with the rest: one cell, one name.
        names = (
            f"{table}.{i + 1}.{j + 1}"
            for table, x in steps.items()
            for i in range(x.shape[0])
            for j in range(x.shape[1])
        )
        if cell and cell not in names:
            known = "table.row.column of a cell there is, counted from 1"
            raise SettingError(f"cell must be {known}, got {cell!r}")
        return proposal["value"]
