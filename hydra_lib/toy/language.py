"""A toy language with three jobs for attention, and an exact floor for the loss.

A document is a string that starts with ``^`` and goes on with words ``a … x``, names ``A … H``,
three kinds of brackets and ``*``. What may follow is given by rules; three of them name a
symbol that stands further back:

- induction: within a document every word has one successor, kept secret until it is first seen;
- bracket: a closing bracket is followed by the word that stood before its opening one;
- entity: ``*`` is followed by the most recent name.

The rules are a distribution over the next symbol, so its entropy is known at every position, and
no model can have a lower loss than their mean.
"""

import math
import random
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int

from hydra_lib import _checks

__all__ = ["JOBS", "KINDS", "NAMES", "SYMBOLS", "WORDS", "Corpus", "Reader", "corpus", "encode"]

OPENERS, CLOSERS, STAR = "([{", ")]}", "*"
NAMES = "ABCDEFGH"
"""The names, a symbol each."""

WORDS = "abcdefghijklmnopqrstuvwx"
"""The words, a symbol each."""

SYMBOLS = "^" + OPENERS + CLOSERS + STAR + NAMES + WORDS
"""The 40 symbols; the model sees a symbol's index here.

:meta hide-value:
"""

KINDS = ("^", OPENERS, CLOSERS, STAR, NAMES, WORDS)
"""The symbols by kind: :data:`SYMBOLS`, cut into six.

:meta hide-value:
"""

JOBS = ("none", "induction", "bracket", "entity")
"""What a symbol may ask for; the field ``job`` of a :class:`Corpus` holds indices of these."""

DEPTH = 3
# How likely, after a word and where it is possible at all: an opening and a closing bracket, a
# name, a star. The rest is for the next word.
P_OPEN, P_CLOSE, P_NAME, P_STAR = 0.18, 0.22, 0.06, 0.08


class Reader:
    """What the rules know after the text read so far; ``Reader()`` has read nothing.

    ``job`` is what the last symbol asks for, one of :data:`JOBS`; ``target`` the position, earlier
    in the text, of the symbol that answers (−1 for none).

    >>> reader = Reader()
    >>> for symbol in "^ab(c)":
    ...     reader.read(symbol)
    >>> reader.job, reader.target, reader.choices()
    ('bracket', 2, [(1.0, 'b')])
    """

    def __init__(self) -> None:
        self.text, self.job, self.target = "", "none", -1
        self._successor: dict[str, int] = {}  # word -> position of the word that follows it
        self._open: list[tuple[str, int]] = []  # kind, and position of the word before
        self._name = -1  # position of the most recent name

    def choices(self) -> list[tuple[float, str]]:
        """What may come next: (probability, symbols that share it equally), summing to 1."""
        if not self.text:
            return [(1.0, "^")]
        if self.job in ("bracket", "entity"):
            return [(1.0, self.text[self.target])]
        last, word = self.text[-1], self.text[-1] in WORDS
        kinds = [kind for kind, _ in self._open]
        found = []
        if word and len(kinds) < DEPTH:  # no kind stands inside itself
            found.append((P_OPEN, "".join(k for k in OPENERS if k not in kinds)))
        if word and kinds:
            found.append((P_CLOSE, CLOSERS[OPENERS.index(kinds[-1])]))
        if word or last == "^":
            found.append((P_NAME, NAMES))
        if word and self._name >= 0:
            found.append((P_STAR, STAR))
        words = self.text[self.target] if self.job == "induction" else WORDS.replace(last, "")
        found.append((1.0 - sum(p for p, _ in found), words))
        return found

    def read(self, symbol: str) -> None:
        """Go on by one symbol. Raises ValueError for one that the rules do not allow here."""
        _checks.instance("symbol", symbol, str)
        allowed = "".join(symbols for _, symbols in self.choices())
        if len(symbol) != 1 or symbol not in allowed:
            raise ValueError(
                f"symbol must be one of {allowed!r} after {self.text!r}, "
                f"got {_checks.shown(symbol)}"
            )
        here, last, asked = len(self.text), self.text[-1:], self.job
        self.text += symbol
        self.job, self.target = "none", -1
        if symbol in OPENERS:
            self._open.append((symbol, here - 1))
        elif symbol in CLOSERS:
            self.job, self.target = "bracket", self._open.pop()[1]
        elif symbol == STAR:
            self.job, self.target = "entity", self._name
        elif symbol in NAMES:
            self._name = here
        elif symbol in WORDS:
            if last and last in WORDS and asked == "none":
                self._successor[last] = here
            if symbol in self._successor:
                self.job, self.target = "induction", self._successor[symbol]


class Corpus(NamedTuple):
    """n documents of T + 1 symbols; position t of the other fields concerns symbol t + 1."""

    ids: Int[torch.Tensor, "n T+1"]  #: indices into SYMBOLS
    entropy: Float[torch.Tensor, "n T"]  #: nats: the floor of the loss at this position
    job: Int[torch.Tensor, "n T"]  #: index into JOBS: what symbol t asks for
    target: Int[torch.Tensor, "n T"]  #: position of the answer, −1 for none


def corpus(documents: int, length: int = 48, *, seed: int) -> Corpus:
    """``documents`` random documents of the language, ``length`` + 1 symbols each.

    The mean of ``entropy`` is the floor: no model's mean cross-entropy over these positions can be
    expected to be lower. Deterministic for a seed. Raises ValueError unless both numbers are
    positive integers and the seed is an integer of at least 0. Cost: some 5 µs a symbol.

    >>> one = corpus(1, 11, seed=1)
    >>> "".join(SYMBOLS[i] for i in one.ids[0])
    '^cqpg(mAihda'
    """
    documents, length = _checks.integer("documents", documents), _checks.integer("length", length)
    source = random.Random(_checks.integer("seed", seed, least=0))  # it takes −1 for 1
    _checks.fits("documents and length", documents, length)
    columns = zip(*(_document(length, source) for _ in range(documents)), strict=True)
    return Corpus(*map(torch.tensor, columns))


def encode(text: str) -> Int[torch.Tensor, " T"]:
    """Indices of the symbols of a text.

    Raises TypeError for what is no text, ValueError for a symbol that is none of the 40.

    >>> encode("^ab")
    tensor([ 0, 16, 17])
    """
    _checks.instance("text", text, str)
    if strange := sorted(set(text) - set(SYMBOLS)):
        got = ", ".join(f"'{symbol}'" for symbol in strange[:40])
        raise ValueError(f"text must be made of the symbols {SYMBOLS}, got {got}")
    return torch.tensor([SYMBOLS.index(symbol) for symbol in text], dtype=torch.long)


def check_documents(documents: Any) -> None:
    """Refuse what is not a :class:`Corpus`, or does not hold what one holds."""
    _checks.instance("documents", documents, Corpus)
    for name, x in zip(Corpus._fields, documents, strict=True):
        check = _checks.floating if name == "entropy" else _checks.integers
        check(f"documents.{name}", x)
        if name != "entropy" and x.dtype != torch.int64:
            raise TypeError(f"documents.{name} must be int64, got {x.dtype}")
        _checks.has_values(f"documents.{name}", x)
    n, T = documents.job.shape if documents.job.ndim == 2 else (0, 0)
    shapes = {name: tuple(x.shape) for name, x in documents._asdict().items()}
    expected = {"ids": (n, T + 1), "entropy": (n, T), "job": (n, T), "target": (n, T)}
    if not n * T or shapes != expected:
        raise ValueError(f"documents must be ids (n, T + 1) and three tensors (n, T), got {shapes}")
    ranges = (
        ("ids", 0, len(SYMBOLS) - 1),
        ("job", 0, len(JOBS) - 1),
        ("target", -1, T - 1),
    )
    for name, least, most in ranges:
        x = getattr(documents, name)
        if x.min() < least or x.max() > most:
            raise ValueError(
                f"documents.{name} must lie between {least} and {most}, got {x.min()} to {x.max()}"
            )


def _document(length: int, source: random.Random) -> tuple[list, list, list, list]:
    reader = Reader()
    reader.read("^")
    entropy, job, target = [], [], []
    for _ in range(length):
        choices = reader.choices()
        entropy.append(sum(p * (math.log(len(symbols)) - math.log(p)) for p, symbols in choices))
        job.append(JOBS.index(reader.job))
        target.append(reader.target)
        [(_, symbols)] = source.choices(choices, [p for p, _ in choices])
        reader.read(source.choice(symbols))
    return [SYMBOLS.index(symbol) for symbol in reader.text], entropy, job, target
