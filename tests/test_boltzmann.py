"""Identities of the Boltzmann distribution, its two limits, and what bad input is told."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib import boltzmann
from tests.refusal import refuses

LN2 = math.log(2.0)
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]

scores_lists = st.lists(st.floats(-20, 20), min_size=1, max_size=7)
temperatures = st.floats(0.05, 50)


def f64(values):
    return torch.tensor(values, dtype=torch.float64)


def close(a, b, tol=1e-9):
    torch.testing.assert_close(a, b, rtol=tol, atol=tol)


def test_two_levels_by_hand():
    """E = 0 and E = log 3 at τ = 1: weights 1 and 1/3, so p = 3/4 and 1/4."""
    s = f64([0.0, -math.log(3.0)])
    close(boltzmann.probabilities(s), f64([0.75, 0.25]))
    close(boltzmann.log_partition(s), f64(math.log(4 / 3)))
    close(boltzmann.free_energy(s), f64(-math.log(4 / 3)))
    close(boltzmann.mean_energy(s), f64(math.log(3) / 4))
    close(boltzmann.entropy(s), f64(math.log(4) - 0.75 * math.log(3)))
    close(boltzmann.heat_capacity(s), f64(3 / 16 * math.log(3) ** 2))
    close(boltzmann.jacobian(s), f64([[3 / 16, -3 / 16], [-3 / 16, 3 / 16]]))


def test_frozen_limit_shares_the_mass_among_ties():
    s = f64([2.0, 5.0, 5.0, -torch.inf])
    close(boltzmann.probabilities(s, 0.0), f64([0, 0.5, 0.5, 0]), 0)
    close(boltzmann.free_energy(s, 0.0), f64(-5.0), 0)
    close(boltzmann.mean_energy(s, 0.0), f64(-5.0), 0)
    close(boltzmann.entropy(s, 0.0), f64(LN2))
    close(boltzmann.heat_capacity(s, 0.0), f64(0.0), 0)
    inf = math.inf
    expected = [[0, 0, 0, 0], [0, inf, -inf, 0], [0, -inf, inf, 0], [0, 0, 0, 0]]
    close(boltzmann.jacobian(s, 0.0), f64(expected), 0)


@pytest.mark.parametrize(
    ("top", "expected"), [(3.0, math.inf), (-3.0, -math.inf), (0.0, math.log(2.0))]
)
def test_log_partition_in_the_frozen_limit(top, expected):
    close(boltzmann.log_partition(f64([top, top, top - 1]), 0.0), f64(expected))


def test_molten_limit_is_uniform_over_what_is_allowed():
    s = f64([2.0, 5.0, 8.0, -torch.inf])
    inf = math.inf
    close(boltzmann.probabilities(s, inf), f64([1 / 3, 1 / 3, 1 / 3, 0]))
    close(boltzmann.log_partition(s, inf), f64(math.log(3)))
    close(boltzmann.free_energy(s, inf), f64(-inf), 0)
    close(boltzmann.mean_energy(s, inf), f64(-5.0))
    close(boltzmann.entropy(s, inf), f64(math.log(3)))
    close(boltzmann.heat_capacity(s, inf), f64(0.0), 0)
    close(boltzmann.jacobian(s, inf), torch.zeros(4, 4, dtype=torch.float64), 0)


@pytest.mark.parametrize("tau", [0.0, 0.5, 1.0, math.inf])
def test_a_single_state_has_no_freedom(tau):
    s = f64([-torch.inf, 3.0])
    close(boltzmann.probabilities(s, tau), f64([0.0, 1.0]), 0)
    close(boltzmann.free_energy(s, tau), f64(-3.0), 0)
    close(boltzmann.entropy(s, tau), f64(0.0), 0)


@pytest.mark.parametrize("tau", [0.0, 0.5, 1.0, math.inf])
def test_a_row_with_no_state(tau):
    s = torch.full((2, 3), -torch.inf, dtype=torch.float64)
    zeros = f64([0.0, 0.0])
    close(boltzmann.probabilities(s, tau), torch.zeros(2, 3, dtype=torch.float64), 0)
    close(boltzmann.log_partition(s, tau), f64([-math.inf] * 2), 0)
    close(boltzmann.free_energy(s, tau), f64([math.inf] * 2), 0)
    for zero in (boltzmann.mean_energy, boltzmann.entropy, boltzmann.heat_capacity):
        close(zero(s, tau), zeros, 0)
    close(boltzmann.jacobian(s, tau), torch.zeros(2, 3, 3, dtype=torch.float64), 0)


@pytest.mark.parametrize("tau", [0.3, 1.0, 7.0])
def test_agrees_with_torch(tau):
    s = torch.randn(2, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    close(boltzmann.probabilities(s, tau), torch.softmax(s / tau, -1), 1e-14)
    close(boltzmann.log_partition(s, tau), torch.logsumexp(s / tau, -1), 1e-14)


@given(scores_lists, temperatures)
def test_rows_sum_to_one(values, tau):
    close(boltzmann.probabilities(f64(values), tau).sum(), f64(1.0), 1e-14)


@given(scores_lists, temperatures, st.floats(-100, 100))
def test_a_shift_of_all_scores_changes_no_probability(values, tau, shift):
    s = f64(values)
    close(boltzmann.probabilities(s + shift, tau), boltzmann.probabilities(s, tau))
    close(boltzmann.free_energy(s + shift, tau), boltzmann.free_energy(s, tau) - shift)


@given(scores_lists, temperatures)
def test_free_energy_is_energy_minus_temperature_times_entropy(values, tau):
    s = f64(values)
    bought = boltzmann.mean_energy(s, tau) - tau * boltzmann.entropy(s, tau)
    close(boltzmann.free_energy(s, tau), bought, 1e-11)


@given(scores_lists, temperatures)
def test_heat_capacity_is_the_variance_of_the_energy(values, tau):
    s = f64(values)
    p = torch.softmax(s / tau, -1)
    variance = (p * (s - (p * s).sum()) ** 2).sum()
    close(boltzmann.heat_capacity(s, tau), variance / tau**2)


@given(scores_lists, temperatures)
def test_heat_capacity_is_the_slope_of_the_mean_energy(values, tau):
    s, tau = f64(values), f64([tau]).requires_grad_()
    (slope,) = torch.autograd.grad(boltzmann.mean_energy(s, tau), tau)
    close(boltzmann.heat_capacity(s, tau.detach()), slope.squeeze())


@given(scores_lists, temperatures)
def test_the_slope_of_the_free_energy_in_an_energy_is_a_probability(values, tau):
    energies = (-f64(values)).requires_grad_()
    (slope,) = torch.autograd.grad(boltzmann.free_energy(-energies, tau), energies)
    close(slope, boltzmann.probabilities(-energies.detach(), tau))


@given(scores_lists, temperatures)
def test_jacobian_against_autograd(values, tau):
    s = f64(values)
    by_autograd = torch.autograd.functional.jacobian(lambda x: boltzmann.probabilities(x, tau), s)
    close(boltzmann.jacobian(s, tau), by_autograd)


def test_the_diagonal_of_the_jacobian_does_not_cancel():
    """p = 1 − e⁻²⁰ is 1 in float32, yet p (1 − p) is not 0."""
    J = boltzmann.jacobian(torch.tensor([20.0, 0.0]))
    p = 1 / (1 + math.exp(-20))
    assert J[0, 0].item() == pytest.approx(p * (1 - p), rel=1e-6)
    assert J.dtype == torch.float32
    assert torch.equal(J.sum(-1), torch.zeros(2))


@given(scores_lists, st.lists(temperatures, min_size=2, max_size=6))
def test_entropy_rises_with_temperature(values, taus):
    taus = f64([0.0, *sorted(taus), math.inf])[:, None]
    steps = boltzmann.entropy(f64(values), taus).diff()
    assert (steps >= -1e-12).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tau", [0.0, 1e-3, 1.0, 1e3, math.inf])
def test_extreme_scores_stay_stable_in_every_dtype(dtype, tau):
    s = torch.tensor([1e4, -1e4, 9984.0, -torch.inf], dtype=dtype)
    exact = s.double()
    # The result is that of the exact sum, rounded once to the dtype.
    for quantity in (
        boltzmann.probabilities,
        boltzmann.log_partition,
        boltzmann.free_energy,
        boltzmann.mean_energy,
        boltzmann.entropy,
        boltzmann.heat_capacity,
        boltzmann.jacobian,
    ):
        got = quantity(s, tau)
        assert got.dtype == dtype
        assert not got.isnan().any(), quantity.__name__
        tiny = 2 * torch.finfo(dtype).eps
        # float32 sums, of scores as large as 1e4 and gaps as large as 2e4, over τ
        tol = max(tiny, 1e-5)
        torch.testing.assert_close(got, quantity(exact, tau).to(dtype), rtol=tol, atol=tol)


def test_gradients_are_finite_beside_forbidden_states():
    s = f64([[1.0, -torch.inf, 2.0], [-torch.inf] * 3]).requires_grad_()
    p = boltzmann.probabilities(s, f64([[0.7], [0.7]]).requires_grad_())
    (p * f64([1.0, 2.0, 3.0])).sum().backward()
    assert s.grad.isfinite().all()
    assert s.grad[0, 1] == 0
    assert (s.grad[1] == 0).all()


def test_one_temperature_a_row():
    s = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    taus = torch.tensor([[0.0], [2.0], [math.inf]])
    for quantity in (boltzmann.probabilities, boltzmann.free_energy, boltzmann.jacobian):
        together = quantity(s, taus)
        for row in range(3):
            close(together[row], quantity(s[row], taus[row].item()), 0)


@pytest.mark.parametrize(
    ("scores", "tau", "error", "message"),
    [
        (torch.tensor([1, 2]), 1.0, TypeError, "scores must be floating point, got torch.int64"),
        (torch.zeros(2, 0), 1.0, ValueError, "scores must be (…, n) with n ≥ 1, got shape (2, 0)"),
        (torch.tensor(1.0), 1.0, ValueError, "scores must be (…, n) with n ≥ 1, got shape ()"),
        (f64([math.nan]), 1.0, ValueError, "scores must be finite or −∞, got NaN or +∞"),
        (f64([math.inf]), 1.0, ValueError, "scores must be finite or −∞, got NaN or +∞"),
        (f64([1.0]), -0.5, ValueError, "tau must lie in [0, ∞], got -0.5"),
        (f64([1.0]), math.nan, ValueError, "tau must lie in [0, ∞], got nan"),
        (
            torch.zeros(5),
            torch.ones(5),
            ValueError,
            "tau must be one number a row, (…, 1), got shape (5,)",
        ),
    ],
)
def test_bad_input(scores, tau, error, message):
    with refuses(error, message):
        boltzmann.probabilities(scores, tau)
