"""Every check passes its right answer, fails the known wrong ones, and says why."""

import math

import pytest
import torch

from hydra_lib import apply_mask, causal_mask, probabilities
from hydra_lib.exercises import Verdict, aggregation, check, masking, softmax

EYE = torch.eye


def rows_of(w):
    return w / w.sum(-1, keepdim=True)


RIGHT = [
    (aggregation.predicted_mean, 5),
    (aggregation.previous, lambda T: torch.diag(torch.ones(T - 1), -1)),
    (aggregation.differences, lambda T: EYE(T) - torch.diag(torch.ones(T - 1), -1)),
    (aggregation.next_number, [0, 0, -1, 2]),
    (aggregation.normalized, rows_of),
    (masking.predicted_leak, 0.8),
    (masking.strictly_before, lambda T: torch.ones(T, T).tril(-1).bool()),
    (masking.packed, lambda ids: (ids[:, None] == ids) & causal_mask(len(ids))),
    (masking.masked_weights, lambda s, m: probabilities(apply_mask(s, m))),
    (masking.gradient_pairs, 28),
    (softmax.ten_times, 2 / math.log(10)),
    (softmax.stable_softmax, lambda s: torch.softmax(s, -1)),
    (softmax.temperature_of, lambda s, p: (s[0] - s[1]) / (p[0] / p[1]).log()),
    (softmax.schottky_peak, 0.4168),
    (softmax.rival, [0.7, 0.0, 0.3]),
]
WRONG = [
    (aggregation.predicted_mean, 20, "20 is the running sum"),
    (aggregation.predicted_mean, 6, "6 is not it"),
    (aggregation.previous, lambda T: torch.diag(torch.ones(T - 1), 1), "one step ahead"),
    (aggregation.previous, lambda T: EYE(T), "for T = 2: entry [0, 0] should be 0, is 1"),
    (aggregation.previous, EYE(3), "raised TypeError"),
    (aggregation.differences, lambda T: EYE(T), "should be the identity"),
    (aggregation.next_number, [0.5, 0.5, 0.5, 0.5], "[8, 10, 12, 14] goes on with 16, not 22"),
    (aggregation.next_number, [1, 2], "expected 4 weights, got shape (2,)"),
    (aggregation.normalized, lambda w: w / w.sum(0, keepdim=True), "the columns sum to 1"),
    (aggregation.normalized, lambda w: w, "for T = 2"),
    (masking.predicted_leak, 0.2, "1/5 is what each single position gets"),
    (masking.predicted_leak, 0.5, "0.5 is not it"),
    (masking.strictly_before, causal_mask, "it lets every position see itself"),
    (masking.strictly_before, lambda T: torch.ones(T, T).tril(-1), "expected a boolean tensor"),
    (masking.packed, lambda ids: ids[:, None] == ids, "it looks ahead"),
    (masking.packed, lambda ids: causal_mask(len(ids)), "for documents [0, 0, 1, 1, 1, 2]"),
    (masking.packed, lambda ids: ids, "expected a boolean tensor"),
    (masking.masked_weights, lambda s, m: torch.softmax(s, -1) * m, "a row must sum to 1"),
    (masking.masked_weights, lambda s, m: torch.softmax(s * m, -1), "for T = 3"),
    (masking.gradient_pairs, 49, "no gradient flows there"),
    (masking.gradient_pairs, 21, "a position sees itself"),
    (softmax.ten_times, 1.0, "times as probable"),
    (softmax.ten_times, -1.0, "raised ValueError: tau must lie in"),
    (softmax.stable_softmax, lambda s: s.exp() / s.exp().sum(-1, keepdim=True), "NaN for scores"),
    (softmax.stable_softmax, lambda s: torch.softmax(s, 0), "for scores [0.0, 1.0, 3.0]"),
    (softmax.temperature_of, lambda s, p: torch.tensor(1.0), "at τ = 0.3: 1 is not it"),
    (softmax.schottky_peak, 1.0, "and larger elsewhere"),
    (softmax.rival, [0.5, 0.5, 0.5], "three probabilities that sum to 1"),
    (softmax.rival, [0.2, 0.4, 0.4], "its mean energy is 1.2, not 0.6"),
]


def name(case):
    return getattr(case[0], "__name__", "")


@pytest.mark.parametrize("case", RIGHT, ids=name)
def test_right_answers_pass(case):
    verdict = case[0](case[1])
    assert verdict, verdict
    assert repr(verdict).startswith("✓ Right.")


@pytest.mark.parametrize("case", WRONG, ids=name)
def test_wrong_answers_are_told_why(case):
    verdict = case[0](case[1])
    assert verdict.right is False
    assert case[2] in repr(verdict)


def test_the_softmax_is_not_its_own_rival():
    low, high = 0.01, 100.0
    energies = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)
    for _ in range(80):
        tau = (low + high) / 2
        p = probabilities(-energies, tau)
        low, high = (tau, high) if (p @ energies) < 0.6 else (low, tau)
    verdict = softmax.rival(p)
    assert verdict.right is False
    assert "that is the softmax itself" in verdict.says


def test_every_exercise_is_tested_both_ways():
    everything = {
        getattr(module, exercise)
        for module in (aggregation, masking, softmax)
        for exercise in module.__all__
    }
    assert {case[0] for case in RIGHT} == everything
    assert {case[0] for case in WRONG} == everything


@pytest.mark.parametrize("case", RIGHT, ids=name)
@pytest.mark.parametrize("blank", [..., None])
def test_no_answer_is_not_a_wrong_answer(case, blank):
    verdict = case[0](blank)
    assert verdict.right is None
    assert not verdict


def test_a_check_may_return_its_own_verdict():
    assert check(lambda answer: Verdict(True, "fine"))(1) == Verdict(True, "fine")
