"""The widget of the book's sentence; its arithmetic is ``static/sentence.js``."""

import math

import traitlets

from hydra_lib import sentence
from hydra_lib.widgets._base import MOST, Setting, SettingError, Text, inside, proposed
from hydra_lib.widgets._bundle import bundle
from hydra_lib.widgets._sentence import N, OfTheSentence, written

__all__ = ["SentenceWidget"]

ARROWS = {"low": -4, "high": 4, "shape": (3 * N, 2)}
CONTROLS = ("rule", "parts", "future", "tau", "arrows", "head")


class SentenceWidget(OfTheSentence):
    """Seven words that mix their colours; point at a word to see what it takes from the others.

    The words and values are those of :mod:`hydra_lib.sentence`. ``rule`` is mean, window (the last
    two words), decay (half per step), own (so many ``parts`` of each, from 1 to 9) or attention,
    with weights softmax(q·k / (``tau`` √d_k)) of ``q`` and ``k``, (7, 2) for one head; (21, 2)
    holds those of three heads below each other, of which each mixes one column of the values: red,
    green, blue. ``future`` says what attention does with the scores of later words: masked (−∞),
    zero, or seen, as they are. ``word`` and ``head``, counted from 0, are shown. ``controls`` lists
    what the reader may change, of rule, parts, future, tau, arrows and head.

    Raises ValueError for other settings, for parts that are not seven, and for q and k that are not
    both of 7 or of 21 rows.
    """

    _esm = bundle("sentence_widget.js")
    name = Text("sentence").tag(sync=True)
    rule = Setting("attention", options=("mean", "window", "decay", "own", "attention"))
    parts = Setting([4] * N, low=1, high=9, whole=True, shape=(N,), exact=True)
    future = Setting("masked", options=("masked", "zero", "seen"))
    tau = Setting(1.0, low=0, high=MOST, options=(math.inf,))
    q = Setting(written(sentence.QUERIES), **ARROWS)
    k = Setting(written(sentence.KEYS), **ARROWS)
    word = Setting(4, low=0, high=N - 1, whole=True)
    head = Setting(0, low=0, high=2, whole=True)

    controls = Setting(["rule"], options=CONTROLS, shape=(len(CONTROLS),), read_only=True)

    def __init__(self, controls=("rule",), **traits):
        super().__init__(**traits)
        self.set_trait("controls", controls)

    @traitlets.validate("q", "k", "head")
    def _check_fit(self, proposal):
        setting = proposed(proposal, "q", "k", "head")
        rows = [len(setting["q"]), len(setting["k"])]
        if rows not in ([N, N], [3 * N, 3 * N]):
            raise SettingError(f"q and k must both have {N} or both {3 * N} rows, got {rows}")
        columns = [len(setting["q"][0]), len(setting["k"][0])]
        if columns != [2, 2]:
            raise SettingError(f"q and k must have 2 columns, got {columns}")
        inside("head", setting["head"], rows[0] // N)
        return proposal["value"]
