"""Scaling: the mean and variance of a score q·k.

A score is a sum of d_k products. Its variance grows with d_k, and a softmax fed with scores that
are far apart has one weight near 1, entropy near 0 and a gradient near 0. For entries of mean 0 and
variance 1, the temperature √d_k keeps the spread of the scores at 1.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float

from hydra_lib import _checks

__all__ = [
    "MeasuredMoments",
    "Moments",
    "dot_product_moments",
    "measure_moments",
    "sample_scores",
]

Number = float | int


class Moments(NamedTuple):
    """Mean and variance of a score."""

    mean: Number
    variance: Number


class MeasuredMoments(NamedTuple):
    """Mean and variance of a sample of scores, each with its standard error."""

    mean: float
    mean_error: float
    variance: float
    variance_error: float


def dot_product_moments(
    d_k: int, mu_q: Number = 0.0, mu_k: Number = 0.0, sigma_q: Number = 1.0, sigma_k: Number = 1.0
) -> Moments:
    """Exact mean and variance of ``q·k = Σ_c q_c k_c`` over c = 1 … d_k.

    ``E = d_k μ_q μ_k`` and ``Var = d_k (σ_q² σ_k² + μ_q² σ_k² + μ_k² σ_q²)``, for entries that are
    all independent, those of q with mean μ_q and standard deviation σ_q, those of k with μ_k and
    σ_k. Their distribution does not matter. With zero means the variance is ``d_k σ_q² σ_k²``; it
    is d_k only if both variances are 1 as well. Where all arguments are integers, so are the
    results.

    Raises TypeError for what is no number, ValueError when ``d_k`` is not a positive integer, a
    number is not finite, a standard deviation is negative, or a moment is beyond a float.
    Source: the variance of a product, Goodman (1960), *On the Exact
    Variance of Products*; for attention, Vaswani et al. (2017), section 3.2.1, footnote 4.

    >>> dot_product_moments(64)
    Moments(mean=0.0, variance=64.0)
    >>> dot_product_moments(256, sigma_q=2, sigma_k=2).variance
    4096.0
    """
    d_k, mu_q, mu_k, sigma_q, sigma_k = _check(d_k, mu_q, mu_k, sigma_q, sigma_k)
    try:
        # Multiplied before they are squared: a square alone may be 0 or ∞ where the product is not.
        variance = (sigma_q * sigma_k) ** 2 + (mu_q * sigma_k) ** 2 + (mu_k * sigma_q) ** 2
        moments = Moments(d_k * (mu_q * mu_k), d_k * variance)
        overflow = not all(map(math.isfinite, moments))
    except OverflowError:
        overflow = True
    if overflow:
        raise ValueError(
            "expected mu_q, mu_k, sigma_q and sigma_k whose moments fit in a float, got "
            f"{mu_q}, {mu_k}, {sigma_q} and {sigma_k}"
        )
    return moments


def sample_scores(
    rows: int,
    keys: int,
    d_k: int,
    mu_q: Number = 0.0,
    mu_k: Number = 0.0,
    sigma_q: Number = 1.0,
    sigma_k: Number = 1.0,
    *,
    generator: torch.Generator,
) -> Float[torch.Tensor, "rows keys"]:
    """Scores of random queries against random keys, with independent normal entries.

    ``s[i, j] = q_i · k_ij``: every row has a query and ``keys`` keys of its own, so rows are
    independent of each other. Within a row the query is shared, as it is in attention; with one
    key a row all scores are independent. Symbols and errors as :func:`dot_product_moments`, and
    ValueError for ``rows`` or ``keys`` that are not positive integers or make more than 2³¹ numbers
    with d_k, and for scores that overflow; TypeError for what is not a torch.Generator. The result
    has torch's default dtype and the generator's device. Cost: rows·keys·d_k random numbers, all
    held at once.

    >>> sample_scores(2, 3, 64, generator=torch.Generator().manual_seed(0)).shape
    torch.Size([2, 3])
    """
    rows, keys = _checks.integer("rows", rows), _checks.integer("keys", keys)
    d_k, *moments = _check(d_k, mu_q, mu_k, sigma_q, sigma_k)
    dot_product_moments(d_k, *moments)  # refuses what does not fit
    mu_q, mu_k, sigma_q, sigma_k = map(float, moments)
    _checks.generator(generator)
    _checks.fits("rows, keys and d_k", rows, keys, d_k)
    device = generator.device
    q = mu_q + sigma_q * torch.randn(rows, d_k, 1, generator=generator, device=device)
    k = mu_k + sigma_k * torch.randn(rows, keys, d_k, generator=generator, device=device)
    scores = (k @ q).squeeze(-1)  # (rows, keys, d_k) x (rows, d_k, 1) -> (rows, keys)
    if not scores.isfinite().all():
        raise ValueError(
            f"expected mu_q, mu_k, sigma_q and sigma_k whose scores fit in {scores.dtype}, got "
            f"{mu_q}, {mu_k}, {sigma_q} and {sigma_k}"
        )
    return scores


def measure_moments(scores: Float[torch.Tensor, "*shape"]) -> MeasuredMoments:
    """Mean and variance of a sample, with the standard error of each, computed in float64.

    Over n independent scores, with m₂ and m₄ the second and fourth moment about the sample mean:
    ``mean ± √(m₂ / n)`` and ``n m₂ / (n − 1) ± √((m₄ − m₂²) / n)``. For large n the true value
    lies within two of these errors in 95 of 100 samples.

    Raises TypeError for scores that are not a floating tensor, ValueError for fewer than two of
    them, for NaN or ±∞, and for a moment beyond a float. Cost: a few passes. Source: Cramér
    (1946), *Mathematical Methods of Statistics*, chapter 27.

    >>> measure_moments(torch.tensor([1.0, 5.0, 1.0, 5.0]))
    MeasuredMoments(mean=3.0, mean_error=1.0, variance=5.333333333333333, variance_error=0.0)
    """
    _checks.floating("scores", scores)
    n = scores.numel()
    if n < 2:
        raise ValueError(f"scores must be two or more to have a variance, got {n}")
    _checks.has_values("scores", scores)
    s = scores.detach().double()
    if not s.isfinite().all():
        raise ValueError("scores must be finite, got NaN or ±∞")
    largest = s.abs().max().item()
    unit = 2.0 ** (math.frexp(largest)[1] - 1)  # a power of 2: dividing by it is exact
    s = s / unit
    gap = s - s.mean()
    m2, m4 = gap.square().mean().item(), gap.pow(4).mean().item()
    variance_error = math.sqrt(max(m4 - m2**2, 0.0) / n)
    mean, mean_error = s.mean().item(), math.sqrt(m2 / n)
    variance = m2 * n / (n - 1)
    moments = MeasuredMoments(
        mean * unit, mean_error * unit, variance * unit * unit, variance_error * unit * unit
    )
    if not all(map(math.isfinite, moments)):
        raise ValueError(f"expected scores whose moments fit in a float, got up to ±{largest}")
    return moments


def _check(d_k: object, *numbers: object) -> tuple:
    """Refuse bad input; return Python's own numbers."""
    names, least = ("mu_q", "mu_k", "sigma_q", "sigma_k"), (-math.inf, -math.inf, 0, 0)
    return _checks.integer("d_k", d_k), *map(_checks.finite, names, numbers, least)
