"""Attention in one kernel, forward and backward, against the plain version in float64."""

import math

import pytest
import torch

from hydra_lib.attention import scaled_dot_product_attention
from hydra_lib.heads import merge_heads, split_heads
from hydra_lib.kernels import flash_attention, launch_grid
from hydra_lib.kernels._launch import check_age
from hydra_lib.masking import causal_mask, padding_mask
from hydra_lib.timing.accuracy import relative_error, tolerance_for
from hydra_lib.timing.environment import NoCudaError
from tests.kernels import DTYPES, devices, negated, random
from tests.refusal import refuses

pytestmark = pytest.mark.slow

B, h = 2, 2


def inputs(Tq, Tk, d, dtype=torch.float32, device="cpu", batch=B, heads=h):
    """q, k, v as a layer makes them, split from one width: transposed views, nothing copied.

    Interpreted, a program takes a while: where one text or one head is enough, there is one.
    """
    made = {"dtype": dtype, "device": device}
    wide = [random(batch, T, heads * d, seed=i, **made) for i, T in enumerate([Tq, Tk, Tk])]
    return [split_heads(x, heads).requires_grad_() for x in wide]


def exact(q, k, v, causal=False, lengths=None):
    """The plain version in float64, with gradients of its own."""
    q, k, v = (x.detach().double().requires_grad_() for x in (q, k, v))
    mask = torch.ones(1, 1, q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device)
    if causal:
        mask = mask & causal_mask(q.shape[-2]).to(q.device)
    if lengths is not None:
        mask = mask & padding_mask(lengths, k.shape[-2])[:, None]
    return scaled_dot_product_attention(q, k, v, mask), (q, k, v)


def agree(q, k, v, causal=False, lengths=None, split_queries=True):
    """Output and gradients within rounding, for a gradient that is not the same everywhere."""
    out = flash_attention(q, k, v, causal=causal, lengths=lengths, split_queries=split_queries)
    assert (out.dtype, out.shape, out.device) == (q.dtype, q.shape, q.device)
    right, wide = exact(q, k, v, causal, lengths)
    assert relative_error(out, right) <= tolerance_for(q.dtype)
    grad = random(*out.shape, seed=7, dtype=q.dtype, device=q.device)
    ours = torch.autograd.grad(out, (q, k, v), grad)
    theirs = torch.autograd.grad(right, wide, grad.double())
    for one, two, x in zip(ours, theirs, (q, k, v), strict=True):
        assert (one.dtype, one.shape) == (x.dtype, x.shape)
        # Weights, dP and dS are rounded to the inputs' dtype on the way, each sum once at the end.
        assert relative_error(one, two) <= 2 * tolerance_for(q.dtype)
    return out, *ours


@devices
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
def test_against_float64(device, dtype, causal):
    """37 is two tiles of the interpreter's and a bit; 41 keys are another bit."""
    agree(*inputs(37, 37 if causal else 41, 24, dtype, device), causal)


@devices
@pytest.mark.parametrize("d", [1, 16, 40, 64, 72, 128])
def test_head_dims(device, d):
    agree(*inputs(19, 19, d, device=device, batch=1), causal=True)


@devices
@pytest.mark.parametrize("T", [16, 33])
@pytest.mark.parametrize("causal", [False, True])
def test_lengths_at_the_edge_of_a_tile(device, T, causal):
    agree(*inputs(T, T, 16, device=device, batch=1), causal)


@devices
@pytest.mark.parametrize(("Tq", "Tk"), [(1, 37), (37, 1), (16, 33)])
def test_other_queries_than_keys(device, Tq, Tk):
    agree(*inputs(Tq, Tk, 16, device=device, batch=1))


@devices
@pytest.mark.parametrize("lengths", [(0, 17), (16, 33)])
@pytest.mark.parametrize("causal", [False, True])
def test_padding(device, lengths, causal):
    q, k, v = inputs(37, 37, 16, device=device, heads=1)
    lengths = torch.tensor(lengths, device=device)
    out, dq, dk, dv = agree(q, k, v, causal, lengths)
    for b, length in enumerate(lengths.tolist()):
        assert (dk[b, :, length:] == 0).all()
        assert (dv[b, :, length:] == 0).all()
        if length == 0:
            assert (out[b] == 0).all()
            assert (dq[b] == 0).all()


@devices
def test_what_stands_in_the_padding_does_not_matter(device):
    q, k, v = (x.detach() for x in inputs(37, 37, 16, device=device))
    lengths = torch.tensor([17, 5], device=device, dtype=torch.int32)
    clean = flash_attention(q, k, v, lengths=lengths)
    for b, length in enumerate(lengths.tolist()):
        k[b, :, length:], v[b, :, length:] = math.nan, math.inf
    assert torch.equal(flash_attention(q, k, v, lengths=lengths), clean)


@devices
@pytest.mark.parametrize("causal", [False, True])
def test_both_mappings_give_the_same_bits(device, causal):
    q, k, v = inputs(37, 37, 24, device=device)
    lengths = torch.tensor([37, 0, 20, 0], device=device)[::2]
    whole = flash_attention(q, k, v, causal=causal, lengths=lengths, split_queries=False)
    split = flash_attention(q, k, v, causal=causal, lengths=lengths)
    if device == "cpu":  # elsewhere each is tuned, and tiles of other sizes round otherwise
        assert torch.equal(whole, split)
    agree(q, k, v, causal, lengths, split_queries=False)


@devices
def test_nothing_comes_back_from_the_future(device):
    q, k, v = inputs(37, 37, 16, device=device, batch=1)
    out = flash_attention(q, k, v, causal=True)
    later = [x.detach().clone() for x in (q, k, v)]
    for x in later:
        x[:, :, 20:] += 1
    assert torch.equal(flash_attention(*later, causal=True)[:, :, :20], out[:, :, :20])
    for x in torch.autograd.grad(out[:, :, :20].sum(), (q, k, v)):
        assert (x[:, :, 20:] == 0).all()


@devices
def test_two_keys_by_hand(device):
    """d_k = 4, so the scores 2 log 3 and 0 are halved: weights 3/4 and 1/4."""
    q, k, v = (torch.zeros(1, 1, n, 4, device=device) for n in (1, 2, 2))
    q[..., 0], k[..., 0, 0] = 1, 2 * math.log(3)
    v[..., 0, :2], v[..., 1, :2] = torch.tensor([8.0, 0.0]), torch.tensor([4.0, 4.0])
    expected = torch.tensor([7.0, 1.0, 0.0, 0.0])
    torch.testing.assert_close(flash_attention(q, k, v)[0, 0, 0].cpu(), expected)


@devices
def test_the_maximum_grows_from_tile_to_tile(device):
    """Large scores: without the running maximum they overflow, and every tile must be rescaled."""
    q, k, v = (x.detach() for x in inputs(37, 37, 16, device=device))
    k *= 20 * torch.arange(37, device=device)[:, None]
    out = flash_attention(q, k, v)
    assert relative_error(out, exact(q, k, v)[0]) <= 1e-4  # scores of 1000 in float32


@devices
def test_no_copy_in_and_none_out(device):
    """Transposed views go in as they are; merging the heads of what comes out is a view."""
    q, k, v = inputs(19, 19, 16, device=device)
    out = flash_attention(q, k, v, causal=True)
    assert out.stride() == q.stride()
    assert merge_heads(out).data_ptr() == out.data_ptr()


@devices
def test_any_strides(device):
    """Slices of one tensor of queries, keys and values; a width that is not the last axis in
    memory; a batch of one sequence; and a gradient that is one number."""
    packed = random(B, 19, 3, h, 16, device=device)
    q, k, v = (packed[:, :, i].transpose(1, 2).requires_grad_() for i in range(3))
    agree(q, k, v, causal=True)
    turned = random(B, h, 16, 19, device=device).mT.requires_grad_()
    agree(turned, k, v.detach()[:1, :1].expand(B, h, 19, 16).requires_grad_())
    out = flash_attention(q, k, v)
    right, wide = exact(q, k, v)
    ours, theirs = (torch.autograd.grad(x.sum(), y) for x, y in ((out, (q, k, v)), (right, wide)))
    for one, two in zip(ours, theirs, strict=True):
        assert relative_error(one, two) <= 1e-5


@devices
def test_a_sign_kept_for_later(device):
    q, k, v = (random(B, h, 5, 16, seed=i, device=device) for i in range(3))
    agree(*(negated(x).requires_grad_() for x in (q, k, v)))
    for x in (q, k, v):
        x.requires_grad_()
    grad = negated(random(B, h, 5, 16, seed=7, device=device))
    ours = torch.autograd.grad(flash_attention(q, k, v), (q, k, v), grad)
    right, wide = exact(q, k, v)
    for one, two in zip(ours, torch.autograd.grad(right, wide, grad.double()), strict=True):
        assert relative_error(one, two) <= 1e-5


@devices
def test_gradient_along_random_directions(device):
    """The loss moves as its gradient says: a check that shares nothing with the plain version."""
    tensors = [x.detach() for x in inputs(19, 19, 16, device=device)]
    lengths = torch.tensor([19, 11], device=device)

    def loss(*x):
        return flash_attention(*x, causal=True, lengths=lengths).double().square().sum()

    leaves = [x.clone().requires_grad_() for x in tensors]
    grads = torch.autograd.grad(loss(*leaves), leaves)
    for i in range(3):
        way = random(*tensors[i].shape, seed=20 + i, device=device)
        ends = [[x + s * way * (j == i) for j, x in enumerate(tensors)] for s in (5e-3, -5e-3)]
        slope = (loss(*ends[0]) - loss(*ends[1])) / 1e-2
        expected, size = (grads[i].double() * way).sum(), grads[i].norm()  # size · normal(0, 1)
        assert abs(slope - expected) <= 5e-3 * size


@devices
def test_no_second_gradient(device):
    q, k, v = inputs(5, 5, 16, device=device)
    message = "flash_attention has no second gradient: its backward ran with create_graph=True"
    with refuses(NotImplementedError, message):
        torch.autograd.grad(flash_attention(q, k, v).sum(), q, create_graph=True)


def test_launch_grid():
    assert launch_grid(2, 12, 1024, split_queries=False) == 24
    assert launch_grid(2, 12, 1024) == 2 * 12 * 8
    assert launch_grid(1, 1, 1025, block=64) == 17


Q, K = torch.ones(2, 3, 5, 16), torch.ones(2, 3, 7, 16)
SHAPES = "expected q (B, h, Tq, d_k), k and v (B, h, Tk, d_k), no axis of length 0, got"
ONE_DTYPE = "flash_attention needs q and k and v in one dtype, float16, bfloat16 or float32, got"
BAD = [
    ((Q, Q, K), ValueError, f"{SHAPES} (2, 3, 5, 16), (2, 3, 5, 16) and (2, 3, 7, 16)"),
    ((Q, K[:1], K[:1]), ValueError, f"{SHAPES} (2, 3, 5, 16), (1, 3, 7, 16) and (1, 3, 7, 16)"),
    ((Q[0], K[0], K[0]), ValueError, f"{SHAPES} (3, 5, 16), (3, 7, 16) and (3, 7, 16)"),
    ((Q[..., :0],) * 3, ValueError, f"{SHAPES} (2, 3, 5, 0), (2, 3, 5, 0) and (2, 3, 5, 0)"),
    ((torch.ones(1, 1, 2, 257),) * 3, ValueError, "d_k must be at most 256, got 257"),
    (
        (Q, K, K, {"causal": True}),
        ValueError,
        "causal needs as many queries as keys, got Tq=5, Tk=7",
    ),
    (
        (Q, K.half(), K),
        TypeError,
        f"{ONE_DTYPE} torch.float32, torch.float16, torch.float32",
    ),
    ([Q.double()] * 3, TypeError, f"{ONE_DTYPE} torch.float64, torch.float64, torch.float64"),
    ([Q.long()] * 3, TypeError, f"{ONE_DTYPE} torch.int64, torch.int64, torch.int64"),
    ((Q, K, K.to("meta")), ValueError, "q and k and v must be on one device, got cpu, cpu, meta"),
    (
        (Q, K, K, {"lengths": torch.ones(2)}),
        TypeError,
        "lengths must be integers, got torch.float32",
    ),
    ((Q, K, K, {"lengths": [5, 7]}), TypeError, "lengths must be a torch tensor, got list"),
    ((Q.numpy(), K, K), TypeError, "q must be a torch tensor, got ndarray"),
    (
        (Q, K, K, {"causal": torch.ones(5, 7, dtype=torch.bool)}),
        TypeError,
        "causal must be True or False, got a tensor: the kernel takes no mask, only causal and "
        "lengths",
    ),
    ((Q, K, K, {"causal": 1}), TypeError, "causal must be True or False, got 1"),
    (
        (Q, K, K, {"split_queries": None}),
        TypeError,
        "split_queries must be True or False, got None",
    ),
    (
        (Q, K, K, {"lengths": torch.ones(3, dtype=torch.int64)}),
        ValueError,
        "lengths must be (B,) = (2,), got (3,)",
    ),
    (
        (Q, K, K, {"lengths": torch.ones(2, dtype=torch.int64, device="meta")}),
        ValueError,
        "lengths is on meta, q, k and v are on cpu",
    ),
    (
        (Q, K, K, {"lengths": torch.tensor([-1, 7])}),
        ValueError,
        "lengths must lie between 0 and 7, got [-1, 7]",
    ),
    (
        (Q, K, K, {"lengths": torch.tensor([0, 8])}),
        ValueError,
        "lengths must lie between 0 and 7, got [0, 8]",
    ),
]


@devices
@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_bad_input(device, arguments, error, message):
    *tensors, options = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    moved = [x.to(device) if isinstance(x, torch.Tensor) and not x.is_meta else x for x in tensors]
    if isinstance(lengths := options.get("lengths"), torch.Tensor) and not lengths.is_meta:
        options = {**options, "lengths": lengths.to(device)}
    with refuses(error, message.replace("cpu", str(torch.as_tensor(moved[0]).device))):
        flash_attention(*moved, **options)


@devices
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16], ids=str)
def test_lengths_of_any_integers(device, dtype):
    """300 keys are more than these count to."""
    q, k, v = (x.detach() for x in inputs(3, 300, 16, device=device))
    lengths = torch.tensor([17, 100], device=device)
    narrow = flash_attention(q, k, v, lengths=lengths.to(dtype))
    assert torch.equal(narrow, flash_attention(q, k, v, lengths=lengths))


def test_a_mask_is_not_taken_for_causal():
    with refuses(TypeError, "flash_attention() takes 3 positional arguments but 4 were given"):
        flash_attention(Q, K, K, torch.ones(5, 7, dtype=torch.bool))


def test_a_device_without_triton():
    meta = torch.ones(1, 1, 2, 16, device="meta")
    message = (
        "flash_attention is a Triton kernel and needs q and k and v on CUDA, got meta; to run it "
        "on the CPU, slowly, set TRITON_INTERPRET=1 before Triton is first imported"
    )
    with refuses(NoCudaError, message):
        flash_attention(meta, meta, meta)


def test_gpus_that_are_too_old():
    check_age("attention", torch.bfloat16, (8, 0))
    check_age("attention", torch.float16, (7, 5))
    message = (
        "attention in bfloat16 needs a GPU of compute capability 8.0 or later, got 7.5: use "
        "float16 or float32"
    )
    with refuses(TypeError, message):
        check_age("attention", torch.bfloat16, (7, 5))
    message = "attention needs a GPU of compute capability 7.5 or later, got 7.0"
    with refuses(NoCudaError, message):
        check_age("attention", torch.float16, (7, 0))


@devices
def test_grouped_queries_need_no_copy(device):
    """Each group of query heads is a batch entry; its one head of keys has stride 0 over them."""
    sequences, groups, shared, T, d = 2, 2, 3, 19, 8
    q = random(sequences, groups * shared, T, d, device=device)
    k, v = random(2, sequences, groups, T, d, seed=1, device=device)
    k, v = (x.flatten(0, 1)[:, None].expand(-1, shared, -1, -1) for x in (k, v))
    assert k.stride(1) == v.stride(1) == 0
    found = flash_attention(q.unflatten(1, (groups, shared)).flatten(0, 1), k, v, causal=True)
    own = [x.reshape(sequences, groups * shared, T, d) for x in (k, v)]  # a copy for each
    expected = scaled_dot_product_attention(q, *own, causal=True)
    torch.testing.assert_close(found.view(q.shape), expected, rtol=1e-5, atol=1e-6)
