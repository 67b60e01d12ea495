"""Answers to the exercises: right ways of writing them, and mistakes with the words to be told.

``ANSWERS[check]`` is (right answers, [(wrong answer, words), …]). A verdict names a mistake if it
holds one of its words. An answer is written as a reader would write it: loops, einsum, NumPy,
lists, float32, library calls.
"""

import math
import time
from fractions import Fraction

import numpy as np
import torch
import torch.nn.functional as F

import hydra_lib as hydra

INF = torch.inf
eye, ones, zeros, arange, tensor = torch.eye, torch.ones, torch.zeros, torch.arange, torch.tensor


def soft(s, dim=-1):
    return torch.softmax(s, dim)


def over_the_sum(x, more):
    return x / (x.sum(-1, keepdim=True) + more)


# --- 01 aggregation -----------------------------------------------------------------------------


def previous_by_loop(T):
    w = zeros(T, T)
    for i in range(1, T):
        w[i, i - 1] = 1
    return w


def ahead_by_loop(T):
    w = zeros(T, T)
    for i in range(T - 1):
        w[i, i + 1] = 1
    return w


def forgot_return(T):
    previous_by_loop(T)


def differences_by_loop(T):
    rows = []
    for i in range(T):
        rows.append([1 if j == i else -1 if j == i - 1 else 0 for j in range(T)])
    return rows


def differences_that_wrap(T):
    D = eye(T)
    for i in range(T):
        D[i, i - 1] = -1
    return D


def normalized_by_columns(w):
    out = zeros(w.shape)
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            out[i, j] = w[i, j] / w[:, i].sum()
    return out


def normalized_by_loop(w):
    out = zeros(w.shape)
    for i in range(len(w)):
        out[i] = w[i] / sum(w[i])
    return out


CHAPTER_01 = {
    "aggregation.predicted_mean": (
        [5, 5.0, tensor([[5.0]]), np.mean([3, 9, 6, 2]), tensor(5), [5], Fraction(5)],
        [
            (20 / 5, "divided by five"),
            ([3, 6, 6, 5], "expected one number, got 4"),
            ((5, 5), "a comma separates numbers"),
            (20, "sum"),
            (6, ("third", "count")),
            (2, "value itself"),
            (4, "mean of two"),
            (4.5, "middle"),
            (float("nan"), "nan"),
            ("5", "text"),
            (lambda: 5, "function"),
            (10**400, "expected numbers"),
        ],
    ),
    "aggregation.previous": (
        [
            lambda T: torch.diag(ones(T - 1), -1).to_sparse(),
            lambda T: torch.diag(ones(T - 1), -1),
            previous_by_loop,
            lambda T: np.eye(T, k=-1),
            lambda T: [[int(j == i - 1) for j in range(T)] for i in range(T)],
            lambda T: ones(T, T).tril(-1) - ones(T, T).tril(-2),
            lambda T: eye(T + 1)[:-1, 1:],
            lambda T: arange(T)[:, None] == arange(T) + 1,
        ],
        [
            (previous_by_loop(5), "without calling it"),
            (lambda T: torch.diag(ones(T - 1), 1), "ahead"),
            (ahead_by_loop, "ahead"),
            (lambda T: np.eye(T, k=1), "ahead"),
            (eye, ("itself", "off by one")),
            (lambda T: eye(T, dtype=torch.float64), ("itself", "off by one")),
            (lambda T: torch.diag(ones(T - 2), -2), ("off by one", "two steps")),
            (lambda T: eye(T).roll(1, 0), ("last value", "has none")),
            (lambda T: ones(T, T).tril(-1), "everything"),
            (lambda T: eye(T) + torch.diag(ones(T - 1), -1), "itself"),
            (eye(3), "function"),
            (forgot_return, "return"),
            (lambda: eye(3), "called as"),
            (lambda T: hydra.window_mask(T, 2), "itself"),
        ],
    ),
    "aggregation.differences": (
        [
            lambda T: eye(T) - torch.diag(ones(T - 1), -1),
            differences_by_loop,
            lambda T: np.linalg.inv(np.tril(np.ones((T, T)))),
            lambda T: torch.linalg.inv(hydra.running_sum(T)),
            lambda T: eye(T) - eye(T).roll(1, 0).tril(),
            lambda T: torch.diff(eye(T), dim=0, prepend=zeros(1, T)),
        ],
        [
            (eye, ("identity", "undoes nothing")),
            (lambda T: torch.diag(ones(T - 1), -1), "value itself"),
            (lambda T: eye(T) + torch.diag(ones(T - 1), -1), "added"),
            (lambda T: eye(T) - torch.diag(ones(T - 1), 1), ("transpose", "after")),
            (lambda T: torch.diag(ones(T - 1), -1) - eye(T), "sign"),
            (lambda T: hydra.running_sum(T), "running sum itself"),
            (lambda T: torch.linalg.inv(hydra.running_mean(T)), "mean"),
            (lambda T: eye(T) - ones(T, T).tril(-1), "all values before"),
            (lambda T: 2 * eye(T), ("twice", "2 times")),
            (differences_by_loop(3), "function"),
            (forgot_return, "return"),
            (differences_that_wrap, "nothing before it"),
            (lambda T: 1 / hydra.running_sum(T), "linalg.inv"),
        ],
    ),
    "aggregation.next_number": (
        [
            [0, 0, -1, 2],
            tensor([0.0, 0.0, -1.0, 2.0]),
            np.array([-0.5, 0.0, 0.5, 1.0]),
            tensor([[0.0, 0.0, -1.0, 2.0]]),
            (0, -1, 1, 1),
            tensor([[0], [0], [-1], [2]]),
        ],
        [
            (10, "expected 4 weights, got one"),
            ([0.5] * 4, ("[8, 10, 12, 14]", "twice the average")),
            ([0.25] * 4, "average"),
            ([0, 0, 0, 1], ("repeats", "step is missing")),
            ([2, -1, 0, 0], "revers"),
            ([0, 0, -1, 1], "step alone"),
            ([0, 0, 1, -2], "sign"),
            ([1, 2], "4 weights"),
            (eye(4), "4 weights"),
            (lambda v: 2 * v[3] - v[2], "function"),
            ([0, 0, 0, float("nan")], "nan"),
        ],
    ),
    "aggregation.normalized": (
        [
            lambda w: w / w.sum(-1, keepdim=True),
            normalized_by_loop,
            lambda w: np.asarray(w) / np.asarray(w).sum(axis=1, keepdims=True),
            lambda w: (w.mT / w.sum(1)).mT,
            lambda w: torch.einsum("ij,i->ij", w, 1 / w.sum(1)),
            lambda w: F.normalize(w, p=1, dim=-1),
            lambda w: torch.diag(1 / w.sum(1)) @ w,
            lambda w: [row / row.sum() for row in w],
        ],
        [
            (lambda w: w / w.sum(0, keepdim=True), "columns"),
            (lambda w: w / w.sum(axis=0), "columns"),
            (lambda w: w / w.sum(1, keepdim=True).clamp_min(1), "is below 1"),
            (lambda w: w / w.sum(), "everything"),
            (lambda w: w / w.sum(-1), "keepdim"),
            (lambda w: w / w.sum(dim=1), "keepdim"),
            (soft, "softmax"),
            (lambda w: w / w.max(-1, keepdim=True).values, "largest"),
            (lambda w: w, "nothing has changed"),
            (lambda w: w / w.shape[1], "how many"),
            (lambda w: w / len(w), "how many"),
            (lambda w: w / w.max(), "largest of all"),
            (lambda w: w / arange(1, len(w) + 1)[:, None], "number of the row"),
            (lambda w: w.tril() / w.tril().sum(-1, keepdim=True), "right of the diagonal"),
            (lambda w: w / w.cumsum(-1), "row must sum to 1"),
            (lambda w: F.normalize(w, dim=-1), "length"),
            (lambda w: w / w.mean(-1, keepdim=True), "mean"),
            (lambda w: w / w.sum(0).sum(), "everything"),
            (lambda w: w.T / w.T.sum(0), "transpose"),
            (lambda w: w**2 / w.sum(-1, keepdim=True), "row must sum to 1"),
            (lambda w: print(end=""), "return"),
            (lambda w: 1 / 0, "1 / 0"),
            (normalized_by_columns, "sum of column j"),
        ],
    ),
}

# --- 02 masking ---------------------------------------------------------------------------------


def before_by_loop(T):
    mask = zeros(T, T, dtype=torch.bool)
    for i in range(T):
        mask[i, :i] = True
    return mask


def packed_by_loop(d):
    T = len(d)
    return [[bool(d[i] == d[j] and j <= i) for j in range(T)] for i in range(T)]


def inside(d):
    return d[:, None] == d


def masked_by_loop_unguarded(s, m):
    out = torch.zeros_like(s)
    for i in range(len(s)):
        allowed = s[i][m[i]]
        out[i, m[i]] = (allowed - allowed.max()).exp() / (allowed - allowed.max()).exp().sum()
    return out


def masked_by_loop(s, m):
    out = torch.zeros_like(s)
    for i in range(len(s)):
        if m[i].any():
            out[i, m[i]] = soft(s[i][m[i]])
    return out


def divided(weights, least=0.0):
    return weights / weights.sum(-1, keepdim=True).clamp(min=least)


def masked_numpy(s, m):
    s = np.where(m, s, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    return np.nan_to_num(e / e.sum(-1, keepdims=True))


CHAPTER_02 = {
    "masking.predicted_leak": (
        [4 / 7, tensor(4 / 7), Fraction(4, 7), 1 - 3 / 7, np.float32(4 / 7), [4 / 7], 0.57, 0.571],
        [
            (3 / 7, "rows from 0"),
            (5 / 7, "not in its own future"),
            (0.65, "0.65 is not right"),
            (5 / 8, "0.625 is not right"),
            (1 / 7, "each single position"),
            (0.0, ("nothing leaks", "e^0")),
            (1, "three positions"),
            (3 / 7, "stays with the past"),
            (4 / 5, "first row of five"),
            (4, "share"),
            (57, "per cent"),
            (57.14, "per cent"),
            (57.1, "per cent"),
            (4 / 6, "four of six"),
            (3 / 6, "three of six"),
            (3 / 5, "three of five"),
            (float("nan"), "nan"),
            (0.58, "0.58 is not right"),
        ],
    ),
    "masking.strictly_before": (
        [
            lambda T: ones(T, T).tril(-1).bool(),
            before_by_loop,
            lambda T: np.tri(T, k=-1, dtype=bool),
            lambda T: [[j < i for j in range(T)] for i in range(T)],
            lambda T: arange(T) < arange(T)[:, None],
            lambda T: hydra.causal_mask(T) & ~eye(T).bool(),
        ],
        [
            (hydra.causal_mask, "itself"),
            (lambda T: ones(T, T).tril().bool(), "itself"),
            (lambda T: ones(T, T).triu(1).bool(), ("ahead", "transpose")),
            (lambda T: ~before_by_loop(T), "inverted"),
            (lambda T: ones(T, T).triu().bool(), "inverted"),
            (lambda T: ones(T, T).tril(-2).bool(), "off by one"),
            (lambda T: ones(T, T).bool(), "nothing"),
            (lambda T: ones(T, T).tril(-1), "boolean"),
            (lambda T: zeros(T, T).masked_fill(~before_by_loop(T), -INF), "boolean"),
            (lambda T: torch.diag(ones(T - 1), -1).bool(), "only the one"),
            (before_by_loop(5), "function"),
        ],
    ),
    "masking.packed": (
        [
            lambda d: inside(d) & hydra.causal_mask(len(d)),
            packed_by_loop,
            lambda d: np.tril(np.equal.outer(d.numpy(), d.numpy())),
            lambda d: inside(d).tril(),
            lambda d: (d.unsqueeze(0) == d.unsqueeze(1)).logical_and(ones(len(d), len(d)).tril()),
            lambda d: (d.reshape(-1, 1) == d.reshape(1, -1)).tril(),
        ],
        [
            (lambda d: d[:, None] == d & hydra.causal_mask(len(d)), "binds tighter"),
            (lambda d: inside(d) and hydra.causal_mask(len(d)), "no and, or, not"),
            (inside, "ahead"),
            (lambda d: hydra.causal_mask(len(d)), "boundary"),
            (lambda d: inside(d).tril(-1), ("itself", "off by one")),
            (lambda d: inside(d) | hydra.causal_mask(len(d)), "both"),
            (lambda d: ~inside(d).tril(), "inverted"),
            (lambda d: inside(d).triu(), ("ahead", "transpose")),
            (lambda d: inside(d).tril().float(), "boolean"),
            (lambda d: (~inside(d)).tril(), "other documents"),
            (lambda d: d == d, ("shape", "(T, T)")),
            (lambda d: zeros(inside(d).shape).masked_fill(~inside(d).tril(), -INF), "boolean"),
        ],
    ),
    "masking.masked_weights": (
        [
            lambda s, m: hydra.probabilities(hydra.apply_mask(s, m)),
            masked_by_loop,
            masked_numpy,
            lambda s, m: soft(torch.where(m, s, float("-inf"))).nan_to_num(),
            lambda s, m: soft(s + zeros(s.shape).masked_fill(~m, -INF)).nan_to_num(),
            lambda s, m: soft(s.masked_fill(~m, -INF)).nan_to_num()[None],
            lambda s, m: soft(s.masked_fill(~m, -1e9)) * m,
            lambda s, m: soft(s.masked_fill_(~m, -INF)).nan_to_num(),
            lambda s, m: over_the_sum(s.masked_fill(~m, -INF).exp(), ~m.any(-1, keepdim=True)),
        ],
        [
            (lambda s, m: hydra.probabilities(hydra.apply_mask(s, m), 0), "τ, not the axis"),
            (lambda s, m: soft(hydra.apply_mask(-s, m)).nan_to_num(), "the sign"),
            (lambda s, m: soft(s + ~m * -INF), "0 · −∞"),
            (lambda s, m: soft(s) * m, "sum to 1"),
            (lambda s, m: soft(s).masked_fill(~m, 0), "sum to 1"),
            (lambda s, m: soft(s * m), "zero for −∞"),
            (lambda s, m: soft(s.masked_fill(~m, 0.0)), "zero for −∞"),
            (lambda s, m: soft(torch.where(m, s, 0)), "zero for −∞"),
            (lambda s, m: soft(s.masked_fill(m, -INF)), "inverted"),
            (lambda s, m: hydra.probabilities(s.masked_fill(m, -INF)), "inverted"),
            (lambda s, m: soft(s.masked_fill(~m, -1e9)), "large negative"),
            (lambda s, m: soft(s.masked_fill(~m, -25)), "not zero"),
            (lambda s, m: soft(s.masked_fill(~m, -20)) * m, "300 lower"),
            (lambda s, m: soft(s.masked_fill(~m, -1000)) * m, "1e+06 lower"),
            (lambda s, m: over_the_sum(s.masked_fill(~m, -INF).exp(), 1e-6), "added to the sum"),
            (lambda s, m: soft(s.masked_fill(~m, torch.finfo(s.dtype).min)), "large negative"),
            (lambda s, m: soft(s.masked_fill(~m, -10)), "small number"),
            (lambda s, m: soft(s.masked_fill(~m, -1e4)), "large negative"),
            (lambda s, m: soft(s.masked_fill(~m, -INF), 0), ("axis", "columns")),
            (lambda s, m: soft(s), "nothing is masked"),
            (lambda s, m: s.masked_fill(~m, -INF), "softmax is missing"),
            (lambda s, m: soft(s + m), "adding"),
            (lambda s, m: soft(s.masked_fill(ones(s.shape).triu(1).bool(), -INF)), "given"),
            (lambda s, m: s.exp() * m / (s.exp() * m).sum(), "everything"),
            (lambda s, m: s.exp() * m / (s.exp() * m).sum(-1), "keepdim"),
            (lambda s, m: soft(s[m]), "shape"),
            (lambda s, m: soft(s).masked_fill(~m, -INF), "masked after the softmax"),
            (lambda s, m: soft(soft(s).masked_fill(~m, -INF)), "entry [1, 0]"),
            (lambda s, m: soft(s.masked_fill(~m, -INF)).log(), "logarithms"),
            (lambda s, m: s.exp() * m / ((s.exp() * m).sum(-1, keepdim=True) + 1e-4), "to 0.9999"),
            (lambda s, m: soft(s.masked_fill(~m, 0)) * m, "zero for −∞"),
            (lambda s, m: soft(s.masked_fill(~m.T, -INF)), "transpose"),
            (lambda s, m: torch.where(m, soft(s), 0.0), "sum to 1"),
            (lambda s, m: soft(s.masked_fill(~m, -INF)), "here it is NaN"),
            (lambda s, m: soft(torch.where(m, s, -ones(1) * INF)), "here it is NaN"),
            (lambda s, m: s.exp() * m / (s.exp() * m).sum(-1, keepdim=True), "here it is NaN"),
            (lambda s, m: soft(s.masked_fill(~m, -INF)).nan_to_num(1.0), "here it is [1.0"),
            (lambda s, m: divided(soft(s) * m).nan_to_num(), "mask first"),
            (lambda s, m: divided(soft(s) * m, 1e-12), "mask first"),
            (lambda s, m: divided(s.exp() * m, 1e-30), "mask first"),
            (masked_by_loop_unguarded, "nothing to see gets zero weights; with one, your code"),
            (
                lambda s, m: soft(s.masked_fill(~m, -INF)) if m.any(-1).all() else zeros(s.shape),
                "rows beside it keep theirs",
            ),
            (lambda s, m: soft(s - 1e9 * ~m) * m, "1e+12 higher"),
            (
                lambda s, m: hydra.probabilities(hydra.apply_mask(s, m))[m.any(-1)],
                "a row is missing",
            ),
            (lambda s, m: F.one_hot(s.masked_fill(~m, -INF).argmax(-1), len(s)), "τ = 0"),
        ],
    ),
    "masking.gradient_pairs": (
        [28, 28.0, tensor(28), 7 * 8 // 2, np.int64(28), hydra.causal_mask(7).sum()],
        [
            (7 * 8, "twice"),
            (49 / 2, "the diagonal"),
            (49, "no gradient"),
            (21, "itself"),
            (42, ("future", "different")),
            (15, "five"),
            (7, "(i, i)"),
            (36, "eight"),
            (27, ("one too few", "one less")),
        ],
    ),
}

# --- 03 softmax ---------------------------------------------------------------------------------


def shifted_exp(s, shift):
    e = (s - shift).exp()
    return e / e.sum(-1, keepdim=True)


def softmax_by_loop(s):
    rows = []
    for row in s.tolist():
        top = max(row)
        e = [math.exp(x - top) for x in row]
        rows.append([x / sum(e) for x in e])
    return rows


def softmax_numpy(s):
    s = np.asarray(s)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def top_without_keepdim(s):
    e = (s - s.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1)


SPREAD = [2 / math.log(10), 1 / math.log(10)]

CHAPTER_03 = {
    "softmax.ten_times": (
        [2 / math.log(10), 0.8686, 0.869, tensor(2.0) / tensor(10.0).log(), np.float32(0.8685890)],
        [
            ((0, 87), "0.5, not 0,5"),
            (0.43, "differ by 2"),
            (0.6, "base 2"),
            (0.9, "take more digits"),
            (math.log(10) / 2, "upside down"),
            (2 / math.log2(10), "base 2"),
            (2, "base 10"),
            (1 / math.log(10), "differ by 2"),
            (3 / math.log(10), "difference"),
            (2 * math.log(10), "logarithm"),
            (0.2, "logarithm"),
            (-1.0 * SPREAD[0], "positive"),
            (1.0, ("e²", "7.4", "times as probable")),
            (float("nan"), "nan"),
        ],
    ),
    "softmax.stable_softmax": (
        [
            soft,
            lambda s: shifted_exp(s, s.amax(-1, keepdim=True)),
            softmax_by_loop,
            softmax_numpy,
            lambda s: (s - s.logsumexp(-1, keepdim=True)).exp(),
            lambda s: torch.log_softmax(s, -1).exp(),
            hydra.probabilities,
            lambda s: soft(s.float()),
            lambda s: torch.stack([torch.softmax(row, 0) for row in s]),
        ],
        [
            (lambda s: shifted_exp(s, s.amax(-1)), "largest of row j"),
            (lambda s: soft(s - s.amax(-1)), "largest of row j"),
            (lambda s: soft(s / s.max()), "dividing"),
            (lambda s: shifted_exp(s / s.max(), 0), "dividing"),
            (lambda s: soft(s / s.amax(-1, keepdim=True)), "dividing"),
            (lambda s: soft(-s), "the sign"),
            (lambda s: shifted_exp(s, 1000.0), "no one constant"),
            (lambda s: s - s.max(-1, keepdim=True), "take .values"),
            (lambda s: s.exp() / s.exp().sum(-1, keepdim=True), "overflow"),
            (lambda s: shifted_exp(s, s.max()), ("one shift", "[[0.0, 0.0, 1.0]")),
            (lambda s: shifted_exp(s, s.mean(-1, keepdim=True)), "above the shift"),
            (lambda s: shifted_exp(s, s.min(-1, keepdim=True).values), "minimum"),
            (lambda s: soft(s, 0), "columns"),
            (lambda s: s.exp() / s.exp().sum(0), "columns"),
            (lambda s: soft(s.reshape(-1)).reshape(s.shape), "everything"),
            (top_without_keepdim, "keepdim"),
            (lambda s: s.exp() / s.exp().sum(-1), "keepdim"),
            (lambda s: (s - s.amax(-1, keepdim=True)).exp(), ("divided", "sum to 1")),
            (lambda s: torch.log_softmax(s, -1), "logarithm"),
            (lambda s: soft(s.clamp(-50, 50)), "clamp"),
            (lambda s: s / s.sum(-1, keepdim=True), "exp is missing"),
            (lambda s: s.exp() / s.exp().sum(), "everything"),
            (lambda s: s - s.amax(-1, keepdim=True), ("exp", "softmax")),
        ],
    ),
    "softmax.weights_of": (
        [
            soft,
            softmax_by_loop,
            softmax_numpy,
            lambda s: torch.softmax(s, 1),
            lambda s: torch.softmax(s.T, 0).T,
            lambda s: s.exp() / s.exp().sum(-1, keepdim=True),
            lambda s: [torch.softmax(row, 0).tolist() for row in s],
        ],
        [
            (lambda s: soft(-s), "the sign"),
            (lambda s: torch.softmax(s.T, dim=1), "wrong axis, and transposed"),
            (lambda s: hydra.probabilities(s, 0), "τ, not the axis"),
            (lambda s: soft(s, 0), "columns"),
            (lambda s: s.exp() / s.exp().sum(0), "columns"),
            (lambda s: soft(s.reshape(-1)).reshape(s.shape), "everything"),
            (lambda s: torch.log_softmax(s, -1), "logarithm"),
            (lambda s: s.exp(), "divided"),
            (lambda s: s / s.sum(-1, keepdim=True), "exp is missing"),
            (lambda s: s.exp() / s.exp().sum(-1), "keepdim"),
            (lambda s: soft(s).T, ("axes", "transpose", "entry")),
            (soft(tensor([[1.0, 2.0]])), "function"),
            (lambda s: (s == s.max(-1, keepdim=True).values).double(), "hard and not soft"),
        ],
    ),
    "softmax.temperature_of": (
        [
            lambda s, p: (s.max() - s.min()) / (p.max() / p.min()).log(),
            lambda s, p: (max(s) - min(s)).item() / math.log(max(p) / min(p)),
            lambda s, p: np.ptp(s.numpy()) / np.ptp(np.log(p.numpy())),
            lambda s, p: s.std() / p.log().std(),
            lambda s, p: s.var() / ((s - s.mean()) @ p.log() / (len(s) - 1)),
            lambda s, p: (np.max(s) - np.min(s)) / np.log(np.max(p) / np.min(p)).astype(float),
        ],
        [
            (lambda s, p: (s[0] - s[1]) / (p[0] / p[1]).log(), ("[2.0, 2.0, 0.0]", "same score")),
            (lambda s, p: (s[0] - s[-1]) / (p[0] / p[-1]).log(), "[1.0, 2.0, 1.0]"),
            (lambda s, p: (s[1] - s[2]).item() / math.log(p[1] / p[2]), "[0.0, 2.0, 2.0]"),
            (
                lambda s, p: (
                    (s[0] - s[1 + int(s[0] == s[1])]) / (p[0] / p[1 + int(s[0] == s[1])]).log()
                ),
                "[1.0, 1.0, 1.0, 2.0]",
            ),
            (lambda s, p: (s.max() - s.min()) / (p[0] / p[-1]).log(), "first and last"),
            (lambda s, p: (s[0] - s[-1]) / (p.max() / p.min()).log(), "first and last"),
            (lambda s, p: (p[0] / p[2]).log() / (s[0] - s[2]), "upside down"),
            (lambda s, p: (s[0] - s[2]) / (p[0] / p[2]), "logarithm"),
            (lambda s, p: (s[0] - s[2]) / (p[0] - p[2]), "logarithm"),
            (lambda s, p: (s[2] - s[0]) / (p[0] / p[2]).log(), "sign"),
            (lambda s, p: tensor(1.0), "always 1"),
            (lambda s, p: s[0] / p[0].log(), "difference"),
            (lambda s, p: (p[0] / p[2]).log(), "gap"),
            (lambda s, p: (s[0] - s[2]) / (p[0] / p[2]).log2(), "base 2"),
            (lambda s, p: s / p.log(), ("shape", "one number")),
            (0.3, "function"),
            (
                lambda s, p: round(float((s.max() - s.min()) / (p.max() / p.min()).log()), 2),
                "rounded",
            ),
            (lambda s, p: (s[1] - s[0]) / (p[0] / p[1]).log(), "sign"),
        ],
    ),
    "softmax.schottky_peak": (
        [0.42, 0.417, 0.4168, tensor(0.4167783), np.float32(0.41678), [0.42]],
        [
            (0.4, "a finer grid"),
            (1.0, "gap"),
            (0.5, ("half", "guess")),
            (2.4, "upside down"),
            (0.4392, "how large"),
            (0.405, ("close", "digits")),
            (0.43, ("close", "digits")),
            (0.4, ("close", "digits")),
            (-0.42, "positive"),
            (float("nan"), "nan"),
        ],
    ),
    "softmax.rival": (
        [
            [0.7, 0.6 - 2 * (3 * 0.1), 3 * 0.1],
            [0.7, 0.0, 0.3],
            tensor([0.5, 0.4, 0.1]),
            np.array([0.6, 0.2, 0.2]),
            [[0.55, 0.3, 0.15]],
            [0.7, 0.6 - 2 * (3 * 0.1), 3 * 0.1],  # -1e-16
            tensor([0.7, 0.0, 0.3], dtype=torch.float64),
        ],
        [
            ([0.5, 0.5, 0.5], "sum to 1"),
            ([0.2, 0.4, 0.4], "mean energy"),
            ([float("nan")] * 3, "sum to 1"),
            ([1.2, -1.0, 0.8], "negative"),
            ([0.4, 0.6], "three probabilities"),
            (soft(-tensor([0.0, 1.0, 2.0])), "mean energy"),
            ([1 / 3] * 3, "mean energy"),
            ([0.5543, 0.2915, 0.1543], "they sum to 1.0001"),
            ([0.54999, 0.3, 0.15001], "its mean energy is 0.60002, not 0.6"),
        ],
    ),
}

# --- 04 scaling ---------------------------------------------------------------------------------


def scores(q, k):
    return q @ k.transpose(-2, -1)


def weights_by_loop(q, k):
    out = []
    for head in range(q.shape[0]):
        rows = []
        for i in range(q.shape[1]):
            row = torch.stack([q[head, i] @ k[head, j] for j in range(k.shape[1])])
            rows.append(soft(row / math.sqrt(q.shape[2])))
        out.append(torch.stack(rows))
    return out


def weights_numpy(q, k):
    s = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


CHAPTER_04 = {
    "scaling.predicted_variance": (
        [1024, 1024.0, 64 * 16, tensor([1024]), np.float32(1024), tensor(2.0) ** 10],
        [
            (64 * 4 + 64 * 4, "factors multiply"),
            (16384, "16384 is not right"),
            (256, "each product"),
            (128, "each product"),
            (32, "standard deviation"),
            (64, "standard deviation 1"),
            (16, "one product"),
            (512, "σ²"),
            (8, ("√d_k", "root")),
            (64 * 2 ^ 4, "a power is **"),
            (64 * 16 / 64, "divided by √d_k"),
        ],
    ),
    "scaling.right_temperature": (
        [
            lambda d_k, sigma: sigma**2 * math.sqrt(d_k),
            lambda d_k, sigma: (d_k * sigma**4) ** 0.5,
            lambda d_k, sigma: np.sqrt(d_k) * sigma * sigma,
            lambda d_k, sigma: tensor(d_k * sigma**4).sqrt(),
            lambda d_k, sigma: torch.sqrt(d_k * sigma**4),
            lambda d_k, s: [s * s * d_k**0.5],
        ],
        [
            (lambda d_k, sigma: d_k**0.5, "σ = 1 only"),
            (lambda d_k, sigma: math.isqrt(d_k) * sigma**2, "d_k = 32"),
            (lambda d_k, sigma: sigma * d_k**0.5, "both carry a σ"),
            (lambda d_k, sigma: d_k * sigma**4, "variance"),
            (lambda d_k, sigma: d_k * sigma**2, "√d_k belongs"),
            (lambda d_k, sigma: d_k, "√d_k belongs"),
            (lambda d_k, sigma: sigma**4 * d_k**0.5, "root"),
            (lambda d_k, sigma: 1 / (sigma**2 * d_k**0.5), "upside down"),
            (8.0, "function"),
            (lambda d_k: d_k**0.5, "called as"),
            (lambda d_k, sigma: sigma**2 * d_k**1 / 2, "x**0.5"),
            (lambda d_k, sigma: round(sigma**2 * math.sqrt(d_k), 2), "all its digits"),
            (lambda d_k, sigma: (d_k * sigma ^ 4) ** 0.5, "a power is **"),
            (lambda sigma, d_k: sigma**2 * math.sqrt(d_k), "but your function takes (sigma, d_k)"),
        ],
    ),
    "scaling.uniform": (
        [4, 4.0, 36 / 9, tensor(36 * (1 / 3) ** 2), Fraction(4), np.float64(4)],
        [
            (36 * (2 / 3) ** 2, "density"),
            (36, "1/3"),
            (12, "one variance"),
            (2, "standard deviation"),
            (1 / 9, "one product"),
            (0.25, "length"),
            (3, "length"),
            (9, "1/4"),
            (1 / 3, ("one entry", "entry")),
            (36 * 0.333**2, "1/3 was rounded"),
            (4 / 36, "divided by √d_k"),
        ],
    ),
    "scaling.lead_for_half": (
        [math.log(4095), math.log(4096), 8.32, tensor(8.3175), [np.log(4095)]],
        [
            (4095, "its logarithm"),
            (4096, "its logarithm"),
            (12, "base 2"),
            (3.61, "base 10"),
            (math.log(2), "one other key"),
            (0, "1/4096"),
            (0.5, "the lead"),
            (4.08, "normal scores"),
            (8.2, "close"),
            (7.62, "half of the keys"),
            (math.log(2047), "half of the keys"),
            (-8.318, "the sign"),
            (INF, "inf"),
        ],
    ),
    "scaling.attention_weights": (
        [
            lambda q, k: soft(scores(q, k) / q.shape[-1] ** 0.5),
            weights_by_loop,
            weights_numpy,
            lambda q, k: soft(torch.einsum("hid,hjd->hij", q, k) / math.sqrt(q.size(-1))),
            lambda q, k: F.scaled_dot_product_attention(
                q, k, eye(k.shape[1]).expand(len(k), -1, -1)
            ),
            lambda q, k: soft(torch.bmm(q * tensor(q.shape[2] ** -0.5), k.mT)),
            lambda q, k: soft(scores(q, k) / torch.full((1, 1, 1), q.shape[-1] ** 0.5)),
        ],
        [
            (lambda q, k: soft(-scores(q, k) / q.shape[-1] ** 0.5), "the sign"),
            (
                lambda q, k: soft(
                    hydra.apply_mask(
                        scores(q, k) / q.shape[-1] ** 0.5, hydra.causal_mask(q.shape[1])
                    )
                ),
                "causal",
            ),
            (lambda q, k: soft(q @ k.T), ".mT swaps the last two"),
            (lambda q, k: soft(scores(q, k) / (q[:, 0].numel() ** 0.5)), "√d_model"),
            (lambda q, k: soft(scores(q, k) / math.sqrt(q.shape[0] * q.shape[2])), "√d_model"),
            (lambda q, k: soft(scores(q, k)), "does not scale"),
            (lambda q, k: soft(scores(q, k) / q.shape[-1]), "divides by d_k"),
            (lambda q, k: soft(scores(q / q.shape[-1] ** 0.5, k) / q.shape[-1] ** 0.5), "twice"),
            (lambda q, k: soft(scores(q, k)) / q.shape[-1] ** 0.5, "after the softmax"),
            (lambda q, k: soft(scores(q, k) / q.shape[1] ** 0.5), "√T"),
            (lambda q, k: soft(scores(q, k) * q.shape[-1] ** 0.5), "multiplies"),
            (lambda q, k: soft(scores(q, k) / q.shape[-1] ** 0.5, -2), "axis"),
            (lambda q, k: soft(scores(q, k) / q.shape[-1] ** 0.5, 0), "axis"),
            (lambda q, k: scores(q, k) / q.shape[-1] ** 0.5, "softmax is missing"),
            (lambda q, k: scores(q, k), "softmax"),
            (lambda q, k: soft(scores(q, k)) / q.shape[-1], "after the softmax"),
            (lambda q, k: soft(q.mT @ k / q.shape[-1] ** 0.5), "transpose"),
            (lambda q, k: soft(scores(q, k) / (q.shape[1] * q.shape[2]) ** 0.5), "√(T d_k)"),
            (lambda q, k: soft(q @ k / q.shape[-1] ** 0.5), "transpose"),
            (lambda q, k: soft(scores(k, q) / q.shape[-1] ** 0.5), "keys ask"),
            (lambda q, k: soft(q @ k.mT / q.shape[-1] ** 1 / 2), "x**0.5"),
            (lambda q, k: soft(q @ k.mT / (q.shape[-1] ** 1 / 2)), "x**0.5"),
        ],
    ),
}

# --- 05 attention -------------------------------------------------------------------------------


def s_of(q, k):
    return q @ k.T / math.sqrt(q.shape[-1])


def attend_by_loop(q, k, v):
    out = zeros(len(q), v.shape[1])
    for i in range(len(q)):
        w = soft(torch.stack([q[i] @ k[j] for j in range(len(k))]) / math.sqrt(k.shape[1]))
        for j in range(len(k)):
            out[i] += w[j] * v[j]
    return out


def attend_numpy(q, k, v):
    q, k, v = q.numpy(), k.numpy(), v.numpy()
    w = np.exp(q @ k.T / np.sqrt(q.shape[-1]))
    return (w / w.sum(-1, keepdims=True)) @ v


def attend_without_keepdim(q, k, v):
    e = s_of(q, k).exp()
    return e / e.sum(-1) @ v


E = math.e

CHAPTER_05 = {
    "attention.by_hand": (
        [
            [0.42, 0.16, 0.42],
            soft(tensor([1.0, 0.0, 1.0])),
            np.array([E, 1, E]) / (2 * E + 1),
            tensor([[0.4223, 0.1554, 0.4223]]),
            (0.422, 0.155, 0.422),
        ],
        [
            ([42.2, 15.5, 42.2], "per cent"),
            ([0, 42, 0, 16, 0, 42], "expected 3 numbers, got 6: a comma"),
            (0.42, "expected 3 numbers, got one"),
            ([0.47, 0.06, 0.47], "√d_k"),
            ([0.38, 0.23, 0.38], "twice"),
            ([1, 0, 1], "softmax is missing"),
            ([2, 0, 2], "softmax"),
            ([1, 0, 0], "causal"),
            ([0.5, 0, 0.5], "e^0"),
            ([0.33, 0.33, 0.33], "equally"),
            (soft(tensor([2.0, 0.0, 2.0]) / 3**0.5), "√3"),
            (soft(tensor([2.0, 0.0, 2.0]) / 3), "divided by 3"),
            ([0.4, 0.2, 0.4], "powers of 2"),
            ([42, 16, 42], "per cent"),
            ([0.21, 0.08, 0.21], "after the softmax"),
            ([0.42, 0.16], "expected 3 numbers, got 2"),
            ([0.3, 0.4, 0.3], ("wrong way", "entry [0]")),
        ],
    ),
    "attention.attend": (
        [
            lambda q, k, v: soft(s_of(q, k)) @ v,
            attend_by_loop,
            attend_numpy,
            F.scaled_dot_product_attention,
            lambda q, k, v: hydra.scaled_dot_product_attention(q, k, v),
            lambda q, k, v: torch.einsum(
                "ij,jd->id", soft(torch.einsum("ic,jc->ij", q, k) / 7**0.5), v
            ),
            lambda q, k, v: soft(q @ k.mT / tensor([7.0]).sqrt()) @ v,
            lambda q, k, v: soft(s_of(q, k)).float() @ v.float(),
            lambda q, k, v: list(soft(s_of(q, k)) @ v),
        ],
        [
            (lambda q, k, v: soft(q @ k.T / 4**0.5) @ v, "q.shape[-1]"),
            (lambda q, k, v: soft(s_of(q, k)) @ v.T, "one too many"),
            (lambda q, k, v: v @ soft(s_of(q, k)), "the order"),
            (lambda q, k, v: soft(s_of(q, k), 0) @ v, "over the queries"),
            (lambda q, k, v: soft(q @ k.T) @ v, "√d_k"),
            (lambda q, k, v: soft(q @ k.T / q.shape[-1]) @ v, "divided by d_k"),
            (lambda q, k, v: soft(s_of(q, k) / 7**0.5) @ v, "twice"),
            (lambda q, k, v: soft(q @ k.T) / 7**0.5 @ v, "after the softmax"),
            (lambda q, k, v: soft(q @ k.T / len(q) ** 0.5) @ v, "√T"),
            (lambda q, k, v: soft(q @ k.T * 7**0.5) @ v, "multiplied"),
            (lambda q, k, v: s_of(q, k) @ v, "softmax is missing"),
            (lambda q, k, v: soft(s_of(q, k)), "weights"),
            (lambda q, k, v: soft(s_of(q, k)).T @ v, "transposed"),
            (lambda q, k, v: soft(q @ k / 7**0.5) @ v, "transpose"),
            (lambda q, k, v: soft(s_of(k, q)) @ v, "keys ask"),
            (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), "causal"),
            (attend_without_keepdim, "keepdim"),
            (lambda q, k, v: v, "values"),
            (lambda q, k, v: s_of(q, k).exp() @ v, "sum"),
            (lambda q, k, v: soft(s_of(q, k)) @ v / 7**0.5, "after the softmax"),
            (lambda q, k, v: soft(q @ k.T / 10**0.5) @ v, "d_k + d_v"),
            (lambda q, k, v: soft(s_of(q, k).flatten()).reshape(len(q), -1) @ v, "everything"),
            (lambda q, k: soft(s_of(q, k)), "called as"),
            (lambda q, k, v: soft(q @ k.mT / q.shape[-1] ** 1 / 2) @ v, "x**0.5"),
        ],
    ),
    "attention.hard_lookup": (
        [
            lambda q, k, v: v[(q @ k.T).argmax(-1)],
            lambda q, k, v: hydra.scaled_dot_product_attention(q, k, v, temperature=0),
            lambda q, k, v: [v[max(range(len(k)), key=lambda j: x @ k[j])] for x in q],
            lambda q, k, v: v.numpy()[np.argmax(q.numpy() @ k.numpy().T, axis=1)],
            lambda q, k, v: F.one_hot((q @ k.T).argmax(1), len(k)).float() @ v.float(),
        ],
        [
            (lambda q, k, v: soft(q @ k.T * 1e6) @ v, "scores lie close"),
            (lambda q, k, v: soft(q @ k.T / 1e-3) @ v, "scores lie close"),
            (lambda q, k, v: soft(q @ k.T / 1e-15) @ v, "scores lie close"),
            (lambda q, k, v: soft(q @ k.T / 1e-30) @ v, "scores lie close"),
            (lambda q, k, v: soft(s_of(q, k)) @ v, ("soft", "√d_k")),
            (lambda q, k, v: hydra.scaled_dot_product_attention(q, k, v, temperature=1), "soft"),
            (
                lambda q, k, v: hydra.scaled_dot_product_attention(q, k, v, temperature=1e-20),
                ("entry", "close"),
            ),
            (lambda q, k, v: v[(q @ k.T).argmax(0)], "axis"),
            (lambda q, k, v: v[(q @ k.T).argmin(-1)], ("worst", "lowest")),
            (lambda q, k, v: (q @ k.T).argmax(-1), "value"),
            (lambda q, k, v: k[(q @ k.T).argmax(-1)], "value"),
            (
                lambda q, k, v: hydra.scaled_dot_product_attention(q, k, v, temperature=math.inf),
                "plain mean",
            ),
            (lambda q, k, v: v, ("values", "own order")),
            (lambda q, k, v: v[(q @ k.T).argmax()], ("one key", "everything")),
            (lambda q, k, v: soft(q @ k.mT / 0.1) @ v, "no temperature above 0"),
            (lambda q, k, v: (q @ k.T).max(-1), ".values"),
        ],
    ),
    "attention.shuffled": (
        [
            lambda out, order: out[order],
            lambda out, order: torch.stack([out[i] for i in order]),
            lambda out, order: out.index_select(0, order),
            lambda out, order: out.numpy()[order.numpy()],
            lambda out, order: [out[i].tolist() for i in order],
            lambda out, order: F.one_hot(order, len(out)).float() @ out,
        ],
        [
            (lambda out, order: out, "each row moves"),
            (lambda out, order: out[order.argsort()], "inverse"),
            (lambda out, order: torch.empty_like(out).index_copy_(0, order, out), "inverse"),
            (lambda out, order: out.flip(0), "reverse"),
            (lambda out, order: out[order][order], "the right rows, in another order"),
            (lambda out, order: out[order].flip(0), "the right rows, in another order"),
            (lambda out, order: out.roll(1, 0), "the right rows, in another order"),
            (lambda out, order: out[:, order], "columns"),
            (lambda out, order: out.sort(0).values, "sort"),
            (lambda out, order: out.mean(0).expand(len(out), -1), ("mean", "alike")),
            (lambda out, order: soft(s_of(out[order], out[order])) @ out[order], "again"),
            (lambda out: out, "called as"),
        ],
    ),
    "attention.crossing": (
        [
            lambda d: 2 * d,
            lambda d: 8 * d**2 / (4 * d),
            lambda d: float(d + d),
            lambda d: tensor(2.0 * d),
            lambda d: [2 * d],
            lambda d: np.float64(2 * d),
        ],
        [
            (lambda d: d, "four projections"),
            (lambda d: d / 2, "8nd²"),
            (lambda d: d**2, "d²"),
            (lambda d: d**0.5, "root"),
            (lambda d: 4 * d, "8nd²"),
            (lambda d: 512, "always 512"),
            (512, "function"),
            (lambda d: 0, "whatever was given"),
        ],
    ),
    "attention.next_meeting": (
        [10, 10.0, tensor(10), [10], np.int64(10)],
        [
            ([1, 10], "expected one number, got 2"),
            (9, "1 word back"),
            (8, "further back"),
            (1, "word before"),
            (5.5, "other way"),
            (4.5, "other way"),
            (5, "nearly the other way"),
            (40, "degrees"),
            (360, "degrees"),
            (19, "two full turns"),
            (2, "40° off"),
            (11, "one too many"),
            (-8, "ahead"),
            (12, "12"),
        ],
    ),
}

# --- 06 heads -----------------------------------------------------------------------------------


def split_by_loop(x, h):
    d_k = x.shape[1] // h
    return [x[:, i * d_k : (i + 1) * d_k] for i in range(h)]


def split_numpy(x, h):
    return x.reshape(len(x), h, -1).transpose(1, 0, 2)


def merge_by_loop(x):
    return [torch.cat([head[t] for head in x]) for t in range(x.shape[1])]


def split_without_return(x, n_heads):
    x.view(len(x), n_heads, -1).transpose(0, 1)


def project_by_loop(x, W):
    d_k = x.shape[-1]
    return sum(x[i] @ W[i * d_k : (i + 1) * d_k] for i in range(len(x)))


def lengths_mask(q, lengths):
    return arange(q.shape[-2]) < lengths[:, None]


def attend_masked(q, k, v, mask, fill=-INF):
    return soft((scores(q, k) / q.shape[-1] ** 0.5).masked_fill(~mask, fill)) @ v


def padded_by_loop(q, k, v, lengths):
    out = torch.zeros_like(q)
    for b, n in enumerate(lengths):
        for h in range(q.shape[1]):
            out[b, h] = soft(s_of(q[b, h], k[b, h, :n])) @ v[b, h, :n]
    return out


def padded_by_sdpa(q, k, v, lengths):
    mask = hydra.padding_mask(lengths, q.shape[-2])[:, None]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def padded_numpy(q, k, v, lengths):
    s = np.einsum("bhic,bhjc->bhij", q, k) / np.sqrt(q.shape[-1])
    s = np.where((np.arange(q.shape[-2]) < np.array(lengths)[:, None])[:, None, None], s, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ np.asarray(v)


def padded_unshifted(q, k, v, lengths):
    e = (scores(q, k) / q.shape[-1] ** 0.5).masked_fill(
        ~lengths_mask(q, lengths)[:, None, None], -INF
    )
    return e.exp() / e.exp().sum(-1, keepdim=True) @ v


CHAPTER_06 = {
    "heads.head_count": (
        [
            [1, 2, 3, 4, 6, 8, 9, 12],
            {1, 2, 3, 4, 6, 8, 9, 12},
            tuple(n for n in range(1, 17) if 72 % n == 0),
            np.array([12, 9, 8, 6, 4, 3, 2, 1]),
            tensor([1, 2, 3, 4, 6, 8, 9, 12]),
            (n for n in range(1, 17) if not 72 % n),
            [[1, 2, 3, 4, 6, 8, 9, 12]],
            (torch.where(72 % arange(1, 17) == 0)[0] + 1,),
        ],
        [
            ([n for n in range(1, 17) if n % 72 == 0], "the list is empty"),
            ([1, 2, 5], "remainder"),
            ([1, 2, 3, 4, 6, 8, 9, 12, 18], ("more than 16", "to 16")),
            ([1, 2, 3], "missing"),
            ([2, 3, 4, 6, 8, 9, 12], "missing"),
            (list(range(1, 17)), "remainder"),
            ([72, 36, 24, 18, 12, 9, 8, 6], "width"),
            (8, "list"),
            (lambda: [1, 2], "list"),
            ([1, 2, 3, 4, 6, 8, 9, 12, 12], "twice"),
            (tensor(8), "a list of numbers, got one"),
            ([1, 2, None], "expected numbers"),
            ([1, 2, 2.5], "2.5 is not a whole number"),
            ([72 % n == 0 for n in range(1, 17)], "True and False"),
            (72 % arange(1, 17) == 0, "True and False"),
            ([(1, 72), (2, 36)], "72 is not between 1 and 16"),
            (np.where(72 % np.arange(1, 17) == 0), ("0 is not between", "remainder")),
        ],
    ),
    "heads.split": (
        [
            lambda x, h: torch.stack([F.linear(x, w) for w in eye(x.shape[1]).chunk(h)]),
            hydra.split_heads,
            lambda x, h: x.view(len(x), h, -1).transpose(0, 1),
            split_by_loop,
            split_numpy,
            lambda x, h: torch.stack(x.chunk(h, dim=-1)),
            lambda x, h: x.reshape(len(x), h, -1).permute(1, 0, 2).contiguous(),
            lambda x, h: np.stack(np.split(np.asarray(x), h, axis=1)),
            lambda x, h: x.unflatten(-1, (h, -1)).swapaxes(0, 1).float(),
            lambda x, h: x.T.reshape(h, -1, len(x)).transpose(1, 2),
        ],
        [
            (lambda x, h: x.view(len(x), h, x.shape[1] / h).transpose(0, 1), "// gives whole"),
            (lambda x, h: [x[:, i * x.shape[1] / h :] for i in range(h)], "// gives whole"),
            (lambda x, h: x.reshape(h, len(x), -1), "transpose is missing"),
            (lambda x, h: x.view(h, x.shape[0], x.shape[1] // h), "transpose is missing"),
            (lambda x, h: x.reshape(len(x), -1, h).permute(2, 0, 1), "interleaved"),
            (lambda x, h: [x[:, i::h] for i in range(h)], "interleaved"),
            (lambda x, h: x.view(len(x), h, -1), "transpose"),
            (lambda x, h: x.view(len(x), h, -1).permute(1, 2, 0), "(h, d_k, T)"),
            (lambda x, h: x.view(len(x), h, -1).transpose(0, 2), "wrong two axes"),
            (lambda x, h: x, ("nothing was split", "expected shape")),
            (split_without_return, "return"),
            (lambda x: x, "called as"),
            (lambda x, h: x.chunk(h, dim=0), ("chunk", "shapes")),
            (lambda x, h: x.T.reshape(h, len(x), -1), "order"),
            (lambda x, h: x.view(h, -1, len(x)).transpose(1, 2), "wrong places"),
            (lambda x, h: torch.stack(x.split(h, dim=-1)), "d_k columns each"),
            (zeros(3, 5, 2), "function"),
        ],
    ),
    "heads.merge": (
        [
            lambda x: sum(
                y @ w for y, w in zip(x, eye(x[:, 0].numel()).chunk(len(x)), strict=True)
            ),
            hydra.merge_heads,
            lambda x: x.transpose(0, 1).reshape(x.shape[1], -1),
            lambda x: x.transpose(0, 1).contiguous().view(x.shape[1], -1),
            merge_by_loop,
            lambda x: x.transpose(1, 0, 2).reshape(x.shape[1], -1),
            lambda x: torch.cat(list(x), dim=-1),
            lambda x: np.concatenate(list(np.asarray(x)), axis=-1),
            lambda x: x.permute(1, 0, 2).flatten(1).float(),
        ],
        [
            (lambda x: x.view(x.shape[1], -1), "transpose back before"),
            (lambda x: x.transpose(0, 2).reshape(x.shape[1], -1), "wrong two axes"),
            (lambda x: x.reshape(x.shape[1], -1), ("transpose", "swap the axes")),
            (lambda x: x.contiguous().view(x.shape[1], -1), ("transpose", "swap the axes")),
            (lambda x: x.transpose(0, 1).view(x.shape[1], -1), "contiguous"),
            (lambda x: x.permute(1, 2, 0).reshape(x.shape[1], -1), "interleaved"),
            (lambda x: x.transpose(0, 1), "last two axes"),
            (lambda x: torch.cat(list(x), dim=0), "below each other"),
            (lambda x: x.sum(0), "added"),
            (lambda x: x, ("nothing was merged", "expected shape")),
            (lambda x: x.transpose(1, 2).reshape(x.shape[1], -1), "wrong two axes"),
            (lambda x: x.permute(2, 0, 1).reshape(x.shape[1], -1), "wrong places"),
            (zeros(5, 6), "function"),
            (lambda x: print(end=""), "return"),
        ],
    ),
    "heads.with_output_projection": (
        [
            lambda x, W: hydra.merge_heads(x) @ W,
            project_by_loop,
            lambda x, W: torch.einsum("htc,hcm->tm", x, W.view(3, 2, 6)),
            lambda x, W: torch.cat(list(x), -1).matmul(W),
            lambda x, W: np.concatenate(list(x.numpy()), -1) @ W.numpy(),
            lambda x, W: F.linear(x.transpose(0, 1).flatten(1), W.T),
            lambda x, W: torch.cat(list(x), -1).float() @ W.float(),
        ],
        [
            (lambda x, W: hydra.merge_heads(x) * W, "a matrix product is @"),
            (lambda x, W: hydra.merge_heads(x), "W_O is missing"),
            (lambda x, W: hydra.merge_heads(x) @ W.T, "transposed"),
            (lambda x, W: F.linear(hydra.merge_heads(x), W), "transposed"),
            (lambda x, W: x.reshape(x.shape[1], -1) @ W, "reshape"),
            (lambda x, W: x.permute(1, 2, 0).reshape(5, -1) @ W, "interleaved"),
            (lambda x, W: x.reshape(5, 6) @ W.T, "reshape"),
            (lambda x, W: x.transpose(1, 2).reshape(5, 6) @ W, "reshape"),
            (lambda x, W: W @ hydra.merge_heads(x), ("inner sizes", "order")),
            (lambda x, W: x @ W, ("inner sizes", "merge")),
            (lambda x, W: x @ W.view(3, 2, 6), "sum"),
            (lambda x, W: (x @ W[:2]).sum(0), "of its own"),
            (lambda x, W: x.sum(0) @ W[:2], "of its own"),
            (lambda x, W: x, ("merge", "shape")),
        ],
    ),
    "heads.padded_attention": (
        [
            lambda q, k, v, n: attend_masked(q, k, v, lengths_mask(q, n)[:, None, None, :]),
            padded_by_sdpa,
            padded_by_loop,
            padded_numpy,
            lambda q, k, v, n: hydra.scaled_dot_product_attention(
                q, k, v, hydra.padding_mask(n, q.shape[2]).unsqueeze(1)
            ),
            lambda q, k, v, n: F.scaled_dot_product_attention(
                q,
                k,
                v,
                attn_mask=zeros(len(n), 1, 1, q.shape[2]).masked_fill(
                    ~lengths_mask(q, n)[:, None, None], -INF
                ),
            ),
            lambda q, k, v, n: torch.stack(
                [
                    padded_by_sdpa(q[b : b + 1], k[b : b + 1], v[b : b + 1], n[b : b + 1])[0]
                    for b in range(len(n))
                ]
            ),
        ],
        [
            (
                lambda q, k, v, n: hydra.scaled_dot_product_attention(
                    q, k, v, (arange(n.max()) < n[:, None])[:, None, None]
                ),
                "must broadcast",
            ),
            (
                lambda q, k, v, n: (
                    (w := scores(q, k).div(7**0.5).exp() * lengths_mask(q, n)[:, None, None])
                    / w.sum(-1, keepdim=True)
                    @ v
                ),
                "put −∞ in their place first",
            ),
            (
                lambda q, k, v, n: (
                    padded_by_sdpa(q, k, v, n) * lengths_mask(q, n)[:, None, :, None]
                ),
                "mask keys only",
            ),
            *(
                (
                    lambda q, k, v, n, fill=fill: attend_masked(
                        q, k, v, lengths_mask(q, n)[:, None, None], fill
                    ),
                    "real scores may lie below",
                )
                for fill in (-100.0, -1e3, -1e4, -1e9)
            ),
            *(
                (
                    lambda q, k, v, n, less=less: (
                        soft(scores(q, k) / 7**0.5 - less * ~lengths_mask(q, n)[:, None, None]) @ v
                    ),
                    "replace",
                )
                for less in (100, 1e4, 1e9)
            ),
            (
                lambda q, k, v, n: (
                    (w := soft(scores(q, k) / 7**0.5) * lengths_mask(q, n)[:, None, None])
                    / w.sum(-1, keepdim=True)
                    @ v
                ),
                "left to divide by",
            ),
            (lambda q, k, v, n: attend_masked(q, k, v, lengths_mask(q, n)), "(B, 1, 1, T)"),
            (
                lambda q, k, v, n: attend_masked(q, k, v, lengths_mask(q, n)[:, None]),
                "(B, 1, 1, T)",
            ),
            (
                lambda q, k, v, n: hydra.scaled_dot_product_attention(
                    q, k, v, hydra.padding_mask(n, q.shape[2])
                ),
                "(B, 1, 1, T)",
            ),
            (
                lambda q, k, v, n: attend_masked(q, k, v, lengths_mask(q, n)[:, None, :, None]),
                "queries",
            ),
            (
                lambda q, k, v, n: attend_masked(q, k, v, ~lengths_mask(q, n)[:, None, None]),
                "inverted",
            ),
            (
                lambda q, k, v, n: attend_masked(q, k, v, lengths_mask(q, n)[:, None, None], 0.0),
                "zero for −∞",
            ),
            (
                lambda q, k, v, n: F.scaled_dot_product_attention(q, k, v),
                "nothing is masked",
            ),
            (
                lambda q, k, v, n: (
                    soft(scores(q, k) / 7**0.5) * lengths_mask(q, n)[:, None, None] @ v
                ),
                "after the softmax",
            ),
            (
                lambda q, k, v, n: (
                    F.scaled_dot_product_attention(q, k, v) * lengths_mask(q, n)[:, None, :, None]
                ),
                "queries",
            ),
            (
                lambda q, k, v, n: attend_masked(
                    q * 7**0.5, k, v, lengths_mask(q, n)[:, None, None]
                ),
                "√d_k",
            ),
            (padded_unshifted, "every exp is 0"),
            (lambda q, k, v, n: padded_by_sdpa(q, k, v, n).transpose(1, 2), "axes"),
            (lambda q, k, v, n: padded_by_sdpa(q / 7**0.5, k, v, n), "√d_k"),
            (
                lambda q, k, v, n: padded_by_sdpa(q, k, v, (n + 1).clamp(max=q.shape[2])),
                "off by one",
            ),
            (lambda q, k, v, n: padded_by_sdpa(q, k, v, (n - 1).clamp(min=1)), "off by one"),
            (
                lambda q, k, v, n: F.scaled_dot_product_attention(
                    q, k, v, attn_mask=hydra.padding_mask(n, k.shape[-2])[:, None].to(q.dtype)
                ),
                "keep it boolean",
            ),
        ],
    ),
    "heads.per_head_parameters": (
        [307200, 3 * 1600 * 64, tensor(307200.0), np.int64(307200), [307_200], 307200.0],
        [
            (3 * 1600 * 64 + 3 * 64, "biases"),
            ((307, 200), "1000, not 1,000"),
            (102400, "three"),
            (7680000, "all heads"),
            (4 * 1600**2, "whole layer"),
            (4 * 1600 * 64, "W_O"),
            (3 * 64 * 64, "full width"),
            (3 * 768 * 64, "small"),
            (1600**2, "all heads"),
            (2 * 1600 * 64, "two matrices"),
            (3 * 64, ("width", "vector")),
            (307201, "307201 is not right"),
        ],
    ),
    "heads.last_rows": (
        [
            lambda T, m: hydra.causal_mask(T)[-m:],
            lambda T, m: hydra.causal_mask(T)[T - m :],
            lambda T, m: ones(m, T).tril(T - m).bool(),
            lambda T, m: arange(T) <= arange(T - m, T)[:, None],
            lambda T, m: torch.tensor([[j <= T - m + i for j in range(T)] for i in range(m)]),
            lambda T, m: np.tril(np.ones((m, T), dtype=bool), T - m),
        ],
        [
            (lambda T, m: hydra.causal_mask(T)[-m], "colon"),
            (lambda T, m: torch.cat([zeros(m, T - m).bool(), hydra.causal_mask(m)], 1), "old keys"),
            (lambda T, m: hydra.causal_mask(T)[:m], "upper left"),
            (lambda T, m: ones(m, T).bool(), "future"),
            (lambda T, m: arange(T) < arange(T - m, T)[:, None], "its own"),
            (lambda T, m: ones(m, T).tril(T - m + 1).bool(), "after it"),
            (lambda T, m: hydra.causal_mask(m), "(m, m)"),
            (lambda T, m: ~hydra.causal_mask(T)[-m:], "inverted"),
            (lambda T, m: hydra.causal_mask(T), "(T, T)"),
            (lambda T, m: hydra.causal_mask(T)[:, -m:], "columns"),
            (lambda T, m: ones(m, T).tril(T - m), "boolean"),
            (lambda T, m: zeros(m, T).masked_fill(~hydra.causal_mask(T)[-m:], -INF), "boolean"),
            (lambda m, T: hydra.causal_mask(T)[-m:], "but your function takes (m, T)"),
        ],
    ),
}

# --- 07 learned heads ---------------------------------------------------------------------------

FLOOR = 0.06 * math.log(8 / 0.06) + 0.94 * math.log(24 / 0.94)
CHOICE = -0.06 * math.log(0.06) - 0.94 * math.log(0.94)


def same_symbol(ids):
    return (ids[:, None] == ids) & ones(len(ids), len(ids)).tril(-1).bool()


def induction_by_loop(ids):
    T = len(ids)
    targets = zeros(T, T, dtype=torch.bool)
    for i in range(T):
        for j in range(1, i + 1):
            targets[i, j] = ids[j - 1] == ids[i]
    return targets


def looks_ahead(ids):
    targets = zeros(len(ids), len(ids), dtype=torch.bool)
    for i in range(len(ids)):
        for j in range(1, len(ids)):
            targets[i, j] = ids[j - 1] == ids[i]
    return targets


def without_columns(W, head, d_k):
    W = W.clone()
    W[:, head * d_k : (head + 1) * d_k] = 0
    return W


def without_columns_in_place(W, head, d_k):
    W[:, head * d_k : (head + 1) * d_k] = 0
    return W


def without_rows(W, head, d_k):
    W = W.clone()
    W[head * d_k : (head + 1) * d_k] = 0
    return W


def without_one_column(W, head, d_k):
    W = W.clone()
    W[:, head] = 0
    return W


def without_the_wrong_start(W, head, d_k):
    W = W.clone()
    W[:, head : head + d_k] = 0
    return W


def without_one_too_many(W, head, d_k):
    W = W.clone()
    W[:, head * d_k : (head + 1) * d_k + 1] = 0
    return W


def head_alone(W, head, d_k):
    return W - without_columns(W, head, d_k)


def without_columns_numpy(W, head, d_k):
    W = np.array(W)
    W[:, head * d_k : (head + 1) * d_k] = 0
    return W


def without_by_mask(W, head, d_k):
    keep = torch.arange(W.shape[1]) // d_k != head
    return W * keep


def first_column_left(ids):
    marks = same_symbol(ids)
    marks[:, 1:] = marks[:, :-1].clone()
    return marks


def only_after(which):
    def answer(ids):
        marks = zeros(len(ids), len(ids))
        for i in range(len(ids)):
            copies = [j for j in range(i) if ids[j] == ids[i]]
            if copies:
                marks[i, copies[which] + 1] = 1
        return marks

    return answer


CHAPTER_07 = {
    "learned.first_floor": (
        [FLOOR, 3.3393, 3.34, tensor(3.339), np.float32(FLOOR), [3.339]],
        [
            (math.log(40), "all 40"),
            (3.47, "equally likely"),
            (math.log(32), "equally likely"),
            (FLOOR / math.log(2), "bits"),
            (FLOOR / math.log(10), "base 10"),
            (FLOOR - CHOICE, "choice"),
            (CHOICE, "choice"),
            (-FLOOR, "sign"),
            (math.exp(FLOOR), "perplexity"),
            (math.log(24), "name"),
            (3.0, "take more digits"),
            (0.06 * math.log(8 / 0.06) + 0.94 * math.log(24), "for words"),
            (0.06 * math.log(8) + 0.94 * math.log(24 / 0.94), "for names"),
            (3.3, "take more digits"),
            (3.35, ("close, but not close enough",)),
            (-math.log(0.94 / 24), "average over names too"),
        ],
    ),
    "learned.previous_score": (
        [
            lambda w: w.diagonal(-1).mean(),
            lambda w: sum(w[i, i - 1] for i in range(1, len(w))) / (len(w) - 1),
            lambda w: np.mean(np.diagonal(np.asarray(w), -1)),
            lambda w: np.diag(w, -1).mean(),
            lambda w: w[arange(1, len(w)), arange(len(w) - 1)].float().mean(),
            lambda w: torch.diag(w, -1).mean(0, keepdim=True),
            lambda w: w[1:, :-1].trace().item() / (len(w) - 1),
        ],
        [
            (lambda w: w[-1].mean(), "1/T"),
            (lambda w: sum(w[i, i - 1] for i in range(len(w))) / len(w), "last column"),
            (lambda w: w.diagonal().mean(), "itself"),
            (lambda w: w.diagonal(-1).sum() / len(w), ("T − 1", "that count")),
            (lambda w: w.diagonal(1).mean(), "after"),
            (lambda w: w.diagonal(-2).mean(), "two positions"),
            (lambda w: w.diagonal(-1).sum(), "take the mean"),
            (lambda w: w.diagonal(-1), "take their mean"),
            (lambda w: w.mean(), "everything"),
            (lambda w: w.tril(-1).mean(), "everything before"),
            (lambda w: w.diagonal(-1).sum() / (len(w) + 1), "T − 1"),
            (lambda w: w.tril(-1).sum(-1).mean(), "all positions before"),
            (lambda w: w.sum() / len(w), "everything"),
            (lambda w: w.diagonal(-1).max(), "largest"),
            (
                lambda w: sum(w[i, i - 1] for i in range(len(w))) / (len(w) - 1),
                "the last column",
            ),
            (0.5, "function"),
        ],
    ),
    "learned.uniform_score": (
        [
            (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4,
            0.3208,
            0.321,
            0.32,
            Fraction(77, 240),
            hydra.running_mean(5).diagonal(-1).mean(),
            np.mean([1 / n for n in (2, 3, 4, 5)]),
        ],
        [
            (0.26, "four queries"),
            (0.2, "i + 1 keys"),
            (137 / 300, "does not count"),
            (77 / 60, "take the mean"),
            (77 / 300, "four queries"),
            (0.25, ("four shares", "i + 1 keys")),
            (25 / 48, "itself"),
            (13 / 36, "T = 4"),
            (0.29, "T = 6"),
            (0.31, "close, but not close enough"),
            (0.3, "take more digits"),
            (1 / 3, "mean number of keys"),
        ],
    ),
    "learned.induction_targets": (
        [
            lambda ids: F.pad(same_symbol(ids)[:, :-1], (1, 0)).tril(),
            induction_by_loop,
            lambda ids: induction_by_loop(ids).float(),
            lambda ids: induction_by_loop(ids).numpy(),
            lambda ids: [
                [i >= j > 0 and int(ids[j - 1]) == int(ids[i]) for j in range(len(ids))]
                for i in range(len(ids))
            ],
            lambda ids: torch.cat([zeros(len(ids), 1).bool(), same_symbol(ids)[:, :-1]], 1),
        ],
        [
            (lambda ids: (ids[:, None] == ids.roll(1)).tril(), "roll wraps"),
            (only_after(0), "only what came after the first"),
            (only_after(-1), "every earlier one counts"),
            (first_column_left, "column 0"),
            (same_symbol, "itself"),
            (looks_ahead, "future"),
            (lambda ids: ids[:, None] == ids, "future"),
            (lambda ids: F.pad(same_symbol(ids)[:, 1:], (0, 1)), "wrong way"),
            (lambda ids: F.pad(same_symbol(ids)[:-1], (0, 0, 1, 0)), "rows"),
            (lambda ids: induction_by_loop(ids).tril(-1), "off by one"),
            (lambda ids: F.pad(same_symbol(ids)[1:], (0, 0, 0, 1)), "rows"),
            (lambda ids: ~induction_by_loop(ids), "inverted"),
            (lambda ids: induction_by_loop(ids).T, "transpose"),
            (lambda ids: ones(len(ids), len(ids)), "future"),
            (lambda ids: ones(len(ids), len(ids)).tril(), "all of the past"),
            (lambda ids: 0 * eye(len(ids)), "whatever was given"),
        ],
    ),
    "learned.without_head": (
        [
            without_columns,
            without_columns_numpy,
            without_by_mask,
            lambda W, head, d: W.index_fill(1, arange(head * d, (head + 1) * d), 0),
            lambda W, head, d: torch.cat(
                [zeros(len(W), d) if i == head else part for i, part in enumerate(W.split(d, 1))], 1
            ),
            lambda W, head, d: W @ torch.diag((arange(len(W)) // d != head).float()),
        ],
        [
            (lambda W, h, d: W @ torch.diag((arange(6) // d != h).float()), "inner sizes"),
            (without_rows, "rows"),
            (lambda W, head, d: W.index_fill(0, arange(head * d, (head + 1) * d), 0), "rows"),
            (without_columns_in_place, "copy"),
            (without_one_column, "one column"),
            (without_the_wrong_start, "head · d_k"),
            (without_one_too_many, "off by one"),
            (lambda W, head, d: without_columns(W, head - 1, d), "off by one"),
            (head_alone, "inverted"),
            (lambda W, head, d: W, "nothing was taken"),
            (lambda W, head, d: torch.zeros_like(W), "everything"),
            (lambda W, head, d: W[:, [c for c in range(6) if c // d != head]], "cut out"),
            (lambda W, head, d: W.zero_(), ("everything", "copy")),
        ],
    ),
}

# --- 08 backward --------------------------------------------------------------------------------


def weighted_mean(p, g):
    return (p * g).sum(-1, keepdim=True)


def score_gradient_by_jacobian(p, g):
    rows = []
    for row, blame in zip(p, g, strict=True):
        rows.append((torch.diag(row) - torch.outer(row, row)) @ blame)
    return rows


def again(s, z):
    return (s - torch.where(z == -INF, 0.0, z)[:, None]).exp()


def again_z(z):
    """log Z as a column, guarded."""
    return z.masked_fill(z == -INF, 0.0)[:, None]


def again_by_loop(s, z):
    out = zeros(s.shape)
    for i in range(len(s)):
        for j in range(s.shape[1]):
            if s[i, j] != -INF:
                out[i, j] = math.exp(s[i, j] - z[i])
    return out


def again_numpy(s, z):
    s, z = np.asarray(s), np.asarray(z)
    out = np.zeros(s.shape)
    alive = np.isfinite(z)
    out[alive] = np.exp(s[alive] - z[alive][:, None])
    return out


PRODUCT = 2 * 1024 * 1024 * 768


def again_in_place(m, z):
    out = zeros(m.shape)
    seen = z != -INF
    out[seen] = (m[seen] - z[seen][:, None]).exp()
    return out


CHAPTER_08 = {
    "backward.first_scores": (
        [
            [1.5, -0.25, -1.25],
            tensor([1.5, -0.25, -1.25]),
            np.array([[1.5, -0.25, -1.25]]),
            (Fraction(3, 2), Fraction(-1, 4), Fraction(-5, 4)),
            tensor([0.5, 0.25, 0.25]) * (tensor([8.0, 4.0, 0.0]) - 5),
        ],
        [
            ([4, 1, 0], "take away"),
            ([3, -1, -5], "multiplies"),
            ([-1.5, 0.25, 1.25], "sign"),
            ([8, 4, 0], "gradient of the weights"),
            ([2, 0, -1], "plain mean"),
            ([0.25, 0.1875, 0.1875], "diagonal"),
            ([2, 0.75, 0], "diagonal"),
            ([1.5, -0.25], "expected 3 numbers, got 2"),
            ([1, 1, 1], ("sum to 0", "sum is 0")),
        ],
    ),
    "backward.score_gradient": (
        [
            lambda p, g: p * (g - weighted_mean(p, g)),
            score_gradient_by_jacobian,
            lambda p, g: p * g - p * weighted_mean(p, g),
            lambda p, g: p * (g - torch.einsum("ij,ij->i", p, g)[:, None]),
            lambda p, g: np.asarray(p) * (g.numpy() - (p * g).numpy().sum(1, keepdims=True)),
            lambda p, g: (p * (g - weighted_mean(p, g))).float(),
            lambda p, g: p * (g - (p @ g.T).diagonal()[:, None]),
        ],
        [
            (lambda p, g: (p * (g - weighted_mean(p, g))).tril(), "upper half is cut away"),
            (lambda p, g: p * (g - weighted_mean(p, g)) * ones(len(p), len(p)), "raised"),
            (lambda p, g: p * g, "one unit"),
            (lambda p, g: p * (g - (p * g).sum(0)), "columns"),
            (lambda p, g: p * (g - (p * g).sum(0, keepdim=True)), "columns"),
            (lambda p, g: p * (g - (p * g).sum(-1)), "keepdim"),
            (lambda p, g: p * (g - (p * g).sum()), "everything"),
            (lambda p, g: p * (g - g.mean(-1, keepdim=True)), "plain mean"),
            (lambda p, g: g - weighted_mean(p, g), "factor p"),
            (lambda p, g: p * (1 - p) * g, "diagonal"),
            (lambda p, g: -p * (g - weighted_mean(p, g)), "sign"),
            (lambda p, g: p * g - weighted_mean(p, g), "brackets"),
            (lambda p, g: p, "those are the weights"),
            (lambda p, g: p @ g, ("entry by entry", "matrix product")),
        ],
    ),
    "backward.delta": (
        [
            lambda g, o: (g * o).sum(-1),
            lambda g, o: torch.einsum("id,id->i", g, o),
            lambda g, o: [float(a @ b) for a, b in zip(g, o, strict=True)],
            lambda g, o: (g.numpy() * o.numpy()).sum(axis=1),
            lambda g, o: (g * o).sum(-1, keepdim=True),
            lambda g, o: (g[:, None] @ o[:, :, None]).squeeze(),
            lambda g, o: (g * o) @ ones(g.shape[1]),
            lambda g, o: torch.linalg.vecdot(g, o),
        ],
        [
            (lambda g, o: (g.T @ o.T).sum(-1), "inner sizes"),
            (lambda g, o: g @ o.T, "meet themselves"),
            (lambda g, o: (g @ o.T).diagonal(), "matrix on the way"),
            (lambda g, o: torch.einsum("id,jd->ij", g, o).diagonal(), "matrix on the way"),
            (lambda g, o: (g * o).sum(0), "axis"),
            (lambda g, o: (g * o).sum(), "everything"),
            (lambda g, o: (g * o).mean(-1), "mean"),
            (lambda g, o: g * o, "sum over the columns"),
            (lambda g, o: (o * o).sum(-1), "gradient is missing"),
            (lambda g, o: g.T @ o, "(d, d)"),
            (lambda g, o: g @ o, "transpose"),
            (lambda g, o: (g @ o.T).sum(-1), "its own"),
            (lambda g, o: (g * o).sum(-1).mean(), "everything"),
        ],
    ),
    "backward.weights_again": (
        [
            again_in_place,
            again,
            again_by_loop,
            again_numpy,
            lambda s, z: (s - z.nan_to_num(neginf=0.0)[:, None]).exp(),
            lambda s, z: (s - z[:, None]).exp().nan_to_num(),
            lambda s, z: torch.where(s == -INF, 0.0, (s - z[:, None]).exp()).float(),
        ],
        [
            (lambda s, z: (z[:, None] - s).exp(), "upside down"),
            (lambda s, z: s.exp() / s.exp().sum(-1, keepdim=True), "by itself"),
            (lambda s, z: s - again_z(z), "exp is missing"),
            (lambda s, z: s.exp() / again_z(z), "divided by log Z"),
            (lambda s, z: s.exp() / again_z(z).exp(), "overflows"),
            (lambda s, z: (s / again_z(z)).exp(), "not divided by"),
            (lambda s, z: (s - again_z(z)[:, 0]).exp(), "row i"),
            (lambda s, z: (s - z[:, None]).exp(), "zeros"),
            (lambda s, z: s.exp() / z.exp()[:, None], "overflows"),
            (lambda s, z: (s.exp() / z.exp().unsqueeze(-1)).nan_to_num(0.0), "overflows"),
            (lambda s, z: (s - z.clamp(min=0)[:, None]).exp(), "may be negative"),
            (lambda s, z: (s - z.clamp(min=-100)[:, None]).exp(), "entry"),
            (lambda s, z: (s - z.abs()[:, None]).exp(), "entry"),
            (lambda s, z: soft(s), "by itself"),
            (lambda s, z: soft(s).nan_to_num(), "by itself"),
            (lambda s, z: hydra.probabilities(s), "by itself"),
            (lambda s, z: s.exp(), "log Z"),
            (lambda s, z: s - z[:, None], "exp is missing"),
            (lambda s, z: s.exp() / z[:, None], "log Z"),
            (lambda s, z: (s - z).exp(), "row i"),
            (lambda s, z: (s + z[:, None]).exp(), "added"),
            (lambda s, z: (s - z[:, None]).exp().nan_to_num(1.0), "zeros"),
            (lambda s, z: (s - z.clamp(min=-1000)[:, None]).exp(), "only −∞"),
        ],
    ),
    "backward.flops": (
        [7 * PRODUCT, 14 * 1024**2 * 768, float(7 * PRODUCT), tensor(7.0 * PRODUCT), [7 * PRODUCT]],
        [
            (11.274, "GFLOP"),
            (7, "how many products"),
            (6 * PRODUCT, "one product more"),
            (5 * PRODUCT, "backward pass alone"),
            (4 * PRODUCT, "backward pass alone"),
            (7 * PRODUCT // 2, "two operations"),
            (1.127e10, "take more digits"),
            (2 * PRODUCT, "forward pass alone"),
            (12 * 7 * PRODUCT, "12"),
            (7 * PRODUCT / 12, "one head"),
            (8 * PRODUCT, "too many"),
            (3 * PRODUCT, ("missing", "products")),
            (7 * PRODUCT + 1, "11274289153 is not right"),
        ],
    ),
    "backward.saved_numbers": (
        [5000, 5000.0, tensor(5000), 5 * 10**3, np.float32(5000)],
        [
            (2500, "T²"),
            (2500.5, "T²"),
            (12 * 5000, "cancel"),
            (5000**2, "log Z"),
            (1 / 5000, "how many times as many"),
            (64, "head dimension"),
            (78.125, ("head dimension", "root")),
            (5000 / 12, "cancel"),
        ],
    ),
}

# --- 09 Strassen --------------------------------------------------------------------------------


def multiply(a, b):
    assert all(side % 2 == 0 for side in (*a.shape, *b.shape))
    return a @ b


def peel(a, b):
    c = torch.empty_like(a)
    c[:-1, :-1] = multiply(a[:-1, :-1], b[:-1, :-1])
    c[:-1, :-1] += a[:-1, -1:] @ b[-1:, :-1]
    c[-1:] = a[-1:] @ b
    c[:-1, -1:] = a[:-1] @ b[:, -1:]
    return c


def peel_in_blocks(a, b):
    A, x, y, s = a[:-1, :-1], a[:-1, -1:], a[-1:, :-1], a[-1:, -1:]
    B, u, w, t = b[:-1, :-1], b[:-1, -1:], b[-1:, :-1], b[-1:, -1:]
    top = torch.cat([multiply(A, B) + x @ w, A @ u + x @ t], 1)
    return torch.cat([top, torch.cat([y @ B + s @ w, y @ u + s @ t], 1)])


def peel_with_outer(a, b):
    n = len(a) - 1
    c = zeros(n + 1, n + 1)
    c[:n, :n] = multiply(a[:n, :n], b[:n, :n]) + torch.outer(a[:n, n], b[n, :n])
    c[n, :] = a[n] @ b
    c[:n, n] = a[:n] @ b[:, n]
    return c


def peel_with(product):
    """With something else than the outer product of the last column of a and the last row of b."""

    def answer(a, b):
        c = peel(a, b)
        c[:-1, :-1] = multiply(a[:-1, :-1], b[:-1, :-1]) + product(a[:-1, -1], b[-1, :-1])
        return c

    return answer


def peel_swapped(a, b):
    c = peel(a, b)
    c[:-1, :-1] = multiply(a[:-1, :-1], b[:-1, :-1]) + torch.outer(a[-1, :-1], b[:-1, -1])
    return c


def peel_numpy(a, b):
    a, b = a.numpy(), b.numpy()
    even = multiply(a[:-1, :-1], b[:-1, :-1]) + np.outer(a[:-1, -1], b[-1, :-1])
    return np.block([[even, (a[:-1] @ b[:, -1])[:, None]], [(a[-1] @ b)[None]]])


def peel_without_the_last_terms(a, b):
    c = torch.empty_like(a)
    c[:-1, :-1] = multiply(a[:-1, :-1], b[:-1, :-1])
    c[-1:] = a[-1:] @ b
    c[:-1, -1:] = a[:-1] @ b[:, -1:]
    return c


def peel_without_the_last_terms_but_the_corners(a, b):
    c = torch.empty_like(a)
    c[:-1, :-1] = multiply(a[:-1, :-1], b[:-1, :-1]) + a[:-1, -1:] @ b[-1:, :-1]
    c[-1, :-1] = a[-1, :-1] @ b[:-1, :-1]
    c[:-1, -1] = a[:-1, :-1] @ b[:-1, -1]
    c[-1, -1] = a[-1, -1] * b[-1, -1]
    return c


def peel_even_only(a, b):
    c = torch.zeros_like(a)
    c[:-1, :-1] = multiply(a[:-1, :-1], b[:-1, :-1])
    return c


def peel_without_the_row(a, b):
    c = peel(a, b)
    c[-1] = 0
    return c


def peel_without_the_column(a, b):
    c = peel(a, b)
    c[:-1, -1] = 0
    return c


def peel_without_the_corner(a, b):
    c = peel(a, b)
    c[-1, -1] = a[-1, -1] * b[-1, -1]
    return c


def peel_by_padding(a, b):
    a, b = F.pad(a, (0, 1, 0, 1)), F.pad(b, (0, 1, 0, 1))
    return multiply(a, b)[:-1, :-1]


def with_zeros(c11, c12, c21, c22):
    n = len(c11)
    c = np.zeros((2 * n, 2 * n))
    c[:n, :n], c[:n, n:], c[n:, :n], c[n:, n:] = c11, c12, c21, c22
    return c


def with_empty(c11, c12, c21, c22):
    n = len(c11)
    c = np.empty((2 * n, 2 * n), dtype=c11.dtype)
    c[:n, :n], c[:n, n:], c[n:, :n], c[n:, n:] = c11, c12, c21, c22
    return c


CHAPTER_09 = {
    "strassen.flipped_sign": (
        [(5, 1, 1), [5, 1, 1], tensor([5, 1, 1]), np.array([5, 1, 1]), (5.0, 1.0, 1.0)],
        [
            (zeros(2, 2, 2, 2, 2, 2), "a tensor of shape (2, 2, 2, 2, 2, 2)"),
            ((4, 0, 0), "counted from 0"),
            ((1, 1, 1), "does not mend"),
            ((2, 1, 1), "does not land"),
            ((8, 1, 1), "7 products"),
            ((5, 1), "(product, row, column)"),
            ((1, 1, 5), ("order", "7 products")),
            ((5, 1, 2), ("other", "does not land")),
            (5, "(product, row, column)"),
            ("5, 1, 1", "text"),
            ((float("inf"), 1, 1), "three whole numbers"),
        ],
    ),
    "strassen.multiplications": (
        [7**4 * 64**3, 629407744, float(7**4 * 64**3), tensor(7**4 * 64**3), [7**4 * 64**3]],
        [
            (7**10, "single numbers"),
            (1024**3, "plain way"),
            (7**4, "64³"),
            (7**4 * 64**2, "64³"),
            (7**5 * 64**3, "four levels"),
            (7**3 * 64**3, "four levels"),
            (7 * 512**3, "one level"),
            (7**16 * 64**3, "four levels"),
            (7 * 4 * 64**3, "7⁴"),
            (629407743, "629407743 is not right"),
            (7 ^ 4 * 64 ^ 3, "a power is **"),
        ],
    ),
    "strassen.crossover": (
        [
            lambda p, q: 15 * p / q,
            lambda p, q: 15 * (p / q),
            lambda p, q: tensor(15.0) * p / q,
            lambda p, q: np.divide(15 * p, q),
            lambda p, q: [15 * p / q],
            lambda p, q: next(n for n in (15 * p / q,) if n > 0),
        ],
        [
            (lambda p, q: int(15 * p / q), "rounded down"),
            (lambda p, q: round(15 * p / q, 1), "214.3"),
            (lambda p, q: 15 * p // q, "rounded down"),
            (lambda p, q: 18 * p / q, "18"),
            (lambda p, q: math.ceil(15 * p / q), "rounded up"),
            (lambda p, q: 15 * q / p, "upside down"),
            (lambda p, q: 7.5 * p / q, "factor 2"),
            (lambda p, q: 30 * p / q, "factor 2"),
            (lambda p, q: 60 * p / q, "both have the 4"),
            (lambda p, q: p / q, "15"),
            (lambda p, q: 15 * p * q, "divides"),
            (lambda p, q: 15, "machine"),
            (1500.0, "function"),
            (lambda p, q: 19 * p / q, ("four additions", "15")),
            (lambda q, p: 15 * p / q, "but your function takes (q, p)"),
            (lambda p, q: round(15 * p / q), "rounded off"),
        ],
    ),
    "strassen.peel": (
        [
            *(peel, peel_in_blocks, peel_with_outer),
            lambda a, b: peel(a, b).tolist(),
        ],
        [
            (peel_with(torch.dot), "outer product"),
            (peel_with(torch.mul), "outer product"),
            (peel_swapped, "row and column"),
            (peel_without_the_last_terms, "last column of a"),
            (peel_even_only, "last row"),
            (peel_without_the_row, "last row is missing"),
            (peel_without_the_column, "last column is missing"),
            (peel_without_the_corner, "corner"),
            (lambda a, b: a @ b, "plain product"),
            (lambda a, b: torch.einsum("ij,jk->ik", a, b), "plain product"),
            (lambda a, b: torch.addmm(torch.zeros_like(a), a, b), "plain product"),
            (lambda a, b: F.linear(a, b.T), "plain product"),
            (torch.linalg.matmul, "plain product"),
            (lambda a, b: torch.inner(a, b.mT), "plain product"),
            (lambda a, b: torch.linalg.multi_dot([a, b]), "plain product"),
            (lambda a, b: (a[:, :, None] * b).sum(1), "no product of its own"),
            (lambda a, b: torch.stack([a @ one for one in b.mT], 1), "no product of its own"),
            (peel_by_padding, "padding"),
            (lambda a, b: a[:-1, :-1] @ b[:-1, :-1], "even part alone"),
            (lambda a, b: b @ a, "order"),
            (lambda a, b: a * b, "entry by entry"),
            (lambda a, b: a, ("nothing was multiplied", "a itself")),
            (lambda a, b: multiply(a, b), "multiply(a, b)"),
            (
                peel_with(lambda column, row: torch.outer(row, column)),
                "the outer product is transposed",
            ),
            (peel_without_the_last_terms_but_the_corners, "their last term"),
        ],
    ),
    "strassen.assemble": (
        [
            lambda a, b, c, d: np.block([[a, b], [c, d]]),
            lambda a, b, c, d: np.vstack([np.hstack([a, b]), np.hstack([c, d])]),
            with_empty,
            lambda a, b, c, d: np.concatenate(
                [np.concatenate([a, b], 1), np.concatenate([c, d], 1)]
            ),
            lambda *c: np.stack(c).reshape(2, 2, 3, 3).transpose(0, 2, 1, 3).reshape(6, 6),
            lambda a, b, c, d: np.block([[a, b], [c, d]])[None],
        ],
        [
            (with_zeros, "came out"),
            (
                lambda a, b, c, d: np.block([[a, b], [c, d]]).astype(
                    np.float32 if a.dtype.kind == "f" else a.dtype
                ),
                "float64 went in, float32 came out",
            ),
            (lambda a, b, c, d: with_zeros(a, b, c, d).astype(a.dtype), "floating point"),
            (lambda *c: np.block([[c[0], c[1]], [c[2], c[3]]]) * 1.0, "came out"),
            (lambda a, b, c, d: np.block([[a, c], [b, d]]), "swapped"),
            (lambda a, b, c, d: np.block([[c, d], [a, b]]), "swapped"),
            (lambda a, b, c, d: np.block([[b, a], [d, c]]), "swapped"),
            (lambda a, b, c, d: np.hstack([a, b, c, d]), "one row"),
            (lambda a, b, c, d: np.vstack([a, b, c, d]), "one column"),
            (lambda a, b, c, d: np.stack([a, b, c, d]), "stacked"),
            (lambda a, b, c, d: np.stack([a, b, c, d]).reshape(6, 6), ("reshape", "scrambled")),
            (lambda a, b, c, d: np.block([[a, b], [c, d]]).tolist(), ("list", "came out")),
        ],
    ),
}

# --- 10 timing ----------------------------------------------------------------------------------


def fair(stream):
    stream.synchronize()
    return unprepared(stream)


def unprepared(stream):
    start = stream.clock()
    stream.launch()
    stream.synchronize()
    return stream.clock() - start


def launch_only(stream):
    stream.synchronize()
    start = stream.clock()
    stream.launch()
    return stream.clock() - start


def many(n, before=True, after=True, divide=True):
    def measured(stream):
        if before:
            stream.synchronize()
        start = stream.clock()
        for _ in range(n):
            stream.launch()
        if after:
            stream.synchronize()
        return (stream.clock() - start) / (n if divide else 1)

    return measured


def mean_of_singles(stream):
    stream.launch()  # warm up
    return sum(fair(stream) for _ in range(10)) / 10


def median_of_singles(stream):
    return np.median([fair(stream) for _ in range(11)])


def negative(stream):
    return -fair(stream)


def in_milliseconds(stream):
    return 1000 * fair(stream)


def stops_too_early(stream):
    stream.synchronize()
    start = stream.clock()
    stream.launch()
    end = stream.clock()
    stream.synchronize()
    return end - start


def by_another_clock(stream):
    stream.synchronize()
    start = time.perf_counter()
    stream.launch()
    stream.synchronize()
    return time.perf_counter() - start


def starts_too_late(stream):
    stream.synchronize()
    stream.launch()
    stream.synchronize()
    start = stream.clock()
    return stream.clock() - start


def never_launched(stream):
    stream.synchronize()
    start = stream.clock()
    stream.synchronize()
    return stream.clock() - start


def warmed_up_unwaited(stream):
    stream.synchronize()
    stream.launch()
    return unprepared(stream)


def only_the_end(stream):
    fair(stream)
    return stream.clock()


def looks_once(stream):
    stream.synchronize()
    stream.launch()
    stream.synchronize()
    return stream.clock()


def launched_first(stream):
    stream.synchronize()
    stream.launch()
    start = stream.clock()
    stream.synchronize()
    return stream.clock() - start


def timed_without_return(stream):
    fair(stream)


ARRAY = 8 * 12 * 1024 * 64
WEIGHTS = 8 * 12 * 1024 * 1024


def tile_mask(first_row, first_column, rows, columns, length):
    row = first_row + torch.arange(rows)[:, None]
    column = first_column + torch.arange(columns)
    return (column <= row) & (column < length)


def tile_by_loop(first_row, first_column, rows, columns, length):
    out = []
    for i in range(first_row, first_row + rows):
        out.append([j <= i and j < length for j in range(first_column, first_column + columns)])
    return out


def tile_cut_out(i, j, m, n, length):
    whole = hydra.causal_mask(max(i + m, j + n))
    whole[:, length:] = False
    return whole[i : i + m, j : j + n]


def tile_cut_from_behind(i, j, m, n, length):
    mask = ones(m, n).tril(i - j)
    mask[:, length - j :] = 0  # negative where all keys are padding
    return mask.bool()


def tile_numpy(i, j, m, n, length):
    row, column = np.ogrid[i : i + m, j : j + n]
    return (column <= row) & (column < length)


def tile(row_of, column_of, rule):
    """A tile mask with one thing written differently."""

    def mask(i, j, m, n, T):
        row, column = row_of(i, j) + arange(m)[:, None], column_of(i, j) + arange(n)
        return rule(row, column, T, arange(n))

    return mask


def own(i, j):
    return 0


def first(i, j):
    return i


def second(i, j):
    return j


def merged(m1, l1, o1, m2, l2, o2):
    m = torch.maximum(m1, m2)
    f1, f2 = (m1 - m).exp(), (m2 - m).exp()
    return m, f1 * l1 + f2 * l2, f1 * o1 + f2 * o2


def merged_floats(m1, l1, o1, m2, l2, o2):
    m = max(float(m1), float(m2))
    f1, f2 = math.exp(m1 - m), math.exp(m2 - m)
    return [m, f1 * float(l1) + f2 * float(l2), (f1 * o1 + f2 * o2).tolist()]


def merged_numpy(m1, l1, o1, m2, l2, o2):
    m = np.maximum(m1, m2)
    f = np.exp(np.array([m1, m2]) - float(m))
    return m, f @ np.array([l1, l2]), f @ np.stack([o1, o2])


def merged_by_branch(m1, l1, o1, m2, l2, o2):
    if m1 < m2:
        return merged_by_branch(m2, l2, o2, m1, l1, o1)
    f = (m2 - m1).exp()
    return m1, l1 + f * l2, o1 + f * o2


def merged_unless_equal(m1, l1, o1, m2, l2, o2):
    if m1 != m2:
        return merged_by_branch(m1, l1, o1, m2, l2, o2)


def merged_float32(m1, l1, o1, m2, l2, o2):
    return tuple(part.float() for part in merged(m1, l1, o1, m2, l2, o2))


def merged_by_itself(m1, l1, o1, m2, l2, o2):
    m = torch.maximum(m1, m2)
    both = [m1.exp() * one + m2.exp() * two for one, two in ((l1, l2), (o1, o2))]
    return m, both[0] * (-m).exp(), both[1] * (-m).exp()


def plainly_merged(m1, l1, o1, m2, l2, o2):
    return torch.maximum(m1, m2), l1 + l2, o1 + o2


def merged_but_o(m1, l1, o1, m2, l2, o2):
    m, l, _ = merged(m1, l1, o1, m2, l2, o2)
    return m, l, o1 + o2


def merged_but_l(m1, l1, o1, m2, l2, o2):
    m, _, o = merged(m1, l1, o1, m2, l2, o2)
    return m, l1 + l2, o


def merged_upside_down(m1, l1, o1, m2, l2, o2):
    m = torch.maximum(m1, m2)
    f1, f2 = (m - m1).exp(), (m - m2).exp()
    return m, f1 * l1 + f2 * l2, f1 * o1 + f2 * o2


def merged_from_zero(m1, l1, o1, m2, l2, o2):
    f1, f2 = m1.exp(), m2.exp()
    return torch.maximum(m1, m2), f1 * l1 + f2 * l2, f1 * o1 + f2 * o2


def merged_weighted(m1, l1, o1, m2, l2, o2):
    m, l, _ = merged(m1, l1, o1, m2, l2, o2)
    return m, l, ((m1 - m).exp() * l1 * o1 + (m2 - m).exp() * l2 * o2) / l


def merged_divided(m1, l1, o1, m2, l2, o2):
    m, l, o = merged(m1, l1, o1, m2, l2, o2)
    return m, l, o / l


def merged_one_way(m1, l1, o1, m2, l2, o2):
    f = (m1 - m2).exp()
    return m2, f * l1 + l2, f * o1 + o2


def merged_added_maxima(m1, l1, o1, m2, l2, o2):
    return m1 + m2, *merged(m1, l1, o1, m2, l2, o2)[1:]


def plus(parts, others):
    return tuple(part + other for part, other in zip(parts, others, strict=True))


def merged_larger(m1, l1, o1, m2, l2, o2):
    return (m1, l1, o1) if m1 > m2 else (m2, l2, o2)


CHAPTER_10 = {
    "timing.stopwatch": (
        [
            fair,
            many(10),
            many(100),
            mean_of_singles,
            median_of_singles,
            lambda stream: tensor(fair(stream)),
            lambda stream: [fair(stream)],
        ],
        [
            (only_the_end, "minus the start"),
            (launch_only, "launch"),
            (many(1, before=False, after=False), "launch"),
            (unprepared, "queued before"),
            (warmed_up_unwaited, "queued before"),
            (looks_once, "two looks"),
            (launched_first, "launched before the clock started"),
            (stops_too_early, "launch"),
            (many(10, after=False), "launch"),
            (many(10, before=False), "queued before"),
            (many(10, divide=False), "divide"),
            (negative, "negative"),
            (in_milliseconds, "unit"),
            (starts_too_late, "launched before the clock started"),
            (never_launched, "nothing was launched"),
            (by_another_clock, "at stream.clock()"),
            (timed_without_return, "return"),
            (0.003, "function"),
            (lambda stream: float("nan"), "nothing was launched"),
        ],
    ),
    "timing.bytes_moved": (
        [
            8 * ARRAY,
            50331648,
            float(8 * ARRAY),
            2**25.584962500721156,
            tensor(8 * ARRAY),
            4 * 2 * ARRAY,
            [8 * ARRAY],
        ],
        [
            (4 * ARRAY, "four arrays move"),
            (6 * ARRAY, "output"),
            (2 * ARRAY, "four arrays"),
            (16 * ARRAY, "float32"),
            (8 * ARRAY + 2 * WEIGHTS, "weights"),
            (8 * ARRAY + 4 * WEIGHTS, "weights"),
            (ARRAY, "an eighth"),
            (8 * ARRAY / 12, "one head"),
            (64 * ARRAY, "bits"),
            (4 * WEIGHTS, "fused kernel never writes"),
            (50331647, "50331647 is not right"),
        ],
    ),
    "timing.least_time": (
        [
            lambda f, b, peak, width: max(f / peak, b / width),
            lambda f, b, p, w: tensor([f / p, b / w]).max(),
            lambda f, b, p, w: np.maximum(f / p, b / w),
            lambda f, b, p, w: f / p if f / p > b / w else b / w,
            lambda f, b, p, w: torch.maximum(tensor(f / p), tensor(b / w)),
            lambda f, b, p, w: [sorted([f / p, b / w])[-1]],
        ],
        [
            (lambda f, b, p, w: f / p + b / w, "same time"),
            (lambda f, b, p, w: max(f / 1e14, b / 2e12), "is not right"),
            (lambda f, b, p, w: f / p if f / b > 50 else b / w, "is not right"),
            (lambda f, b, p, w: min(f / p, b / w), "not enough"),
            (lambda f, b, p, w: f / p, "bytes are missing"),
            (lambda f, b, p, w: b / w, "FLOPs are missing"),
            (lambda f, b, p, w: max(f / w, b / p), "swapped"),
            (lambda f, b, p, w: max(p / f, w / b), "upside down"),
            (lambda f, b, p, w: (f / p + b / w) / 2, "mean"),
            (lambda f, b, p, w: (f / p) * (b / w), "product"),
            (lambda f, b, p, w: 1000 * max(f / p, b / w), "milliseconds"),
            (lambda f, b, p, w: f / b, "intensity"),
            (lambda f, b, p, w: f / p if f > b else b / w, "for flops = 1e+10"),
            (lambda f, b, p, w: (f + b) / (p + w), "own speed"),
            (1.0, "function"),
            (lambda f, b, p, w: 1.0, "whatever was given"),
        ],
    ),
    "timing.times_as_long": (
        [
            lambda a, b: (a / b).median(),
            lambda a, b: sorted((a / b).tolist())[len(b) // 2],
            lambda a, b: np.median(a.numpy() / b.numpy()),
            lambda a, b: (a / b).quantile(0.5),
            lambda a, b: [sorted(a / b)[len(a) // 2]],
        ],
        [
            (lambda a, b: round(float((a / b).median()), 1), "all its digits"),
            (lambda a, b: round(float((a / b).median()), 3), "all its digits"),
            (lambda a, b: (a / b)[len(a) // 2], "in the middle of the list"),
            (lambda a, b: (b / a).median(), "upside down"),
            (lambda a, b: a.median() / b.median(), "two medians"),
            (lambda a, b: b.median() / a.median(), "upside down, and"),
            (lambda a, b: (a / b).mean(), "mean of the ratios"),
            (lambda a, b: a.sum() / b.sum(), "two means"),
            (lambda a, b: min(a) / min(b), "two minima"),
            (lambda a, b: (a - b).median(), "seconds"),
            (lambda a, b: a / b, "every round"),
            (lambda a, b: (a / b)[a.tolist().index(a.median())], "round of median time"),
            (lambda a, b: (a[b == b.median()] / b.median())[0], "round of median time"),
            (
                lambda a, b: sorted(zip(a + b, a / b, strict=True))[len(a) // 2][1],
                "round of median time",
            ),
            (lambda a, b: ((a - b) / b).median(), "1 more"),
            (lambda a, b: round(float((a / b).median()), 2), "all its digits"),
            (lambda a, b: float(f"{(a / b).median():.2g}"), "all its digits"),
            (1.5, "function"),
        ],
    ),
}

# --- 11 kernel ----------------------------------------------------------------------------------

CHAPTER_11 = {
    "kernel.programs": (
        [
            lambda B, h, T, block: B * h * math.ceil(T / block),
            lambda B, h, T, block: B * h * ((T + block - 1) // block),
            lambda B, h, T, block: B * h * -(-T // block),
            lambda B, h, T, block: len([0 for _ in range(B * h) for _ in range(0, T, block)]),
            lambda B, h, T, block: tensor(B * h * len(range(0, T, block))),
        ],
        [
            (lambda B, h, T, block: B * h * (T + block - 1) // block, "brackets"),
            (lambda B, h, T, block: (B, h, math.ceil(T / block)), "multiply"),
            (lambda B, h, T, block: B * h * round(T / block), "round goes down"),
            (lambda B, h, T, block: B * h * T // block, "cross heads"),
            (lambda B, h, T, block: B * h * (T // block), "last tile"),
            (lambda B, h, T, block: B * h * T / block, "whole program"),
            (lambda B, h, T, block: math.ceil(B * h * T / block), "cross heads"),
            (lambda B, h, T, block: h * math.ceil(T / block), "one sequence"),
            (lambda B, h, T, block: B * math.ceil(T / block), "one head"),
            (lambda B, h, T, block: math.ceil(T / block), "one head of one sequence"),
            (lambda B, h, T, block: B * h, "split into tiles"),
            (lambda B, h, T, block: B * h * T, "one a query"),
            (lambda B, h, T, block: B * h * (T // block + 1), "one too many"),
            (lambda B, h, T, block: B * h * math.ceil(T / block) ** 2, "tile of scores"),
            (lambda B, h, T, block: B * h * round(T / block + 0.5), "is not right"),
            (lambda B, h, T, block: B * h * int(T / block + 0.99), "is not right"),
            (96, "function"),
        ],
    ),
    "kernel.key_reads": (
        [32, 32.0, 4096 // 128, tensor([32]), np.int64(32)],
        [
            (1, "do not share"),
            (4096, "each query"),
            (128, "share one read"),
            (32 * 12, "one head"),
            (16, "causal mask, about"),
            (16.5, "the mean under"),
            (131072, "all 4096 keys"),
            (4096 * 128, "divide"),
        ],
    ),
    "kernel.tile_mask": (
        [
            tile_mask,
            tile_by_loop,
            tile_numpy,
            tile_cut_out,
            lambda i, j, m, n, T: tile_mask(i, j, m, n, T).float(),
            lambda i, j, m, n, T: ones(m, n).tril(i - j).bool() & (arange(j, j + n) < T),
        ],
        [
            (tile(first, own, lambda r, c, T, _: (c <= r) & (c < T)), "first_column is missing"),
            (tile(first, second, lambda r, c, T, _: c <= r & c < T), "no chain"),
            (lambda i, j, m, n, T: hydra.causal_mask(max(m, n))[:m, :n], "own"),
            (
                lambda i, j, m, n, T: tile_mask(i, j, m, n, T) & (i >= j),
                "first_row = 2, first_column = 4",
            ),
            (lambda i, j, m, n, T: arange(n) <= arange(m)[:, None], "own"),
            (tile(own, own, lambda r, c, T, _: (c <= r) & (c < T)), "own"),
            (tile(first, second, lambda r, c, T, _: c <= r), "padding"),
            (tile(first, second, lambda r, c, T, _: (c < T) & (r >= 0)), "not causal"),
            (tile(first, second, lambda r, c, T, _: (c < r) & (c < T)), "off by one"),
            (tile(first, second, lambda r, c, T, _: (c <= r) & (c <= T)), "off by one"),
            (tile(first, second, lambda r, c, T, own: (c <= r) & (own < T)), "first_column"),
            (tile(second, first, lambda r, c, T, _: (c <= r) & (c < T)), "swapped"),
            (tile(first, second, lambda r, c, T, _: (c >= r) & (c < T)), "ahead"),
            (tile(first, second, lambda r, c, T, _: ~((c <= r) & (c < T))), "inverted"),
            (tile(first, second, lambda r, c, T, _: (c <= r) | (c < T)), "both"),
            (
                tile(first, second, lambda r, c, T, _: ((c <= r) & (c < T)).mT),
                ("transpose", "shape"),
            ),
            (lambda i, j, m, n, T: zeros(m, n), "whatever was given"),
            (
                lambda i, j, m, n, T: ones(m, n).tril(abs(i - j)).bool() & (arange(j, j + n) < T),
                "should not be",
            ),
            (
                lambda i, j, m, n, T: (
                    (ones(m, n).tril() if i == j else ones(m, n)).bool() & (arange(j, j + n) < T)
                ),
                "should not be",
            ),
            (tile_cut_from_behind, "should not be"),
            (lambda *t: zeros(t[2:4]).masked_fill(~tile_mask(*t), -INF), "a mask to add"),
            (lambda i, j, m, n, T: tile_mask(i, j, 4, 5, T), "for first_row = 4"),
            (lambda i, j, m, n, T: tile_mask(i, j, 4, n, T), "for first_row = 4"),
            (lambda i, j, m, n, T: tile_mask(i, j, m, 5, T), "for first_row = 4"),
            (
                lambda i, j, m, n, T: (
                    hydra.causal_mask(64)[i : i + m, j : j + n] & (arange(j, j + n) < T)
                ),
                ("your code raised", "shape"),
            ),
        ],
    ),
    "kernel.merged": (
        [merged, merged_floats, merged_numpy, merged_by_branch, merged_float32],
        [
            (merged_from_zero, "from 0"),
            (merged_weighted, "a sum already"),
            (plainly_merged, "larger"),
            (merged_unless_equal, ", m2 = 0.9198"),
            (merged_but_o, "o was not"),
            (merged_by_itself, "overflows"),
            (merged_but_l, "l was not"),
            (merged_upside_down, "sign in the exponent"),
            (merged_divided, "divided"),
            (merged_one_way, "larger"),
            (merged_added_maxima, ("maximum", "larger")),
            (merged_larger, "lost"),
            (lambda *parts: parts[:3], ("lost", "second tile")),
            (lambda *parts: merged(*parts)[2], "three"),
            (lambda *parts: merged(*parts)[::-1], "m should be one number, got shape (3,)"),
            (lambda m1, l1, o1, m2, l2, o2: (m1, l1, o1, m2), "m, l, o gives them, got 4"),
            (
                lambda *parts: (part for part in merged(*parts)),
                "m, l, o gives them, got a generator",
            ),
            (lambda *parts: (*merged(*parts)[:2], merged(*parts)[2][:2]), "o should be a vector"),
            (
                lambda *parts: plus(merged(*parts), (0, zeros(2), 0)),
                "l should be one number, got shape (2,)",
            ),
            (lambda *parts: plus(merged(*parts), (0, 1, 0)), ": l is 3.054, and"),
            (lambda *parts: plus(merged(*parts), (0, 0, eye(3)[2])), ": o[2] is 1.351, and"),
        ],
    ),
}

# --- 12 devices ---------------------------------------------------------------------------------


def by_rank(x, W, ranks):
    h, T, d_k = x.shape
    own = h // ranks
    out = zeros(ranks, T, W.shape[1], dtype=x.dtype)
    for r in range(ranks):
        for i in range(r * own, (r + 1) * own):
            out[r] += x[i] @ W[i * d_k : (i + 1) * d_k]
    return out


def by_rank_einsum(x, W, ranks):
    h, T, d_k = x.shape
    parts = x.reshape(ranks, h // ranks, T, d_k)
    return torch.einsum("rhtc,rhcd->rtd", parts, W.reshape(ranks, h // ranks, d_k, -1))


def by_rank_numpy(x, W, ranks):
    x, W = np.asarray(x), np.asarray(W)
    merged = np.swapaxes(x, 0, 1).reshape(x.shape[1], -1)
    parts = np.split(merged, ranks, axis=1), np.split(W, ranks)
    return np.stack([part @ rows for part, rows in zip(*parts, strict=True)])


def ranks_in_turn(m, l, o):
    whole = (m[0], l[0], o[0])
    for rank in range(1, len(m)):
        top = torch.maximum(whole[0], m[rank])
        safe = top.masked_fill(top == -INF, 0.0)
        a, b = (whole[0] - safe).exp(), (m[rank] - safe).exp()
        both = a[:, None] * whole[2] + b[:, None] * o[rank]
        whole = (top, a * whole[1] + b * l[rank], both)
    return torch.nan_to_num(whole[2] / whole[1][:, None])


def ranks_at_once(m, l, o):
    weights = torch.nan_to_num(soft(m + l.log(), 0))  # each rank's share of the weight
    return (weights[..., None] * torch.nan_to_num(o / l[..., None])).sum(0)


def ranks_numpy(m, l, o):
    m, l, o = np.asarray(m), np.asarray(l), np.asarray(o)
    out = np.zeros(o.shape[1:])
    for i in range(m.shape[1]):
        top = m[:, i].max()
        if top > -np.inf:
            fade = np.exp(m[:, i] - top)
            out[i] = fade @ o[:, i] / (fade @ l[:, i])
    return out


def guarded(m, l, o, fade_l=True, fade_o=True, divide=True, axis=0):
    top = m.amax(axis, keepdim=True)
    fade = (m - top.masked_fill(top == -INF, 0.0)).exp()
    weight = (fade * l if fade_l else l).sum(0)
    weight = weight.masked_fill(weight == 0, 1.0)
    both = (fade[..., None] * o if fade_o else o).sum(0)
    return both / weight[:, None] if divide else both


def safe_means(m, l, o):
    return o / l.masked_fill(l == 0, 1.0)[..., None]


def ranks_unguarded(m, l, o):
    """Begins with the first rank, and lets NaN pass."""
    top, weight, both = m[0], l[0], o[0]
    for rank in range(1, len(m)):
        new = torch.maximum(top, m[rank])
        a, b = (top - new).exp(), (m[rank] - new).exp()
        weight, both = a * weight + b * l[rank], a[:, None] * both + b[:, None] * o[rank]
        top = new
    return both / weight[:, None]


def ranks_unguarded_from_nothing(m, l, o):
    return ranks_unguarded(
        F.pad(m, (0, 0, 1, 0), value=-INF),
        F.pad(l, (0, 0, 1, 0)),
        F.pad(o, (0, 0, 0, 0, 1, 0)),
    )


def not_divided(m, l, o):
    return ((m - m.amax(0)).exp()[..., None] * o).sum(0)


def unguarded(m, l, o):
    fade = (m - m.amax(0)).exp()
    return (fade[..., None] * o).sum(0) / (fade * l).sum(0)[:, None]


def half_guarded(m, l, o):
    top = m.amax(0)
    return ranks_from(m, l, o, torch.where(top == -INF, 0.0, top))


def ranks_from(m, l, o, top):
    fade = (m - top).exp()
    return (fade[..., None] * o).sum(0) / (fade * l).sum(0)[:, None]


def kv_by_loop(rank, ranks, n_heads, n_kv):
    found = []
    for head in range(n_heads):
        if head // (n_heads // ranks) == rank and head // (n_heads // n_kv) not in found:
            found.append(head // (n_heads // n_kv))
    return found


def own_heads(rank, ranks, n_heads):
    return arange(n_heads).chunk(ranks)[rank]


LINK = 2 * 7 * 1e14 / (4 * 4096 + 2 * 2048) / 1e9


def all_ranks_above(least):
    """Right where all maxima are above ``least``."""

    def answer(m, l, o):
        top = m.amax(0).clamp(min=least)
        fade = (m - top).exp()
        total = (fade * l).sum(0)
        return (fade[..., None] * o).sum(0) / total.masked_fill(total == 0, 1)[:, None]

    return answer


CHAPTER_12 = {
    "devices.weights_of_rank": (
        [1179648, 4 * 1536**2 / 8, tensor(1179648), [4 * 1536 * 192], np.int64(1179648)],
        [
            (4 * 1536**2, "whole layer"),
            (3 * 1536**2 // 8, "W_O"),
            (3 * 1536 * 192 + 1536 * 1536, "W_O"),
            (1536 * 192, "one matrix"),
            (4 * 1536 * 64, "one head"),
            (4 * 192 * 192, "one side"),
            (1536**2, "one whole matrix"),
            ("1179648", "text"),
            (1179647.5, "1179647.5 is not right"),
        ],
    ),
    "devices.contributions": (
        [
            by_rank,
            by_rank_einsum,
            by_rank_numpy,
            lambda x, W, ranks: [
                hydra.merge_heads(x.chunk(ranks)[r]) @ W.chunk(ranks)[r] for r in range(ranks)
            ],
        ],
        [
            (lambda x, W, ranks: hydra.merge_heads(x) @ W, "sum"),
            (lambda x, W, ranks: by_rank(x, W, ranks).sum(0), "sum"),
            (
                lambda x, W, ranks: [hydra.merge_heads(x) @ w for w in W.chunk(ranks, 1)],
                "columns",
            ),
            (
                lambda x, W, ranks: [
                    hydra.merge_heads(p) @ W[: len(W) // ranks] for p in x.chunk(ranks)
                ],
                "first rows",
            ),
            (
                lambda x, W, ranks: [
                    p.reshape(p.shape[1], -1) @ w
                    for p, w in zip(x.chunk(ranks), W.chunk(ranks), strict=True)
                ],
                "positions",
            ),
            (
                lambda x, W, ranks: [hydra.merge_heads(p) for p in x.chunk(ranks)],
                "W_O is missing",
            ),
            (lambda x, W, ranks: x @ W.reshape(len(x), -1, W.shape[-1]), "a head"),
            (lambda x, W, ranks: torch.stack(list(by_rank(x, W, ranks))).flip(0), "in reverse"),
            (lambda x, W, ranks: [hydra.merge_heads(x) @ W] * ranks, "everything"),
            (by_rank(ones(2, 3, 1).double(), eye(2).double(), 2), "function"),
        ],
    ),
    "devices.bytes_sent": (
        [
            lambda size, ranks: 2 * size * (ranks - 1) / ranks,
            lambda size, ranks: 2 * (ranks - 1) * (size // ranks),
            lambda size, ranks: 2 * (size - size / ranks),
            lambda size, ranks: sum(size / ranks for _ in range(2 * (ranks - 1))),
            lambda size, ranks: Fraction(2 * size * (ranks - 1), ranks),
            lambda size, ranks: 2 * (ranks - 1) * len(range(0, size, ranks)),
            lambda size, ranks: 2 * len(bytes(size)[size // ranks :]),
        ],
        [
            (lambda size, ranks: size * (ranks - 1) / ranks, "half"),
            (lambda size, ranks: size, "one copy"),
            (lambda size, ranks: 2 * size, "at home"),
            (lambda size, ranks: size * (ranks - 1), "everyone"),
            (lambda size, ranks: 2 * size * (ranks - 1), "piece"),
            (lambda size, ranks: 2 * size / ranks, "two messages"),
            (lambda size, ranks: 2 * (ranks - 1), "how many messages"),
            (lambda size, ranks: size * ranks, "together"),
            (24.0, "function"),
        ],
    ),
    "devices.from_all_ranks": (
        [
            ranks_in_turn,
            ranks_at_once,
            ranks_numpy,
            lambda m, l, o: torch.nan_to_num(unguarded(m, l, o)),
        ],
        [
            (lambda m, l, o: (m.amax(0), l.sum(0), o.sum(0)), "o / l"),
            (lambda m, l, o: ranks_from(m, l, o, m.amax(1, keepdim=True)), "wrong axis"),
            (lambda m, l, o: guarded(m, l, o, axis=1), "wrong axis"),
            (lambda m, l, o: guarded(m, l, o, fade_l=False), "l is not"),
            (lambda m, l, o: guarded(m, l, o, fade_o=False), "o is not"),
            (lambda m, l, o: guarded(m, l, o, divide=False), "the division by l"),
            (lambda m, l, o: safe_means(m, l, o).mean(0), "a mean of the ranks"),
            (lambda m, l, o: guarded(m, l, l[..., None] * o), "takes o for a mixture"),
            (lambda m, l, o: unguarded(m, l, l[..., None] * o), "takes o for a mixture"),
            (
                lambda m, l, o: (soft(m, 0).nan_to_num()[..., None] * safe_means(m, l, o)).sum(0),
                "e^m l",
            ),
            (unguarded, "0 / 0"),
            (half_guarded, "0 / 0"),
            (ranks_unguarded, "guard each step"),
            (ranks_unguarded_from_nothing, "guard each step"),
            (lambda m, l, o: ranks_unguarded(m, l, o).nan_to_num(), "guard each step"),
            (lambda m, l, o: ranks_unguarded_from_nothing(m, l, o).nan_to_num(), "guard each step"),
            (lambda m, l, o: ranks_from(m, l, o, zeros(4)), "overflows"),
            (lambda m, l, o: ranks_from(m, l, o, zeros(4)).nan_to_num(), ("overflows", "for m =")),
            (lambda m, l, o: ranks_from(m, l, o, m.max()), "one maximum for all"),
            (lambda m, l, o: ranks_from(m, l, o, m.max()).nan_to_num(), "one maximum for all"),
            (lambda m, l, o: o.sum(0) / l.sum(0)[:, None], "own maximum"),
            (lambda m, l, o: torch.nan_to_num(o.sum(0) / l.sum(0)[:, None]), "own maximum"),
            (lambda m, l, o: (o / l[..., None]).mean(0), "mean"),
            (lambda m, l, o: torch.nan_to_num(o / l[..., None]).mean(0), ("mean", "entry")),
            (not_divided, "division"),
            (lambda m, l, o: not_divided(m, l, o) / l.sum(0)[:, None], "l is not"),
            (
                lambda m, l, o: o.sum(0) / ((m - m.amax(0)).exp() * l).sum(0)[:, None],
                "o is not",
            ),
            (lambda m, l, o: (soft(m, 0)[..., None] * (o / l[..., None])).sum(0), "e^m l"),
            (lambda m, l, o: o.sum(0), "plain sum"),
            (all_ranks_above(-100), "far below 0"),
            (all_ranks_above(-1000), "far below 0"),
        ],
    ),
    "devices.enough_bandwidth": (
        [LINK, 68.36, tensor(LINK), 68.4, [LINK], np.float64(LINK)],
        [
            (8 * LINK, "speed of one rank"),
            (68.36e9, "GB"),
            (6.84e10, "GB"),
            (LINK / 2, "half"),
            (LINK / 7, "one eighth"),
            (LINK * 8 / 7, "P − 1"),
            (2 * 7 * 1e5 / (4 * 4096), "scores"),
            (2 * 7 * 1e5 / (2 * 2048), "projections"),
            (2 * LINK, "two FLOPs"),
            (1 / LINK, "upside down"),
            (68, "more digits"),
            (0, "0 is not right"),
            (2 * 7 * 100e6 / (4 * 4096 + 2 * 2048) / 1e9, "is not right"),
            (8 * LINK, "Gbit"),
        ],
    ),
    "devices.kv_heads": (
        [
            kv_by_loop,
            lambda r, P, h, n: (own_heads(r, P, h) // (h // n)).unique(),
            lambda r, P, h, n: np.unique(own_heads(r, P, h).numpy() * n // h),
            lambda r, P, h, n: list(dict.fromkeys(i * n // h for i in own_heads(r, P, h).tolist())),
        ],
        [
            (lambda r, P, h, n: list(range(r * (n // P), (r + 1) * (n // P))), "none"),
            (
                lambda r, P, h, n: (
                    [r * n // P] if n < P else list(range(r * n // P, (r + 1) * n // P))
                ),
                "may need two",
            ),
            (lambda r, P, h, n: list(range(r * n // P, (r + 1) * n // P)), "none"),
            (lambda r, P, h, n: sorted({i % n for i in own_heads(r, P, h).tolist()}), "in turn"),
            (lambda r, P, h, n: own_heads(r, P, h), "query heads of the rank"),
            (lambda r, P, h, n: own_heads(r, P, h) // (h // n), "once"),
            (lambda r, P, h, n: list(range(n)), "all of them"),
            (lambda r, P, h, n: (own_heads(r, P, h) // n).unique(), "n_heads / n_kv"),
            (lambda r, P, h, n: [r], "that is the rank"),
            (lambda r, P, h, n: [i + 1 for i in kv_by_loop(r, P, h, n)], "from 0"),
            (lambda r, P, h, n: set(kv_by_loop(r, P, h, n)), "in order, got a set"),
            (lambda r, P, h, n: iter(kv_by_loop(r, P, h, n)), "in order, got a list_iterator"),
            (lambda r, P, h, n: (i for i in kv_by_loop(r, P, h, n)), "in order, got a generator"),
            (lambda r, P, h, n: dict.fromkeys(kv_by_loop(r, P, h, n)), "in order, got a dict"),
            (
                lambda r, P, h, n: sorted({kv_by_loop(r, P, h, n)[0], kv_by_loop(r, P, h, n)[-1]}),
                "between",
            ),
            (
                lambda r, P, h, n: kv_by_loop(r, P, h, n)[::-1],
                "the right numbers, in another order",
            ),
            (lambda r, P, h, n: (arange(h // P) // (h // n)).unique(), "rank 0"),
            ([0], "function"),
        ],
    ),
}

ANSWERS = {
    **CHAPTER_01,
    **CHAPTER_02,
    **CHAPTER_03,
    **CHAPTER_04,
    **CHAPTER_05,
    **CHAPTER_06,
    **CHAPTER_07,
    **CHAPTER_08,
    **CHAPTER_09,
    **CHAPTER_10,
    **CHAPTER_11,
    **CHAPTER_12,
}
