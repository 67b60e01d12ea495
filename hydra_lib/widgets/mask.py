"""The widget of masks; its arithmetic is ``static/masking.js``."""

import traitlets

from hydra_lib.masking import causal_mask
from hydra_lib.widgets._base import Widget, matrix
from hydra_lib.widgets._bundle import bundle

__all__ = ["MaskWidget"]


class MaskWidget(Widget):
    """Toggle the cells of a mask; two softmaxes side by side show what −∞ and what 0 lets through.

    ``scores`` is a square (T, T) list of lists of finite numbers; ``mask`` has the same shape,
    True = may attend, and is causal unless given.

    Raises ValueError for scores that are not square or a mask of another shape.
    """

    _esm = bundle("mask_widget.js")
    name = traitlets.Unicode("mask").tag(sync=True)
    scores = traitlets.List().tag(sync=True)
    mask = traitlets.List().tag(sync=True)

    given = traitlets.List().tag(sync=True)
    """The scores at the start, which the widget offers to come back to; their size stays."""

    def __init__(self, scores, mask=None, **traits):
        scores = matrix("scores", scores)
        if len(scores) != len(scores[0]):
            raise ValueError(f"scores must be square, got {len(scores)} × {len(scores[0])}")
        mask = causal_mask(len(scores)).tolist() if mask is None else mask
        super().__init__(given=scores, scores=scores, mask=mask, **traits)

    @traitlets.validate("scores", "mask")
    def _check_size(self, proposal):
        name, T = proposal["trait"].name, len(self.given)
        rows = matrix(name, proposal["value"])
        if (len(rows), len(rows[0])) != (T, T):
            raise ValueError(f"{name} must be {T} × {T}, got {len(rows)} × {len(rows[0])}")
        return rows
