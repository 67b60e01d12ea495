"""Every check passes its right answer, fails the known wrong ones, and says why."""

import math

import numpy as np
import pytest
import torch

from hydra_lib import apply_mask, causal_mask, merge_heads, probabilities, split_heads
from hydra_lib.exercises import (
    Verdict,
    aggregation,
    attention,
    backward,
    check,
    heads,
    learned,
    masking,
    scaling,
    softmax,
    strassen,
    timing,
)

EYE = torch.eye
MODULES = (
    *(aggregation, attention, backward, heads, learned),
    *(masking, scaling, softmax, strassen, timing),
)


def rows_of(w):
    return w / w.sum(-1, keepdim=True)


def peel_without_the_last_terms(a, b):
    c = a @ b
    c[:-1, :-1] = a[:-1, :-1] @ b[:-1, :-1]
    return c


def soft(s):
    return torch.softmax(s, -1)


def same_symbol(ids):
    return (ids[:, None] == ids) & torch.ones(len(ids), len(ids)).tril(-1).bool()


def induction_targets(ids):
    return torch.nn.functional.pad(same_symbol(ids)[:, :-1], (1, 0)).tril()


def without_columns(W_o, head, d_k):
    W_o = W_o.clone()
    W_o[:, head * d_k : (head + 1) * d_k] = 0
    return W_o


def fair(stream):
    stream.synchronize()
    return unprepared(stream)


def unprepared(stream):
    start = stream.clock()
    stream.launch()
    stream.synchronize()
    return stream.clock() - start


def launch_only(stream):
    start = stream.clock()
    stream.launch()
    return stream.clock() - start


def tile_mask(first_row, first_column, rows, columns, length):
    row = first_row + torch.arange(rows)[:, None]
    column = first_column + torch.arange(columns)
    return (column <= row) & (column < length)


def merged(m1, l1, o1, m2, l2, o2):
    m = torch.maximum(m1, m2)
    f1, f2 = (m1 - m).exp(), (m2 - m).exp()
    return m, f1 * l1 + f2 * l2, f1 * o1 + f2 * o2


def plainly_merged(m1, l1, o1, m2, l2, o2):
    return torch.maximum(m1, m2), l1 + l2, o1 + o2


def exp_rows(s):
    return s.exp() / s.exp().sum(-1, keepdim=True)


RIGHT = [
    (aggregation.predicted_mean, 5),
    (aggregation.predicted_mean, torch.tensor([[5.0]])),
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
    (softmax.temperature_of, lambda s, p: (s[0] - s[-1]) / (p[0] / p[-1]).log()),
    (softmax.schottky_peak, 0.42),
    (softmax.rival, [0.7, 0.0, 0.3]),
    (scaling.predicted_variance, 1024),
    (scaling.right_temperature, lambda d_k, sigma: sigma**2 * math.sqrt(d_k)),
    (scaling.uniform, 4.0),
    (scaling.shifted, 1e-12),
    (scaling.attention_weights, lambda q, k: torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1)),
    (attention.by_hand, [0.42, 0.16, 0.42]),
    (attention.attend, lambda q, k, v: torch.softmax(q @ k.mT / 7**0.5, -1) @ v),
    (attention.hard_lookup, lambda q, k, v: v[(q @ k.mT).argmax(-1)]),
    (attention.shuffled, lambda out, order: out[order]),
    (attention.crossing, lambda d: d),
    (heads.head_count, [1, 2, 3, 4, 6, 8, 9, 12]),
    (heads.split, split_heads),
    (heads.merge, merge_heads),
    (heads.with_output_projection, lambda x, W: merge_heads(x) @ W),
    (heads.per_head_parameters, 294912),
    (strassen.flipped_sign, (5, 1, 1)),
    (strassen.multiplications, 7**4 * 64**3),
    (strassen.crossover, lambda p, q: 15 * p / q),
    (strassen.peel, lambda a, b: a @ b),
    (strassen.assemble, lambda *c: np.block([[c[0], c[1]], [c[2], c[3]]])),
    (learned.first_floor, 3.3393),
    (learned.previous_score, lambda w: w.diagonal(-1).mean()),
    (learned.uniform_score, (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4),
    (learned.induction_targets, induction_targets),
    (learned.without_head, without_columns),
    (backward.first_scores, [1.5, -0.25, -1.25]),
    (backward.score_gradient, lambda p, g: p * (g - (p * g).sum(-1, keepdim=True))),
    (backward.delta, lambda grad, out: (grad * out).sum(-1)),
    (backward.weights_again, lambda s, z: (s - z.nan_to_num(neginf=0.0)[:, None]).exp()),
    (backward.flops, 14 * 1024**2 * 768),
    (backward.saved_numbers, 16_384),
    (timing.stopwatch, fair),
    (timing.bytes_moved, 8 * 8 * 12 * 1024 * 64),
    (timing.least_time, lambda f, b, peak, width: max(f / peak, b / width)),
    (timing.tile_mask, tile_mask),
    (timing.merged, merged),
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
    (softmax.ten_times, -1.0, "a temperature is a positive number here"),
    (softmax.stable_softmax, lambda s: s.exp() / s.exp().sum(-1, keepdim=True), "NaN for scores"),
    (softmax.stable_softmax, lambda s: torch.softmax(s, 0), "your columns sum to 1"),
    (softmax.stable_softmax, lambda s: exp_rows(s - s.max()), "NaN for scores [[0.0, 0.0, 1.0]"),
    (softmax.stable_softmax, lambda s: exp_rows(s - s.mean(-1, True)), "NaN for scores [[3000"),
    (softmax.temperature_of, lambda s, p: (s[0] - s[1]) / (p[0] / p[1]).log(), "[2.0, 2.0, 0.0]"),
    (softmax.rival, [float("nan")] * 3, "three probabilities that sum to 1"),
    (
        masking.masked_weights,
        lambda s, m: torch.softmax(s.masked_fill(~m, -1e9), -1),
        "near -1e+09",
    ),
    (masking.masked_weights, lambda s, m: torch.softmax(s.masked_fill(~m, -25), -1), "not zero"),
    (
        masking.masked_weights,
        lambda s, m: probabilities(apply_mask(s, causal_mask(len(s)))),
        "T = 5",
    ),
    (
        softmax.temperature_of,
        lambda s, p: torch.tensor(1.0),
        "for scores [2.0, 0.5, -1.0] at τ = 0.3: 1 is not it",
    ),
    (softmax.schottky_peak, 1.0, "and larger elsewhere"),
    (softmax.rival, [0.5, 0.5, 0.5], "three probabilities that sum to 1"),
    (softmax.rival, [0.2, 0.4, 0.4], "its mean energy is 1.2, not 0.6"),
    (scaling.predicted_variance, 256, "each product q_c k_c has variance"),
    (scaling.right_temperature, lambda d_k, sigma: d_k**0.5, "is right for σ = 1 only"),
    (scaling.right_temperature, lambda d_k, sigma: sigma * d_k**0.5, "q and k both carry a σ"),
    (scaling.right_temperature, lambda d_k, sigma: d_k, "for d_k = 64, σ = 1.0"),
    (scaling.uniform, 36, "has variance 1/3"),
    (scaling.uniform, 12, "d_k times one variance"),
    (scaling.shifted, 100, "100 is not it"),
    (scaling.attention_weights, lambda q, k: soft(q @ k.mT / (q[:, 0].numel() ** 0.5)), "√d_model"),
    (scaling.attention_weights, lambda q, k: soft(q @ k.mT), "does not scale"),
    (scaling.attention_weights, lambda q, k: q @ k.mT, "for h = 2, d_k = 5"),
    (attention.by_hand, [0.47, 0.06, 0.47], "not divided by √d_k = 2"),
    (attention.by_hand, [0.3, 0.4, 0.3], "entry [0] should be"),
    (attention.attend, lambda q, k, v: torch.softmax(q @ k.mT / 7**0.5, 0) @ v, "over the queries"),
    (attention.attend, lambda q, k, v: soft(q @ k.mT) @ v, "not divided by √d_k"),
    (attention.attend, lambda q, k, v: v, "entry [0, 0] should be"),
    (attention.hard_lookup, lambda q, k, v: soft(q @ k.mT) @ v, "entry [0, 0] should be"),
    (attention.shuffled, lambda out, order: out, "each row moves with its token"),
    (attention.shuffled, lambda out, order: out[order.argsort()], "the inverse"),
    (attention.crossing, lambda d: 2 * d, "for d = 512 you said 1024"),
    (heads.head_count, [1, 2, 5], "72 / 5 leaves a remainder of 2"),
    (heads.head_count, [1, 2, 3, 4, 6, 8, 9, 12, 18], "18 is more than 16"),
    (heads.head_count, [1, 2, 3], "some are missing: 4 divides 72"),
    (heads.split, lambda x, h: x.reshape(h, len(x), -1), "holds entry 4 of token 1"),
    (heads.split, lambda x, h: x, "expected shape"),
    (heads.merge, lambda x: x.reshape(x.shape[1], -1), "swap the axes back"),
    (heads.merge, lambda x: x, "expected shape"),
    (heads.with_output_projection, lambda x, W: merge_heads(x), "W_O is missing"),
    (heads.with_output_projection, lambda x, W: merge_heads(x) @ W.T, "W_O transposed"),
    (heads.per_head_parameters, 98304, "a head has its own part of three"),
    (heads.per_head_parameters, 7077888, "of all heads together"),
    (strassen.flipped_sign, (4, 0, 0), "counted from 0"),
    (strassen.flipped_sign, (1, 1, 1), "does not mend it"),
    (strassen.flipped_sign, (2, 1, 1), "product 2 does not land in row 1, column 1"),
    (strassen.flipped_sign, (8, 1, 1), "there are 7 products"),
    (strassen.flipped_sign, (5, 1), "expected (product, row, column), got 2 numbers"),
    (strassen.multiplications, 7**10, "down to single numbers"),
    (strassen.multiplications, 1024**3, "the plain way"),
    (strassen.crossover, lambda p, q: 18 * p / q, "for p = 1e+11"),
    (strassen.peel, peel_without_the_last_terms, "lacks the last column of a"),
    (strassen.peel, lambda a, b: a, "for n = 3"),
    (strassen.assemble, lambda *c: np.block([[c[0], c[1]], [c[2], c[3]]]) * 1.0, "came out"),
    (strassen.assemble, lambda *c: np.block([[c[0], c[2]], [c[1], c[3]]]), "should be"),
    (learned.first_floor, math.log(32), "all equally likely"),
    (learned.first_floor, 3.3393 / math.log(2), "in bits"),
    (learned.first_floor, 3.0, "3 is not it"),
    (learned.previous_score, lambda w: w.diagonal().mean(), "on the position itself"),
    (learned.previous_score, lambda w: w.diagonal(-1).sum() / len(w), "4 that count"),
    (learned.previous_score, lambda w: w.diagonal(-2).mean(), "is not it"),
    (learned.uniform_score, 0.2, "only i + 1 keys"),
    (learned.uniform_score, sum(1 / (i + 1) for i in range(5)) / 5, "does not count"),
    (learned.uniform_score, 0.9, "0.9 is not it"),
    (learned.induction_targets, same_symbol, "the earlier copy of the symbol itself"),
    (learned.induction_targets, lambda ids: torch.ones(len(ids), len(ids)), "its future"),
    (learned.induction_targets, lambda ids: 0 * EYE(len(ids)), "entry [4, 2] should be 1"),
    (learned.without_head, lambda W, head, d: W.index_fill(0, torch.tensor([2, 3]), 0), "rows"),
    (learned.without_head, lambda W, head, d: W, "entry [0, 2] should be 0"),
    (learned.without_head, lambda W, head, d: W.zero_(), "work on a copy"),
    (backward.first_scores, [4, 1, 0], "take away p_j"),
    (backward.first_scores, [1, 1, 1], "should be 1.5"),
    (backward.score_gradient, lambda p, g: p * g, "share one unit"),
    (backward.score_gradient, lambda p, g: p * (g - (p * g).sum(0)), "down the columns"),
    (backward.score_gradient, lambda p, g: p, "should be"),
    (backward.delta, lambda grad, out: grad @ out.mT, "the rows meet themselves only"),
    (backward.delta, lambda grad, out: (grad * out).sum(0), "expected shape (7,)"),
    (backward.weights_again, lambda s, z: (s - z[:, None]).exp(), "it wants zeros"),
    (backward.weights_again, lambda s, z: soft(s).nan_to_num(), "by itself"),
    (backward.weights_again, lambda s, z: s.exp(), "should be"),
    (backward.flops, 12 * 1024**2 * 768, "one product more"),
    (backward.flops, 10 * 1024**2 * 768, "the backward pass alone"),
    (backward.flops, 7 * 1024**2 * 768, "are two operations"),
    (backward.saved_numbers, 8192, "all its T² entries"),
    (timing.stopwatch, launch_only, "that is the launch"),
    (timing.stopwatch, unprepared, "somebody else's work"),
    (timing.stopwatch, lambda stream: 1.0, "you measured 1 s"),
    (timing.bytes_moved, 4 * 8 * 12 * 1024 * 64, "takes two bytes"),
    (timing.bytes_moved, 6 * 8 * 12 * 1024 * 64, "has to be written too"),
    (timing.least_time, lambda f, b, peak, width: f / peak + b / width, "at the same time"),
    (timing.least_time, lambda f, b, peak, width: min(f / peak, b / width), "not enough"),
    (timing.least_time, lambda f, b, peak, width: 1.0, "you said"),
    (timing.tile_mask, lambda i, j, m, n, T: tile_mask(0, 0, m, n, T if i + j == 0 else 99), "own"),
    (timing.tile_mask, lambda i, j, m, n, T: tile_mask(i, j, m, n, 99), "keys from 3 on"),
    (timing.tile_mask, lambda i, j, m, n, T: torch.zeros(m, n), "should be 1"),
    (timing.merged, plainly_merged, "bring both to the larger one first"),
    (timing.merged, lambda *parts: parts[:3], "should be"),
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
    public = [getattr(module, name) for module in MODULES for name in module.__all__]
    everything = {thing for thing in public if not isinstance(thing, type)}
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
