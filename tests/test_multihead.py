"""Multi-head attention against separate heads and against torch's; its masks, counts, refusals."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.ao.nn import quantizable
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from hydra_lib.attention import scaled_dot_product_attention
from hydra_lib.heads import HeadConfig
from hydra_lib.masking import causal_mask, padding_mask
from hydra_lib.multihead import MultiHeadAttention
from hydra_lib.rotary import RotaryAttention
from tests.refusal import refuses, unhooked

B, h, Tq, Tk, d_k = 2, 3, 5, 11, 7
d_model = h * d_k
CONFIG = HeadConfig(d_model, h)
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def make(bias=False, dtype=torch.float64):
    layer = MultiHeadAttention(CONFIG, bias, generator=seeded())
    for p in layer.parameters():
        if p.ndim == 1:
            nn.init.normal_(p, generator=seeded(1))
    return layer.to(dtype)


def random(*shape, seed=2, dtype=torch.float64):
    return torch.randn(*shape, generator=seeded(seed)).to(dtype)


def cross(dtype=torch.float64):
    """query, key, value of cross-attention."""
    x, memory = random(B, Tq, d_model), random(B, Tk, d_model, seed=3)
    return x.to(dtype), memory.to(dtype), (memory * memory).to(dtype)


def some_rows_empty():
    mask = torch.rand(B, h, Tq, Tk, generator=seeded(4)) < 0.5
    mask[0, 1, 2] = False
    mask[1, :, 3] = False
    return mask


MASKS = {
    "none": None,
    "triangle": torch.ones(Tq, Tk).bool().tril(),
    "padding": padding_mask(torch.tensor([4, 11]), Tk),
    "nothing but padding": padding_mask(torch.tensor([0, 3]), Tk),
    "a matrix a sequence": some_rows_empty()[:, 0],
    "a matrix a head": some_rows_empty(),
}
masks = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())


def full(mask):
    """The same mask spelled out, (B, h, Tq, Tk)."""
    if mask is None:
        return torch.ones(B, h, Tq, Tk).bool()
    return (mask[:, None] if mask.ndim == 3 else mask).expand(B, h, Tq, Tk)


def by_separate_heads(layer, query, key, value, mask):
    """h small attentions, each with its rows of W_q, W_k, W_v; the concatenation times W_oᵀ."""
    heads = []
    for i in range(h):
        rows = slice(i * d_k, (i + 1) * d_k)
        q, k, v = (
            nn.functional.linear(x, w.weight[rows], None if w.bias is None else w.bias[rows])
            for x, w in ((query, layer.W_q), (key, layer.W_k), (value, layer.W_v))
        )
        heads.append(scaled_dot_product_attention(q, k, v, mask[:, i]))
    return layer.W_o(torch.cat(heads, dim=-1)), heads


def integers(*shape, seed):
    return torch.randint(-3, 4, shape, generator=seeded(seed)).double()


@masks
@pytest.mark.parametrize("bias", [False, True])
def test_equals_separate_heads_exactly(mask, bias):
    """Integers in float64 make every sum exact, whatever its order. Scores that are 10⁴ apart make
    every weight 0 or 1, so the softmax is exact too."""
    layer = make(bias)
    for seed, p in enumerate(layer.parameters()):
        p.data = integers(*p.shape, seed=seed)
    for p in layer.W_q.parameters():
        p.data *= 10_000
    x, memory = integers(B, Tq, d_model, seed=10), integers(B, Tk, d_model, seed=11)
    out, weights = layer(x, memory, memory, mask, return_weights=True)
    assert set(weights.unique().tolist()) <= {0.0, 1.0}
    expected, heads = by_separate_heads(layer, x, memory, memory, full(mask))
    assert torch.equal(out, expected)
    assert torch.equal(layer(x, memory, memory, mask), expected)
    steps = layer.trace(x, memory, memory, mask)
    assert torch.equal(steps.heads, torch.stack(heads, dim=1))
    # The fused projection holds each head's own, and W_o is a sum over the heads.
    for i in range(h):
        rows = slice(i * d_k, (i + 1) * d_k)
        own = x @ layer.W_q.weight[rows].T + (layer.W_q.bias[rows] if bias else 0)
        assert torch.equal(steps.q_heads[:, i], own)
    total = layer.contributions(steps.heads).sum(1) + (layer.W_o.bias if bias else 0)
    assert torch.equal(total, expected)


@masks
@pytest.mark.parametrize("bias", [False, True])
def test_equals_separate_heads(mask, bias):
    layer, inputs = make(bias), cross()
    expected, _ = by_separate_heads(layer, *inputs, full(mask))
    steps = layer.trace(*inputs, mask)
    torch.testing.assert_close(steps.output, expected)
    torch.testing.assert_close(layer(*inputs, mask), expected)
    total = layer.contributions(steps.heads).sum(1) + (layer.W_o.bias if bias else 0)
    torch.testing.assert_close(total, expected)
    assert torch.equal(layer.combine(steps.heads), steps.output)


def test_a_missing_transpose_is_caught():
    """The layer with the wrong reshape has all the right shapes, and is another function."""

    class Wrong(MultiHeadAttention):
        def split(self, q, k, v):
            return tuple(x.view(B, h, -1, d_k) for x in (q, k, v))

    wrong = Wrong(CONFIG, generator=seeded()).double()
    right = make()
    for one, two in zip(wrong.parameters(), right.parameters(), strict=True):
        assert torch.equal(one, two)
    expected, _ = by_separate_heads(right, *cross(), full(None))
    torch.testing.assert_close(right(*cross()), expected)
    assert wrong(*cross()).shape == expected.shape
    assert (wrong(*cross()) - expected).abs().max() > 0.1


@masks
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_torch(mask, bias, dtype):
    layer, inputs = make(bias, dtype), cross(dtype)
    theirs = copy.deepcopy(layer).eval().requires_grad_(False).to_torch()
    assert theirs.training
    assert all(p.requires_grad for p in theirs.parameters())
    # Torch's module gives NaN where nothing is allowed, and reads True as forbidden.
    allowed = full(mask)
    alive = allowed.any(-1, keepdim=True)
    forbidden = ~(allowed | ~alive).reshape(B * h, Tq, Tk)
    if bool(alive.all()):
        expected, weights = theirs(*inputs, attn_mask=forbidden, average_attn_weights=False)
        got, got_weights = layer(*inputs, mask, return_weights=True)
        torch.testing.assert_close(got, expected)
        torch.testing.assert_close(got_weights, weights)
        torch.testing.assert_close(layer(*inputs, mask), expected)
    else:
        heads = layer.trace(*inputs, mask).heads
        expected, _ = theirs(*inputs, attn_mask=forbidden)
        rows = alive.squeeze(-1).all(1)  # (B, Tq): every head may attend to something
        torch.testing.assert_close(layer(*inputs, mask)[rows], expected[rows])
        assert (heads.masked_select(~alive) == 0).all()


def test_key_padding_means_the_same_to_torch():
    layer, inputs = make(), cross()
    allowed = MASKS["padding"]
    expected, _ = layer.to_torch()(*inputs, key_padding_mask=~allowed[:, 0])
    torch.testing.assert_close(layer(*inputs, allowed), expected)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_conversion_from_torch_and_back(bias, batch_first):
    with torch.random.fork_rng():
        torch.manual_seed(5)
        theirs = nn.MultiheadAttention(d_model, h, bias=bias, batch_first=batch_first).double()
        for p in theirs.parameters():
            nn.init.normal_(p)
    state = torch.get_rng_state()
    ours = MultiHeadAttention.from_torch(theirs)
    back = ours.to_torch()
    assert torch.equal(torch.get_rng_state(), state)  # no number drawn from the global generator
    assert ours.config == CONFIG
    inputs = cross()
    expected, _ = theirs(*(x if batch_first else x.transpose(0, 1) for x in inputs))
    expected = expected if batch_first else expected.transpose(0, 1)
    torch.testing.assert_close(ours(*inputs), expected)
    torch.testing.assert_close(back(*inputs)[0], expected)
    assert back.state_dict().keys() == theirs.state_dict().keys()
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(back.state_dict()[name], tensor)
    # A copy: training one does not move the other.
    nn.init.zeros_(ours.W_q.weight)
    assert theirs.in_proj_weight.abs().min() > 0
    assert back.in_proj_weight.abs().min() > 0


@masks
@pytest.mark.parametrize("dtype", DTYPES)
def test_fused_equals_plain(mask, dtype):
    layer = make(bias=True, dtype=dtype)
    exact, inputs = make(bias=True), cross(dtype)
    for wide, narrow in zip(exact.parameters(), layer.parameters(), strict=True):
        wide.data = narrow.data.double()
    expected = exact.trace(*(x.double() for x in inputs), mask).output
    plain, weights = layer(*inputs, mask, return_weights=True)
    fused = layer(*inputs, mask)
    tiny = 16 * torch.finfo(dtype).eps  # five products in a row, on numbers of order 1
    for out in (plain, fused):
        assert out.dtype == dtype
        torch.testing.assert_close(out.double(), expected, rtol=tiny, atol=tiny)
    assert weights.shape == (B, h, Tq, Tk)
    torch.testing.assert_close(
        weights.double().sum(-1), full(mask).any(-1).double(), rtol=0, atol=tiny
    )


@pytest.mark.parametrize("mask", [None, some_rows_empty()])
def test_gradients(mask):
    """Both paths pass gradcheck, and give the same gradient to every weight."""
    layer, inputs = make(bias=True), [x.requires_grad_() for x in cross()]
    assert torch.autograd.gradcheck(lambda *x: layer(*x, mask), inputs, fast_mode=True)
    assert torch.autograd.gradcheck(lambda *x: layer.trace(*x, mask).output, inputs, fast_mode=True)
    fused = torch.autograd.grad(layer(*inputs, mask).square().sum(), layer.parameters())
    plain = torch.autograd.grad(
        layer.trace(*inputs, mask).output.square().sum(), layer.parameters()
    )
    for one, two in zip(fused, plain, strict=True):
        torch.testing.assert_close(one, two)


def test_a_position_with_nothing_to_attend_to_gets_the_bias_of_w_o():
    layer = make(bias=True)
    out = layer(*cross(), MASKS["nothing but padding"])
    torch.testing.assert_close(out[0], layer.W_o.bias.expand(Tq, d_model), rtol=0, atol=0)


def test_one_rule_for_masks():
    """The axes of the inputs, or one more for the heads."""
    layer, inputs = make(), cross()
    per_head = some_rows_empty()
    for mask in (per_head[:1, :1], per_head[:, :1], per_head[:1], per_head[:, :, :1]):
        expected = layer(*inputs, mask.expand(B, h, Tq, Tk))
        torch.testing.assert_close(layer(*inputs, mask), expected)
    same = layer(*inputs, per_head[:, :1].expand(B, h, Tq, Tk))
    torch.testing.assert_close(layer(*inputs, per_head[:, 0]), same)
    # Without a batch, three axes are (h, Tq, Tk).
    x, key, value = (t[0] for t in inputs)
    torch.testing.assert_close(layer(x, key, value, per_head[0]), layer(*inputs, per_head)[0])
    # With two batch axes, (A, B, Tq, Tk) counts for every head, and (B, Tq, Tk) for every A too.
    nested = [t.expand(h, *t.shape) for t in inputs]
    three = per_head[:, 0]
    expected = layer(*inputs, three).expand(h, -1, -1, -1)
    torch.testing.assert_close(layer(*nested, three), expected)
    torch.testing.assert_close(layer(*nested, three.expand(h, -1, -1, -1)), expected)


def test_causal_self_attention_does_not_look_ahead():
    layer, x = make(), random(B, Tq, d_model)
    combined = causal_mask(Tq) & padding_mask(torch.tensor([3, 5]), Tq)
    out = layer(x, x, x, causal_mask(Tq))
    later = x.clone()
    later[:, 3:] += 1
    torch.testing.assert_close(layer(later, later, later, causal_mask(Tq))[:, :3], out[:, :3])
    torch.testing.assert_close(layer(x, x, x, combined)[1], out[1])
    x.requires_grad_()
    (grad,) = torch.autograd.grad(layer(x, x, x, causal_mask(Tq))[:, :3].sum(), x)
    assert (grad[:, 3:] == 0).all()


def test_the_steps_and_their_shapes():
    steps = make().trace(*cross())
    wide, memory = (B, Tq, d_model), (B, Tk, d_model)
    square = (B, h, Tq, Tk)
    expected = {
        "q": wide,
        "k": memory,
        "v": memory,
        "q_heads": (B, h, Tq, d_k),
        "k_heads": (B, h, Tk, d_k),
        "v_heads": (B, h, Tk, d_k),
        "scores": square,
        "scaled": square,
        "masked": square,
        "weights": square,
        "heads": (B, h, Tq, d_k),
        "merged": wide,
        "output": wide,
    }
    assert {name: tuple(x.shape) for name, x in steps._asdict().items()} == expected
    assert str(steps).splitlines()[3] == "q_heads  (2, 3, 5, 7)"
    rows = steps._repr_html_().split("<tr>")[2:]
    assert len(rows) == len(expected)
    for row, name in zip(rows, expected, strict=True):
        assert f">{name}<" in row
    assert "merged W_oᵀ" in rows[-1]


def test_parameters_are_the_four_projections():
    layer = MultiHeadAttention(HeadConfig(768, 12), generator=seeded())
    assert {name: tuple(p.shape) for name, p in layer.named_parameters()} == {
        f"W_{x}.weight": (768, 768) for x in "qkvo"
    }
    count = sum(p.numel() for p in layer.parameters())
    assert count == HeadConfig(768, 12).parameters() == 2_359_296
    assert 12 * count == 28_311_552
    with_bias = sum(p.numel() for p in make(bias=True).parameters())
    assert with_bias == CONFIG.parameters() + 4 * CONFIG.d_model


def test_flops_against_a_count_of_what_runs():
    layer = make()
    with FlopCounterMode(display=False) as counter:
        layer.trace(*cross())
    assert counter.get_total_flops() == sum(CONFIG.flops(Tq, Tk, batch=B).values())


def test_initial_weights_keep_the_variance():
    """Each W has variance 1 / d_model, so scores start with a variance near d_k, scaled near 1."""
    layer = MultiHeadAttention(HeadConfig(768, 12), bias=True, generator=seeded())
    for name, p in layer.named_parameters():
        if p.ndim == 2:
            assert p.var().item() == pytest.approx(1 / 768, rel=0.02), name
        else:
            assert (p == 0).all()
    x = random(2, 64, 768, dtype=torch.float32)
    assert layer.trace(x, x, x).scaled.var().item() == pytest.approx(1, rel=0.1)
    again = MultiHeadAttention(HeadConfig(768, 12), bias=True, generator=seeded())
    for one, two in zip(layer.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, two)


def test_causal_by_name_is_the_triangle():
    layer, x = make(), random(B, Tq, d_model)
    padding = padding_mask(torch.tensor([3, 0]), Tq)
    for mask in (None, padding, some_rows_empty()[..., :Tq]):
        triangle = causal_mask(Tq) if mask is None else causal_mask(Tq) & mask
        expected = layer.trace(x, x, x, triangle)
        torch.testing.assert_close(layer(x, x, x, mask, causal=True), expected.output)
        for got, right in zip(layer.trace(x, x, x, mask, causal=True), expected, strict=True):
            torch.testing.assert_close(got, right)
        out, weights = layer(x, x, x, mask, causal=True, return_weights=True)
        torch.testing.assert_close(out, expected.output)
        torch.testing.assert_close(weights, expected.weights)


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that any operation returns."""

    size = 0

    def __torch_dispatch__(self, fn, types, args=(), kwargs=None):
        out = fn(*args, **(kwargs or {}))
        for x in out if isinstance(out, tuple | list) else [out]:
            self.size = max(self.size, x.numel() if isinstance(x, torch.Tensor) else 0)
        return out


def test_causal_by_name_makes_no_matrix_of_pairs():
    layer, x = make(dtype=torch.float32), random(1, 101, d_model, dtype=torch.float32)
    with Largest() as named:
        layer(x, x, x, causal=True)
    with Largest() as spelled:
        layer(x, x, x, causal_mask(101))
    assert named.size == 101 * d_model < 101 * 101 <= spelled.size


def test_two_layers_in_a_row_under_autocast():
    layer, x = make(dtype=torch.float32), random(B, Tq, d_model, dtype=torch.float32)
    theirs = layer.to_torch()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        once = layer(x, x, x, causal=True)
        twice = layer(once, once, once)
        again, _ = theirs(*[theirs(x, x, x, attn_mask=~causal_mask(Tq))[0]] * 3)
        steps = layer.trace(once, once, once)
    assert once.dtype == twice.dtype == again.dtype == torch.bfloat16
    exact = layer(*[layer(x, x, x, causal=True)] * 3)
    for out in (twice, steps.output):
        torch.testing.assert_close(out.float(), exact, rtol=0.03, atol=0.03)
    with refuses(TypeError, "query must be torch.float32 like the weights, got torch.bfloat16"):
        layer(once, once, once)
    with (
        torch.autocast("cpu"),
        refuses(TypeError, "query must be torch.float32 like the weights, got torch.float64"),
    ):
        layer(x.double(), x.double(), x.double())


def test_a_flag_may_be_numpy_s():
    layer, x = make(), random(B, Tq, d_model)
    with unhooked():
        found = layer(x, x, x, causal=np.True_)
    assert torch.equal(found, layer(x, x, x, causal=True))


def test_the_global_generator_is_the_default():
    with torch.random.fork_rng():
        torch.manual_seed(7)
        one = MultiHeadAttention(CONFIG, bias=True)
    two = MultiHeadAttention(CONFIG, bias=True, generator=seeded(7))
    for p, q in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(p, q)


def test_a_layer_is_made_where_its_generator_is():
    with torch.device("meta"):
        layer = MultiHeadAttention(CONFIG, bias=True, generator=seeded(7))
        assert {p.device.type for p in layer.parameters()} == {"cpu"}
        assert {p.device.type for p in MultiHeadAttention(CONFIG).parameters()} == {"meta"}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: MultiHeadAttention(512, 8),
            TypeError,
            "config must be a HeadConfig, got int: write MultiHeadAttention(HeadConfig(512, 8))",
        ),
        (
            lambda: RotaryAttention(512, 8),
            TypeError,
            "config must be a HeadConfig, got int: write RotaryAttention(HeadConfig(512, 8))",
        ),
        (
            lambda: MultiHeadAttention(np.int64(512), np.int64(8)),
            TypeError,
            "config must be a HeadConfig, got int64: write MultiHeadAttention(HeadConfig(512, 8))",
        ),
        (lambda: MultiHeadAttention(4), TypeError, "config must be a HeadConfig, got int"),
        (lambda: MultiHeadAttention(4, True), TypeError, "config must be a HeadConfig, got int"),
        (
            lambda: MultiHeadAttention((512, 8)),
            TypeError,
            "config must be a HeadConfig, got tuple",
        ),
        (
            lambda: MultiHeadAttention(CONFIG, 8),
            TypeError,
            "bias must be True or False, got 8",
        ),
        (
            lambda: MultiHeadAttention(CONFIG, generator=0),
            TypeError,
            "generator must be a torch.Generator, got int",
        ),
        (
            lambda: MultiHeadAttention(HeadConfig(10**9, 8)),
            ValueError,
            "config must make at most 2³¹ numbers, got 1000000000 · 1000000000",
        ),
        (
            lambda: MultiHeadAttention.from_torch(nn.Linear(4, 4)),
            TypeError,
            "module must be a torch.nn.MultiheadAttention, got torch.nn.modules.linear.Linear",
        ),
        (
            lambda: MultiHeadAttention.from_torch(quantizable.MultiheadAttention(8, 2)),
            TypeError,
            "module must be a torch.nn.MultiheadAttention, got "
            "torch.ao.nn.quantizable.modules.activation.MultiheadAttention",
        ),
        (
            lambda: make().split(random(5, 42), random(5, 42), random(5, 42)),
            ValueError,
            "q must be (…, T, 21) with no axis of length 0, got (5, 42)",
        ),
    ],
)
def test_what_a_newcomer_writes(call, error, message):
    with refuses(error, message):
        call()


X = torch.zeros(2, 5, 21)
SHAPES = (
    "expected query (…, Tq, d_model), key and value (…, Tk, d_model) with the same leading axes, "
    "got "
)


@pytest.mark.parametrize("path", ["forward", "trace"])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            (X.double(), X, X),
            TypeError,
            "query must be torch.float32 like the weights, got torch.float64",
        ),
        (
            (X, X, X.long()),
            TypeError,
            "value must be torch.float32 like the weights, got torch.int64",
        ),
        ((X, X.to("meta"), X), ValueError, "key is on meta, the weights are on cpu"),
        (
            (X[..., :20], X, X),
            ValueError,
            "query must be (…, T, 21) with no axis of length 0, got (2, 5, 20)",
        ),
        (
            (X, X[:, :0], X[:, :0]),
            ValueError,
            "key must be (…, T, 21) with no axis of length 0, got (2, 0, 21)",
        ),
        (
            (X[:0], X[:0], X[:0]),
            ValueError,
            "query must be (…, T, 21) with no axis of length 0, got (0, 5, 21)",
        ),
        (
            (X[0, 0], X, X),
            ValueError,
            "query must be (…, T, 21) with no axis of length 0, got (21,)",
        ),
        ((X, X[:1], X[:1]), ValueError, SHAPES + "(2, 5, 21), (1, 5, 21), (1, 5, 21)"),
        ((X, X, X[:, :3]), ValueError, SHAPES + "(2, 5, 21), (2, 5, 21), (2, 3, 21)"),
        (
            (X, X, X, torch.zeros(5, 5)),
            TypeError,
            "mask must be torch.bool with True = may attend, got torch.float32",
        ),
        (
            (X, X, X, torch.zeros(5, 4).bool()),
            ValueError,
            "mask must broadcast to scores (2, 3, 5, 5), got shape (5, 4)",
        ),
        (
            # Three axes on a batched input are (B, Tq, Tk), never (h, Tq, Tk).
            (X, X, X, torch.zeros(3, 5, 5).bool()),
            ValueError,
            "mask must broadcast to scores (2, 5, 5), got shape (3, 5, 5)",
        ),
        (
            (X, X, X, torch.zeros(5, 5, device="meta").bool()),
            ValueError,
            "mask is on meta, scores are on cpu",
        ),
        ((X, X, X, [[True]]), TypeError, "mask must be a torch tensor, got list"),
        ((X.tolist(), X, X), TypeError, "query must be a torch tensor, got list"),
        (
            (X, X[:, :3], X[:, :3], None, True),
            ValueError,
            "causal needs as many queries as keys, got Tq=5, Tk=3",
        ),
    ],
)
def test_bad_input(path, arguments, error, message):
    layer = make(dtype=torch.float32)
    with refuses(error, message):
        getattr(layer, path)(*arguments)


def test_projections_refuse_what_the_layer_refuses():
    with refuses(ValueError, SHAPES + "(2, 5, 21), (2, 5, 21), (2, 3, 21)"):
        make(dtype=torch.float32).project(X, X, X[:, :3])


def test_heads_without_a_batch():
    layer, steps = make(bias=True), make(bias=True).trace(*cross())
    for item, heads in enumerate(steps.heads):
        torch.testing.assert_close(layer.combine(heads), steps.output[item])
        parts = layer.contributions(heads).sum(0) + layer.W_o.bias
        torch.testing.assert_close(parts, steps.output[item])


@pytest.mark.parametrize("method", ["combine", "contributions"])
def test_heads_of_another_kind(method):
    with refuses(TypeError, "heads must be a torch tensor, got list"):
        getattr(make(), method)([[[0.0]]])
    with refuses(TypeError, "heads must be torch.float64 like the weights, got torch.float32"):
        getattr(make(), method)(torch.zeros(3, 5, 7))


@pytest.mark.parametrize("method", ["combine", "contributions"])
@pytest.mark.parametrize("shape", [(2, 7, 5, 3), (2, 2, 5, 7), (3, 7)])
def test_heads_of_the_wrong_shape(method, shape):
    message = f"heads must be (…, 3, T, 7), got {shape}"
    with refuses(ValueError, message):
        getattr(make(), method)(torch.zeros(shape).double())


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"kdim": 5}, "kdim or vdim"),
        ({"vdim": 5}, "kdim or vdim"),
        ({"dropout": 0.1}, "dropout"),
        ({"add_bias_kv": True}, "add_bias_kv"),
        ({"add_zero_attn": True, "dropout": 0.5}, "dropout, add_zero_attn"),
    ],
)
def test_modules_that_have_no_counterpart(options, names):
    message = (
        "module must be a torch.nn.MultiheadAttention with nothing but four projections, "
        f"got {names}"
    )
    with torch.random.fork_rng():
        theirs = nn.MultiheadAttention(d_model, h, **options)
    with refuses(ValueError, message):
        MultiHeadAttention.from_torch(theirs)


def test_a_module_of_two_dtypes_is_not_rounded():
    theirs = torch.nn.utils.skip_init(nn.MultiheadAttention, d_model, h)
    theirs.out_proj.double()
    with refuses(TypeError, "module must have one dtype, got torch.float32 and torch.float64"):
        MultiHeadAttention.from_torch(theirs)
