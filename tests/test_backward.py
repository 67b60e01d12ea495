"""The gradient by hand against autograd, against differences, against the Jacobian and a pencil."""

import itertools
import math
import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils import parametrizations, prune
from torch.utils.flop_counter import FlopCounterMode

from hydra_lib.attention import scaled_dot_product_attention, trace
from hydra_lib.backward import (
    attention_backward,
    backward_flops,
    gradients_from_weights,
    multi_head_backward,
)
from hydra_lib.boltzmann import jacobian, log_partition
from hydra_lib.heads import HeadConfig, merge_heads, split_heads
from hydra_lib.masking import causal_mask, padding_mask
from hydra_lib.multihead import MultiHeadAttention
from hydra_lib.recompute import attention_backward_recomputed
from tests.masks import Tk, Tq, masks, some_rows_empty
from tests.refusal import refuses

d_k, d_v = 3, 11
B, h, d = 2, 3, 13
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def random(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def inputs(*batch, dtype=torch.float64, seed=0):
    """q, k, v and grad_output."""
    shapes = (Tq, d_k), (Tk, d_k), (Tk, d_v), (Tq, d_v)
    return [random(*batch, *s, seed=seed + i, dtype=dtype) for i, s in enumerate(shapes)]


temperatures = pytest.mark.parametrize("temperature", [None, 0.3, 4, math.inf])


def stored(q, k, v, grad_output, mask=None, **options):
    got = attention_backward(q, k, v, grad_output, mask, **options)
    return got.grad_q, got.grad_k, got.grad_v


def recomputed(q, k, v, grad_output, mask=None, block=2, **options):
    """Blocks of 2 do not divide 5 queries."""
    work = torch.promote_types(q.dtype, torch.float32)  # what a kernel keeps of its sums
    steps = trace(*(x.to(work) for x in (q, k, v)), mask, **options)
    kept = steps.output.to(q.dtype), log_partition(steps.masked)
    return attention_backward_recomputed(q, k, v, *kept, grad_output, mask, block=block, **options)


both = pytest.mark.parametrize("backward", [stored, recomputed])


def by_autograd(q, k, v, grad_output, mask=None, **options):
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    out = scaled_dot_product_attention(*leaves, mask, **options)
    return torch.autograd.grad(out, leaves, grad_output)


def assert_all_close(got, expected, **tolerance):
    for one, two in zip(got, expected, strict=True):
        assert one.shape == two.shape
        torch.testing.assert_close(one, two, **tolerance)


def by_hand():
    """τ = 2, scores 2 log 3 and 0: P = (3/4, 1/4), as in the forward pass's own example.

    dO = (1, 0) looks at the first column of V, dP = (8, 4); δ = 3/4 · 8 + 1/4 · 4 = 7.
    dS = (3/4 · 1, 1/4 · (−3)) = (3/4, −3/4).
    """
    q = torch.tensor([[1.0, 0, 0, 0]], dtype=torch.float64)
    k = torch.zeros(2, 4, dtype=torch.float64)
    k[0, 0] = 2 * math.log(3)
    v = torch.tensor([[8.0, 0.0], [4.0, 4.0]], dtype=torch.float64)
    return q, k, v, torch.tensor([[1.0, 0.0]], dtype=torch.float64)


def test_two_keys_by_hand():
    steps = attention_backward(*by_hand())
    expected = {
        "weights": [[0.75, 0.25]],
        "grad_v": [[0.75, 0], [0.25, 0]],
        "grad_weights": [[8, 4]],
        "delta": [7],
        "grad_scaled": [[0.75, -0.75]],
        "grad_q": [[0.75 * math.log(3), 0, 0, 0]],  # ¾ · 2 log 3 / τ
        "grad_k": [[0.375, 0, 0, 0], [-0.375, 0, 0, 0]],
    }
    assert steps._fields == tuple(expected)
    for step, value in zip(steps, expected.values(), strict=True):
        torch.testing.assert_close(step, torch.tensor(value, dtype=torch.float64))
    assert str(steps).splitlines()[3:5] == ["delta         (1,)", "grad_scaled   (1, 2)"]


def test_two_keys_by_hand_recomputed():
    log3 = math.log(3)
    q, k, v, grad_output = by_hand()
    # S = (log 3, 0), so log Z = log 4; the output is (7, 1).
    kept = torch.tensor([[7.0, 1.0]]).double(), torch.tensor([math.log(4)]).double()
    got = attention_backward_recomputed(q, k, v, *kept, grad_output)
    rows = [[0.75 * log3, 0, 0, 0]], [[0.375, 0, 0, 0], [-0.375, 0, 0, 0]], [[0.75, 0], [0.25, 0]]
    assert_all_close(got, [torch.tensor(x, dtype=torch.float64) for x in rows])


@both
@masks
@temperatures
def test_against_autograd(backward, mask, temperature):
    tensors = inputs(B, h)
    expected = by_autograd(*tensors, mask, temperature=temperature)
    assert_all_close(backward(*tensors, mask, temperature=temperature), expected)


@both
@masks
def test_gradcheck(backward, mask):
    """Differences of the forward pass alone: autograd has no part in it."""

    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v):
            ctx.save_for_backward(q, k, v)
            return scaled_dot_product_attention(q, k, v, mask)

        @staticmethod
        def backward(ctx, grad_output):
            return backward(*ctx.saved_tensors, grad_output, mask)

    tensors = [x.requires_grad_() for x in inputs(B, 1)[:3]]
    assert torch.autograd.gradcheck(Attention.apply, tensors, fast_mode=True)


@both
@pytest.mark.parametrize(
    "shapes", [((), (2,), (2,)), ((2,), (), ()), ((), (), (3,)), ((2, 1), (3,), (1, 3))]
)
@pytest.mark.parametrize("mask", [None, some_rows_empty()])
def test_broadcast_axes_are_summed(backward, shapes, mask):
    q, k, v = (inputs(*batch)[i] for i, batch in enumerate(shapes))
    grad_output = random(*torch.broadcast_shapes(*shapes), Tq, d_v, seed=7)
    tensors = q, k, v, grad_output
    assert_all_close(backward(*tensors, mask), by_autograd(*tensors, mask))


@both
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtype_is_kept(backward, dtype):
    tensors = inputs(B, dtype=dtype)
    expected = by_autograd(*(x.double() for x in tensors))
    got = backward(*tensors)
    assert {x.dtype for x in got} == {dtype}
    assert {x.dtype for x in attention_backward(*tensors)} == {dtype}
    tiny = 64 * torch.finfo(dtype).eps  # sums of numbers up to 10, and weights from rounded log Z
    assert_all_close([x.double() for x in got], expected, rtol=tiny, atol=tiny)


@pytest.mark.parametrize(
    ("backward", "kernel"),
    [(stored, SDPBackend.MATH), (recomputed, SDPBackend.FLASH_ATTENTION)],
)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [1.0, 4.0])
@pytest.mark.parametrize("causal", [False, True])
def test_at_most_twice_the_error_of_torch(backward, kernel, dtype, scale, causal):
    """The rule of FlashAttention's own tests: errors against float64, torch's in the same dtype.

    Each way against torch's own of the same kind: one keeps the weights, one makes them again.
    """
    tensors = [random(2, 3, 67, 16, seed=i, dtype=dtype) * scale for i in range(4)]
    exact, half = [x.double() for x in tensors], [x.requires_grad_() for x in tensors[:3]]
    right = by_autograd(*exact, causal=causal)
    with sdpa_kernel(kernel):
        out = torch.nn.functional.scaled_dot_product_attention(*half, is_causal=causal)
    theirs = torch.autograd.grad(out, half, tensors[3])
    ours = backward(*(x.detach() for x in tensors), causal=causal)
    for a, b, c in zip(ours, theirs, right, strict=True):
        assert (a.double() - c).abs().max() <= 2 * (b.double() - c).abs().max()
    exact_out = scaled_dot_product_attention(*exact[:3], causal=causal)
    ours = scaled_dot_product_attention(*half, causal=causal)
    error = (out.double() - exact_out).abs().max()
    assert (ours.double() - exact_out).abs().max() <= 2 * error


def test_in_float32_the_error_depends_on_whose_scores_log_z_sums():
    """With large scores: blocks that round them as the forward pass did, and blocks of two rows."""
    ratios: dict[int, list[float]] = {67: [], 2: []}
    for seed, block in itertools.product(range(0, 40, 4), ratios):
        tensors = [random(2, 3, 67, 16, seed=seed + i, dtype=torch.float32) * 4 for i in range(4)]
        right = by_autograd(*(x.double() for x in tensors))
        half = [x.clone().requires_grad_() for x in tensors[:3]]
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            out = torch.nn.functional.scaled_dot_product_attention(*half)
        theirs = torch.autograd.grad(out, half, tensors[3])
        for a, b, c in zip(recomputed(*tensors, block=block), theirs, right, strict=True):
            ratios[block].append(((a.double() - c).norm() / (b.double() - c).norm()).item())
    assert max(ratios[67]) <= 2
    assert statistics.median(ratios[2]) > statistics.median(ratios[67])


@both
@pytest.mark.parametrize("mask", [None, torch.arange(Tk) != 2])
def test_causal_by_name_is_the_triangle(backward, mask):
    q, k, v, grad_output = random(B, Tk, d_k), random(B, Tk, d_k, seed=1), *inputs(B)[2:]
    grad_output = random(B, Tk, d_v, seed=5)
    triangle = causal_mask(Tk) if mask is None else causal_mask(Tk) & mask
    expected = by_autograd(q, k, v, grad_output, triangle)
    assert_all_close(backward(q, k, v, grad_output, mask, causal=True), expected)


def test_scores_that_overflow_once_they_are_scaled_are_no_mask():
    """−40,000 / 0.5 is beyond float16, and the only key all the same."""
    q, k, v, grad_output = (torch.full((1, 1), x, dtype=torch.float16) for x in (-200, 200, 3, 1))
    for backward in (stored, recomputed):
        assert backward(q, k, v, grad_output, temperature=0.5)[2].item() == 1


def test_log_z_is_kept_in_the_dtype_of_the_sums():
    q, k, v, grad_output = inputs(B, dtype=torch.bfloat16)
    log_z = torch.zeros(B, Tq, dtype=torch.bfloat16)
    message = "log_z must be torch.float32 like the sums, got torch.bfloat16"
    with refuses(TypeError, message):
        attention_backward_recomputed(q, k, v, grad_output, log_z, grad_output)


def test_every_step_is_the_gradient_it_is_named_after():
    q, k, v, grad_output = inputs(B)
    mask = some_rows_empty()
    got = attention_backward(q, k, v, grad_output, mask)
    forward = trace(q, k, v, mask)
    scaled = forward.scaled.requires_grad_()
    weights = scaled.masked_fill(~mask, -1e300).softmax(-1) * mask.any(-1, keepdim=True)
    output = weights @ v
    by_name = torch.autograd.grad(output, (weights, scaled), grad_output)
    torch.testing.assert_close(got.weights, weights)
    assert_all_close((got.grad_weights, got.grad_scaled), by_name)
    torch.testing.assert_close(got.delta, (grad_output * output).sum(-1))


@masks
def test_a_row_of_dS_is_the_jacobian_times_a_row_of_dP(mask):
    q, k, v, grad_output = inputs(B, h)
    got = attention_backward(q, k, v, grad_output, mask)
    J = jacobian(trace(q, k, v, mask).masked)  # (B, h, Tq, Tk, Tk)
    product = (J @ got.grad_weights[..., None]).squeeze(-1)
    torch.testing.assert_close(got.grad_scaled, product)
    # One temperature earlier: of the scores before they are scaled, J carries the 1/τ itself.
    tau = 0.7
    steps = trace(q, k, v, mask, temperature=tau)
    unscaled = steps.scores if mask is None else steps.scores.masked_fill(~mask, -math.inf)
    got = attention_backward(q, k, v, grad_output, mask, temperature=tau)
    product = (jacobian(unscaled, tau) @ got.grad_weights[..., None]).squeeze(-1)
    torch.testing.assert_close(got.grad_scaled / tau, product)


@both
def test_queries_with_nothing_to_attend_to_have_no_gradient(backward):
    tensors, mask = inputs(B), some_rows_empty()
    grad_q, grad_k, grad_v = backward(*tensors, mask)
    assert (grad_q[:, [1, 3]] == 0).all()
    assert (grad_q[:, [0, 2]] != 0).all()
    assert mask[4].sum() == 1  # a choice of one cannot change: no gradient for this query either
    torch.testing.assert_close(grad_q[:, 4], torch.zeros(B, d_k).double(), rtol=0, atol=1e-12)
    # And no effect: the keys and values hear nothing of them.
    alive = [x[:, [0, 2, 4]] for x in (tensors[0], tensors[3])]
    without = backward(alive[0], *tensors[1:3], alive[1], mask[[0, 2, 4]])
    assert_all_close((grad_k, grad_v), without[1:])
    for gradient in backward(*tensors, torch.zeros(Tq, Tk).bool()):
        assert (gradient == 0).all()


@both
def test_nothing_comes_back_from_the_future(backward):
    q, k, v, grad_output = random(7, d_k), random(7, d_k, seed=1), random(7, d_v), random(7, d_v)
    grad_output[4:] = 0  # a loss that looks at the first four outputs
    for gradient in backward(q, k, v, grad_output, causal_mask(7)):
        assert (gradient[4:] == 0).all()
        assert (gradient[:4] != 0).any()
    for gradient in backward(q, k, v, grad_output)[1:]:
        assert (gradient[4:] != 0).all()


@both
def test_saturation_makes_it_vanish(backward):
    """dQ and dK fall like exp(−gap); dV does not fall, it goes to the winner alone."""
    q = torch.tensor([[1.0]], dtype=torch.float64)
    v, grad_output = torch.tensor([[3.0], [1.0]]).double(), torch.ones(1, 1).double()
    gaps, sizes = (0.0, 10.0, 20.0), []
    for gap in gaps:
        k = torch.tensor([[gap], [0.0]], dtype=torch.float64)
        _, grad_k, grad_v = backward(q, k, v, grad_output, temperature=1)
        p = 1 / (1 + math.exp(-gap))
        sizes.append(grad_k[0].item())
        assert sizes[-1] == pytest.approx(2 * p * (1 - p), rel=1e-6)  # (3 − 1) · p (1 − p)
        assert grad_v[0].item() == pytest.approx(p)
    assert sizes[2] < 1e-4 * sizes[1] < 1e-7 * sizes[0]


rows = st.lists(st.floats(-3, 3, allow_subnormal=False), min_size=d_k, max_size=d_k)


@both
@given(st.lists(rows, min_size=1, max_size=6), st.lists(rows, min_size=1, max_size=6), rows)
def test_what_the_forward_pass_does_not_feel_has_no_gradient(backward, queries, keys, shift):
    q, k, c = (torch.tensor(x, dtype=torch.float64) for x in (queries, keys, shift))
    v, grad_output = random(len(keys), d_v), random(len(queries), d_v, seed=1)
    grad_q, grad_k, grad_v = backward(q, k, v, grad_output)
    # A shift of all keys alike changes nothing, so the gradients of the keys sum to zero …
    torch.testing.assert_close(grad_k.sum(0), torch.zeros_like(c))
    # … and it moves no gradient. The weights of a query sum to 1, so dV sums to the sum of dO.
    assert_all_close(backward(q, k + c, v, grad_output), (grad_q, grad_k, grad_v))
    torch.testing.assert_close(grad_v.sum(0), grad_output.sum(0))
    # q and k meet only in their product: Σ q·dq = Σ k·dk.
    torch.testing.assert_close((q * grad_q).sum(), (k * grad_k).sum())


def test_it_can_be_differentiated_again():
    """Plain tensor code, so autograd can follow it: the gradient's own gradient."""
    tensors = [x.requires_grad_() for x in inputs()]
    mask = some_rows_empty()
    assert torch.autograd.gradcheck(lambda *x: stored(*x, mask), tensors, fast_mode=True)


# A layer of heads.


def make(bias=False, dtype=torch.float64):
    layer = MultiHeadAttention(
        HeadConfig(h * d, h), bias, generator=torch.Generator().manual_seed(0)
    )
    for i, p in enumerate(layer.parameters()):
        if p.ndim == 1:
            p.data = random(*p.shape, seed=i)
    return layer.to(dtype)


def cross(*batch, dtype=torch.float64):
    """query, key, value and grad_output of cross-attention."""
    sizes = (Tq, Tk, Tk, Tq)
    return [random(*batch, n, h * d, seed=i, dtype=dtype) for i, n in enumerate(sizes)]


def layer_by_autograd(layer, query, key, value, grad_output, mask):
    leaves = {"query": query, "key": key, "value": value}
    leaves = {name: x.detach().requires_grad_() for name, x in leaves.items()}
    out = layer.trace(*leaves.values(), mask).output
    leaves |= dict(layer.named_parameters())
    return dict(zip(leaves, torch.autograd.grad(out, leaves.values(), grad_output), strict=True))


def a_matrix_a_head():
    mask = torch.rand(B, h, Tq, Tk, generator=torch.Generator().manual_seed(4)) < 0.5
    mask[0, 1, 2] = mask[1, :, 3] = False
    return mask


LAYER_MASKS = {
    "none": None,
    "causal": torch.ones(Tq, Tk).bool().tril(),
    "nothing but padding": padding_mask(torch.tensor([0, 3]), Tk),
    "a matrix a head": a_matrix_a_head(),
}


@pytest.mark.parametrize("mask", LAYER_MASKS.values(), ids=LAYER_MASKS.keys())
@pytest.mark.parametrize("bias", [False, True])
def test_layer_against_autograd(mask, bias):
    layer, tensors = make(bias), cross(B)
    expected = layer_by_autograd(layer, *tensors, mask)
    got = multi_head_backward(layer, *tensors, mask)
    assert set(got) == set(expected) == {"query", "key", "value", *layer.state_dict()}
    assert_all_close([got[name] for name in expected], expected.values())
    assert not any(gradient.requires_grad for gradient in got.values())


@pytest.mark.parametrize("batch", [(), (2, 1, 3)])
def test_layer_with_other_leading_axes(batch):
    layer, tensors = make(True), cross(*batch)
    expected = layer_by_autograd(layer, *tensors, None)
    got = multi_head_backward(layer, *tensors)
    assert_all_close([got[name] for name in expected], expected.values())


def test_self_attention_adds_the_three_roles_of_x():
    layer, x = make(True, torch.float32), random(B, Tq, h * d, dtype=torch.float32)
    grad_output = random(B, Tq, h * d, seed=1, dtype=torch.float32)
    got = multi_head_backward(layer, x, x, x, grad_output, causal_mask(Tq))
    assert {g.dtype for g in got.values()} == {torch.float32}
    leaf = x.clone().requires_grad_()
    layer(leaf, leaf, leaf, causal=True).backward(grad_output)  # fused
    torch.testing.assert_close(got["query"] + got["key"] + got["value"], leaf.grad)
    for name, p in layer.named_parameters():
        torch.testing.assert_close(got[name], p.grad)
    # A loss at position 2 teaches nothing to what lies after it.
    grad_output[:, 3:] = 0
    got = multi_head_backward(layer, x, x, x, grad_output, causal=True)
    for name in ("query", "key", "value"):
        assert (got[name][:, 3:] == 0).all()
        assert (got[name][:, :3] != 0).any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_each_head_of_a_layer_is_rounded_once(dtype):
    layer, (*tensors, grad_output) = make(True, dtype), [x.to(dtype) for x in cross(B)]
    heads = layer.split(*layer.project(*tensors))
    grad_heads = split_heads(grad_output @ layer.W_o.weight, h)
    inner = attention_backward(*heads, grad_heads)
    got = multi_head_backward(layer, *tensors, grad_output)
    for letter, x, grad in zip(
        "qkv", tensors, (inner.grad_q, inner.grad_k, inner.grad_v), strict=True
    ):
        wide = merge_heads(grad)
        assert torch.equal(got[f"W_{letter}.weight"], wide.flatten(0, -2).mT @ x.flatten(0, -2))
    assert {grad.dtype for grad in got.values()} == {dtype}


def test_one_step_by_hand_trains_like_one_step_by_autograd():
    ours, theirs = make(True), make(True)
    *tensors, target = cross(B)
    optimizers = [torch.optim.SGD(layer.parameters(), 0.1) for layer in (ours, theirs)]
    for _ in range(3):
        out = ours(*tensors).detach()
        gradients = multi_head_backward(ours, *tensors, 2 * (out - target) / out.numel())
        for name, p in ours.named_parameters():
            p.grad = gradients[name]
        optimizers[0].step()
        optimizers[1].zero_grad()
        nn.functional.mse_loss(theirs(*tensors), target).backward()
        optimizers[1].step()
    assert_all_close(ours.state_dict().values(), theirs.state_dict().values())
    moved = ours.state_dict()["W_q.weight"] - make(True).state_dict()["W_q.weight"]
    assert moved.abs().max() > 0


# Counts.


def counted(fn, *arguments):
    with FlopCounterMode(display=False) as counter:
        fn(*arguments)
    return counter.get_total_flops()


def test_flops_by_hand():
    assert backward_flops(5, 7, 3, 11, batch=2) == {
        "grad_v": 2 * 2 * 5 * 7 * 11,
        "grad_weights": 2 * 2 * 5 * 7 * 11,
        "grad_q": 2 * 2 * 5 * 7 * 3,
        "grad_k": 2 * 2 * 5 * 7 * 3,
    }
    again = backward_flops(5, 7, 3, 11, batch=2, recompute=True)
    assert again.pop("scores") == 2 * 2 * 5 * 7 * 3
    assert again == backward_flops(5, 7, 3, 11, batch=2)


def test_weights_of_other_inputs_are_refused():
    q, k, v, grad_output = inputs(B, h)
    weights = trace(q, k, v).weights
    with refuses(ValueError, f"weights must have shape {(B, h, Tq, Tk)}, got {(B, h, Tq, Tk - 1)}"):
        gradients_from_weights(q, k, v, weights[..., :-1], grad_output, 1.0)
    with refuses(TypeError, "temperature must be a number, got NoneType"):
        gradients_from_weights(q, k, v, weights, grad_output, None)


def test_flops_against_a_count_of_what_runs():
    q, k, v, grad_output = inputs(B, h)
    sizes = Tq, Tk, d_k, d_v, B * h
    steps = trace(q, k, v)
    tau = math.sqrt(d_k)
    run = counted(gradients_from_weights, q, k, v, steps.weights, grad_output, tau)
    assert run == sum(backward_flops(*sizes).values())
    forward = counted(trace, q, k, v)
    assert run == 2 * forward
    kept = steps.output, log_partition(steps.masked)
    run = counted(attention_backward_recomputed, q, k, v, *kept, grad_output)
    assert run == sum(backward_flops(*sizes, recompute=True).values())
    assert run - 2 * forward == forward * d_k / (d_k + d_v)  # half of it when d_k = d_v
    # What autograd runs for the same gradients is the same work.
    leaves = [x.requires_grad_() for x in (q, k, v)]
    out = trace(*leaves).output
    assert counted(torch.autograd.grad, out, leaves, grad_output) == 2 * forward


def test_flops_of_a_layer_against_a_count_of_what_runs():
    layer, tensors = make(), cross(B)
    forward = sum(layer.config.flops(Tq, Tk, B).values())
    output = layer.config.flops(Tq, Tk, B)["W_o"]  # which no gradient asks for
    assert counted(multi_head_backward, layer, *tensors) == 3 * forward - output


# Refusals.


def flat(*shape, dtype=torch.float32, device="cpu"):
    return torch.zeros(shape, dtype=dtype, device=device)


GOOD = flat(2, 5, 3), flat(7, 3), flat(7, 11)
OUT, LOG_Z = flat(2, 5, 11), flat(2, 5)
BAD_SHAPES = (
    "expected q (…, Tq, d_k), k (…, Tk, d_k) and v (…, Tk, d_v), no axis of length 0 and leading "
    "axes that broadcast, got "
)
JUMP = "temperature must not round to 0 in torch.float32, since attention jumps at 0, got "
BAD = [
    (
        (*GOOD, OUT.double()),
        TypeError,
        "grad_output must be torch.float32 like the inputs, got torch.float64",
    ),
    ((*GOOD, OUT.to("meta")), ValueError, "grad_output is on meta, the inputs are on cpu"),
    ((*GOOD, OUT[0]), ValueError, "grad_output must have shape (2, 5, 11), got (5, 11)"),
    (
        (*GOOD, flat(2, 5, 3)),
        ValueError,
        "grad_output must have shape (2, 5, 11), got (2, 5, 3)",
    ),
    (
        (*GOOD, OUT, flat(5, 6).bool()),
        ValueError,
        "mask must broadcast to scores (2, 5, 7), got shape (5, 6)",
    ),
    (
        (flat(5, 2), *GOOD[1:], OUT),
        ValueError,
        BAD_SHAPES + "(5, 2), (7, 3) and (7, 11)",
    ),
    (
        (flat(5, 3).double(), *GOOD[1:], OUT),
        TypeError,
        "q, k and v must have one floating dtype, got torch.float64, torch.float32, torch.float32",
    ),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_bad_input(arguments, error, message):
    with refuses(error, message):
        attention_backward(*arguments)
    q, k, v, grad_output, *rest = arguments
    with refuses(error, message):
        attention_backward_recomputed(q, k, v, OUT, LOG_Z, grad_output, *rest)


@pytest.mark.parametrize(
    ("temperature", "message"),
    [
        (0.0, JUMP + "0.0"),
        (1e-320, JUMP + "1e-320"),
        (1e-50, JUMP + "1e-50"),
        (-1, "temperature must lie in [0, ∞], got -1.0"),
    ],
)
def test_bad_temperatures(temperature, message):
    with refuses(ValueError, message):
        attention_backward(*GOOD, OUT, temperature=temperature)
    with refuses(ValueError, message):
        attention_backward_recomputed(*GOOD, OUT, LOG_Z, OUT, temperature=temperature)


def test_bad_scores():
    message = "q @ kᵀ must be finite: got NaN or ±∞, from q and k or by overflow in torch.float32"
    with refuses(ValueError, message):
        attention_backward(GOOD[0] + math.nan, *GOOD[1:], OUT)


X = torch.zeros(2, 5, h * d)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            (X, X, X, X.double()),
            TypeError,
            "grad_output must be torch.float32 like the inputs, got torch.float64",
        ),
        ((X, X, X, X.to("meta")), ValueError, "grad_output is on meta, the inputs are on cpu"),
        (
            (X, X, X, X[:1]),
            ValueError,
            "grad_output must have shape (2, 5, 39), got (1, 5, 39)",
        ),
        (
            (X[..., :38], X, X, X),
            ValueError,
            "query must be (…, T, 39) with no axis of length 0, got (2, 5, 38)",
        ),
        (
            (X, X, X, X, flat(5, 4).bool()),
            ValueError,
            "mask must broadcast to scores (2, 3, 5, 5), got shape (5, 4)",
        ),
    ],
)
def test_bad_input_to_a_layer(arguments, error, message):
    with refuses(error, message):
        multi_head_backward(make(dtype=torch.float32), *arguments)


def test_a_layer_with_other_steps_is_refused():
    class Turned(MultiHeadAttention):
        def split(self, q, k, v):
            return super().split(-q, k, v)

    layer = Turned(HeadConfig(h * d, h), generator=torch.Generator().manual_seed(0))
    with pytest.raises(TypeError, match=r"^layer must be a plain MultiHeadAttention, got Turned$"):
        multi_head_backward(layer, X, X, X, X)


def wrapped(layer):
    layer.W_v = torch.nn.Sequential(layer.W_v)


def normed(layer):
    parametrizations.weight_norm(layer.W_q)


def pruned(layer):
    prune.l1_unstructured(layer.W_k, "weight", 0.5)


def doubled(layer):
    layer.W_q.register_forward_hook(lambda module, inputs, output: 2 * output)


def tied(layer):
    layer.W_k = layer.W_q


def halved(layer):
    layer.W_o.half()


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (wrapped, ", got W_v, a Sequential"),
        (normed, ", got W_q, a ParametrizedLinear"),
        (pruned, ", got a hook on W_k"),
        (doubled, ", got a hook on W_q"),
        (tied, ", got a weight that two share"),
        (halved, ", of one dtype, got torch.float32 and torch.float16"),
    ],
)
def test_a_layer_with_other_projections_is_refused(change, got):
    """Its gradients would be another layer's, or stand under names that it does not have."""
    layer = make(dtype=torch.float32)
    change(layer)
    for refuse in (lambda: multi_head_backward(layer, X, X, X, X), layer.to_torch):
        with refuses(TypeError, f"layer must be a plain MultiHeadAttention{got}"):
            refuse()


def test_flops_refuse_a_number_for_a_flag():
    with refuses(TypeError, "recompute must be True or False, got 1"):
        backward_flops(5, 7, 3, 11, recompute=1)
