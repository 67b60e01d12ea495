"""Checks of the exercises of chapter 4."""

import math

import torch

from hydra_lib import masking
from hydra_lib.exercises import progress
from hydra_lib.exercises.compare import HALVED, function, value
from hydra_lib.exercises.reader import POWER

__all__ = [
    "attention_weights",
    "lead_for_half",
    "predicted_variance",
    "progress",
    "right_temperature",
    "uniform",
]


@value(
    mistakes=[
        (256, "256 is σ²·d_k; each product q_c k_c has variance σ² · σ²"),
        (128, "that is σ·d_k; each product q_c k_c has variance σ² · σ²"),
        (32, "that is the standard deviation; the question is the variance"),
        (64, "that is for standard deviation 1; here it is 2"),
        (16, "that is one product, or a score divided by √d_k: a score is the sum of d_k products"),
        (64 * 2 ^ 4, POWER),
        (512, "σ³·d_k, or σ² + σ²: q and k both carry σ², and the variances of factors multiply"),
        (8, "that is √d_k, the temperature for σ = 1; the question is the variance of a score"),
    ]
)
def predicted_variance():
    """Var(q·k) for d_k = 64 and independent zero-mean entries with standard deviation 2."""
    return 64 * 2**4


@function(
    [(64, 1.0), (32, 2.0), (25, 0.5)],
    mistakes=[
        (lambda d_k, sigma: math.sqrt(d_k), "√d_k is right for σ = 1 only"),
        (
            lambda d_k, sigma: sigma * math.sqrt(d_k),
            "q and k both carry a σ, so the score's standard deviation has two",
        ),
        (
            lambda d_k, sigma: d_k * sigma**4,
            "that is the variance of a score: its root, the standard deviation, divides it",
        ),
        (lambda d_k, sigma: d_k * sigma**2, "d_k where √d_k belongs: take the root"),
        (lambda d_k, sigma: sigma**2 * d_k / 2, HALVED),
        (lambda d_k, sigma: d_k, "d_k where √d_k belongs, and σ is missing"),
        (lambda d_k, sigma: d_k * sigma, "d_k where √d_k belongs, and q and k both carry a σ"),
        (
            lambda d_k, sigma: sigma**4 * math.sqrt(d_k),
            "the root of σ⁴ is σ²: the root belongs to the whole variance",
        ),
        (
            lambda d_k, sigma: 1 / (sigma**2 * math.sqrt(d_k)),
            "upside down: scores become s / τ",
        ),
        (lambda d_k, sigma: math.sqrt(d_k) / sigma**2, "σ² belongs above: larger σ, larger scores"),
        (lambda d_k, sigma: math.sqrt(d_k * sigma), "under the root stands σ⁴: q and k have σ²"),
    ],
)
def right_temperature(d_k, sigma):
    """The τ that gives scores s / τ unit variance."""
    return sigma**2 * math.sqrt(d_k)


@value(
    mistakes=[
        (36, "36 would need entries of variance 1; a uniform on [−1, 1] has variance 1/3"),
        (16, "∫ x² is 2/3, but the density of the uniform is 1/2"),
        (12, "that is d_k times one variance; the product of two entries has both"),
        (2, "that is the standard deviation; the question is the variance"),
        (
            1 / 9,
            "that is one product, or a score divided by √d_k: a score is the sum of d_k products",
        ),
        *((36 * third**2, "close: 1/3 was rounded") for third in (0.33, 0.333, 0.3333)),
        (0.25, "1/12 is the variance on an interval of length 1; [−1, 1] has length 2"),
        (3, "1/12 is the variance on an interval of length 1; [−1, 1] has length 2"),
        (9, "a uniform on [−1, 1] has variance 1/3, not 1/4 or 1/2: integrate x²"),
        (1 / 3, "that is the variance of one entry"),
        (6, "that is √d_k; the question is the variance of a score"),
    ]
)
def uniform():
    """Var(q·k) for d_k = 36 and independent entries uniform on [−1, 1]."""
    return 36 / 9


@value(
    mistakes=[
        (4095, "that is e^(Δ/τ): the lead is its logarithm"),
        (4096, "that is about e^(Δ/τ): the lead is its logarithm"),
        (math.log2(4096), "that is the logarithm to base 2; the weights are powers of e"),
        (math.log10(4096), "that is the logarithm to base 10; the weights are powers of e"),
        (math.log(2), "that leads over one other key; there are 4095"),
        (
            math.log(2048),
            "half of the keys: it is to get half of the weight, against all the others",
        ),
        (-math.log(4095), "the sign: a key that gets more than the others is ahead"),
        (0, "with no lead it gets 1/4096"),
        (0.5, "the weight is to be a half; the question is the lead that gives it"),
        (math.sqrt(2 * math.log(4096)), "√(2 ln n) is where the largest of n normal scores lies"),
    ],
    within=0.01,
)
def lead_for_half():
    """Δ/τ at which one key among 4096, the others equal, gets half of the weight."""
    return math.log(4095)


def _cases() -> list[tuple]:
    generator = torch.Generator().manual_seed(4)
    shapes = ((2, 3, 5), (3, 5, 7))
    return [tuple(torch.randn(2, *s, generator=generator, dtype=torch.float64)) for s in shapes]


def _weights(divisor, dim: int = -1):
    return lambda q, k: torch.softmax(q @ k.mT / divisor(*q.shape), dim)


def _root(h: int, T: int, d_k: int) -> float:
    return math.sqrt(d_k)


@function(
    _cases(),
    mistakes=[
        (
            _weights(lambda h, T, d_k: math.sqrt(h * d_k)),
            "it divides by √d_model; the sum in a head's score has d_k terms",
        ),
        (_weights(lambda h, T, d_k: 1), "it does not scale at all: √d_k is missing"),
        (
            _weights(lambda h, T, d_k: d_k),
            "it divides by d_k, or by √d_k twice: the temperature is √d_k, once",
        ),
        *((_weights(lambda h, T, d_k, x=x: x * d_k), HALVED) for x in (0.5, 2)),
        (_weights(lambda h, T, d_k: h * d_k), "it divides by d_model; the temperature is √d_k"),
        (_weights(lambda h, T, d_k: math.sqrt(T)), "it divides by √T: q.shape[-1] is d_k"),
        (_weights(lambda h, T, d_k: math.sqrt(h)), "it divides by √h: q.shape[-1] is d_k"),
        (_weights(lambda h, T, d_k: 1 / math.sqrt(d_k)), "it multiplies by √d_k; divide by it"),
        (_weights(lambda h, T, d_k: d_k**0.25), "that takes the root twice: divide by √d_k"),
        (
            lambda q, k: torch.softmax(q @ k.mT, -1) / math.sqrt(q.shape[-1]),
            "it scales after the softmax: the rows no longer sum to 1",
        ),
        (
            lambda q, k: torch.softmax(q @ k.mT, -1) / q.shape[-1],
            "it scales after the softmax, and by d_k: the rows no longer sum to 1",
        ),
        (
            lambda q, k: torch.softmax(q.mT @ k / math.sqrt(q.shape[-1]), -1),
            "the transpose is on q: qᵀ k compares columns, (d_k, d_k), not positions",
        ),
        (_weights(_root, -2), "the softmax runs along the wrong axis, the queries"),
        (_weights(_root, 0), "the softmax runs along the wrong axis, the heads"),
        (lambda q, k: q @ k.mT / math.sqrt(q.shape[-1]), "the softmax is missing"),
        (lambda q, k: q @ k.mT, "the softmax and the scaling are missing"),
        (lambda q, k: _weights(_root)(-q, k), "the sign: a larger score gets more weight"),
        (
            lambda q, k: torch.softmax(
                masking.apply_mask(
                    q @ k.mT / math.sqrt(q.shape[-1]), masking.causal_mask(len(q[0]))
                ),
                -1,
            ),
            "that is causal; no mask was asked for",
        ),
        (
            lambda q, k: torch.softmax(k @ q.mT / math.sqrt(q.shape[-1]), -1),
            "k qᵀ: there the keys ask and the queries answer",
        ),
        (
            lambda q, k: torch.softmax((q @ k.mT / math.sqrt(q.shape[-1])).flatten(), 0).reshape(
                *q.shape[:2], -1
            ),
            "one softmax over everything: every row must sum to 1",
        ),
    ],
)
def attention_weights(q, k):
    """softmax(q kᵀ / √d_k) for (h, T, d_k) queries and keys."""
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
