"""Checks of the exercises of chapter 08."""

import torch

from hydra_lib import causal_mask
from hydra_lib.attention import trace
from hydra_lib.exercises import check, same

__all__ = ["delta", "first_scores", "flops", "saved_numbers", "score_gradient", "weights_again"]


def _parts(T: int = 5):
    """A causal pass in float64: weights, values, output, and a gradient of the output."""
    generator = torch.Generator().manual_seed(8)
    q, k, v, grad = torch.randn(4, T, 3, generator=generator, dtype=torch.float64)
    steps = trace(q, k, v, causal_mask(T))
    return steps, v, grad


@check
def first_scores(answer) -> str | None:
    """Gradient of the three scores: weights 1/2, 1/4, 1/4, values 8, 4, 0, output pushed up."""
    if same(answer, torch.tensor([4.0, 1.0, 0.0])) is None:
        return "that is p_j v_j, each weight's share: take away p_j times their sum, the output"
    return same(answer, torch.tensor([1.5, -0.25, -1.25]))


@check
def score_gradient(answer) -> str | None:
    """``answer(weights, grad_weights)``: (Tq, Tk) each, gradient of the scaled scores."""
    steps, v, grad = _parts()
    weights, blame = steps.weights, grad @ v.mT
    got = answer(weights, blame)
    if not same(got, weights * blame):
        return (
            "that is the gradient of exp alone: a row's weights share one unit, so raising one "
            f"lowers the others; the first row should sum to 0, yours sums to {got[0].sum():.3g}"
        )
    down = weights * (blame - (weights * blame).sum(-2, keepdim=True))
    if not same(got, down):
        return "the mean is taken down the columns: each query averages over its own keys"
    return same(got, weights * (blame - (weights * blame).sum(-1, keepdim=True)))


@check
def delta(answer) -> str | None:
    """``answer(grad_output, output)``: δ, one number a query, without any (Tq, Tk) matrix."""
    steps, _, grad = _parts(7)
    got = answer(grad, steps.output)
    if torch.as_tensor(got).shape == (7, 7):
        return "that is a (Tq, Tq) matrix; δ has one number a query: the rows meet themselves only"
    return same(got, (grad * steps.output).sum(-1))


@check
def weights_again(answer) -> str | None:
    """``answer(masked, log_z)``: the weights of a block from its masked scores and log Z."""
    masked = torch.tensor(
        [[1.0, 0.0, -torch.inf], [5.0, 5.0, 5.0], [-torch.inf] * 3], dtype=torch.float64
    )
    expected = torch.softmax(masked, -1).nan_to_num(0.0)
    log_z = masked.logsumexp(-1)
    got = answer(masked[:2], log_z[:2])
    if wrong := same(got, expected[:2]):
        return wrong
    got = torch.as_tensor(answer(masked, log_z))
    if got.isnan().any():
        return "a row with no key to attend to has log Z = −∞, and −∞ − (−∞) is NaN: it wants zeros"
    if not same(answer(masked[:2, :2], log_z[:2]), torch.softmax(masked[:2, :2], -1)):
        return "a block must not be normalized by itself: log Z already speaks for the whole row"
    return same(got, expected)


@check
def flops(answer) -> str | None:
    """FLOPs of the forward and backward products of ANDREA-120M's attention, T = 1024, weights
    recomputed; without projections."""
    forward = 2 * 2 * 1024**2 * 768
    if same(answer, torch.tensor(3.0 * forward)) is None:
        return "that keeps the weights; making the scores again is one product more"
    if same(answer, torch.tensor(2.5 * forward)) is None:
        return "that is the backward pass alone"
    if same(answer, torch.tensor(3.5 * forward / 2)) is None:
        return "a multiplication and an addition are two operations"
    return same(answer, torch.tensor(3.5 * forward))


@check
def saved_numbers(answer) -> str | None:
    """How many times fewer numbers log Z is than the weights, 12 heads, T = 16,384."""
    if same(answer, torch.tensor(16384.0 / 2)) is None:
        return "causal or not, a stored matrix has all its T² entries"
    return same(answer, torch.tensor(16384.0))
