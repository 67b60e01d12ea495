"""The widget of score variance; its arithmetic is ``static/scaling.js``."""

import traitlets

from hydra_lib.widgets._base import Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["ScalingWidget"]


class ScalingWidget(Widget):
    """Widen the heads and watch the scores spread and the softmax saturate.

    The entries of q and k are normal with mean ``mu`` in [0, 1] and standard deviation ``sigma`` in
    [0.25, 3]; ``d_k`` is a power of two from 1 to 512; ``scaled`` divides the scores by √d_k. The
    page draws its own sample, the same one for the same ``seed``.

    Raises traitlets.TraitError for a setting outside these ranges.
    """

    _esm = bundle("scaling_widget.js")
    name = traitlets.Unicode("scaling").tag(sync=True)
    d_k = traitlets.Enum([2**e for e in range(10)], 64).tag(sync=True)
    sigma = traitlets.Float(1.0, min=0.25, max=3).tag(sync=True)
    mu = traitlets.Float(0.0, min=0, max=1).tag(sync=True)
    scaled = traitlets.Bool(False).tag(sync=True)
    seed = traitlets.Int(0, min=0, max=2**32 - 1).tag(sync=True)
