"""The widget of what a row of scores learns; its arithmetic is ``static/gradient.js``."""

from hydra_lib import sentence
from hydra_lib.widgets._base import Setting, Text
from hydra_lib.widgets._bundle import bundle
from hydra_lib.widgets._sentence import N, OfTheSentence

__all__ = ["GradientWidget"]

TARGETS = [sentence.WORDS.index(word) for word in ("cat", "slept", "tired")]


class GradientWidget(OfTheSentence):
    """Teach one row of attention a colour: drag its scores, or let gradient descent do it.

    The row is that of the last word, which may see all of them. It mixes the seven colours of
    :mod:`hydra_lib.sentence` with weights softmax(``scores``). The loss is half the squared
    distance to the colour of the word ``target``, which is 1 (cat), 2 (slept) or 6 (tired).
    Seven ``scores`` lie between −8 and 8.

    Raises ValueError for other scores and targets.
    """

    _esm = bundle("gradient_widget.js")
    name = Text("gradient").tag(sync=True)
    scores = Setting([0.0] * N, low=-8, high=8, shape=(N,), exact=True)
    target = Setting(TARGETS[0], options=tuple(TARGETS))

    targets = Setting(TARGETS, options=tuple(TARGETS), shape=(len(TARGETS),), read_only=True)
