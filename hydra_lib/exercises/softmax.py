"""Checks of the exercises of chapter 03."""

import math

import torch

from hydra_lib import boltzmann
from hydra_lib.exercises import Verdict, check, same

__all__ = ["rival", "schottky_peak", "stable_softmax", "temperature_of", "ten_times"]


@check
def ten_times(answer) -> str | None:
    """The τ at which score 3 is ten times as probable as score 1."""
    if not float(answer) > 0:
        return "a temperature is a positive number here"
    if wrong := same(answer, torch.tensor(2 / math.log(10)), 1e-3):
        p = boltzmann.probabilities(torch.tensor([3.0, 1.0], dtype=torch.float64), float(answer))
        return f"{wrong}: at that τ it is {(p[0] / p[1]).item():.4g} times as probable"
    return None


@check
def stable_softmax(answer) -> str | None:
    """``answer(scores)``: softmax along the last axis that survives large scores."""
    for scores in (
        [[0.0, 1.0, 3.0], [3.0, 1.0, 0.0]],
        [[1000.0, 999.0, 0.0], [0.0, 999.0, 1000.0]],
        [[-1000.0, -1000.0, -1001.0], [-1001.0, -1000.0, -1000.0]],
        [[0.0, 0.0, 1.0], [-2000.0, -2000.0, -2001.0]],  # no one shift serves both rows
        [[3000.0, 0.0, 0.0], [0.0, 0.0, 0.0]],  # the mean is no safe shift
    ):
        s = torch.tensor(scores, dtype=torch.float64)
        got = torch.as_tensor(answer(s.clone()))
        if got.isnan().any():
            return f"NaN for scores {scores}: exp overflows, or every exp underflows to 0"
        if wrong := same(got, boltzmann.probabilities(s)):
            if not same(got, boltzmann.probabilities(s.mT).mT):
                return "your columns sum to 1: the sum must run along the last axis, over the keys"
            return f"for scores {scores}: {wrong}"
    return None


@check
def temperature_of(answer) -> str | None:
    """``answer(scores, p)``: the temperature that made p from the scores."""
    for row in ([2.0, 0.5, -1.0], [2.0, 2.0, 0.0]):
        scores = torch.tensor(row, dtype=torch.float64)
        for tau in (0.3, 1.0, 4.0):
            got = answer(scores, boltzmann.probabilities(scores, tau))
            if wrong := same(got, torch.tensor(tau), 1e-4):
                return f"for scores {row} at τ = {tau}: {wrong}"
    return None


@check
def schottky_peak(answer) -> str | None:
    """The τ at which a two-level system with gap 1 has its largest heat capacity."""
    if wrong := same(answer, torch.tensor(0.41678), 1e-2):
        scores = torch.tensor([0.0, -1.0], dtype=torch.float64)
        here = boltzmann.heat_capacity(scores, float(answer)).item()
        return f"{wrong}: C is {here:.4f} there, and larger elsewhere"
    return None


@check
def rival(answer) -> str | Verdict:
    """Any distribution over energies 0, 1, 2 with mean energy 0.6, other than the softmax."""
    p = torch.as_tensor(answer, dtype=torch.float64)
    energies = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)
    if p.shape != (3,) or not ((p >= 0).all() and abs(p.sum() - 1) < 1e-6):
        return "expected three probabilities that sum to 1"
    if abs((p * energies).sum() - 0.6) > 1e-6:
        return f"its mean energy is {(p * energies).sum():.4g}, not 0.6"
    low, high = 0.01, 100.0  # U rises with τ, so halving finds the τ with mean energy 0.6
    for _ in range(60):
        tau = (low + high) / 2
        low, high = (tau, high) if boltzmann.mean_energy(-energies, tau) < 0.6 else (low, tau)
    best = boltzmann.entropy(-energies, tau)
    entropy = torch.special.entr(p).sum()
    if best - entropy < 1e-6:
        return "that is the softmax itself: find another one"
    gap = f"{best - entropy:.2g} below that of the softmax, {best:.4f}"
    return Verdict(True, f"Right. Its entropy is {entropy:.4f}, {gap}.")
