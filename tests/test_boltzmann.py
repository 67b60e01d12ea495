"""Identities of the Boltzmann distribution, its two limits, and what bad input is told."""

import itertools
import math
import random

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib import boltzmann
from tests.refusal import refuses, unhooked

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


def exact(scores, tau):
    """z, p, log Z, F, U, S and C in 60 digits, from the very numbers that are in the dtype."""
    with mpmath.workdps(60):
        s, tau = [mpmath.mpf(x) for x in scores], mpmath.mpf(tau)
        m = max(s)
        z = [(x - m) / tau for x in s]
        others = mpmath.fsum(mpmath.exp(x) for x in z if x < 0) + (z.count(0) - 1)
        # mpmath's log1p gives up below 10^-60 … and x − x²/2 is x there.
        log_total = others if others < mpmath.mpf(10) ** -40 else mpmath.log1p(others)
        p = [mpmath.exp(x) / (1 + others) for x in z]
        mean = mpmath.fsum(a * b for a, b in zip(p, z, strict=True))
        capacity = mpmath.fsum(a * (b - mean) ** 2 for a, b in zip(p, z, strict=True))
        log_z = m / tau + log_total
        return z, p, log_z, -tau * log_z, -m - tau * mean, log_total - mean, capacity


def error(got, right):
    return float(abs(mpmath.mpf(got) - right))


@pytest.mark.long
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_errors_are_what_the_docstrings_say(dtype):
    eps, underflow = torch.finfo(dtype).eps, -math.log(torch.finfo(dtype).tiny)
    rng = random.Random(0)
    for case in range(200):
        n, scale = rng.choice([2, 3, 7, 100]), 10 ** rng.uniform(-3, 3)
        s = torch.tensor([rng.gauss(0, scale) for _ in range(n)], dtype=dtype)
        s = s - s.max() if case % 3 == 0 else s
        tau = torch.tensor(10 ** rng.uniform(-3, 3), dtype=dtype).item()
        z, p, log_z, F, U, S, C = exact(s.tolist(), tau)
        m, n_log = abs(s.max().item()), math.log(n)
        g = min(float(-x) for x in z if x < 0)
        at = {"scores": s, "tau": tau}
        for i, weight in enumerate(boltzmann.probabilities(**at).tolist()):
            if -z[i] < underflow:
                assert error(weight, p[i]) <= 4 * eps * p[i] * (1 - z[i])
        assert error(boltzmann.log_partition(**at).item(), log_z) <= 4 * eps * (m / tau + n_log)
        assert error(boltzmann.free_energy(**at).item(), F) <= 4 * eps * (m + tau * n_log)
        assert error(boltzmann.mean_energy(**at).item(), U) <= 4 * eps * s.abs().max().item()
        if g < underflow:
            assert error(boltzmann.entropy(**at).item(), S) <= 4 * eps * (1 + g) * S
            assert error(boltzmann.heat_capacity(**at).item(), C) <= 8 * eps * (1 + g) * C
            if m == 0:
                assert error(boltzmann.log_partition(**at).item(), log_z) <= 4 * eps * (1 + g) * S
        if n < 10:
            J = boltzmann.jacobian(**at).tolist()
            for i, j in itertools.permutations(range(n), 2):
                if -z[i] - z[j] < underflow and tau > 0.1:
                    right, cost = -p[i] * p[j] / tau, 1 - z[i] - z[j]
                    assert error(J[i][j], right) <= 8 * eps * cost * -right


def test_what_is_nearly_nothing_is_not_lost():
    """One state at 0 and one at −40: log Z = e⁻⁴⁰, S = 41 e⁻⁴⁰, far below eps."""
    for dtype in (torch.float32, torch.float64):
        s, tiny = torch.tensor([0.0, -40.0], dtype=dtype), math.exp(-40)
        tol = 50 * torch.finfo(dtype).eps
        assert boltzmann.log_partition(s).item() == pytest.approx(tiny, rel=tol)
        assert boltzmann.entropy(s).item() == pytest.approx(41 * tiny, rel=tol)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_scores_as_far_apart_as_the_dtype_allows(dtype):
    """±a with a near the largest number, so that their distance is none: at τ = a, z = −2."""
    a = torch.finfo(dtype).max / 2 * 1.5
    s, p = torch.tensor([-a, a], dtype=dtype), 1 / (1 + math.exp(2))
    tol = 2 * torch.finfo(dtype).eps
    a = s[1].item()

    def got(quantity, tau):
        return quantity(s, tau).double().tolist()

    assert got(boltzmann.probabilities, math.inf) == [0.5, 0.5]
    assert got(boltzmann.probabilities, a) == pytest.approx([p, 1 - p], rel=tol)
    assert got(boltzmann.probabilities, 1.0) == [0.0, 1.0]
    assert got(boltzmann.mean_energy, math.inf) == 0
    assert got(boltzmann.mean_energy, a) == pytest.approx(-a * (1 - 2 * p), rel=tol)
    assert got(boltzmann.free_energy, a) == pytest.approx(-a * (1 - math.log(1 - p)), rel=tol)
    assert got(boltzmann.log_partition, a) == pytest.approx(1 - math.log(1 - p), rel=tol)
    assert got(boltzmann.heat_capacity, a) == pytest.approx(4 * p * (1 - p), rel=2 * tol)
    entropy = -p * math.log(p) - (1 - p) * math.log(1 - p)
    assert got(boltzmann.entropy, a) == pytest.approx(entropy, rel=2 * tol)
    J = got(boltzmann.jacobian, a / 2**100)
    assert J[0][0] == 0
    if dtype != torch.bfloat16:
        response = boltzmann.jacobian(torch.stack([s, s / 2**60]), s.new_tensor([[a], [1.0]]))
        assert response[1, 0, 0] == 0
        assert (response[0] * a).double()[0, 0].item() == pytest.approx(p * (1 - p), rel=1e-3)


@pytest.mark.parametrize("tau", [0.0, 0.5, math.inf])
def test_the_slope_of_the_free_energy_at_both_ends(tau):
    """∂F/∂E = p and ∂F/∂τ = −S, frozen, molten, with ties and for a single state."""
    rows = [[2.0, 5.0, 5.0], [2.0, 5.0, -math.inf], [-math.inf, 3.0, -math.inf], [1.0, 1.0, 1.0]]
    s, t = f64(rows).requires_grad_(), torch.full((4, 1), tau).double().requires_grad_()
    by_score, by_tau = torch.autograd.grad(boltzmann.free_energy(s, t).sum(), [s, t])
    close(by_score, -boltzmann.probabilities(s, t).detach(), 1e-15)
    close(by_tau.squeeze(-1), -boltzmann.entropy(s, t).detach(), 1e-15)


@pytest.mark.parametrize(("dtype", "tau"), [(torch.float32, 1e-30), (torch.float64, 1e-200)])
def test_the_slope_in_a_tiny_temperature(dtype, tau):
    """Where 1/τ² is not a number any more: dU/dτ = C and dF/dτ = −S, for gaps of τ and of 1."""
    s = torch.tensor([[0.0, -tau, -3 * tau], [0.0, -1.0, -tau]], dtype=dtype)
    t = torch.full((2, 1), tau, dtype=dtype).requires_grad_()
    for quantity, slope, sign in (
        (boltzmann.mean_energy, boltzmann.heat_capacity, 1),
        (boltzmann.free_energy, boltzmann.entropy, -1),
    ):
        (got,) = torch.autograd.grad(quantity(s, t).sum(), t)
        close(got.squeeze(-1), sign * slope(s, t).detach(), 1e-5)


def test_second_derivatives():
    s = f64([[0.3, -1.0, 2.0], [0.0, -math.inf, 0.5]]).requires_grad_()
    t = f64([[0.7], [1.3]]).requires_grad_()
    live = f64([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]]).bool()
    for quantity in (boltzmann.free_energy, boltzmann.log_partition, boltzmann.entropy):

        def run(x, y, quantity=quantity):
            return quantity(torch.where(live, x, -torch.inf), y)

        x = s.detach().masked_fill(~live, 0.0).requires_grad_()
        assert torch.autograd.gradgradcheck(run, (x, t))


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


@pytest.mark.parametrize("top", [1.0, -1.0])
def test_log_partition_where_the_largest_score_is_one(top):
    """The limit at a largest score of 0 is taken at 0 alone."""
    close(
        boltzmann.log_partition(f64([top, top - 1]), 0.5), f64(2 * top + math.log1p(math.exp(-2)))
    )


def test_the_smallest_number_is_not_lost():
    """Scores are halved only where their distance overflows: half of this one would be 0."""
    least = 5e-324
    for scores in ([least], [least, -math.inf]):
        assert boltzmann.mean_energy(f64(scores)).item() == -least
        assert boltzmann.free_energy(f64(scores), 0.0).item() == -least


def test_leading_axes_are_rows():
    s = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    together = boltzmann.jacobian(s, 0.7)
    for i, j in itertools.product(range(2), range(3)):
        close(together[i, j], boltzmann.jacobian(s[i, j], 0.7), 1e-15)


@pytest.mark.parametrize(
    ("scores", "tau", "error", "message"),
    [
        (torch.tensor([1, 2]), 1.0, TypeError, "scores must be floating point, got torch.int64"),
        (torch.zeros(2, 0), 1.0, ValueError, "scores must be (…, n) with n ≥ 1, got shape (2, 0)"),
        (torch.tensor(1.0), 1.0, ValueError, "scores must be (…, n) with n ≥ 1, got shape ()"),
        (f64([math.nan]), 1.0, ValueError, "scores must be finite or −∞, got NaN or +∞"),
        (f64([math.inf]), 1.0, ValueError, "scores must be finite or −∞, got NaN or +∞"),
        (f64([1.0, math.nan]), 1.0, ValueError, "scores must be finite or −∞, got NaN or +∞"),
        (f64([1.0, math.inf]), 1.0, ValueError, "scores must be finite or −∞, got NaN or +∞"),
        (f64([1.0]), -0.5, ValueError, "tau must lie in [0, ∞], got -0.5"),
        (f64([[1], [2]]), f64([[1], [-0.5]]), ValueError, "tau must lie in [0, ∞], got -0.5"),
        (f64([1.0]), math.nan, ValueError, "tau must lie in [0, ∞], got nan"),
        (torch.ones(1), -1e-50, ValueError, "tau must lie in [0, ∞], got -1e-50"),
        (torch.ones(1), f64([-1e-50]), ValueError, "tau must lie in [0, ∞], got -1e-50"),
        ([1.0, 2.0], 1.0, TypeError, "scores must be a torch tensor, got list"),
        (
            torch.zeros(2).to_sparse(),
            1.0,
            TypeError,
            "scores must be a dense torch tensor, got torch.sparse_coo",
        ),
        (
            torch.zeros(2, device="meta"),
            1.0,
            ValueError,
            "scores must hold numbers, got a meta tensor",
        ),
        (
            torch.zeros(2),
            torch.ones(1).to_sparse(),
            TypeError,
            "tau must be a dense torch tensor, got torch.sparse_coo",
        ),
        (
            torch.zeros(2),
            torch.ones(1, device="meta"),
            ValueError,
            "tau must hold numbers, got a meta tensor",
        ),
        (
            torch.zeros(5, 7),
            torch.ones(5, 2, 1),
            ValueError,
            "tau must broadcast to scores (5, 7), got shape (5, 2, 1)",
        ),
        (torch.zeros(2), "1", TypeError, "tau must be a number, got str"),
        (torch.zeros(2), True, TypeError, "tau must be a number, got bool"),
        (torch.zeros(2), [1.0], TypeError, "tau must be a number, got list"),
        (torch.zeros(2), torch.tensor(True), TypeError, "tau must be real numbers, got torch.bool"),
        (
            torch.zeros(2),
            torch.tensor(1.0).to(torch.float8_e4m3fn),
            TypeError,
            "tau must have at least 16 bits, got torch.float8_e4m3fn",
        ),
        (torch.zeros(2), torch.tensor(-1), ValueError, "tau must lie in [0, ∞], got -1.0"),
        (
            torch.zeros(5, 2),
            torch.ones(3, 1),
            ValueError,
            "tau must broadcast to scores (5, 2), got shape (3, 1)",
        ),
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


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32, torch.uint64])
def test_a_temperature_may_be_an_unsigned_integer(dtype):
    scores = torch.tensor([[0.0, 1.0], [3.0, 1.0]])
    tau = torch.tensor([[0], [2]]).to(dtype)
    assert torch.equal(boltzmann.entropy(scores, tau), boltzmann.entropy(scores, tau.float()))


def test_a_temperature_may_be_an_array_without_axes():
    scores = torch.tensor([0.0, 1.0])
    with unhooked():
        found = boltzmann.probabilities(scores, np.array(2.0))
    assert torch.equal(found, boltzmann.probabilities(scores, 2.0))


def test_another_default_device_is_not_that_of_the_temperature():
    scores = torch.tensor([0.0, 1.0])
    expected = boltzmann.probabilities(scores, 2.0), boltzmann.jacobian(scores, 2.0)
    with torch.device("meta"):
        found = boltzmann.probabilities(scores, 2.0), boltzmann.jacobian(scores, 2.0)
    assert all(map(torch.equal, found, expected))


@pytest.mark.parametrize(
    "of", [boltzmann.probabilities, boltzmann.log_partition, boltzmann.jacobian, boltzmann.entropy]
)
def test_minus_nothing_is_no_other_temperature(of):
    scores = torch.tensor([1.0, 2.0, 2.0])
    for zero, minus in ((0.0, -0.0), (torch.zeros(1), -torch.zeros(1))):
        assert torch.equal(of(scores, minus), of(scores, zero))
