"""The widget of temperature; its arithmetic is ``static/boltzmann.js`` and ``particles.js``."""

import math

import traitlets

from hydra_lib import _checks
from hydra_lib.widgets._base import MOST, Setting, SettingError, Text, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["TemperatureWidget"]

STATES = {"low": -MOST, "high": MOST, "options": (-math.inf,), "shape": (32,)}


class TemperatureWidget(Widget):
    """Drag the levels, move the temperature from 0 to ∞, and watch a row of attention melt.

    A hundred particles hop between the levels by the rule of Metropolis et al. (1953).

    ``scores`` is one row of at most 32, energies with the sign flipped; −∞ is a state that cannot
    be occupied. ``tau`` lies in [0, 1,000,000] or is ∞. With ``curves``, beside the levels stand
    the mean energy, the free energy, the entropy and the heat capacity over all temperatures.

    Raises ValueError for an empty row, a row without a state that can be occupied, NaN or +∞
    scores, and for τ < 0 or NaN.
    """

    _esm = bundle("temperature_widget.js")
    name = Text("temperature").tag(sync=True)
    scores = Setting([0.0], **STATES)
    tau = Setting(1.0, low=0, high=MOST, options=(math.inf,))
    curves = traitlets.Bool(True, read_only=True).tag(sync=True)
    given = Setting([0.0], read_only=True, **STATES)
    """The scores at the start, which the widget offers to come back to."""

    def __init__(self, scores, curves=True, **traits):
        super().__init__(scores=scores, **traits)
        self.set_trait("curves", _checks.flag("curves", curves))
        self.set_trait("given", self.scores)

    @traitlets.validate("scores")
    def _check_scores(self, proposal):
        if all(math.isinf(score) for score in proposal["value"]):
            raise SettingError("at least one of the scores must be finite, got only -inf")
        return proposal["value"]
