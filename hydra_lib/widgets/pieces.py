"""The widget of a softmax in pieces; its arithmetic is ``static/pieces.js``."""

from hydra_lib.widgets._base import Setting, Text
from hydra_lib.widgets._bundle import bundle
from hydra_lib.widgets._sentence import N, OfTheSentence
from hydra_lib.widgets.tiles import SCORES

__all__ = ["PiecesWidget"]


class PiecesWidget(OfTheSentence):
    """Deal the keys of the book's sentence to ranks, and merge what each finds.

    The row of ``word``, 0 to 6, attends to itself and to the words before it. ``cuts`` are six, one
    for each gap between two words, and say where a rank's keys end; each rank finds the maximum m,
    the sum l and the mixture o / l of its own keys, and the merge of all is the output.

    Raises ValueError for other settings.
    """

    _esm = bundle("pieces_widget.js")
    name = Text("pieces").tag(sync=True)
    word = Setting(4, low=0, high=N - 1, whole=True)
    cuts = Setting(
        [False, True, False, False, True, False], options=(False, True), shape=(N - 1,), exact=True
    )

    scores = Setting(SCORES, low=-100, high=100, shape=(N, N), read_only=True)
