"""The widget of fixed weights; its arithmetic is ``static/aggregation.js``."""

import traitlets

from hydra_lib.widgets._base import Widget, matrix
from hydra_lib.widgets._bundle import bundle

__all__ = ["AggregationWidget"]


class AggregationWidget(Widget):
    """Pick a rule and a row, and watch the row of ``weights @ values`` being made.

    ``values`` is a (T, d) list of lists; ``rule`` one of sum, mean, window, decay; ``width`` the
    window in positions; ``rate`` the decay a step; ``row`` the output row, counted from 0.

    Raises ValueError for ragged or empty values, and traitlets.TraitError for an unknown rule.
    """

    _esm = bundle("aggregation_widget.js")
    name = traitlets.Unicode("aggregation").tag(sync=True)
    values = traitlets.List().tag(sync=True)
    rule = traitlets.Enum(["sum", "mean", "window", "decay"], "mean").tag(sync=True)
    width = traitlets.Int(2, min=1).tag(sync=True)
    rate = traitlets.Float(0.5, min=0, max=1).tag(sync=True)
    row = traitlets.Int(0, min=0).tag(sync=True)

    given = traitlets.List().tag(sync=True)
    """The values at the start, which the widget offers to come back to."""

    def __init__(self, values, **traits):
        values = matrix("values", values)
        super().__init__(values=values, given=values, **traits)

    @traitlets.validate("values")
    def _check_values(self, proposal):
        return matrix("values", proposal["value"])
