"""Checks of the exercises of chapter 5."""

import math

import torch

from hydra_lib.exercises import progress
from hydra_lib.exercises.compare import HALVED, function, value

__all__ = ["attend", "by_hand", "crossing", "hard_lookup", "next_meeting", "progress", "shuffled"]


def _qkv(seed: int) -> tuple[torch.Tensor, ...]:
    """Five tokens, d_k = 7, d_v = 3."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(5, d, generator=generator, dtype=torch.float64) for d in (7, 7, 3))


def _softmax(scores, dim: int = -1):
    return torch.softmax(torch.as_tensor(scores), dim)


@value(
    mistakes=[
        (_softmax([2.0, 0.0, 2.0]), "the scores were not divided by √d_k = 2"),
        (_softmax([0.5, 0.0, 0.5]), "divided by d_k, or by √d_k twice: the temperature is √d_k"),
        (_softmax([2 / 3**0.5, 0.0, 2 / 3**0.5]), "divided by √3, by the keys: √d_k is 2"),
        (
            [0.4, 0.2, 0.4],
            "take two digits; if you meant these exactly: √d_k is 2, not 3; the base is e, not 2",
        ),
        ([1.0, 0.0, 1.0], "those are the scaled scores: the softmax is missing"),
        ([2.0, 0.0, 2.0], "those are the scores: the scaling and the softmax are missing"),
        ([1.0, 0.0, 0.0], "that is with the causal mask; none was asked for"),
        ([1 / 3] * 3, "the keys do not fit equally well: take the dot products"),
        ([0.5, 0.0, 0.5], "score 0 is not weight 0: e^0 = 1"),
        (_softmax([1.0, 0.0, 1.0]) / 2, "scaled after the softmax: the weights must sum to 1"),
        (100 * _softmax([1.0, 0.0, 1.0]), "that is per cent; weights sum to 1"),
        ([math.e, 1, math.e], "the exponentials: not yet divided by their sum"),
    ],
    within=0.005,  # two digits
)
def by_hand():
    """Weights of the query (2, 0, 0, 0) against keys (1, 0, 1, 0), (0, 2, 0, 0), (1, 1, 0, 0)."""
    return _softmax([1.0, 0.0, 1.0])


def _mixed(divisor, dim: int = -1):
    return lambda q, k, v: _softmax(q @ k.mT / divisor(q, v), dim) @ v


def _root(q, v=None) -> float:
    return math.sqrt(q.shape[-1])


def _causal(q, k, v):
    future = torch.ones(len(q), len(q)).triu(1).bool()
    return _softmax((q @ k.mT / _root(q)).masked_fill(future, -torch.inf)) @ v


@function(
    [_qkv(0), _qkv(1)],
    mistakes=[
        (
            _mixed(_root, 0),
            "wrong axis: the softmax runs over the queries, each key shares itself out",
        ),
        (_mixed(lambda q, v: 1), "the scores are not divided by √d_k"),
        (_mixed(lambda q, v: q.shape[-1]), "divided by d_k, or by √d_k twice: once by √d_k"),
        *((_mixed(lambda q, v, x=x: x * q.shape[-1]), HALVED) for x in (0.5, 2)),
        (_mixed(lambda q, v: 2), "divided by 2, √d_k where d_k is 4; here it is q.shape[-1]"),
        (_mixed(lambda q, v: math.sqrt(len(q))), "divided by √T; the temperature is √d_k"),
        (_mixed(lambda q, v: math.sqrt(v.shape[-1])), "divided by √d_v; the temperature is √d_k"),
        (_mixed(lambda q, v: 1 / _root(q)), "multiplied by √d_k; divide by it"),
        (_mixed(lambda q, v: 1, 0), "wrong axis, the queries; and √d_k is missing"),
        (
            lambda q, k, v: _softmax(q @ k.mT) / _root(q) @ v,
            "scaled after the softmax: √d_k divides the scores",
        ),
        (lambda q, k, v: q @ k.mT / _root(q) @ v, "the softmax is missing"),
        (lambda q, k, v: q @ k.mT @ v, "the softmax and the scaling are missing"),
        (lambda q, k, v: _softmax(q @ k.mT / _root(q)), "those are the weights: @ v is missing"),
        (
            lambda q, k, v: _softmax(q @ k.mT / _root(q)).mT @ v,
            "the weights are transposed: an output is made from a row of them",
        ),
        (
            lambda q, k, v: _softmax(k @ q.mT / _root(q)) @ v,
            "k qᵀ: there the keys ask and the queries answer",
        ),
        (
            lambda q, k, v: (q @ k.mT / _root(q)).exp() @ v,
            "the exponentials are not divided by their sum",
        ),
        (
            lambda q, k, v: _softmax(q @ k.mT / _root(q)) @ v / _root(q),
            "scaled once more after the softmax: √d_k divides the scores only",
        ),
        (_causal, "that is causal; no mask was asked for"),
        (
            lambda q, k, v: _softmax((q @ k.mT / _root(q)).flatten(), 0).reshape(len(q), -1) @ v,
            "one softmax over everything: every row must sum to 1",
        ),
        (
            lambda q, k, v: (q @ k.mT / _root(q)).exp() / (q @ k.mT / _root(q)).exp().sum(-1) @ v,
            "column j is divided by the sum of row j: keepdim=True is missing",
        ),
        (lambda q, k, v: v, "those are the values: nothing was attended to"),
    ],
)
def attend(q, k, v):
    """Attention in one line, without a mask."""
    return _softmax(q @ k.mT / _root(q)) @ v


def _best(q, k, dim: int = -1):
    return (q @ k.mT).argmax(dim)


@function(
    [
        *(_qkv(2), _qkv(3), (1e-18 * _qkv(4)[0], *_qkv(4)[1:])),
        (1e-30 * _qkv(6)[0], *_qkv(6)[1:]),  # of the last two, all scores lie close
    ],
    mistakes=[
        *(
            (
                _mixed(lambda q, v, tau=tau: tau),
                "that is soft where scores lie close: no temperature above 0 is cold enough",
            )
            for tau in (0.1, 0.05, *(10.0**-n for n in range(2, 32)))
        ),
        (_mixed(_root), "that is soft: the temperature is still √d_k"),
        (_mixed(lambda q, v: 1), "that is soft: the temperature is still 1"),
        (lambda q, k, v: v[_best(q, k, 0)], "wrong axis: that is the best query of each key"),
        (lambda q, k, v: v[(q @ k.mT).argmin(-1)], "that is the worst key: the lowest score"),
        (lambda q, k, v: _best(q, k), "that is which key is best: give its value"),
        (lambda q, k, v: k[_best(q, k)], "that is the best key itself: give its value"),
        (
            lambda q, k, v: (q @ k.mT).amax(-1, keepdim=True) * v[_best(q, k)],
            "the value is multiplied by its score: a look-up gives it as it is",
        ),
        (
            lambda q, k, v: v.mean(0).expand(len(q), -1),
            "that is the plain mean, temperature ∞: look at the other end",
        ),
        (
            lambda q, k, v: v,
            "those are the values in their own order: the queries choose among them",
        ),
    ],
)
def hard_lookup(q, k, v):
    """For each query the value of its best key."""
    return v[_best(q, k)]


def _reordering(order: list[int], seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    x, _, _ = _qkv(seed)
    return attend_alone(x), torch.tensor(order)


def attend_alone(x: torch.Tensor) -> torch.Tensor:
    """Self-attention without a mask, Q = K = V = x."""
    return _softmax(x @ x.mT / _root(x)) @ x


@function(
    [_reordering([3, 0, 4, 1, 2], 4), _reordering([1, 2, 4, 0, 3], 5)],
    mistakes=[
        (lambda out, order: out, "the output is not the same: each row moves with its token"),
        (lambda out, order: out[order.argsort()], "that is the inverse of the reordering"),
        (lambda out, order: out.flip(0), "that is the reverse, whatever the order was"),
        (lambda out, order: out[:, order], "that reorders the columns; tokens are rows"),
        (lambda out, order: out.sort(0)[0], "that sorts the numbers; the rows stay whole"),
        (
            lambda out, order: attend_alone(out[order]),
            "that attends again, to the outputs: the rows only move",
        ),
    ],
)
def shuffled(output, order):
    """The output of self-attention on ``x[order]``, from that on ``x``, without attending again."""
    return output[order]


@function(
    [(512,), (128,), (7,)],
    mistakes=[
        (lambda d: d, "that is half: there are four projections, 8nd² together"),
        (lambda d: d / 2, "the other way round: set 4n²d equal to 8nd² and solve for n"),
        (lambda d: 8 * d, "4n²d = 8nd²: divide by the four too"),
        (lambda d: 4 * d, "twice too much: set 4n²d equal to 8nd²"),
        (lambda d: d**2, "d² is too many: divide both sides by n, and by d"),
        (lambda d: math.sqrt(d), "no root: divide both sides of 4n²d = 8nd² by n, and by d"),
        (lambda d: 512, "that is always 512: it depends on d"),
        (lambda d: 1, "that is always 1: it depends on d"),
        (lambda d: 16 * d**3, "that is the work there; the question is the number of tokens n"),
    ],
)
def crossing(d):
    """n at which 4n²d, the scores and the mixing, costs as much as 8nd², the projections."""
    return 2 * d


@value(
    mistakes=[
        (9, "so long is a full turn; but the query looks 1 word back, so 9 from there"),
        (8, "9 further back than the word before, not 9 back less 1"),
        (-8, "that key stands ahead; how many words back is the next one?"),
        (1, "that is the word before; the next key further back was asked for"),
        (4.5, "half a turn: there the key points the other way, and meets the query worst"),
        (5.5, "half a turn beyond: there the key points the other way; it takes a full one"),
        (5, "about half a turn beyond: there a key points nearly the other way"),
        (40, "those are degrees; how many words make a full turn?"),
        (360, "those are degrees; how many words make a full turn?"),
        (19, "that is the one after next: two full turns beyond"),
        (11, "one too many: a full turn is 9 words, from the word before on"),
        (2, "next to the best, but 40° off: the question is which meets the query as well"),
    ],
)
def next_meeting():
    """Words back of the next key a full turn, 360° / 40°, beyond the one that is 1 back."""
    return 360 / 40 + 1
