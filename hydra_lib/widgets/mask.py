"""The widget of masks; its arithmetic is ``static/masking.js``."""

import traitlets

from hydra_lib.masking import causal_mask
from hydra_lib.widgets._base import MOST, Setting, SettingError, Text, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["MaskWidget"]

LONGEST = 16
SIZE = {"shape": (LONGEST, LONGEST)}


class MaskWidget(Widget):
    """Toggle the cells of a mask; two softmaxes side by side show what −∞ and what 0 lets through.

    ``scores`` is a square (T, T) matrix of numbers, T at most 16; ``mask`` has the same shape,
    True = may attend, and is causal unless given.

    Raises ValueError for scores that are not square, a mask of another shape, and other entries.
    """

    _esm = bundle("mask_widget.js")
    name = Text("mask").tag(sync=True)
    scores = Setting([[0.0]], low=-MOST, high=MOST, **SIZE)
    mask = Setting([[True]], options=(True, False), **SIZE)

    given = Setting([[0.0]], low=-MOST, high=MOST, read_only=True, **SIZE)
    """The scores at the start, which the widget offers to come back to; their size stays."""

    def __init__(self, scores, mask=None, **traits):
        scores = MaskWidget.scores.validate(self, scores)
        if len(scores) != len(scores[0]):
            raise SettingError(f"scores must be square, got {len(scores)} × {len(scores[0])}")
        mask = causal_mask(len(scores)) if mask is None else mask
        self.set_trait("given", scores)
        super().__init__(scores=scores, mask=mask, **traits)

    @traitlets.validate("scores", "mask")
    def _check_size(self, proposal):
        name, rows, T = proposal["trait"].name, proposal["value"], len(self.given)
        if (len(rows), len(rows[0])) != (T, T):
            raise SettingError(f"{name} must be {T} × {T}, got {len(rows)} × {len(rows[0])}")
        return rows
