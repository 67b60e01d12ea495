"""Checks of the exercises of chapter 3."""

import math

import torch

from hydra_lib import boltzmann
from hydra_lib.exercises import Verdict, check, progress
from hydra_lib.exercises.compare import function, value
from hydra_lib.exercises.differences import alike, how_many, told_apart
from hydra_lib.exercises.reader import Wrong, numbers
from hydra_lib.exercises.tried import in_some_form

__all__ = [
    "progress",
    "rival",
    "schottky_peak",
    "stable_softmax",
    "temperature_of",
    "ten_times",
    "weights_of",
]


@value(
    mistakes=[
        (math.log(10) / 2, "upside down: that is 1/τ"),
        (2 / math.log2(10), "that is the logarithm to base 2; e to the what is 10?"),
        (2.0, "that is the logarithm to base 10; e to the what is 10?"),
        (1 / math.log(10), "the scores differ by 2, not by 1"),
        (3 / math.log(10), "only the difference of the scores counts, 3 − 1"),
        (2 * math.log(10), "the logarithm belongs below: the ratio is e to the 2/τ"),
        (0.2, "the ratio is e to the 2/τ: a logarithm is missing"),
        (-2 / math.log(10), "a temperature is a positive number here"),
        (1.0, "at τ = 1 the ratio is e², about 7.4"),
    ],
    within=2e-3,
)
def ten_times():
    """The τ at which score 3 is ten times as probable as score 1."""
    return 2 / math.log(10)


_SCORES = (
    [[0.0, 1.0, 3.0], [3.0, 1.0, 0.0], [1.0, 0.0, 0.0]],
    [[1000.0, 999.0, 0.0], [0.0, 999.0, 1000.0]],
    [[-1000.0, -1000.0, -1001.0], [-1001.0, -1000.0, -1000.0]],
    [[0.0, 0.0, 1.0], [-2000.0, -2000.0, -2001.0]],  # no one shift serves both rows
    [[3000.0, 0.0, 0.0], [0.0, 0.0, 0.0]],  # the mean is no safe shift
)


def _shifted(s: torch.Tensor, shift: torch.Tensor, dim: int = -1) -> torch.Tensor:
    return (s - shift).exp() / (s - shift).exp().sum(dim, keepdim=True)


def _top(s: torch.Tensor) -> torch.Tensor:
    return s.amax(-1, keepdim=True)


# Mistakes in any softmax, with large scores or without.
_ANY = [
    (
        lambda s: torch.softmax(s, 0),
        "wrong axis: your columns sum to 1; the sum must run along the last axis, the keys",
    ),
    (
        lambda s: torch.softmax(s.flatten(), 0).reshape(s.shape),
        "sum() over everything: every row must sum to 1",
    ),
    (
        lambda s: s.exp() / s.exp().sum(-1),
        "column j is divided by the sum of row j: keepdim=True is missing",
    ),
    (lambda s: torch.log_softmax(s, -1), "those are logarithms: exp is missing"),
    (lambda s: s / s.sum(-1, keepdim=True), "divided by the sum, but exp is missing"),
    (lambda s: torch.softmax(-s, -1), "the sign: a larger score gets more weight"),
    (
        lambda s: torch.softmax(s, 0).mT,
        "wrong axis, and transposed: the sum must run along the last axis, the keys",
    ),
    (
        lambda s: boltzmann.probabilities(s, 0),
        "the best key takes all: that is τ = 0, hard and not soft (the second argument of "
        "probabilities is τ, not the axis)",
    ),
]


@function(
    [(torch.tensor(s, dtype=torch.float64),) for s in _SCORES],
    mistakes=[
        *_ANY,
        (
            lambda s: _shifted(s, s.new_zeros(())),
            "NaN for large scores: exp overflows; for very negative ones every exp underflows to 0",
        ),
        (
            lambda s: _shifted(s, s.new_full((), 1000.0)),
            "NaN: no one constant serves all rows; shift a row by its largest",
        ),
        (lambda s: _shifted(s, s.max()), "NaN: one shift for all rows leaves some row only zeros"),
        *(
            (
                lambda s, softmax=softmax: softmax(s - s.amax(-1)),
                "column j is shifted by the largest of row j: keepdim=True is missing",
            )
            for softmax in (lambda s: torch.softmax(s, -1), lambda s: _shifted(s, s.new_zeros(())))
        ),
        *(
            (
                lambda s, top=top: _shifted(s / top(s), s.new_zeros(())),
                "dividing changes the differences of the scores: subtract the largest",
            )
            for top in (torch.max, _top)
        ),
        (
            lambda s: _shifted(s, s.mean(-1, keepdim=True)),
            "NaN: a score far above the shift still overflows; shift a row by its largest",
        ),
        (
            lambda s: _shifted(s, s.amin(-1, keepdim=True)),
            "NaN: a score far above the shift still overflows; shift a row by its largest",
        ),
        (
            lambda s: _shifted(s, s.new_zeros(()), 0),
            "wrong axis: your columns sum to 1; and NaN for large scores",
        ),
        (lambda s: s.exp() / s.exp().sum(), "sum() over everything: every row must sum to 1"),
        (
            lambda s: (s - _top(s)).exp() / (s - _top(s)).exp().sum(),
            "sum() over everything: every row must sum to 1",
        ),
        (
            lambda s: (s - _top(s)).exp() / (s - _top(s)).exp().sum(-1),
            "column j is divided by the sum of row j: keepdim=True is missing",
        ),
        (lambda s: s - _top(s), "shifted, but exp and the division are missing"),
        (lambda s: (s - _top(s)).exp(), "not divided: a row must sum to 1"),
        (
            lambda s: s.exp() / s.exp().amax(-1, keepdim=True),
            "divided by the largest: divide by the sum",
        ),
        (
            lambda s: torch.softmax(s.clamp(-50, 50), -1),
            "clamping makes different scores equal: shift them instead",
        ),
        (
            lambda s: torch.softmax(s.clamp(max=50), -1),
            "clamping makes different scores equal: shift them instead",
        ),
    ],
)
def stable_softmax(scores):
    """Softmax along the last axis that survives large scores."""
    return boltzmann.probabilities(scores)


@function(
    [
        (s,)
        for s in (
            torch.tensor(_SCORES[0]).double(),
            torch.tensor([[2.0, 0, 1], [0, 3, -1]]).double(),
        )
    ],
    mistakes=[*_ANY, (lambda s: s.exp(), "not divided: a row must sum to 1")],
)
def weights_of(scores):
    """One unit of weight from each query to the keys."""
    return boltzmann.probabilities(scores)


def _thermometer_cases() -> list[tuple]:
    rows = ([2.0, 0.5, -1.0], [2.0, 2.0, 0.0], [-1.0, 0.5, 2.0])
    scores = [torch.tensor(row, dtype=torch.float64) for row in rows]
    return [(s, boltzmann.probabilities(s, tau)) for s in scores for tau in (0.3712, 1.0, 4.0)]


def _between(first: int, second: int):
    return lambda s, p: (s[first] - s[second]) / (p[first] / p[second]).log()


def _whichever(tried, case) -> str | None:
    for row in ([1.0, 2.0, 1.0], [0.0, 2.0, 2.0], [1.0, 1.0, 1.0, 2.0]):
        scores = torch.tensor(row, dtype=torch.float64)
        pair = scores, boltzmann.probabilities(scores, 1.7)
        got = in_some_form(tried.answer, [pair], numbers)[0].got
        if isinstance(got, Wrong) or not alike(got, numbers(1.7)):
            return f"right so far, but not for scores {row}: take two states whose scores differ"
    return None


_EQUAL = "two states with the same score say nothing about τ: 0/0 for scores [2.0, 2.0, 0.0]"
_ENDS = "the largest and the smallest need not stand first and last"


def _spread(s: torch.Tensor) -> torch.Tensor:
    return s.max() - s.min()


@function(
    _thermometer_cases(),
    mistakes=[
        (_between(0, 1), _EQUAL),
        (lambda s, p: -_between(0, 1)(s, p), f"the sign is the other way round; and {_EQUAL}"),
        (lambda s, p: _spread(s) / (p[0] / p[-1]).log(), _ENDS),
        (lambda s, p: (s[0] - s[-1]) / (p.max() / p.min()).log(), _ENDS),
        (lambda s, p: (p.max() / p.min()).log() / _spread(s), "upside down: that is 1/τ"),
        (lambda s, p: _spread(s) / (p.max() / p.min()), "the logarithm of the ratio is missing"),
        (lambda s, p: _spread(s) / (p.max() - p.min()).log(), "take the ratio of the p, then log"),
        (
            lambda s, p: _spread(s) / (p.max() - p.min()),
            "the logarithm is missing: log p differs by the gap over τ",
        ),
        (
            lambda s, p: _spread(s) / (p.max() / p.min()).log2(),
            "that is the logarithm to base 2; the softmax is made with e",
        ),
        (
            lambda s, p: _spread(s) / (p.max() / p.min()).log10(),
            "that is the logarithm to base 10; the softmax is made with e",
        ),
        (
            lambda s, p: s.max() / p.max().log(),
            "log p is the score over τ minus log Z: take the difference of two states",
        ),
        (
            lambda s, p: s[0] / p[0].log(),
            "log p is the score over τ minus log Z: take the difference of two states",
        ),
        (lambda s, p: (p.max() / p.min()).log(), "the gap of the scores is missing"),
        (lambda s, p: torch.tensor(1.0), "it is always 1: the temperature must come from p"),
    ],
    look=_whichever,
)
def temperature_of(scores, p):
    """The temperature that made p from the scores."""
    return _spread(scores) / (p.max() / p.min()).log()


_PEAK = 0.41678


@value(
    mistakes=[
        (1.0, "that is the gap itself: the choice melts earlier"),
        (0.4, "close: take more digits, or a finer grid"),
        (0.5, "half the gap is a guess: compute C there and a little below"),
        (1 / _PEAK, "upside down: that is 1/τ"),
        (
            0.4392,
            "that is how large the heat capacity is at its peak, not where; if you read it off as "
            "the place: close, but not close enough",
        ),
        (-_PEAK, "a temperature is positive here"),
    ],
    within=0.005,  # two digits
)
def schottky_peak():
    """The τ at which a two-level system with gap 1 has its largest heat capacity."""
    return _PEAK


@check
def rival(answer) -> str | Verdict:
    """Any distribution over energies 0, 1, 2 with mean energy 0.6, other than the softmax."""
    p = numbers(answer).squeeze()
    energies = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)
    if p.shape != (3,):
        return f"expected three probabilities that sum to 1, got {how_many(p)}"
    if (p < -1e-5).any():
        return "a probability is negative; expected three probabilities that sum to 1"
    total, mean = p.sum().item(), (p @ energies).item()
    if not abs(total - 1) < 1e-5:
        return f"expected three probabilities that sum to 1; they sum to {told_apart(total, 1.0)}"
    if not abs(mean - 0.6) < 1e-5:
        return f"its mean energy is {told_apart(mean, 0.6)}, not 0.6"
    low, high = 0.01, 100.0  # U rises with τ, so halving finds the τ with mean energy 0.6
    for _ in range(60):
        tau = (low + high) / 2
        low, high = (tau, high) if boltzmann.mean_energy(-energies, tau) < 0.6 else (low, tau)
    best = boltzmann.entropy(-energies, tau)
    entropy = torch.special.entr(p.clamp(min=0)).sum()  # −10⁻¹⁶ is a 0 that was computed
    if best - entropy < 1e-6:
        return "that is the softmax, or within a millionth of its entropy: go a little further away"
    gap = f"{best - entropy:.2g} below that of the softmax, {best:.4f}"
    return Verdict(True, f"Right. Its entropy is {entropy:.4f}, {gap}.")
