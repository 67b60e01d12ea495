"""Softmax as a Boltzmann distribution: states are keys, energies are negated scores, k_B = 1.

Every quantity is a function of the scores ``s`` (…, n) along the last axis and of the temperature
τ in [0, ∞], both ends included. E_i = −s_i is the energy of state i; s_i = −∞ is a state that
cannot be occupied. All sums run over the states that can.

The functions share one table: with m = max s, they need only ``z_i = (s_i − m) / τ ≤ 0``, which
cannot overflow. float16 and bfloat16 are computed in float32 and rounded
once at the end.
"""

import torch
from jaxtyping import Float

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


def probabilities(scores: torch.Tensor, tau: Temperature = 1.0) -> Float[torch.Tensor, "*batch n"]:
    """Probability of each state: softmax with a temperature.

    ``p_i = exp(s_i / τ) / Σ_j exp(s_j / τ)``. τ = 0 shares the mass equally among the largest
    scores; τ = ∞ is uniform over the states that can be occupied. A row with no such state gives
    zeros.

    ``scores`` is (…, n), floating, dimensionless; ``tau`` is a number or a tensor that broadcasts
    against the scores, in the scores' units. Same shape, dtype and device come back.

    Raises TypeError for scores that are not floating; ValueError for scores without a last axis
    of at least one state, NaN or +∞ scores, τ < 0 or NaN. Cost: one exponential a state.
    Source: Boltzmann (1868), Gibbs (1902); as softmax, Bridle (1990).

    >>> probabilities(torch.tensor([0.0, 0.0, -torch.inf]), tau=2.0)
    tensor([0.5000, 0.5000, 0.0000])
    """
    s, tau = _check(scores, tau)
    _, z = _reduced(s, tau)
    return _normalized(z)[0].to(scores.dtype)


def log_partition(scores: torch.Tensor, tau: Temperature = 1.0) -> Float[torch.Tensor, "*batch"]:
    """Logarithm of the partition function, ``log Z = log Σ_i exp(s_i / τ)``.

    At τ = ∞ it is the logarithm of the number of states. At τ = 0 it is the limit: +∞ or −∞ with
    the sign of max s, and the logarithm of the number of ties when max s = 0. A row with no state
    has Z = 0, log Z = −∞. Arguments, errors and cost as :func:`probabilities`.

    >>> log_partition(torch.zeros(4)).exp()
    tensor(4.)
    """
    s, tau = _check(scores, tau)
    m, z = _reduced(s, tau)
    tau = _per_row(tau)
    total = z.exp().sum(-1)
    # m / τ, with the limit 0 for m = 0 where 0/0 would be NaN; ∞ needs no help.
    shift = torch.where(m == 0, 0.0, m / torch.where(m == 0, 1.0, tau))
    return torch.where(total > 0, shift + _log(total), -torch.inf).to(scores.dtype)


def free_energy(scores: torch.Tensor, tau: Temperature = 1.0) -> Float[torch.Tensor, "*batch"]:
    """Free energy ``F = −τ log Z = U − τ S``, in the units of the scores.

    F falls as τ rises, from the lowest energy at τ = 0 to −∞ at τ = ∞ (where it stays the energy
    of the only state if there is just one). Its slope in an energy is that state's probability:
    ``∂F/∂E_i = p_i``. A row with no state has F = +∞.
    Arguments, errors and cost as :func:`probabilities`. Source: Helmholtz (1882).

    >>> free_energy(torch.tensor([3.0, 1.0]), tau=0.0)
    tensor(-3.)
    """
    s, tau = _check(scores, tau)
    m, z = _reduced(s, tau)
    log_total = _log(z.exp().sum(-1))
    tau = _per_row(tau)
    # 0 · ∞ is NaN: a single state (log 1 = 0) keeps its energy even at τ = ∞.
    single = (log_total == 0) & (tau == torch.inf)
    spread = torch.where(single, 0.0, torch.where(single, 1.0, tau) * log_total)
    return torch.where(_occupied(s), -m - spread, torch.inf).to(scores.dtype)


def mean_energy(scores: torch.Tensor, tau: Temperature = 1.0) -> Float[torch.Tensor, "*batch"]:
    """Mean energy ``U = Σ_i p_i E_i``, in the units of the scores; 0 for a row with no state.

    U rises with τ, from the lowest energy to the plain average of the energies.
    Arguments, errors and cost as :func:`probabilities`.

    >>> mean_energy(torch.tensor([3.0, 1.0]), tau=torch.inf)
    tensor(-2.)
    """
    s, tau = _check(scores, tau)
    m, z = _reduced(s, tau)
    p, _ = _normalized(z)
    gap = _finite(
        s - m[..., None]
    )  # a weighted mean of small gaps rounds less than of large scores
    return (-m - (p * gap).sum(-1)).to(scores.dtype)


def entropy(scores: torch.Tensor, tau: Temperature = 1.0) -> Float[torch.Tensor, "*batch"]:
    """Entropy ``S = −Σ_i p_i log p_i`` in nats; 0 for a row with no state.

    S rises with τ, from the logarithm of the number of ties at τ = 0 to the logarithm of the
    number of states at τ = ∞. Arguments, errors and cost as :func:`probabilities`.
    Source: Gibbs (1902); Shannon (1948).

    >>> entropy(torch.zeros(8)) / torch.tensor(2.0).log()
    tensor(3.)
    """
    s, tau = _check(scores, tau)
    _, z = _reduced(s, tau)
    p, total = _normalized(z)
    return (_log(total) - (p * _finite(z)).sum(-1)).to(scores.dtype)


def heat_capacity(scores: torch.Tensor, tau: Temperature = 1.0) -> Float[torch.Tensor, "*batch"]:
    """Heat capacity ``C = dU/dτ = Var(E) / τ²``, dimensionless.

    How much mean energy one more unit of temperature buys. It is 0 at both ends of the axis and
    has its peak (Schottky's anomaly) where τ is comparable to the gaps between the energies.
    0 for a row with no state. Arguments, errors and cost as :func:`probabilities`.
    Source: the fluctuation formula of Einstein (1904).

    >>> heat_capacity(torch.tensor([1.0, 0.0]), tau=torch.tensor([0.0, torch.inf])[:, None])
    tensor([0., 0.])
    """
    s, tau = _check(scores, tau)
    _, z = _reduced(s, tau)
    p, _ = _normalized(z)
    z = torch.where(p > 0, _finite(z), 0.0)  # an empty state has no fluctuation, however far it is
    return (p * (z - (p * z).sum(-1, keepdim=True)) ** 2).sum(-1).to(scores.dtype)


def jacobian(scores: torch.Tensor, tau: Temperature = 1.0) -> Float[torch.Tensor, "*batch n n"]:
    """Susceptibility of the probabilities: ``J_ij = ∂p_i/∂s_j = p_i (δ_ij − p_j) / τ``.

    Symmetric, each row summing to 0. It is the covariance of the occupation numbers over τ: how
    strongly the distribution answers a nudge to one score. τ = ∞ gives zeros. τ = 0 gives the
    limit: zeros, except +∞ and −∞ among tied maxima, where any nudge breaks the tie.

    The result is (…, n, n). Arguments and errors as :func:`probabilities`. Cost: n² numbers a row.

    >>> jacobian(torch.tensor([0.0, 0.0]))
    tensor([[ 0.2500, -0.2500],
            [-0.2500, 0.2500]])
    """
    s, tau = _check(scores, tau)
    _, z = _reduced(s, tau)
    p, _ = _normalized(z)
    pairs = p[..., :, None] * p[..., None, :]  # (..., n) x (..., n) -> (..., n, n)
    pairs = pairs.masked_fill(torch.eye(p.shape[-1], dtype=torch.bool, device=p.device), 0.0)
    # Σ_j≠i p_i p_j on the diagonal: p_i (1 − p_i) would cancel when p_i is close to 1.
    covariance = torch.diag_embed(pairs.sum(-1)) - pairs
    # An exact zero stays zero at any temperature; 0/0 would be NaN.
    tau = _per_row(tau)[..., None, None]
    response = covariance / torch.where(covariance == 0, 1.0, tau)
    return response.to(scores.dtype)


def _check(scores: torch.Tensor, tau: Temperature) -> tuple[torch.Tensor, torch.Tensor]:
    """Refuse bad input; return scores and τ in the dtype the sums are taken in."""
    if not scores.is_floating_point():
        raise TypeError(f"scores must be floating point, got {scores.dtype}")
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"scores must be (…, n) with n ≥ 1, got shape {tuple(scores.shape)}")
    if (scores.isnan() | (scores == torch.inf)).any():
        raise ValueError("scores must be finite or −∞, got NaN or +∞")
    work = torch.promote_types(scores.dtype, torch.float32)
    tau = torch.as_tensor(tau, dtype=work, device=scores.device)
    if (tau.isnan() | (tau < 0)).any():
        raise ValueError(f"tau must lie in [0, ∞], got {tau.min().item()}")
    if tau.ndim and tau.shape[-1] != 1:
        raise ValueError(f"tau must be one number a row, (…, 1), got shape {tuple(tau.shape)}")
    return scores.to(work), tau


def _reduced(s: torch.Tensor, tau: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The table every quantity is read from: m = max s and z = (s − m) / τ.

    No result depends on m (shift invariance), so its gradient, which would cancel, is not taken.
    """
    m = s.detach().amax(-1, keepdim=True)
    m = torch.where(m == -torch.inf, 0.0, m)
    gap = s - m
    frozen, molten = tau == 0, tau == torch.inf
    z = _finite(gap) / torch.where(frozen | molten, 1.0, tau)
    z = torch.where(frozen, torch.where(gap == 0, 0.0, -torch.inf), z)
    z = torch.where(molten, 0.0, z)
    return m.squeeze(-1), torch.where(gap == -torch.inf, -torch.inf, z)


def _normalized(z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    weight = z.exp()
    total = weight.sum(-1)
    return weight / torch.where(total > 0, total, 1.0)[..., None], total


def _log(total: torch.Tensor) -> torch.Tensor:
    """log, and 0 for the total 0 of a row with no state."""
    return torch.where(total > 0, total, 1.0).log()


def _finite(x: torch.Tensor) -> torch.Tensor:
    """0 in place of −∞: such a term is always multiplied by a weight that is exactly 0."""
    return torch.where(x == -torch.inf, 0.0, x)


def _occupied(s: torch.Tensor) -> torch.Tensor:
    return (s > -torch.inf).any(-1)


def _per_row(tau: torch.Tensor) -> torch.Tensor:
    return tau.squeeze(-1) if tau.ndim else tau
