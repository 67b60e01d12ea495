"""Checks of the exercises of chapter 8."""

import torch

from hydra_lib.exercises import Verdict, progress
from hydra_lib.exercises.compare import function, value

__all__ = [
    "delta",
    "first_scores",
    "flops",
    "progress",
    "saved_numbers",
    "score_gradient",
    "weights_again",
]


def _parts(T: int = 5):
    """A causal pass in float64: weights, output, gradients of both."""
    generator = torch.Generator().manual_seed(8)
    scores = torch.randn(T, T, generator=generator, dtype=torch.float64)
    v, grad = torch.randn(2, T, 3, generator=generator, dtype=torch.float64)
    future = torch.ones(T, T).triu(1).bool()
    weights = torch.softmax(scores.masked_fill(future, -torch.inf), -1)
    return weights, weights @ v, grad @ v.mT, grad


def _wide():
    """Weights of three queries over five keys, without a mask, and their gradient."""
    generator = torch.Generator().manual_seed(9)
    scores, grad = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)
    return torch.softmax(scores, -1), grad


@value(
    mistakes=[
        (
            [4.0, 1.0, 0.0],
            "that is p_j v_j, each weight's share: take away p_j times their sum, the output",
        ),
        ([3.0, -1.0, -5.0], "that is v_j minus the output: the weight p_j multiplies it"),
        (
            [-1.5, 0.25, 1.25],
            "the sign is that of a step, which lowers the loss; the gradient raises it",
        ),
        ([8.0, 4.0, 0.0], "that is the gradient of the weights; the softmax comes before them"),
        ([2.0, 0.0, -1.0], "the plain mean of the values was taken away; the output is weighted"),
        (
            [0.25, 0.1875, 0.1875],
            "that is p (1 − p), the diagonal of the Jacobian: the values are missing",
        ),
        ([2.0, 0.75, 0.0], "p (1 − p) v is the diagonal alone: every score moves every weight"),
        ([0.5, 0.25, 0.25], "those are the weights themselves"),
    ]
)
def first_scores():
    """Gradient of three scores: weights 1/2, 1/4, 1/4, values 8, 4, 0, the output is the loss."""
    return [1.5, -0.25, -1.25]


def _of_exp_alone(got, p, g) -> str:
    return (
        "that is the gradient of exp alone: a row's weights share one unit, so raising one "
        f"lowers the others; the first row should sum to 0, yours sums to {got[0].sum():.3g}"
    )


def _minus(mean):
    return lambda p, g: p * (g - mean(p, g))


@function(
    [*((_parts(T)[0], _parts(T)[2]) for T in (5, 7)), _wide()],
    mistakes=[
        (lambda p, g: p * g, _of_exp_alone),
        (
            lambda p, g: (p * (g - (p * g).sum(-1, keepdim=True))).tril(),
            "the upper half is cut away: not every row of weights is causal",
        ),
        (
            _minus(lambda p, g: (p * g).sum(0)),
            "wrong axis, the mean is taken down the columns: each query averages over its own keys",
        ),
        (
            _minus(lambda p, g: (p * g).sum(0)[:, None]),
            "wrong axis, the mean is taken down the columns: each query averages over its own keys",
        ),
        (
            _minus(lambda p, g: (p * g).sum(-1)),
            "column j loses the mean of row j: keepdim=True is missing",
        ),
        (_minus(lambda p, g: (p * g).sum()), "sum() over everything: each row has its own mean"),
        (
            _minus(lambda p, g: g.mean(-1, keepdim=True)),
            "that is the plain mean: weight it by p",
        ),
        (
            _minus(lambda p, g: (p * g).mean(-1, keepdim=True)),
            "the weights already sum to 1: sum p g, without dividing by how many there are",
        ),
        (
            _minus(lambda p, g: g.sum(-1, keepdim=True)),
            "the sum of the gradients is not weighted: p is missing in it",
        ),
        (
            lambda p, g: g - (p * g).sum(-1, keepdim=True),
            "the factor p is missing: a weight of 0 has no gradient",
        ),
        (lambda p, g: p * (1 - p) * g, "the Jacobian's diagonal alone: other weights move too"),
        (
            lambda p, g: p * g - (p * g).sum(-1, keepdim=True),
            "p must multiply the mean too: the brackets are missing",
        ),
        (lambda p, g: p * (g + (p * g).sum(-1, keepdim=True)), "the mean is added: take it away"),
        (lambda p, g: p @ g, "a matrix product; the two multiply entry by entry, *"),
        (lambda p, g: p, "those are the weights: their gradient is missing"),
        (lambda p, g: g, "that is the gradient of the weights: it has to go through the softmax"),
    ],
)
def score_gradient(weights, grad_weights):
    """Gradient of the scaled scores, (Tq, Tk) each."""
    return weights * (grad_weights - (weights * grad_weights).sum(-1, keepdim=True))


def _no_matrix(tried, case) -> str | Verdict | None:
    T = len(case[0])
    if tried.unseen:
        return Verdict(
            True,
            f"Right. (If no ({T}, {T}) matrix was made on the way: only torch's functions are "
            "seen.)",
        )
    if not any(shape.count(T) > 1 for call in tried.calls for shape in call.returned):
        return None
    return (
        f"the numbers are right, but there is a ({T}, {T}) matrix on the way; the rows meet "
        "themselves only"
    )


@function(
    [(_parts(T)[3], _parts(T)[1]) for T in (7, 5)],
    mistakes=[
        (
            lambda g, o: g @ o.mT,
            "that is a (Tq, Tq) matrix; δ has one number a query: the rows meet themselves only",
        ),
        (
            lambda g, o: (g @ o.mT).sum(-1),
            "the sum of a (Tq, Tq) matrix: each query meets its own output only",
        ),
        (lambda g, o: (g * o).sum(0), "wrong axis: that is one number a column"),
        (lambda g, o: (g * o).sum(), "sum() over everything: δ has one number a query"),
        (lambda g, o: (g * o).mean(-1), "that is the mean over the columns; δ is the sum"),
        (lambda g, o: g * o, "those are the products: their sum over the columns is missing"),
        (lambda g, o: (o * o).sum(-1), "that is the output with itself: the gradient is missing"),
        (lambda g, o: (g * g).sum(-1), "that is the gradient with itself: the output is missing"),
        (lambda g, o: g.sum(-1) * o.sum(-1), "the product of two sums is not the sum of products"),
        (lambda g, o: (g + o).sum(-1), "added where it should be multiplied"),
        (lambda g, o: g.mT @ o, "that is (d, d): the sum over positions; sum over the columns"),
    ],
    look=_no_matrix,
)
def delta(grad_output, output):
    """δ, one number a query, without any (Tq, Tk) matrix."""
    return (grad_output * output).sum(-1)


_BLOCK = torch.tensor(
    [[1.0, 0.0, -torch.inf], [5.0, 5.0, 5.0], [-torch.inf] * 3], dtype=torch.float64
)
_LOG_Z = _BLOCK.logsumexp(-1)
_ALONE = "a block must not be normalized by itself: log Z already covers the whole row"


_WIDE = torch.tensor(
    [[-3.0, -4.0, -torch.inf], [1000.0, 999.0, 0.0], [-1e5, -1e5 - 1, -torch.inf]],
    dtype=torch.float64,
)
_WIDE_LOG_Z = _WIDE.logsumexp(-1).float().double()  # so that float32 is given the same number
_DIVIDED = "divided by log Z: exp(log Z) is Z, or subtract first"
_OVERFLOW = "e to a large score overflows: subtract log Z before the exponential"


@function(
    [
        *((_BLOCK[:2], _LOG_Z[:2]), (_BLOCK[:2, :2], _LOG_Z[:2]), (_BLOCK, _LOG_Z)),
        (_WIDE, _WIDE_LOG_Z),
    ],
    mistakes=[
        (
            lambda s, z: (s - z[:, None]).exp(),
            "a row with no key to attend to must give zeros: −∞ − (−∞) and 0 / 0 are NaN",
        ),
        (lambda s, z: s.exp() / z.exp()[:, None], _OVERFLOW),
        (lambda s, z: (s.exp() / z.exp()[:, None]).nan_to_num(), _OVERFLOW),
        (lambda s, z: s.exp() / z.nan_to_num(neginf=0.0).exp()[:, None], _OVERFLOW),
        *(
            (
                lambda s, z, least=least: (s - z.clamp(min=least)[:, None]).exp(),
                "log Z may be far below 0: replace only −∞ by a finite number",
            )
            for least in (0, -100, -1000)
        ),
        (lambda s, z: torch.softmax(s, -1), _ALONE),
        (lambda s, z: s.exp() / s.exp().sum(-1, keepdim=True), _ALONE),
        (lambda s, z: (z[:, None] - s).exp(), "upside down: a larger score gets more weight"),
        (lambda s, z: torch.softmax(s, -1).nan_to_num(), _ALONE),
        (lambda s, z: torch.softmax(s - z[:, None], -1), _ALONE),
        (lambda s, z: torch.softmax(s - z.nan_to_num(neginf=0)[:, None], -1), _ALONE),
        (lambda s, z: s.exp(), "log Z is missing: the rows do not sum to 1"),
        (lambda s, z: s - z[:, None], "those are logarithms of the weights: exp is missing"),
        (lambda s, z: s.exp() / z[:, None], _DIVIDED),
        (lambda s, z: s.exp() / z.nan_to_num(neginf=0.0)[:, None], _DIVIDED),
        (lambda s, z: (s / z[:, None]).exp(), "log Z is subtracted from a score, not divided by"),
        (
            lambda s, z: (s + z[:, None]).exp(),
            "log Z is added: e^(s − log Z) is e^s / Z, take it away",
        ),
        *(
            (
                lambda s, z, least=least: (s - z.nan_to_num(neginf=least)).exp(),
                "row i has its own log Z: [:, None], a keepdim, is missing",
            )
            for least in (-torch.inf, 0.0)
        ),
        (
            lambda s, z: (s - z[0]).exp(),
            "all rows have the log Z of the first: each row has its own",
        ),
        (
            lambda s, z: (s - z[:, None]).exp().nan_to_num(1 / 3),
            "a row with no key to attend to must give zeros, not equal shares",
        ),
        (
            lambda s, z: (s - z[:, None]).exp().nan_to_num(1.0),
            "a row with no key to attend to must give zeros, not ones",
        ),
    ],
)
def weights_again(masked, log_z):
    """The weights of a block from its masked scores and log Z."""
    return (masked - log_z.nan_to_num(neginf=0.0)[:, None]).exp()


_PRODUCT = 2 * 1024**2 * 768


@value(
    mistakes=[
        (6 * _PRODUCT, "that keeps the weights; making the scores again is one product more"),
        (5 * _PRODUCT, "that is the backward pass alone"),
        (4 * _PRODUCT, "that is the backward pass alone, with the weights kept"),
        (
            3.5 * _PRODUCT,
            "half: a multiplication and an addition are two operations, and nothing is masked",
        ),
        (2 * _PRODUCT, "that is the forward pass alone"),
        (_PRODUCT, "that is one product; there are several, forward and backward"),
        (12 * 7 * _PRODUCT, "768 is the width of all heads together: no factor 12"),
        (7 * _PRODUCT / 12, "that is one head; there are twelve"),
        (8 * _PRODUCT, "one too many: two products forward, and backward five"),
        (9 * _PRODUCT, "that makes scores and dP twice, as two kernels do: here each is made once"),
        (7 * _PRODUCT / 1e9, "those are GFLOPs; give FLOPs"),
        (7, "that is how many products; the question is their FLOPs"),
        (14 * _PRODUCT, "an addition and a multiplication are two, not four"),
    ]
)
def flops():
    """FLOPs of the products of attention forward and backward: 12 heads of 64, T = 1024, weights
    recomputed; without projections."""
    return 7 * _PRODUCT


@value(
    mistakes=[
        (5000 / 2, "causal or not, a stored matrix has all its T² entries"),
        (5001 / 2, "causal or not, a stored matrix has all its T² entries"),
        (12 * 5000, "both have as many heads: their number cancels"),
        (5000 / 12, "both have as many heads: their number cancels"),
        (5000**2, "that is how many weights there are; log Z is T numbers, not one"),
        (1 / 5000, "upside down: how many times as many do the weights take"),
        (64, "the head dimension has no part in it: (T, T) against (T,)"),
        (5000 / 64, "the head dimension has no part in it: (T, T) against (T,)"),
    ]
)
def saved_numbers():
    """How many times as many numbers the weights are as log Z, 12 heads, T = 5000."""
    return 5000
