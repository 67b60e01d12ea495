"""The widget of fixed weights; its arithmetic is ``static/aggregation.js``."""

import traitlets

from hydra_lib.widgets._base import MOST, Setting, Text, Widget, inside, proposed
from hydra_lib.widgets._bundle import bundle

__all__ = ["AggregationWidget"]

ROWS, COLUMNS = 16, 8
MATRIX = {"low": -MOST, "high": MOST, "shape": (ROWS, COLUMNS)}


class AggregationWidget(Widget):
    """Pick a rule and a row, and watch the row of ``weights @ values`` being made.

    ``values`` is a (T, d) matrix of at most 16 × 8 numbers; ``rule`` one of sum, mean, window,
    decay; ``width`` the window in positions; ``rate`` the decay a step; ``row`` the output row,
    counted from 0.

    Raises ValueError for values, a rule, a width, a rate or a row outside these ranges.
    """

    _esm = bundle("aggregation_widget.js")
    name = Text("aggregation").tag(sync=True)
    values = Setting([[0.0]], **MATRIX)
    rule = Setting("mean", options=("sum", "mean", "window", "decay"))
    width = Setting(2, low=1, high=ROWS, whole=True)
    rate = Setting(0.5, low=0, high=1)
    row = Setting(0, low=0, high=ROWS - 1, whole=True)

    given = Setting([[0.0]], read_only=True, **MATRIX)
    """The values at the start, which the widget offers to come back to."""

    def __init__(self, values, **traits):
        super().__init__(values=values, **traits)
        self.set_trait("given", self.values)

    @traitlets.validate("values", "row")
    def _check_row(self, proposal):
        setting = proposed(proposal, "values", "row")
        inside("row", setting["row"], len(setting["values"]))
        return proposal["value"]
