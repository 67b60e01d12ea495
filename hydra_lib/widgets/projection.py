"""The widget of words that become queries and keys; draws with ``static/projection_plane.js``."""

import traitlets

from hydra_lib import sentence
from hydra_lib.widgets._base import Setting, Text
from hydra_lib.widgets._bundle import bundle
from hydra_lib.widgets._sentence import OfTheSentence, written

__all__ = ["ProjectionWidget"]

N, F = sentence.X.shape
ARROWS = {"low": -3.2, "high": 3.2, "shape": (F, 2), "exact": True}


class ProjectionWidget(OfTheSentence):
    """Turn the arrows of four features; every word asks with, and is found by, the sum of its own.

    The words, their values and their features are those of :mod:`hydra_lib.sentence`. ``x``,
    (7, 4), says from 0 to 1 how much of each feature a word has. The rows of ``w_q`` and ``w_k``,
    (4, 2), are arrows, one for each feature: queries are x w_q, keys are x w_k, and the weights
    softmax(q·k / √2), under a causal mask. ``word``, counted from 0, is shown.

    Raises ValueError for other settings, and for other shapes.
    """

    _esm = bundle("projection_widget.js")
    name = Text("projection").tag(sync=True)
    x = Setting(written(sentence.X), low=0, high=1, shape=(N, F), exact=True)
    w_q = Setting(written(sentence.W_Q), **ARROWS)
    w_k = Setting(written(sentence.W_K), **ARROWS)
    word = Setting(4, low=0, high=N - 1, whole=True)

    features = traitlets.List(list(sentence.FEATURES), read_only=True).tag(sync=True)
