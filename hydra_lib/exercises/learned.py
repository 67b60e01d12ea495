"""Checks of the exercises of chapter 7."""

import math

import torch
import torch.nn.functional as F

from hydra_lib.exercises import progress
from hydra_lib.exercises.compare import function, value
from hydra_lib.exercises.reader import numbers
from hydra_lib.toy.language import encode

__all__ = [
    "first_floor",
    "induction_targets",
    "previous_score",
    "progress",
    "uniform_score",
    "without_head",
]

_NAMES, _WORDS = 0.06, 0.94
_FLOOR = _NAMES * math.log(8 / _NAMES) + _WORDS * math.log(24 / _WORDS)
_CHOICE = -_NAMES * math.log(_NAMES) - _WORDS * math.log(_WORDS)


@value(
    mistakes=[
        (math.log(32), "that would be 32 symbols, all equally likely; names are rarer than words"),
        (_FLOOR / math.log(2), "that is in bits: take natural logarithms"),
        (_FLOOR / math.log(10), "that is the logarithm to base 10: take natural logarithms"),
        (_FLOOR - _CHOICE, "the choice between name and word costs something too"),
        (_CHOICE, "that is the choice between name and word alone: which name or word is open too"),
        (-_FLOOR, "the sign is the other way round: a loss is −log p"),
        (
            _FLOOR + _WORDS * math.log(_WORDS),
            "each single word has probability 0.94 / 24: for words the 0.94 is missing",
        ),
        (
            _FLOOR + _NAMES * math.log(_NAMES),
            "each single name has probability 0.06 / 8: for names the 0.06 is missing",
        ),
        (math.exp(_FLOOR), "that is the perplexity; the question is the loss"),
        (math.log(40), "that would be all 40 symbols; only names and words can come first"),
        (-math.log(0.94 / 24), "that is the loss where a word comes first: average over names too"),
        (-math.log(0.06 / 8), "that is the loss where a name comes first: average over words too"),
        (math.log(24), "that is for a word alone; a name may come too"),
        (_FLOOR - 2 * _CHOICE, "the sign of log p: in p (log n − log p) both terms are positive"),
    ],
    within=3e-3,
)
def first_floor():
    """Entropy in nats of the first symbol after ``^``."""
    return _FLOOR


def _attended(T: int, causal: bool = True) -> torch.Tensor:
    generator = torch.Generator().manual_seed(T)
    weights = torch.rand(T, T, generator=generator, dtype=torch.float64)
    weights = weights.tril() if causal else weights
    return weights / weights.sum(-1, keepdim=True)


@function(
    [(_attended(5),), (_attended(7),), (_attended(6, causal=False),)],
    mistakes=[
        (
            lambda w: w.diagonal().mean(),
            "that is the weight on the position itself: the diagonal is off by one",
        ),
        (
            lambda w: w.diagonal(-1).sum() / len(w),
            "position 0 has no position before it: of T queries only T − 1 count",
        ),
        *(
            (
                lambda w, less=less: torch.roll(w, 1, 1).diagonal().sum() / (len(w) - less),
                "weights[0, −1] is the last column: position 0 has no position before it",
            )
            for less in (0, 1)
        ),
        (lambda w: w.diagonal(1).mean(), "that is the weight on the position after: above"),
        (lambda w: w.diagonal(-2).mean(), "that is two positions before: off by one"),
        (lambda w: w.diagonal(-1).sum(), "that is the sum; take the mean"),
        (lambda w: w.diagonal(-1), "those are the weights, one per query: take their mean"),
        (lambda w: w.mean(), "that is 1/T, as the mean over everything is: each row sums to 1"),
        (lambda w: w.sum() / len(w), "sum() over everything: each row sums to 1"),
        (lambda w: w.tril(-1).sum(-1)[1:].mean(), "that is the weight on all positions before"),
        (lambda w: w.tril(-1).sum(-1).mean(), "that is the weight on all positions before"),
        (lambda w: w.tril(-1).mean(), "that is the mean over everything before, not the diagonal"),
        (lambda w: w.diagonal(-1).amax(), "that is the largest; take the mean"),
        (lambda w: w.diagonal(-1).median(), "that is the median; take the mean"),
    ],
)
def previous_score(weights):
    """Mean weight on the position just before, weights (T, T)."""
    return weights.diagonal(-1).mean()


_SHARES = [1 / (i + 1) for i in range(1, 5)]  # query i sees i + 1 keys


@value(
    mistakes=[
        (0.2, "query i has only i + 1 keys, not 5"),
        ((1 + sum(_SHARES)) / 5, "position 0 has no position before it and does not count"),
        (sum(_SHARES) / 5, "position 0 does not count: four queries, not five"),
        (1 / 3, "one over the mean number of keys is not the mean of the shares"),
        (0.25, "the mean of the four shares is not the share of one: query i has i + 1 keys"),
        (sum(_SHARES), "that is the sum; take the mean"),
        ((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, "query i sees itself too: i + 1 keys, not i"),
        (sum(_SHARES[:3]) / 3, "that is for T = 4"),
        (
            (sum(_SHARES) + 1 / 6) / 5,
            "that is for T = 6, or one over a mean number of keys: take the mean of the shares",
        ),
        (0.5, "that is query 1 alone; later ones have more keys"),
    ],
    within=1e-3,
)
def uniform_score():
    """Previous-token score of a causal head that spreads its weight evenly, T = 5."""
    return sum(_SHARES) / 4


def _copies_of(ids):
    return ids[:, None] == ids


def _shifted(marks, by: int = 1):
    """Marks moved ``by`` columns to the right, or left."""
    return F.pad(marks[:, :-1], (1, 0)) if by == 1 else F.pad(marks[:, 1:], (0, 1))


def _earlier(ids):
    return _copies_of(ids).tril(-1)


def _after_the_latest(ids):
    earlier = _earlier(ids)
    return _shifted(earlier & (earlier.cumsum(1) == earlier.sum(1, keepdim=True)))


def _shifted_down(marks):
    return F.pad(marks[:-1], (0, 0, 1, 0))


@function(
    [(encode("^abcabcab"),), (encode("^abab"),), (encode("^aabaa"),), (encode("abab"),)],
    mistakes=[
        (
            _earlier,
            "that looks at the earlier copy of the symbol itself; what helps is the symbol that "
            "came after it",
        ),
        (
            lambda ids: _shifted(_earlier(ids), -1),
            "the shift goes the wrong way: that came before the earlier copy",
        ),
        (lambda ids: _shifted(_copies_of(ids)), "a query looks at its future: copies come earlier"),
        (
            lambda ids: _shifted(_copies_of(ids).tril()),
            "a query looks at its future: the symbol itself is no earlier copy",
        ),
        (
            lambda ids: torch.cat([_earlier(ids)[:, :1], _earlier(ids)[:, :-1]], 1),
            "column 0 was left as it was: position 0 comes after nothing",
        ),
        (
            _after_the_latest,
            "only what came after the latest copy is marked: every earlier one counts",
        ),
        (
            lambda ids: (ids[:, None] == ids.roll(1)).tril(),
            "roll wraps around: position 0 comes after nothing",
        ),
        (
            lambda ids: _shifted(_earlier(ids) & (_earlier(ids).cumsum(1) == 1)),
            "only what came after the first copy is marked: every earlier one counts",
        ),
        (_copies_of, "that marks every copy, the symbol itself and its future too"),
        (
            lambda ids: _copies_of(ids).tril(),
            "the symbol itself is marked, and its copies; what helps came after them",
        ),
        (
            lambda ids: _shifted_down(_earlier(ids)),
            "the rows were shifted: the query moved; it is the key that comes one later",
        ),
        (
            lambda ids: F.pad(_earlier(ids)[1:], (0, 0, 0, 1)),
            "the rows were shifted: the query moved; it is the key that comes one later",
        ),
        (
            lambda ids: _shifted(_shifted(_earlier(ids))).tril(),
            "shifted twice: off by one, it is the symbol right after the copy",
        ),
        (
            lambda ids: _shifted(_earlier(ids)).tril(-1),
            "off by one: the symbol after the copy may be the query itself",
        ),
        (lambda ids: torch.ones(len(ids), len(ids)).tril(), "that marks all of the past"),
        (lambda ids: torch.ones(len(ids), len(ids)), "that marks everything, its future too"),
        (lambda ids: _shifted(_earlier(ids)).mT, "that is the transpose: rows are queries"),
    ],
)
def induction_targets(ids):
    """(T,) to boolean (T, T), True where symbol j followed an earlier copy of symbol i."""
    return _shifted(_earlier(ids)).tril()


def _zeroed(where):
    def answer(W_o, head, d_k):
        W_o = W_o.clone()
        W_o[where(slice(head * d_k, (head + 1) * d_k), head, W_o)] = 0
        return W_o

    return answer


_ALL = slice(None)


def _unharmed(tried, case) -> str | None:
    if torch.equal(numbers(tried.given[0]), numbers(case[0])):
        return None
    return "the weight you were given has changed: work on a copy"


@function(
    [
        (torch.arange(1.0, 1 + n * n, dtype=torch.float64).reshape(n, n), head, d_k)
        for n, head, d_k in ((6, 1, 2), (6, 2, 2), (9, 1, 3))
    ],
    mistakes=[
        (
            _zeroed(lambda own, head, W: own),
            "those are rows: they silence d_k outputs of the layer, not one head",
        ),
        (
            _zeroed(lambda own, head, W: (_ALL, head)),
            "that is one column: a head has d_k of them, from head · d_k on",
        ),
        (
            _zeroed(lambda own, head, W: (_ALL, slice(head, head + own.stop - own.start))),
            "off: a head begins at column head · d_k, not at column head",
        ),
        (
            _zeroed(lambda own, head, W: (_ALL, slice(2 * own.start - own.stop, own.start))),
            "off by one: that is the head before; heads are counted from 0",
        ),
        (
            _zeroed(lambda own, head, W: (_ALL, slice(own.start, own.stop + 1))),
            "off by one: a column of the next head is gone too",
        ),
        (
            _zeroed(lambda own, head, W: (_ALL, slice(own.start, own.stop - 1))),
            "off by one: a column of the head is still there",
        ),
        (
            _zeroed(lambda own, head, W: (_ALL, slice(2 * head, 2 * head + 2))),
            "d_k need not be 2",
        ),
        (
            _zeroed(lambda own, head, W: (_ALL, slice(head, None, 3))),
            "interleaved: a head's columns are neighbours",
        ),
        (
            _zeroed(lambda own, head, W: (own, own)),
            "that is one block: zero the columns in all rows",
        ),
        (
            _zeroed(
                lambda own, head, W: (
                    _ALL,
                    [c for c in range(len(W)) if not own.start <= c < own.stop],
                )
            ),
            "inverted: that is what the head alone does",
        ),
        (lambda W, head, d_k: W, "nothing was taken away"),
        (lambda W, head, d_k: 0 * W, "everything is gone: take away one head"),
        (
            lambda W, head, d_k: torch.cat([W[:, : head * d_k], W[:, (head + 1) * d_k :]], 1),
            "the columns were cut out: the heads after it would move; set them to 0",
        ),
    ],
    look=_unharmed,
)
def without_head(W_o, head, d_k):
    """The weight of ``nn.Linear`` W_o, (d_model, d_model), with one head taken away."""
    return _zeroed(lambda own, head, W: (_ALL, own))(W_o, head, d_k)
