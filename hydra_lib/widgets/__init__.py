"""Widgets that compute in the page: traits here, all mathematics in ``static/*.js``.

Each class is a plain anywidget. The same ES module runs in Jupyter, in Colab, and on the published
page, where no kernel exists; so a widget's state is a handful of small traits, and everything shown
is computed from them in the browser. The traits are the setting: on the published page they
are kept in the URL fragment, under the widget's ``name``.
"""

import math

import anywidget
import traitlets

from hydra_lib.masking import causal_mask
from hydra_lib.widgets._bundle import STATIC, bundle

__all__ = ["AggregationWidget", "MaskWidget", "TemperatureWidget"]

_CSS = (STATIC / "ui.css").read_text(encoding="utf-8")


class _Extended(traitlets.Float):
    """A float that may be infinite; JSON has no infinities, so they travel as strings."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tag(sync=True, to_json=lambda x, _: _encode(x), from_json=lambda x, _: _decode(x))


def _encode(x: float) -> float | str:
    return x if math.isfinite(x) else str(x)


def _decode(x: float | str) -> float:
    return float(x)


def _matrix(name: str, value: object) -> list[list]:
    rows = [list(row) for row in value]
    if not rows or not rows[0] or len({len(row) for row in rows}) != 1:
        raise ValueError(f"{name} must be a matrix with at least one row and column, got {value!r}")
    return rows


class _Widget(anywidget.AnyWidget):
    _css = _CSS
    name = traitlets.Unicode().tag(sync=True)
    """Key of the widget's setting in the URL fragment; give two widgets of a page two names."""


class AggregationWidget(_Widget):
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

    def __init__(self, values, **traits):
        super().__init__(values=_matrix("values", values), **traits)


class MaskWidget(_Widget):
    """Toggle the cells of a mask; two softmaxes side by side show what −∞ and what 0 lets through.

    ``scores`` is a square (T, T) list of lists of finite numbers; ``mask`` has the same shape,
    True = may attend, and is causal unless given.

    Raises ValueError for scores that are not square or a mask of another shape.
    """

    _esm = bundle("mask_widget.js")
    name = traitlets.Unicode("mask").tag(sync=True)
    scores = traitlets.List().tag(sync=True)
    mask = traitlets.List().tag(sync=True)

    def __init__(self, scores, mask=None, **traits):
        scores = _matrix("scores", scores)
        if len(scores) != len(scores[0]):
            raise ValueError(f"scores must be square, got {len(scores)} × {len(scores[0])}")
        mask = _matrix("mask", causal_mask(len(scores)).tolist() if mask is None else mask)
        if (len(mask), len(mask[0])) != (len(scores), len(scores)):
            raise ValueError(
                f"mask must be {len(scores)} × {len(scores)}, got {len(mask)} × {len(mask[0])}"
            )
        super().__init__(scores=scores, mask=mask, **traits)


class TemperatureWidget(_Widget):
    """Move the temperature from 0 to ∞ and watch a row of attention freeze and melt.

    ``scores`` is one row, energies with the sign turned; −∞ is a state that cannot be occupied.
    ``tau`` lies in [0, ∞], both ends included.

    Raises ValueError for an empty row, NaN or +∞ scores, and for τ < 0 or NaN.
    """

    _esm = bundle("temperature_widget.js")
    name = traitlets.Unicode("temperature").tag(sync=True)
    scores = traitlets.List(_Extended()).tag(
        sync=True,
        to_json=lambda xs, _: [_encode(x) for x in xs],
        from_json=lambda xs, _: [_decode(x) for x in xs],
    )
    tau = _Extended(1.0)

    def __init__(self, scores, **traits):
        super().__init__(scores=[float(s) for s in scores], **traits)

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
