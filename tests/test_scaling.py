"""The moments of a score: by enumeration, by sampling."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib.scaling import (
    dot_product_moments,
    measure_moments,
    sample_scores,
)
from tests.refusal import refuses, unhooked

BANDS = 5  # standard errors: one honest sample in 1.7 million falls outside


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def inside(measured, expected):
    """Do both measured moments agree with the expected ones, within BANDS standard errors?"""
    mean, mean_error, variance, variance_error = measured
    return (
        abs(mean - expected.mean) <= BANDS * mean_error
        and abs(variance - expected.variance) <= BANDS * variance_error
    )


@pytest.mark.parametrize("d_k", [1, 2, 3])
@pytest.mark.parametrize("numbers", [(0, 0, 1, 1), (2, 0, 1, 3), (1, -2, 3, 2), (5, 7, 0, 0)])
def test_moments_by_enumeration(d_k, numbers):
    """Entries that are μ − σ or μ + σ, each with probability 1/2: every outcome, in integers."""
    mu_q, mu_k, sigma_q, sigma_k = numbers
    qs = list(itertools.product((mu_q - sigma_q, mu_q + sigma_q), repeat=d_k))
    ks = list(itertools.product((mu_k - sigma_k, mu_k + sigma_k), repeat=d_k))
    scores = [sum(map(int.__mul__, q, k)) for q in qs for k in ks]
    mean = Fraction(sum(scores), len(scores))
    variance = Fraction(sum(s * s for s in scores), len(scores)) - mean**2
    assert dot_product_moments(d_k, *numbers) == (mean, variance)


def test_moments_by_hand():
    assert dot_product_moments(64) == (0, 64)
    # σ = 2 on both sides: 2⁴ · 256, not the 2² · 256 of a formula that counts σ² once.
    assert dot_product_moments(256, sigma_q=2, sigma_k=2) == (0, 4096)
    # μ = 1/2: 64 · (1 + 1/4 + 1/4), and the mean 64 / 4.
    assert dot_product_moments(64, mu_q=0.5, mu_k=0.5) == (16, 96)
    # 10⁶ · 10³⁰⁵ alone is more than a float holds.
    assert dot_product_moments(10**6, 1e305, 1e-305, 0, 0).mean == pytest.approx(1e6)


@given(st.integers(1, 512), *[st.floats(-9, 9, allow_subnormal=False)] * 2, *[st.floats(0, 9)] * 2)
def test_swapping_q_and_k_changes_nothing(d_k, mu_q, mu_k, sigma_q, sigma_k):
    one = dot_product_moments(d_k, mu_q, mu_k, sigma_q, sigma_k)
    two = dot_product_moments(d_k, mu_k, mu_q, sigma_k, sigma_q)
    assert one == pytest.approx(two, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("d_k", "numbers"),
    [
        (1, {}),
        (64, {}),
        (256, {"sigma_q": 2, "sigma_k": 2}),
        (64, {"mu_q": 0.5, "mu_k": 0.5}),
        (37, {"mu_q": -1.0, "mu_k": 0.3, "sigma_q": 0.7, "sigma_k": 1.9}),
        (64, {"sigma_q": 1 / 8}),
    ],
)
def test_sampled_scores_have_the_moments(d_k, numbers):
    scores = sample_scores(20_000, 1, d_k, **numbers, generator=seeded())
    expected = dot_product_moments(d_k, **numbers)
    measured = measure_moments(scores)
    assert inside(measured, expected)
    # The band is narrow enough to tell d_k from d_k + 20 %.
    assert not inside(measured, expected._replace(variance=1.2 * expected.variance))


def test_where_the_premises_fail():
    """Equal, or half correlated, q and k; uniform entries do no harm."""
    g = seeded(1)
    q, noise = torch.randn(2, 20_000, 61, generator=g).unbind()
    unit = dot_product_moments(61)
    assert inside(measure_moments((q * noise).sum(-1)), unit)
    # k = q: the mean is d_k, the variance 2 d_k.
    assert inside(measure_moments((q * q).sum(-1)), unit._replace(mean=61, variance=122))
    # Correlation ρ: the mean is ρ d_k, the variance (1 + ρ²) d_k.
    k = 0.5 * q + math.sqrt(0.75) * noise
    assert inside(measure_moments((q * k).sum(-1)), unit._replace(mean=30.5, variance=76.25))
    # No normal distribution is needed.
    q, k = math.sqrt(12) * (torch.rand(2, 20_000, 61, generator=g) - 0.5)
    assert inside(measure_moments((q * k).sum(-1)), unit)


def test_one_shared_input():
    """Over random weights, q and k may share their input; over inputs another law holds."""
    g, d_model, d_k, n = seeded(2), 17, 13, 20_000
    x = torch.randn(d_model, generator=g)
    w_q, w_k = torch.randn(2, n, d_k, d_model, generator=g) / math.sqrt(d_model)
    sigma = (x.norm() / math.sqrt(d_model)).item()
    over_weights = ((w_q @ x) * (w_k @ x)).sum(-1)
    expected = dot_product_moments(d_k, sigma_q=sigma, sigma_k=sigma)
    assert inside(measure_moments(over_weights), expected)
    # Weights fixed, x its own key: s = xᵀ M x has mean tr M and variance 2 ‖(M + Mᵀ)/2‖².
    m = w_q[0].T @ w_k[0]
    x = torch.randn(n, d_model, generator=g)
    over_inputs = measure_moments((x @ m * x).sum(-1))
    symmetric = (m + m.T) / 2
    law = expected._replace(mean=m.trace().item(), variance=2 * symmetric.square().sum().item())
    assert inside(over_inputs, law)
    assert not inside(over_inputs, dot_product_moments(d_k))


def test_sampler_shape_device_and_seed():
    one = sample_scores(5, 3, 7, generator=seeded(3))
    assert one.shape == (5, 3)
    assert one.dtype == torch.float32
    torch.testing.assert_close(one, sample_scores(5, 3, 7, generator=seeded(3)), rtol=0, atol=0)
    # No spread: every score is d_k μ_q μ_k.
    still = sample_scores(2, 3, 7, 2, 3, 0, 0, generator=seeded())
    assert (still == 42).all()


def test_rows_share_a_query_and_nothing_else():
    """Within a row scores have the query's norm in common, so their squares are correlated."""
    s = sample_scores(40_000, 2, 3, generator=seeded(4))
    squares = s.square()
    within = torch.corrcoef(squares.T)[0, 1]
    across = torch.corrcoef(torch.stack([squares[:-1, 0], squares[1:, 0]]))[0, 1]
    assert within > 0.1
    assert abs(across) < 0.03


def test_measured_moments_by_hand():
    """1, 1, 5, 5: mean 3, squared gaps 4, fourth powers 16, so m₄ − m₂² = 0."""
    got = measure_moments(torch.tensor([1.0, 1.0, 5.0, 5.0], dtype=torch.float16))
    assert got == (3.0, 1.0, 16 / 3, 0.0)
    # 0, 0, 0, 4: mean 1, m₂ = 3, m₄ = (3 + 81) / 4 = 21.
    got = measure_moments(torch.tensor([[0.0, 0.0], [0.0, 4.0]]))
    assert got == pytest.approx((1.0, math.sqrt(3) / 2, 4.0, math.sqrt(3)))


def test_measured_moments_near_the_ends_of_the_numbers():
    """1, 1, 5, 5 times 2^±k: no sum or fourth power overflows on the way to what does not."""
    for power in (2.0**-300, 2.0**300):
        s = torch.tensor([1.0, 1.0, 5.0, 5.0], dtype=torch.float64) * power
        assert measure_moments(s) == (3 * power, power, 16 / 3 * power * power, 0.0)
    assert measure_moments(torch.full((3,), 1.5e308, dtype=torch.float64)).mean == 1.5e308
    assert measure_moments(torch.zeros(2)) == (0, 0, 0, 0)
    with refuses(ValueError, "expected scores whose moments fit in a float, got up to ±1e+308"):
        measure_moments(torch.tensor([1e308, -1e308], dtype=torch.float64))


def test_numpy_numbers_are_numbers():
    with unhooked():
        got = dot_product_moments(np.int64(64), np.float32(0.5), np.float64(0.5))
    assert got == (16, 96)
    assert type(got.mean) is float
    with unhooked():  # 5 · 100 is no int8
        scores = sample_scores(np.int8(100), np.int8(3), np.int8(5), generator=seeded())
    assert torch.equal(scores, sample_scores(100, 3, 5, generator=seeded()))


def test_moments_of_numbers_far_apart():
    """The unit is that of the largest: in that of the smallest, 10¹⁵⁰ would overflow."""
    measured = measure_moments(torch.tensor([1e-300, 1e150], dtype=torch.float64))
    assert measured.mean == 5e149
    assert measured.variance == pytest.approx(5e299)


def test_squares_beyond_a_float_meet_before_they_leave_it():
    assert dot_product_moments(1, sigma_q=1e-170, sigma_k=1e100).variance == pytest.approx(1e-140)
    assert dot_product_moments(3, mu_q=1e200, sigma_k=0) == (0, 0)


def test_an_integer_too_large_for_torch_is_a_standard_deviation():
    scores = sample_scores(2, 3, 5, sigma_q=10**20, sigma_k=1e-20, generator=seeded())
    assert 0 < scores.abs().min() < 100


def test_two_values_have_no_error_of_their_variance():
    """m₄ = m₂² of these, and rounds to less."""
    scores = torch.tensor([-2.0, -1.2] * 3, dtype=torch.float64)
    assert measure_moments(scores).variance_error == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: dot_product_moments(0),
            ValueError,
            "d_k must be a positive integer, got 0",
        ),
        (
            lambda: dot_product_moments(True),
            ValueError,
            "d_k must be a positive integer, got True",
        ),
        (lambda: dot_product_moments(3, math.nan), ValueError, "mu_q must be finite, got nan"),
        (lambda: dot_product_moments(3, 0, math.inf), ValueError, "mu_k must be finite, got inf"),
        (
            lambda: dot_product_moments(3, sigma_q=-1),
            ValueError,
            "sigma_q must be finite and at least 0, got -1",
        ),
        (
            lambda: dot_product_moments(3, sigma_k=math.nan),
            ValueError,
            "sigma_k must be finite and at least 0, got nan",
        ),
        (
            lambda: sample_scores(0, 1, 3, generator=seeded()),
            ValueError,
            "rows must be a positive integer, got 0",
        ),
        (
            lambda: sample_scores(1, -1, 3, generator=seeded()),
            ValueError,
            "keys must be a positive integer, got -1",
        ),
        (
            lambda: sample_scores(2, 3, 5, sigma_k=-1, generator=seeded()),
            ValueError,
            "sigma_k must be finite and at least 0, got -1",
        ),
        (
            lambda: measure_moments(torch.ones(2, device="meta")),
            ValueError,
            "scores must hold numbers, got a meta tensor",
        ),
        (
            lambda: measure_moments(torch.tensor([1, 2])),
            TypeError,
            "scores must be floating point, got torch.int64",
        ),
        (
            lambda: measure_moments(torch.tensor([1.0])),
            ValueError,
            "scores must be two or more to have a variance, got 1",
        ),
        (
            lambda: measure_moments(torch.tensor([1.0, math.nan])),
            ValueError,
            "scores must be finite, got NaN or ±∞",
        ),
        (
            lambda: dot_product_moments(3, "1"),
            TypeError,
            "mu_q must be a number, got str",
        ),
        (
            lambda: dot_product_moments(3, 1e200, 1e200),
            ValueError,
            "expected mu_q, mu_k, sigma_q and sigma_k whose moments fit in a float, got "
            "1e+200, 1e+200, 1.0 and 1.0",
        ),
        (
            lambda: sample_scores(2, 3, 5, sigma_q=1e200, generator=seeded()),
            ValueError,
            "expected mu_q, mu_k, sigma_q and sigma_k whose moments fit in a float, got "
            "0.0, 0.0, 1e+200 and 1.0",
        ),
        (
            lambda: dot_product_moments(10**400),
            ValueError,
            "d_k must be a positive integer below 2⁶³, got an integer of 1329 bits",
        ),
        (
            lambda: dot_product_moments([10**5000]),
            ValueError,
            "d_k must be a positive integer, got list",
        ),
        (
            lambda: sample_scores(1, 1, 3, generator=0),
            TypeError,
            "generator must be a torch.Generator, got int",
        ),
        (
            lambda: sample_scores(10**6, 10**6, 3, generator=seeded()),
            ValueError,
            "rows, keys and d_k must make at most 2³¹ numbers, got 1000000 · 1000000 · 3",
        ),
    ],
)
def test_bad_input(call, error, message):
    with refuses(error, message):
        call()


def test_scores_beyond_the_default_dtype_are_refused():
    message = (
        "expected mu_q, mu_k, sigma_q and sigma_k whose scores fit in torch.float32, got "
        "1e+30, 1e+30, 0.0 and 0.0"
    )
    with refuses(ValueError, message):
        sample_scores(1, 2, 4, 1e30, 1e30, 0, 0, generator=seeded())
