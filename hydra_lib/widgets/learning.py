"""The widget of a layer that learns; its arithmetic is ``static/multihead.js``."""

from hydra_lib.widgets._base import Setting, Text
from hydra_lib.widgets._bundle import bundle
from hydra_lib.widgets._sentence import OfTheSentence

__all__ = ["LearningWidget"]


class LearningWidget(OfTheSentence):
    """Let two heads learn to give each word the colour of the word before it.

    The layer is multi-head attention of width 10, causal and without biases. A row of its input is
    a word's place, one of seven, and its colour. It is trained in the page, by gradient descent on
    texts of random colours, 16 a step, and then asked for the colours of :mod:`hydra_lib.sentence`.
    ``step`` is the number of steps that were taken, 0 to 120; ``seed`` draws the first matrices,
    and all texts.

    Raises ValueError for another step or seed.
    """

    _esm = bundle("learning_widget.js")
    name = Text("learning").tag(sync=True)
    step = Setting(0, low=0, high=120, whole=True)
    seed = Setting(0, low=0, high=2**32 - 1, whole=True)
