"""Masks by hand, how they combine, and what bad input is told."""

import time

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib import apply_mask, causal_mask, padding_mask, window_mask
from tests.refusal import refuses, unhooked

INF = torch.inf


def test_causal_by_hand():
    assert causal_mask(3).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_window_by_hand():
    expected = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    assert window_mask(4, 2).int().tolist() == expected


def test_padding_by_hand():
    mask = padding_mask(torch.tensor([2, 0, 3]), 3)
    assert mask.shape == (3, 1, 3)
    assert mask.squeeze(1).int().tolist() == [[1, 1, 0], [0, 0, 0], [1, 1, 1]]


def test_apply_by_hand():
    scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert apply_mask(scores, causal_mask(2)).tolist() == [[1, -INF], [3, 4]]
    assert scores.tolist() == [[1, 2], [3, 4]]  # the scores themselves are left alone


def test_causal_and_padding_combine_over_a_batch():
    mask = causal_mask(5) & padding_mask(torch.tensor([2, 5, 0]), 5)
    assert mask.shape == (3, 5, 5)
    for b, length in enumerate([2, 5, 0]):
        for i in range(5):
            for j in range(5):
                assert mask[b, i, j] == (j <= i and j < length)


@given(st.integers(1, 11), st.integers(1, 15))
def test_window_sees_itself_and_the_past_only(T, width):
    mask = window_mask(T, width)
    assert mask.diagonal().all()
    assert not mask.triu(1).any()
    assert (mask.sum(-1) == torch.arange(1, T + 1).clamp(max=width)).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_dtype_is_kept(dtype):
    masked = apply_mask(torch.zeros(2, 3, 5, 7, dtype=dtype), torch.zeros(3, 1, 7).bool())
    assert masked.dtype == dtype
    assert (masked == -INF).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: causal_mask(0), ValueError, "length must be a positive integer, got 0"),
        (lambda: window_mask(3, -1), ValueError, "width must be a positive integer, got -1"),
        (
            lambda: padding_mask(torch.tensor([1.0]), 3),
            TypeError,
            "lengths must be integers, got torch.float32",
        ),
        (
            lambda: padding_mask(torch.tensor([True]), 3),
            TypeError,
            "lengths must be integers, got torch.bool",
        ),
        (
            lambda: padding_mask(torch.tensor([[1]]), 3),
            ValueError,
            "lengths must have one axis, (B,), got shape (1, 1)",
        ),
        (
            lambda: padding_mask(torch.tensor([1, 4]), 3),
            ValueError,
            "lengths must lie between 0 and 3, got [1, 4]",
        ),
        (
            lambda: padding_mask(torch.tensor([-1]), 3),
            ValueError,
            "lengths must lie between 0 and 3, got [-1]",
        ),
        (
            lambda: padding_mask(torch.tensor([0]), 0),
            ValueError,
            "length must be a positive integer, got 0",
        ),
        (
            lambda: apply_mask(torch.zeros(2, 2), torch.ones(2, 2)),
            TypeError,
            "mask must be torch.bool with True = may attend, got torch.float32",
        ),
        (
            lambda: apply_mask(torch.zeros(2, 2).long(), causal_mask(2)),
            TypeError,
            "scores must be floating point, got torch.int64",
        ),
        (
            lambda: apply_mask(torch.zeros(5, 7), causal_mask(5)),
            ValueError,
            "mask must broadcast to scores (5, 7), got shape (5, 5)",
        ),
        (
            # It would broadcast, but the result would have another shape than the scores.
            lambda: apply_mask(torch.zeros(5, 5), causal_mask(5).expand(3, 5, 5)),
            ValueError,
            "mask must broadcast to scores (5, 5), got shape (3, 5, 5)",
        ),
        (
            lambda: apply_mask(torch.zeros(2, 2), [[True, False], [True, True]]),
            TypeError,
            "mask must be a torch tensor, got list",
        ),
        (
            lambda: padding_mask(torch.tensor([1, 2]).to("meta"), 3),
            ValueError,
            "lengths must hold numbers, got a meta tensor",
        ),
        (
            lambda: apply_mask(torch.zeros(2, 2), causal_mask(2).to("meta")),
            ValueError,
            "mask is on meta, scores are on cpu",
        ),
    ],
)
def test_bad_input(call, error, message):
    with refuses(error, message):
        call()


def test_padding_refuses_a_length_beyond_memory():
    with refuses(ValueError, f"length must make at most 2³¹ numbers, got 1 · {2**62}"):
        padding_mask(torch.tensor([1]), 2**62)


def test_padding_stays_on_the_device_of_the_lengths():
    lengths = torch.tensor([2])
    with torch.device("meta"):  # the only second device that every machine has
        mask = padding_mask(lengths, 3)
    assert mask.tolist() == [[[True, True, False]]]


def test_a_mask_of_gigabytes_is_refused_before_any_work():
    for call in (lambda: causal_mask(10**5), lambda: padding_mask(torch.ones(4).long(), 10**9)):
        start = time.perf_counter()
        with unhooked(), pytest.raises(ValueError, match=r"^length must make at most 2³¹ numbers"):
            call()
        assert time.perf_counter() - start < 0.1
