"""Fixed weights: the hand-computed products, the loops, and what bad input is told."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib import (
    aggregate,
    aggregate_by_loops,
    decay,
    running_mean,
    running_sum,
    window_mean,
)
from tests.refusal import refuses, unhooked

lengths = st.integers(1, 13)


def test_the_two_products_by_hand():
    values = torch.tensor([[2.0, 8.0, 14.0], [4.0, 10.0, 16.0], [6.0, 12.0, 18.0]])
    sums = aggregate(running_sum(3), values)
    means = aggregate(running_mean(3), values)
    assert sums.tolist() == [[2, 8, 14], [6, 18, 30], [12, 30, 48]]
    assert means.tolist() == [[2, 8, 14], [3, 9, 15], [4, 10, 16]]


def test_window_by_hand():
    expected = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0.5, 0.5]]
    assert window_mean(4, 2).tolist() == expected


def test_decay_by_hand():
    expected = torch.tensor([[7, 0, 0], [7 / 3, 14 / 3, 0], [1, 2, 4]]) / 7
    torch.testing.assert_close(decay(3, 0.5), expected)


def test_product_equals_the_loops():
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(5, 7, generator=generator, dtype=torch.float64)
    values = torch.randn(7, 3, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(aggregate(weights, values), aggregate_by_loops(weights, values))


def test_leading_axes_broadcast():
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(2, 1, 5, 7, generator=generator)
    values = torch.randn(3, 7, 11, generator=generator)
    together = aggregate(weights, values)
    assert together.shape == (2, 3, 5, 11)
    torch.testing.assert_close(together[1, 2], aggregate(weights[1, 0], values[2]))


@given(lengths)
def test_running_sum_is_cumsum(T):
    values = torch.arange(3 * T, dtype=torch.float32).reshape(T, 3)
    assert torch.equal(aggregate(running_sum(T), values), values.cumsum(0))


@given(lengths, st.integers(1, 20), st.floats(0, 1))
def test_averages_have_non_negative_rows_that_sum_to_one(T, width, rate):
    for weights in (running_mean(T), window_mean(T, width), decay(T, rate)):
        assert (weights >= 0).all()
        assert not weights.signbit().any()  # nor is a zero negative: the page would write "-0"
        assert (weights.triu(1) == 0).all()
        torch.testing.assert_close(weights.sum(-1), torch.ones(T))


@given(lengths)
def test_rules_meet_at_their_ends(T):
    torch.testing.assert_close(decay(T, 1.0), running_mean(T))
    torch.testing.assert_close(window_mean(T, T + 3), running_mean(T))
    assert torch.equal(decay(T, 0.0), torch.eye(T))
    assert torch.equal(window_mean(T, 1), torch.eye(T))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_dtype_is_kept(dtype):
    assert aggregate(torch.ones(2, 3, dtype=dtype), torch.ones(3, 1, dtype=dtype)).dtype == dtype


INNER = "expected weights (…, Tq, Tk) and values (…, Tk, d_v) with the same Tk, got "


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: running_sum(0), ValueError, "length must be a positive integer, got 0"),
        (lambda: window_mean(3, 0), ValueError, "width must be a positive integer, got 0"),
        (lambda: decay(3, 1.5), ValueError, "rate must lie between 0 and 1, got 1.5"),
        (lambda: decay(3, -0.5), ValueError, "rate must lie between 0 and 1, got -0.5"),
        (lambda: decay(3, "1"), TypeError, "rate must be a number, got str"),
        (
            lambda: aggregate(torch.ones(2, 2).long(), torch.ones(2, 2)),
            TypeError,
            "weights must be floating point, got torch.int64",
        ),
        (
            lambda: decay(3, float("nan")),
            ValueError,
            "rate must lie between 0 and 1, got nan",
        ),
        (
            lambda: aggregate(torch.ones(5, 7), torch.ones(6, 3)),
            ValueError,
            INNER + "(5, 7) and (6, 3)",
        ),
        (lambda: aggregate(torch.ones(7), torch.ones(7, 3)), ValueError, INNER + "(7,) and (7, 3)"),
        (lambda: aggregate(torch.ones(7, 7), torch.ones(7)), ValueError, INNER + "(7, 7) and (7,)"),
        (
            lambda: aggregate_by_loops(torch.ones(5, 7), torch.ones(6, 3)),
            ValueError,
            INNER + "(5, 7) and (6, 3)",
        ),
        (
            lambda: aggregate(torch.ones(2, 2), [[1.0], [2.0]]),
            TypeError,
            "values must be a torch tensor, got list",
        ),
        (
            lambda: aggregate(torch.ones(2, 2), torch.ones(2, 2).to("meta")),
            ValueError,
            "values is on meta, weights are on cpu",
        ),
        (
            lambda: aggregate(torch.ones(2, 5, 7), torch.ones(3, 7, 4)),
            ValueError,
            "expected leading axes of weights and values that broadcast, got (2, 5, 7) and "
            "(3, 7, 4)",
        ),
        (
            lambda: aggregate(torch.ones(2, 2), torch.ones(2, 2).double()),
            TypeError,
            "values must be torch.float32 like weights, got torch.float64",
        ),
        (
            lambda: aggregate_by_loops(torch.ones(2, 3, 3), torch.ones(3, 3)),
            ValueError,
            "the loop takes one matrix each: expected weights (Tq, Tk) and values (Tk, d_v), got "
            "(2, 3, 3) and (3, 3)",
        ),
    ],
)
def test_bad_input(call, error, message):
    with refuses(error, message):
        call()


def test_leading_axes_are_all_but_the_last_two():
    assert aggregate(torch.ones(3, 5, 7), torch.ones(3, 7, 2)).shape == (3, 5, 2)


def test_decay_takes_the_integers_of_numpy():
    with unhooked():
        assert torch.equal(decay(np.array(3), 0.5), decay(3, 0.5))
