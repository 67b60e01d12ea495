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

    def __init__(self, scores, mask=None, **traits):
        scores = matrix("scores", scores)
        if len(scores) != len(scores[0]):
            raise ValueError(f"scores must be square, got {len(scores)} × {len(scores[0])}")
        mask = matrix("mask", causal_mask(len(scores)).tolist() if mask is None else mask)
        if (len(mask), len(mask[0])) != (len(scores), len(scores)):
            raise ValueError(
                f"mask must be {len(scores)} × {len(scores)}, got {len(mask)} × {len(mask[0])}"
            )
        super().__init__(scores=scores, mask=mask, **traits)
