"""What the widgets of the book's sentence share: its words, and the colours of their values."""

import traitlets

from hydra_lib import sentence
from hydra_lib.widgets._base import Setting, Widget

__all__ = ["N", "OfTheSentence", "written"]

N = len(sentence.WORDS)


class OfTheSentence(Widget):
    """A widget whose words and values are those of :mod:`hydra_lib.sentence`."""

    words = traitlets.List(list(sentence.WORDS), read_only=True).tag(sync=True)
    values = Setting(sentence.VALUES.tolist(), low=0, high=1, shape=(N, 3), read_only=True)


def written(matrix) -> list[list[float]]:
    """Numbers as they are written, without what float32 makes of them: a link repeats them."""
    return [[round(x, 4) for x in row] for row in matrix.tolist()]
