"""The widget of words that know where they stand; its arithmetic is ``static/rotary.js``."""

from hydra_lib.widgets._base import Setting, Text
from hydra_lib.widgets._bundle import bundle
from hydra_lib.widgets._sentence import N, OfTheSentence

__all__ = ["RotaryWidget"]

PAIRS = 2


class RotaryWidget(OfTheSentence):
    """All words ask alike and are found alike; queries and keys are turned by their positions.

    A query and a key are two pairs of numbers, each pair an arrow of length 5. ``rates`` says by
    how many degrees a pair turns from a word to the next. The query is set back by the turn of
    ``back`` words, so that it meets the key that many words before it. The first word has
    position ``start``. Weights are softmax(q·k / √4) under a causal mask; words and values are
    those of :mod:`hydra_lib.sentence`. ``word``, counted from 0, is shown.

    Raises ValueError for other settings, and for rates that are not two.
    """

    _esm = bundle("rotary_widget.js")
    name = Text("rotary").tag(sync=True)
    rates = Setting([30, 0], low=0, high=180, shape=(PAIRS,), exact=True)
    back = Setting(1, low=0, high=N - 1, whole=True)
    start = Setting(0, low=0, high=100, whole=True)
    word = Setting(N - 1, low=0, high=N - 1, whole=True)
