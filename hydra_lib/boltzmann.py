"""Softmax as a Boltzmann distribution: states are keys, energies are negated scores, k_B = 1.

Every quantity is a function of the scores ``s`` (…, n) along the last axis and of the temperature
τ in [0, ∞], both ends included. E_i = −s_i is the energy of state i; s_i = −∞ is a state that
cannot be occupied. All sums run over the states that can.

All functions begin alike: with m = max s, they need only ``z_i = (s_i − m) / τ ≤ 0``, whose
exponential cannot overflow. float16 and bfloat16 are computed in float32 and rounded once at the
end.

Each function says what error to expect for rows of up to a hundred states, tested against 60-digit
arithmetic. Its unit is eps, the relative spacing of float64 or float32; the rounding to 16 bits
comes on top. ``g`` is how far the best score is from the next lower one, over τ.
"""

from typing import Any

import torch
from jaxtyping import Float

from hydra_lib import _checks

__all__ = [
    "entropy",
    "free_energy",
    "heat_capacity",
    "jacobian",
    "log_partition",
    "mean_energy",
    "probabilities",
]

Temperature = float | int | torch.Tensor


def probabilities(
    scores: Float[torch.Tensor, "*rows n"], tau: Temperature = 1.0
) -> Float[torch.Tensor, "*batch n"]:
    """Probability of each state: softmax with a temperature.

    ``p_i = exp(s_i / τ) / Σ_j exp(s_j / τ)``. τ = 0 shares the mass equally among the largest
    scores; τ = ∞ is uniform over the states that can be occupied. A row with no such state gives
    zeros.

    ``scores`` is (…, n), floating; ``tau`` is a number, or a tensor with one number a row, (…, 1),
    in the scores' units. The scores' dtype and device come back, and their shape, unless τ has more
    rows. Finite scores may be as far apart as the dtype allows.

    Raises TypeError for scores that are not a floating tensor of at least 16 bits and a τ that is
    neither a real number nor a tensor of such, or float8; ValueError for scores without a last axis
    of at least one state, NaN or +∞ scores, meta tensors, τ < 0 or NaN, a τ of another shape. Cost:
    one exponential a state.
    Relative error: ``4 eps · (1 + |z_i|)``. At τ = 0 the gradient is 0, as it is where nothing
    ties. Source: Boltzmann (1868), Gibbs (1902); as softmax, Bridle (1990).

    >>> probabilities(torch.tensor([0.0, 0.0, -torch.inf]), tau=2.0)
    tensor([0.5000, 0.5000, 0.0000])
    """
    s, tau, _ = _check(scores, tau)
    _, z = _reduced(s, tau)
    return _normalized(z).to(scores.dtype)


def log_partition(
    scores: Float[torch.Tensor, "*rows n"], tau: Temperature = 1.0
) -> Float[torch.Tensor, "*batch"]:
    """Logarithm of the partition function, ``log Z = log Σ_i exp(s_i / τ)``.

    At τ = ∞ it is the logarithm of the number of states. At τ = 0 it is the limit: +∞ or −∞ with
    the sign of max s, and the logarithm of the number of ties when max s = 0. A row with no state
    has Z = 0, log Z = −∞. Arguments, errors and cost as :func:`probabilities`.
    Error: 4 eps of ``|m|/τ + log n``; where m = 0, relative to the result, 4 eps · (1 + g). Its
    gradient p / τ is infinite at τ = 0, where 0 is returned: take that of :func:`free_energy`.

    >>> log_partition(torch.zeros(4)).exp()
    tensor(4.)
    """
    s, tau, _ = _check(scores, tau)
    m, z = _reduced(s, tau)
    tau = _per_row(tau)
    # m / τ, with the limit 0 for m = 0 where 0/0 would be NaN; ∞ needs no help.
    shift = torch.where(m == 0, 0.0, m / torch.where(m == 0, 1.0, tau))
    return torch.where(_occupied(s), shift + _log_total(z), -torch.inf).to(scores.dtype)


def free_energy(
    scores: Float[torch.Tensor, "*rows n"], tau: Temperature = 1.0
) -> Float[torch.Tensor, "*batch"]:
    """Free energy ``F = −τ log Z = U − τ S``, in the units of the scores.

    F falls as τ rises, from the lowest energy at τ = 0 to −∞ at τ = ∞ (where it stays the energy
    of the only state if there is just one). Its slope in an energy is that state's probability:
    ``∂F/∂E_i = p_i``, at both ends too, and its slope in τ is −S. A row with no state has F = +∞.
    Arguments, errors and cost as :func:`probabilities`. Error: 4 eps of ``|m| + τ log n``. Source:
    Helmholtz (1882).

    >>> free_energy(torch.tensor([3.0, 1.0]), tau=0.0)
    tensor(-3.)
    """
    s, tau, unit = _check(scores, tau)
    m, z = _reduced(s, tau)
    log_total, p, s = _log_total(z), _normalized(z).detach(), _finite(s)
    tau = _per_row(tau)
    # 0 · ∞ is NaN: a single state (log 1 = 0) keeps its energy even at τ = ∞.
    single = (log_total == 0) & (tau == torch.inf)
    spread = torch.where(single, 0.0, torch.where(single, 1.0, tau) * log_total)
    # At both ends of the axis z is constant, and p, which is too, is all of the slope. A sum of 0.
    slope = torch.where((tau == 0) | (tau == torch.inf), (p * (s - s.detach())).sum(-1), 0.0)
    return torch.where(_occupied(z), (-m - spread - slope) * unit, torch.inf).to(scores.dtype)


def mean_energy(
    scores: Float[torch.Tensor, "*rows n"], tau: Temperature = 1.0
) -> Float[torch.Tensor, "*batch"]:
    """Mean energy ``U = Σ_i p_i E_i``, in the units of the scores; 0 for a row with no state.

    U rises with τ, from the lowest energy to the plain average of the energies.
    Arguments, errors and cost as :func:`probabilities`. Error: 4 eps of the largest ``|E_i|``.

    >>> mean_energy(torch.tensor([3.0, 1.0]), tau=torch.inf)
    tensor(-2.)
    """
    s, tau, unit = _check(scores, tau)
    m, z = _reduced(s, tau)
    # A weighted mean of small gaps rounds less than one of large scores.
    gap = _finite(s - m[..., None])
    return ((-m - (_normalized(z) * gap).sum(-1)) * unit).to(scores.dtype)


def entropy(
    scores: Float[torch.Tensor, "*rows n"], tau: Temperature = 1.0
) -> Float[torch.Tensor, "*batch"]:
    """Entropy ``S = −Σ_i p_i log p_i`` in nats; 0 for a row with no state.

    S rises with τ, from the logarithm of the number of ties at τ = 0 to the logarithm of the
    number of states at τ = ∞. Arguments, errors and cost as :func:`probabilities`.
    Relative error: 4 eps · (1 + g), however near 0, down to the dtype's smallest normal number.
    Source: Gibbs (1902); Shannon (1948).

    >>> entropy(torch.zeros(8)) / torch.tensor(2.0).log()
    tensor(3.)
    """
    s, tau, _ = _check(scores, tau)
    _, z = _reduced(s, tau)
    return (_log_total(z) - (_normalized(z) * _finite(z)).sum(-1)).to(scores.dtype)


def heat_capacity(
    scores: Float[torch.Tensor, "*rows n"], tau: Temperature = 1.0
) -> Float[torch.Tensor, "*batch"]:
    """Heat capacity ``C = dU/dτ = Var(E) / τ²``, dimensionless.

    How much mean energy one more unit of temperature buys. It is 0 at both ends of the axis and
    has a peak or several between (Schottky's anomaly), unless all energies are equal.
    0 for a row with no state. Arguments, errors and cost as :func:`probabilities`.
    Relative error: 8 eps · (1 + g). Source: the fluctuation formula of Einstein (1904).

    >>> heat_capacity(torch.tensor([1.0, 0.0]), tau=torch.tensor([0.0, torch.inf])[:, None])
    tensor([0., 0.])
    """
    s, tau, _ = _check(scores, tau)
    _, z = _reduced(s, tau)
    p, z = _normalized(z), _finite(z)
    return (p * (z - (p * z).sum(-1, keepdim=True)) ** 2).sum(-1).to(scores.dtype)


def jacobian(
    scores: Float[torch.Tensor, "*rows n"], tau: Temperature = 1.0
) -> Float[torch.Tensor, "*batch n n"]:
    """Susceptibility of the probabilities: ``J_ij = ∂p_i/∂s_j = p_i (δ_ij − p_j) / τ``.

    Symmetric, each row summing to 0. It is the covariance of the occupation numbers over τ: how
    strongly the distribution answers a nudge to one score. τ = ∞ gives zeros. τ = 0 gives the
    limit: zeros, except +∞ and −∞ among tied maxima, where any nudge breaks the tie.

    The result is (…, n, n). Arguments and errors as :func:`probabilities`. Cost: n² numbers a row.
    Relative error: ``8 eps · (1 + |z_i| + |z_j|)``.

    >>> jacobian(torch.tensor([0.0, 0.0]))
    tensor([[ 0.2500, -0.2500],
            [-0.2500, 0.2500]])
    """
    s, tau, unit = _check(scores, tau)
    _, z = _reduced(s, tau)
    p = _normalized(z)
    pairs = p[..., :, None] * p[..., None, :]  # (..., n) x (..., n) -> (..., n, n)
    pairs = pairs.masked_fill(torch.eye(p.shape[-1], dtype=torch.bool, device=p.device), 0.0)
    # Σ_j≠i p_i p_j on the diagonal: p_i (1 − p_i) would cancel when p_i is close to 1.
    covariance = torch.diag_embed(pairs.sum(-1)) - pairs
    # An exact zero stays zero at any temperature; 0/0 would be NaN.
    tau = _per_row(tau)[..., None, None]
    response = covariance / torch.where(covariance == 0, 1.0, tau)
    return (response / unit[..., None, None]).to(scores.dtype)


def _check(scores: Any, tau: object) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Refuse bad input; return scores and τ in the dtype the sums are taken in, and their unit.

    The unit is 1, or 2 for a row whose scores are further apart than the dtype reaches.
    """
    _checks.floating("scores", scores)
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"scores must be (…, n) with n ≥ 1, got shape {tuple(scores.shape)}")
    _checks.has_values("scores", scores)
    if (scores.isnan() | (scores == torch.inf)).any():
        raise ValueError("scores must be finite or −∞, got NaN or +∞")
    s = scores.to(_checks.wide(scores.dtype))
    tau = _check_tau(tau, s)
    top, bottom = s.detach().amax(-1), torch.where(s == -torch.inf, torch.inf, s.detach()).amin(-1)
    # A row with no state is −∞ − ∞ here, and keeps its unit.
    unit = torch.where(top - bottom == torch.inf, 2.0, 1.0).to(s.dtype)
    return s / unit[..., None], tau / unit[..., None], unit


def _check_tau(tau: object, s: torch.Tensor) -> torch.Tensor:
    if isinstance(tau, torch.Tensor):
        _checks.tensor("tau", tau)
        if tau.dtype == torch.bool or tau.is_complex():
            raise TypeError(f"tau must be real numbers, got {tau.dtype}")
        if not tau.is_floating_point():  # torch compares no wide unsigned integers
            tau = tau.to(s.dtype)
        _checks.floating("tau", tau)
        _checks.has_values("tau", tau)
        if tau.ndim and tau.shape[-1] != 1:
            raise ValueError(f"tau must be one number a row, (…, 1), got shape {tuple(tau.shape)}")
        if not _checks.broadcasts(tau.shape[:-1], s.shape[:-1]):
            raise ValueError(
                f"tau must broadcast to scores {tuple(s.shape)}, got shape {tuple(tau.shape)}"
            )
    else:
        tau = torch.tensor(float(_checks.number("tau", tau)), dtype=torch.float64, device="cpu")
    if (tau.isnan() | (tau < 0)).any():  # before it is rounded: −1e-50 is −0 in float32
        raise ValueError(f"tau must lie in [0, ∞], got {tau.min().item()}")
    return tau.to(s) + 0.0  # −0 becomes 0


def _reduced(s: torch.Tensor, tau: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The table every quantity is read from: m = max s and z = (s − m) / τ.

    No result depends on m (shift invariance), so its gradient, which would cancel, is not taken.
    """
    m = s.detach().amax(-1, keepdim=True)
    m = torch.where(m == -torch.inf, 0.0, m)
    gap = s - m
    frozen, molten = tau == 0, tau == torch.inf
    tau = torch.where(frozen | molten, 1.0, tau)
    fixed = tau.detach()
    # exp(−10⁴) is 0 in every dtype. What cannot be occupied is as good as forbidden.
    empty = (gap / fixed < -1e4) & ~molten | frozen & (gap < 0) | (gap == -torch.inf)
    z = torch.where(empty | frozen | molten, 0.0, gap) / fixed
    # τ enters by this 1 alone: a gradient is summed over the row before 1/τ can make it overflow.
    return m.squeeze(-1), torch.where(empty, -torch.inf, z * (fixed / tau))


def _normalized(z: torch.Tensor) -> torch.Tensor:
    weight = z.exp()
    total = weight.sum(-1, keepdim=True)
    return weight / torch.where(total > 0, total, 1.0)


def _log_total(z: torch.Tensor) -> torch.Tensor:
    """``log Σ exp z``, and 0 for a row with no state.

    The largest terms are 1. One of them is left to log1p, so that what is added to it, however
    little, is not lost; expm1 is 0 for it too, and keeps its gradient.
    """
    top = z == 0
    rest = torch.where(top, z.expm1(), z.exp()).sum(-1)
    return (rest + (top.sum(-1) - 1).clamp(min=0)).log1p()


def _finite(x: torch.Tensor) -> torch.Tensor:
    """0 in place of −∞: such a term is always multiplied by a weight that is exactly 0."""
    return torch.where(x == -torch.inf, 0.0, x)


def _occupied(s: torch.Tensor) -> torch.Tensor:
    return (s > -torch.inf).any(-1)


def _per_row(tau: torch.Tensor) -> torch.Tensor:
    return tau.squeeze(-1) if tau.ndim else tau
