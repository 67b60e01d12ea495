"""Attention and its gradients against the same formulas in arithmetic of 60 digits.

The errors allowed are those that the docstrings state. A sum may lose eps of the sum of its terms'
sizes, and an error of a score is a relative error of its weight. Weights below the smallest normal
number are lost.
"""

import mpmath
import numpy as np
import pytest
import torch

from hydra_lib.attention import scaled_dot_product_attention, trace
from hydra_lib.backward import attention_backward
from hydra_lib.boltzmann import log_partition
from hydra_lib.recompute import attention_backward_recomputed

exp = np.frompyfunc(mpmath.exp, 1, 1)


def exact(x: torch.Tensor) -> np.ndarray:
    """The very numbers that are in the tensor, as mpmath's."""
    return np.frompyfunc(mpmath.mpf, 1, 1)(x.double().numpy().astype(object))


def within(got, right, allowed) -> bool:
    return bool((abs(exact(got) - right) <= allowed).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("spread", [0.01, 1.0, 6.0])
@pytest.mark.parametrize(("Tq", "Tk", "d_k", "d_v"), [(3, 5, 2, 7), (13, 37, 17, 2)])
def test_errors_are_what_the_docstrings_say(Tq, Tk, d_k, d_v, spread, dtype):
    generator = torch.Generator().manual_seed(Tk)
    shapes = (Tq, d_k), (Tk, d_k), (Tk, d_v), (Tq, d_v)
    q, k, v, grad = (torch.randn(s, generator=generator, dtype=dtype) for s in shapes)
    q, k, kind = q * spread, k * spread, torch.finfo(dtype)
    with mpmath.workdps(60):
        Q, K, V, dO = map(exact, (q, k, v, grad))
        tau = mpmath.sqrt(d_k)
        S = Q @ K.T / tau
        P = exp(S - S.max(1, keepdims=True))
        P = P / P.sum(1, keepdims=True)
        O, dV, dP = P @ V, P.T @ dO, dO @ V.T
        dS = P * (dP - (P * dP).sum(1, keepdims=True))
        right = dS @ K / tau, dS.T @ Q / tau, dV

        loss = 4 * kind.eps * (1 + (abs(Q) @ abs(K).T / tau).max(1, keepdims=True))  # (Tq, 1)
        pulls = abs(dO) @ abs(V).T
        of_scores = 2 * loss * (P + kind.tiny) * (pulls + (P * pulls).sum(1, keepdims=True))
        allowed = (
            of_scores @ abs(K) / tau,
            of_scores.T @ abs(Q) / tau,
            2 * P.T @ (loss * abs(dO)),
        )

        assert within(scaled_dot_product_attention(q, k, v), O, loss * (P @ abs(V)))
        assert within(trace(q, k, v).output, O, loss * (P @ abs(V)))
        steps = attention_backward(q, k, v, grad)
        assert within(steps.grad_scaled, dS, of_scores)
        kept = scaled_dot_product_attention(q, k, v), log_partition(trace(q, k, v).masked)
        again = attention_backward_recomputed(q, k, v, *kept, grad, block=2)
        for gradients in ((steps.grad_q, steps.grad_k, steps.grad_v), again):
            assert all(map(within, gradients, right, allowed))


def test_an_error_in_the_last_digits_is_seen():
    x = torch.tensor([1.0, 3.0])
    with mpmath.workdps(60):
        assert within(x, exact(x), 0)
        assert not within(x * (1 + 2**-23), exact(x), 2**-24)
