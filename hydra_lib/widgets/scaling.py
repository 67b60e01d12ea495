"""The widget of score variance; its arithmetic is ``static/scaling.js``."""

from hydra_lib.widgets._base import Setting, Text, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["ScalingWidget"]


class ScalingWidget(Widget):
    """Widen the heads and watch the scores spread and the softmax saturate.

    The entries of q and k are normal with means ``mu_q`` and ``mu_k`` in [0, 3] and standard
    deviation ``sigma`` in [0.25, 3]; ``d_k`` is a power of two from 1 to 512. The scores stand
    side by side as they are and divided by √d_k. The page draws its own sample, the same one for
    the same ``seed``.

    Raises ValueError for a setting outside these ranges.
    """

    _esm = bundle("scaling_widget.js")
    name = Text("scaling").tag(sync=True)
    d_k = Setting(64, options=tuple(2**e for e in range(10)))
    sigma = Setting(1.0, low=0.25, high=3)
    mu_q = Setting(0.0, low=0, high=3)
    mu_k = Setting(0.0, low=0, high=3)
    seed = Setting(0, low=0, high=2**32 - 1, whole=True)
