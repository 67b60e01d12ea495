"""The widget of attention tile by tile; its arithmetic is ``static/tiles.js``."""

import math

from hydra_lib import sentence
from hydra_lib.widgets._base import Setting, Text
from hydra_lib.widgets._bundle import bundle
from hydra_lib.widgets._sentence import N, OfTheSentence

__all__ = ["TilesWidget"]

SCORES = (sentence.QUERIES @ sentence.KEYS.mT / math.sqrt(2)).tolist()


class TilesWidget(OfTheSentence):
    """Causal attention of the book's sentence, a tile of scores at a time.

    Each row keeps its maximum m, its sum l and its mixture; no tile is kept. ``block`` is the side
    of a tile, 1 to 7, and ``step`` the number of tiles done; a step beyond the last shows the last.

    Raises ValueError for other settings.
    """

    _esm = bundle("tiles_widget.js")
    name = Text("tiles").tag(sync=True)
    block = Setting(2, low=1, high=N, whole=True)
    step = Setting(3, low=0, high=N * (N + 1) // 2, whole=True)

    scores = Setting(SCORES, low=-100, high=100, shape=(N, N), read_only=True)
