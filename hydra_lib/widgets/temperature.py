"""The widget of temperature; its arithmetic is ``static/boltzmann.js``."""

import math

import traitlets

from hydra_lib.widgets._base import Extended, Widget, decode, encode
from hydra_lib.widgets._bundle import bundle

__all__ = ["TemperatureWidget"]


class TemperatureWidget(Widget):
    """Move the temperature from 0 to ∞ and watch a row of attention freeze and melt.

    ``scores`` is one row, energies with the sign turned; −∞ is a state that cannot be occupied.
    ``tau`` lies in [0, ∞], both ends included.

    Raises ValueError for an empty row, NaN or +∞ scores, and for τ < 0 or NaN.
    """

    _esm = bundle("temperature_widget.js")
    name = traitlets.Unicode("temperature").tag(sync=True)
    scores = traitlets.List(Extended()).tag(
        sync=True,
        to_json=lambda xs, _: [encode(x) for x in xs],
        from_json=lambda xs, _: [decode(x) for x in xs],
    )
    tau = Extended(1.0)
    given = traitlets.List(Extended()).tag(sync=True, to_json=lambda xs, _: [encode(x) for x in xs])
    """The scores at the start, which the widget offers to come back to."""

    def __init__(self, scores, **traits):
        scores = [float(s) for s in scores]
        super().__init__(scores=scores, given=scores, **traits)

    @traitlets.validate("scores")
    def _check_scores(self, proposal):
        scores = proposal["value"]
        if not scores or any(math.isnan(s) or s == math.inf for s in scores):
            raise ValueError(f"scores must be at least one number, finite or −∞, got {scores}")
        return scores

    @traitlets.validate("tau")
    def _check_tau(self, proposal):
        tau = proposal["value"]
        if not tau >= 0:
            raise ValueError(f"tau must lie in [0, ∞], got {tau}")
        return tau
