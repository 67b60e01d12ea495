"""What is particular to making the weights again; the gradients themselves: test_backward.py."""

import itertools

import pytest
import torch
from torch.profiler import profile
from torch.utils._python_dispatch import TorchDispatchMode

from hydra_lib.attention import scaled_dot_product_attention, trace
from hydra_lib.backward import attention_backward
from hydra_lib.boltzmann import log_partition
from hydra_lib.recompute import attention_backward_recomputed
from tests.refusal import refuses

Tq, Tk, d_k, d_v = 13, 7, 3, 5


def inputs(*batch):
    """q, k, v, the forward pass's output and log Z, grad_output."""
    shapes = (Tq, d_k), (Tk, d_k), (Tk, d_v), (Tq, d_v)
    generator = torch.Generator().manual_seed(0)
    q, k, v, grad = (torch.randn(*batch, *s, generator=generator).double() for s in shapes)
    steps = trace(q, k, v)
    return q, k, v, steps.output, log_partition(steps.masked), grad


@pytest.mark.parametrize("block", [1, 5, 12, 13, 64])
def test_the_block_does_not_matter(block):
    q, k, v, output, log_z, grad_output = inputs(2)
    plain = attention_backward(q, k, v, grad_output)
    got = attention_backward_recomputed(q, k, v, output, log_z, grad_output, block=block)
    assert str(got).splitlines()[0] == "grad_q  (2, 13, 3)"
    for one, two in zip(got, (plain.grad_q, plain.grad_k, plain.grad_v), strict=True):
        torch.testing.assert_close(one, two)


def test_a_notebook_shows_a_table_of_the_gradients():
    q, k, v, output, log_z, grad_output = inputs()
    got = attention_backward_recomputed(q, k, v, output, log_z, grad_output)
    rows = got._repr_html_().split("<tr>")[2:]
    assert rows[0] == "<td>grad_q</td><td>dQ = dS K / τ</td><td>13 × 3</td></tr>"
    assert rows[2] == "<td>grad_v</td><td>dV = Pᵀ dO</td><td>7 × 5</td></tr></table>"
    assert len(rows) == 3


def held_at_once(call):
    """Most numbers of four bytes that are there at a time, as the profiler counts them."""
    with profile(profile_memory=True) as found:
        _result = call()
    events = [e for e in found.profiler.kineto_results.events() if e.name() == "[memory]"]
    changes = (e.nbytes() for e in sorted(events, key=lambda e: e.start_ns()))
    return max(itertools.accumulate(changes)) / 4


@pytest.mark.parametrize(("causal", "more"), [(False, 0), (True, 1)])
def test_the_memory_that_the_docstrings_name(causal, more):
    T, block = 512, 128  # beside T² what has T numbers is nothing
    q, k, v, grad_output = torch.ones(4, T, 1).unbind()
    options = {"causal": causal}
    forward = held_at_once(lambda: scaled_dot_product_attention(q, k, v, **options))
    assert forward / T**2 == pytest.approx(6.25 + more, abs=0.1)
    leaf = q.clone().requires_grad_()
    forward = held_at_once(lambda: scaled_dot_product_attention(leaf, leaf, leaf, **options))
    assert forward / T**2 < 8
    backward = held_at_once(lambda: attention_backward(q, k, v, grad_output, **options))
    assert backward / T**2 == pytest.approx(7.25 + more, abs=0.1)
    kept = torch.zeros(T, 1), torch.zeros(T)
    options |= {"block": block}
    backward = held_at_once(
        lambda: attention_backward_recomputed(q, k, v, *kept, grad_output, **options)
    )
    assert backward / (block * T) == pytest.approx(6, abs=0.2)


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that any operation returns."""

    size = 0

    def __torch_dispatch__(self, fn, types, args=(), kwargs=None):
        out = fn(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self.size = max(self.size, out.numel())
        return out


def test_no_matrix_of_weights_is_ever_whole():
    arguments = inputs()
    with Largest() as plain:
        attention_backward(*arguments[:3], arguments[-1])
    assert plain.size == Tq * Tk
    with Largest() as blocks:
        attention_backward_recomputed(*arguments, block=3)
    assert blocks.size == max(Tq * d_v, 3 * Tk) < Tq * Tk


def test_it_believes_the_log_partition():
    """log Z higher by log 2 halves every weight, and so dV: nothing is normalized again."""
    q, k, v, output, log_z, grad_output = inputs()
    whole = attention_backward_recomputed(q, k, v, output, log_z, grad_output).grad_v
    shifted = log_z + torch.tensor(2.0).log()
    half = attention_backward_recomputed(q, k, v, output, shifted, grad_output).grad_v
    torch.testing.assert_close(half, whole / 2)


Q, K, V = torch.zeros(2, 5, 3), torch.zeros(7, 3), torch.zeros(7, 11)
OUT, LOG_Z = torch.zeros(2, 5, 11), torch.zeros(2, 5)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        (
            {"output": OUT.double()},
            TypeError,
            "output must be torch.float32 like the inputs, got torch.float64",
        ),
        ({"output": OUT[:1]}, ValueError, "output must have shape (2, 5, 11), got (1, 5, 11)"),
        ({"log_z": LOG_Z.to("meta")}, ValueError, "log_z is on meta, the sums are on cpu"),
        ({"log_z": LOG_Z[..., None]}, ValueError, "log_z must have shape (2, 5), got (2, 5, 1)"),
        ({"block": 0}, ValueError, "block must be a positive integer, got 0"),
        ({"block": True}, ValueError, "block must be a positive integer, got True"),
        ({"block": 2.5}, ValueError, "block must be a positive integer, got 2.5"),
    ],
)
def test_bad_input(changed, error, message):
    arguments = {"output": OUT, "log_z": LOG_Z, "grad_output": OUT, "block": 64} | changed
    with refuses(error, message):
        attention_backward_recomputed(Q, K, V, **arguments)


def test_a_query_with_no_key_sends_back_zeros():
    q, k, v, *_, grad_output = inputs()
    mask = torch.ones(Tq, Tk).bool()
    mask[4] = False
    steps = trace(q, k, v, mask)
    kept = steps.output, log_partition(steps.masked)
    got = attention_backward_recomputed(q, k, v, *kept, grad_output, mask, block=3)
    plain = attention_backward(q, k, v, grad_output, mask)
    assert (got.grad_q[4] == 0).all()
    for one, two in zip(got, (plain.grad_q, plain.grad_k, plain.grad_v), strict=True):
        torch.testing.assert_close(one, two)


def test_causal_in_blocks():
    square = (x[:Tk] for x in inputs())  # as many queries as keys
    q, k, v, *_, grad_output = square
    steps = trace(q, k, v, causal=True)
    kept = steps.output, log_partition(steps.masked)
    got = attention_backward_recomputed(q, k, v, *kept, grad_output, causal=True, block=3)
    plain = attention_backward(q, k, v, grad_output, causal=True)
    for one, two in zip(got, (plain.grad_q, plain.grad_k, plain.grad_v), strict=True):
        torch.testing.assert_close(one, two)
