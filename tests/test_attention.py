"""Attention against plain loops and against torch, its limits, and what bad input is told."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from hydra_lib.attention import fused_attention, scaled_dot_product_attention, trace
from hydra_lib.masking import causal_mask, padding_mask
from tests.masks import MASKS, Tk, Tq, masks, some_rows_empty
from tests.refusal import refuses

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
d_k, d_v = 3, 11


def random(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def inputs(*batch, dtype=torch.float64, seed=0):
    shapes = (Tq, d_k), (Tk, d_k), (Tk, d_v)
    return [random(*batch, *s, seed=seed + i, dtype=dtype) for i, s in enumerate(shapes)]


BATCH = (2, 13)
both = pytest.mark.parametrize("attend", [scaled_dot_product_attention, fused_attention])


def by_loops(q, k, v, mask, tau):
    """One query at a time, in Python numbers; mask is (…, Tq, Tk)."""
    out = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=torch.float64)
    for index in torch.cartesian_prod(*map(torch.arange, q.shape[:-1])).tolist():
        b = tuple(index[:-1])
        keys, values = k[b].tolist(), v[b].tolist()
        allowed = [j for j in range(len(keys)) if mask[tuple(index)][j]]
        score = {j: sum(map(float.__mul__, q[tuple(index)].tolist(), keys[j])) for j in allowed}
        total = sum(math.exp(s / tau) for s in score.values())
        for j in allowed:
            weight = math.exp(score[j] / tau) / total
            out[tuple(index)] += weight * torch.tensor(values[j], dtype=torch.float64)
    return out


def by_hand():
    """d_k = 4, so τ = 2; scores 2 log 3 and 0, weights 3/4 and 1/4."""
    q = torch.tensor([[1.0, 0, 0, 0]], dtype=torch.float64)
    k = torch.zeros(2, 4, dtype=torch.float64)
    k[0, 0] = 2 * math.log(3)
    v = torch.tensor([[8.0, 0.0], [4.0, 4.0]], dtype=torch.float64)
    return q, k, v


@both
def test_two_keys_by_hand(attend):
    expected = torch.tensor([[7.0, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(attend(*by_hand()), expected)


def test_trace_by_hand():
    steps = trace(*by_hand(), torch.tensor([True, True]))
    assert steps._fields == ("scores", "scaled", "masked", "weights", "output")
    log3 = math.log(3)
    expected = [[2 * log3, 0]], [[log3, 0]], [[log3, 0]], [[0.75, 0.25]], [[7, 1]]
    for step, value in zip(steps, expected, strict=True):
        torch.testing.assert_close(step, torch.tensor(value, dtype=torch.float64))
    assert str(steps) == (
        "scores   (1, 2)\nscaled   (1, 2)\nmasked   (1, 2)\nweights  (1, 2)\noutput   (1, 2)"
    )


def test_a_notebook_shows_a_table_of_steps():
    rows = trace(*by_hand())._repr_html_().split("<tr>")[1:]
    assert rows[0] == "<th>step</th><th>formula</th><th>shape</th></tr>"
    assert rows[1] == "<td>scores</td><td>q kᵀ</td><td>1 × 2</td></tr>"
    assert rows[5] == "<td>output</td><td>weights v</td><td>1 × 2</td></tr></table>"
    assert len(rows) == 6
    without = trace(*by_hand())._replace(output=None)
    assert "<td>weights v</td><td>—</td>" in without._repr_html_()


def test_trace_masks_by_hand():
    steps = trace(*by_hand(), torch.tensor([[False, True]]))
    assert steps.scaled[0, 0] == pytest.approx(math.log(3))
    assert steps.masked[0, 0] == -math.inf
    assert steps.weights.tolist() == [[0.0, 1.0]]
    assert steps.output.tolist() == [[4.0, 4.0]]


@masks
@pytest.mark.parametrize("temperature", [None, 0.3, 4])
def test_against_loops(mask, temperature):
    q, k, v = inputs(2, 3)
    everywhere = torch.ones(2, 3, Tq, Tk).bool()
    full = everywhere if mask is None else everywhere & mask
    expected = by_loops(q, k, v, full, math.sqrt(d_k) if temperature is None else temperature)
    out = scaled_dot_product_attention(q, k, v, mask, temperature=temperature)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(trace(q, k, v, mask, temperature=temperature).output, expected)
    if temperature is None:
        torch.testing.assert_close(fused_attention(q, k, v, mask), expected)


@both
@masks
@pytest.mark.parametrize("dtype", DTYPES)
def test_against_torch(attend, mask, dtype):
    q, k, v = inputs(*BATCH, dtype=dtype)
    full = None if mask is None else mask.expand(*BATCH, Tq, Tk)
    exact = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), full)
    if mask is not None:
        exact = exact.masked_fill(~full.any(-1, keepdim=True), 0.0)
    out = attend(q, k, v, mask)
    assert out.dtype == dtype
    assert out.shape == (*BATCH, Tq, d_v)
    tiny = 8 * torch.finfo(dtype).eps  # of values of order 1: scores, weights and sums are rounded
    torch.testing.assert_close(out.double(), exact, rtol=tiny, atol=tiny)


@both
@pytest.mark.parametrize("shapes", [((), (), ()), ((2,), (), ()), ((2, 1), (3,), (1, 3))])
def test_leading_axes_broadcast(attend, shapes):
    q, k, v = (inputs(*batch)[i] for i, batch in enumerate(shapes))
    batch = torch.broadcast_shapes(*shapes)
    whole = [x.expand(*batch, *x.shape[-2:]) for x in (q, k, v)]
    torch.testing.assert_close(attend(q, k, v), attend(*whole))
    mask = some_rows_empty()
    torch.testing.assert_close(attend(q, k, v, mask), attend(*whole, mask))


@both
def test_rows_with_nothing_allowed_are_zero_with_zero_gradient(attend):
    q, k, v = (x.requires_grad_() for x in inputs(2))
    out = attend(q, k, v, some_rows_empty())
    assert (out[:, [1, 3]] == 0).all()
    out.sum().backward()
    assert (q.grad[:, [1, 3]] == 0).all()
    assert all(x.grad.isfinite().all() for x in (q, k, v))
    assert (q.grad[:, 0] != 0).any()


def test_empty_rows_do_not_depend_on_the_kernel(monkeypatch):
    """A kernel may give NaN where a row is all −∞, as a bare softmax does: none comes through."""

    def bare(q, k, v, attn_mask):
        scores = q @ k.mT / math.sqrt(d_k)
        return scores.masked_fill(~attn_mask, -math.inf).softmax(-1) @ v

    q, k, v = (x.requires_grad_() for x in inputs(2))
    mask = some_rows_empty()
    assert bare(q, k, v, mask).isnan().any()
    expected = scaled_dot_product_attention(q, k, v, mask)
    monkeypatch.setattr(F, "scaled_dot_product_attention", bare)
    out = fused_attention(q, k, v, mask)
    torch.testing.assert_close(out, expected)
    ours, right = (torch.autograd.grad(x.square().sum(), [q, k, v]) for x in (out, expected))
    for one, two in zip(ours, right, strict=True):
        torch.testing.assert_close(one, two)


@both
@pytest.mark.parametrize("mask", [None, MASKS["causal"], some_rows_empty()])
def test_gradcheck(attend, mask):
    tensors = [x.requires_grad_() for x in inputs()]
    assert torch.autograd.gradcheck(lambda *x: attend(*x, mask), tensors)


@pytest.mark.long
def test_gradcheck_of_the_trace():
    tensors = [x.requires_grad_() for x in inputs()]
    assert torch.autograd.gradcheck(
        lambda *x: trace(*x, some_rows_empty(), temperature=0.7).output, tensors
    )


@both
def test_causal_by_name_is_the_triangle_cell_by_cell(attend):
    x = random(2, 3, 7, 5)
    named = attend(x, x, x, causal=True)
    torch.testing.assert_close(named, attend(x, x, x, causal_mask(7)))
    torch.testing.assert_close(named, attend(x, x, x, causal_mask(7).expand(2, 3, 7, 7)))
    # Nothing comes back from the future: not a bit, not a gradient.
    later = x.clone()
    later[..., 4:, :] += 1
    assert torch.equal(named[..., :4, :], attend(later, later, later, causal=True)[..., :4, :])
    x.requires_grad_()
    (grad,) = torch.autograd.grad(attend(x, x, x, causal=True)[..., :4, :].sum(), x)
    assert (grad[..., 4:, :] == 0).all()


@pytest.mark.parametrize("attend", [scaled_dot_product_attention, fused_attention, trace])
def test_causal_and_a_mask_mean_both(attend):
    x = random(2, 3, 7, 5)
    padding = padding_mask(torch.tensor([0, 3]), 7)[:, None]
    for mask in (padding, some_rows_empty()[:, :1].expand(5, 7)[:1], torch.arange(7) != 0):
        both_at_once = attend(x, x, x, mask & causal_mask(7))
        for got, expected in zip(attend(x, x, x, mask, causal=True), both_at_once, strict=True):
            torch.testing.assert_close(got, expected)
    one = x[0, 0]  # without leading axes
    got = attend(one, one, one, mask, causal=True)
    torch.testing.assert_close([*got], [*attend(one, one, one, mask & causal_mask(7))])


def test_temperature_limits():
    q, k, v = inputs(2)
    best = (q @ k.mT).argmax(-1)
    frozen = scaled_dot_product_attention(q, k, v, temperature=0)
    assert torch.equal(frozen, torch.stack([v[b, best[b]] for b in range(2)]))
    molten = scaled_dot_product_attention(q, k, v, temperature=math.inf)
    torch.testing.assert_close(molten, v.mean(-2, keepdim=True).expand(2, Tq, d_v))
    # √d_k is a temperature: attention at τ is attention at 1 with queries divided by τ.
    one = scaled_dot_product_attention(q / 0.37, k, v, temperature=1)
    torch.testing.assert_close(scaled_dot_product_attention(q, k, v, temperature=0.37), one)


@both
def test_under_test_shapes_are_checked_by_the_signature_too(attend):
    q, k, v = inputs()
    with pytest.raises(TypeCheckError, match="parameter 'v'"):
        attend(q, k, v[..., :-1, :])


vectors = st.lists(st.floats(-3, 3, allow_subnormal=False), min_size=d_k, max_size=d_k)
matrices = st.lists(vectors, min_size=1, max_size=6)


@both
@given(matrices, matrices, vectors)
def test_what_does_not_change_the_output(attend, queries, keys, shift):
    q, k, c = (torch.tensor(x, dtype=torch.float64) for x in (queries, keys, shift))
    v = random(len(keys), d_v)
    out = attend(q, k, v)
    # Under weights that are not negative and sum to 1, the output stays among the values …
    assert (out <= v.amax(0) + 1e-12).all()
    assert (out >= v.amin(0) - 1e-12).all()
    # … it does not know the order of the keys …
    order = torch.randperm(len(keys), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(attend(q, k[order], v[order]), out)
    # … nor what all keys have in common.
    torch.testing.assert_close(attend(q, k + c, v), out)


def test_rows_of_weights_sum_to_one_and_columns_do_not():
    weights = trace(*inputs()).weights
    torch.testing.assert_close(weights.sum(-1), torch.ones(Tq, dtype=torch.float64))
    assert (weights.sum(-2) - Tq / Tk).abs().min() > 0.01


@pytest.mark.long
def test_the_output_is_an_expectation():
    """Draw keys with the weights as probabilities: the mean value converges at 1/√n."""
    q, k, v = inputs()
    steps = trace(q, k, v)
    g = torch.Generator().manual_seed(3)
    spread = (steps.weights @ v**2 - steps.output**2).sqrt()  # (Tq, d_v): of one draw
    errors = []
    for n in (100, 10_000, 1_000_000):
        drawn = v[torch.multinomial(steps.weights, n, replacement=True, generator=g)]
        z = (drawn.mean(1) - steps.output) / (spread / math.sqrt(n))
        assert z.abs().max() < 5
        errors.append(z.square().mean().sqrt() * spread.mean() / math.sqrt(n))
    assert errors[0] > 5 * errors[1] > 25 * errors[2]


def flat(*shape, dtype=torch.float32, device="cpu"):
    return torch.zeros(shape, dtype=dtype, device=device)


BAD_SHAPES = (
    "expected q (…, Tq, d_k), k (…, Tk, d_k) and v (…, Tk, d_v), no axis of length 0 and leading "
    "axes that broadcast, got "
)
GOOD = flat(5, 3), flat(7, 3), flat(7, 11)
BAD = [
    (
        (flat(5, 3), flat(7, 2), flat(7, 11)),
        ValueError,
        BAD_SHAPES + "(5, 3), (7, 2) and (7, 11)",
    ),
    (
        (flat(5, 3), flat(7, 3), flat(6, 11)),
        ValueError,
        BAD_SHAPES + "(5, 3), (7, 3) and (6, 11)",
    ),
    ((flat(3), flat(7, 3), flat(7, 11)), ValueError, BAD_SHAPES + "(3,), (7, 3) and (7, 11)"),
    ((flat(5, 3), flat(3), flat(7, 11)), ValueError, BAD_SHAPES + "(5, 3), (3,) and (7, 11)"),
    (
        (flat(0, 3), flat(7, 3), flat(7, 11)),
        ValueError,
        BAD_SHAPES + "(0, 3), (7, 3) and (7, 11)",
    ),
    (
        (flat(5, 3), flat(0, 3), flat(0, 11)),
        ValueError,
        BAD_SHAPES + "(5, 3), (0, 3) and (0, 11)",
    ),
    (
        (flat(2, 5, 3), flat(3, 7, 3), flat(7, 11)),
        ValueError,
        BAD_SHAPES + "(2, 5, 3), (3, 7, 3) and (7, 11)",
    ),
    (
        (flat(2, 5, 3), flat(7, 3), flat(3, 7, 11)),
        ValueError,
        BAD_SHAPES + "(2, 5, 3), (7, 3) and (3, 7, 11)",
    ),
    (
        (flat(5, 3), flat(7, 3, dtype=torch.float64), flat(7, 11)),
        TypeError,
        "q, k and v must have one floating dtype, got torch.float32, torch.float64, torch.float32",
    ),
    (
        [x.long() for x in GOOD],
        TypeError,
        "q, k and v must have one floating dtype, got torch.int64, torch.int64, torch.int64",
    ),
    (
        (flat(5, 3), flat(7, 3), flat(7, 11, device="meta")),
        ValueError,
        "q, k and v must be on one device, got cpu, cpu, meta",
    ),
    (
        (*GOOD, flat(5, 7)),
        TypeError,
        "mask must be torch.bool with True = may attend, got torch.float32",
    ),
    (
        (*GOOD, flat(5, 6).bool()),
        ValueError,
        "mask must broadcast to scores (5, 7), got shape (5, 6)",
    ),
    (
        (*GOOD, flat(2, 5, 7).bool()),
        ValueError,
        "mask must broadcast to scores (5, 7), got shape (2, 5, 7)",
    ),
    ((*GOOD, flat(5, 7, device="meta").bool()), ValueError, "mask is on meta, scores are on cpu"),
    (([[1.0]], *GOOD[1:]), TypeError, "q must be a torch tensor, got list"),
    ((*GOOD[:2], GOOD[2].numpy()), TypeError, "v must be a torch tensor, got ndarray"),
    ((flat(), *GOOD[1:]), ValueError, BAD_SHAPES + "(), (7, 3) and (7, 11)"),
    (
        [x.to(torch.float8_e4m3fn) for x in GOOD],
        TypeError,
        "q must have at least 16 bits, got torch.float8_e4m3fn",
    ),
    ((*GOOD, [[True]]), TypeError, "mask must be a torch tensor, got list"),
    ((*GOOD, None, 2), TypeError, "causal must be True or False, got 2"),
    (
        (*GOOD, None, True),
        ValueError,
        "causal needs as many queries as keys, got Tq=5, Tk=7",
    ),
]
BAD_TEMPERATURES = [
    (math.nan, ValueError, "temperature must lie in [0, ∞], got nan"),
    (-0.5, ValueError, "temperature must lie in [0, ∞], got -0.5"),
    (True, TypeError, "temperature must be a number, got bool"),
    ("1", TypeError, "temperature must be a number, got str"),
    (torch.tensor(1.0), TypeError, "temperature must be a number, got Tensor"),
    (
        10**400,
        ValueError,
        "temperature must fit in a float, got an integer of 1329 bits",
    ),
]
NOT_FINITE = "must be finite: got NaN or ±∞, from q and k or by overflow in "
# One score of −10⁵: more than float16 can hold, and it must not pass for a mask.
HALF = [flat(1, 1, dtype=torch.float16) + x for x in (-400, 250, 3)]


@pytest.mark.parametrize("attend", [scaled_dot_product_attention, trace, fused_attention])
@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_bad_input(attend, arguments, error, message):
    with refuses(error, message):
        attend(*arguments)


plain = pytest.mark.parametrize("attend", [scaled_dot_product_attention, trace])


@plain
@pytest.mark.parametrize(("temperature", "error", "message"), BAD_TEMPERATURES)
def test_bad_temperatures(attend, temperature, error, message):
    with refuses(error, message):
        attend(*GOOD, temperature=temperature)


@plain
def test_scores_that_are_not_finite(attend):
    with refuses(ValueError, f"q @ kᵀ {NOT_FINITE}torch.float32"):
        attend(flat(5, 3) + math.nan, *GOOD[1:])
    with refuses(ValueError, f"q @ kᵀ {NOT_FINITE}torch.float32"):
        attend(*(flat(1, 1) + x for x in (1e20, -1e20, 1)))
    one_of_five = flat(5, 3)
    one_of_five[2, 1] = math.nan
    with refuses(ValueError, f"q @ kᵀ {NOT_FINITE}torch.float32"):
        attend(one_of_five, *GOOD[1:])


@plain
def test_meta_tensors_have_no_values(attend):
    with refuses(ValueError, "q must hold numbers, got a meta tensor"):
        attend(*(x.to("meta") for x in GOOD))


def test_the_fused_call_looks_at_no_values():
    out = fused_attention(*(x.to("meta") for x in GOOD))
    assert out.is_meta
    assert out.shape == fused_attention(*GOOD).shape


@pytest.mark.parametrize("name", ["q", "k"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("axes", [(), (1, 1)])
def test_the_fused_answer_to_nan_is_nan_or_zeros_never_a_number(name, causal, axes):
    """On AVX2 zeros for (1, 1, 7, 4), but for a k that is not causal; NaN for (7, 4)."""
    q, k, v = (random(*axes, 7, 4, seed=seed, dtype=torch.float32) for seed in range(3))
    {"q": q, "k": k}[name][..., 0, :] = math.nan
    met = fused_attention(q, k, v, causal=causal)[..., 0, :]
    assert met.isnan().all() or (axes and not met.any())


@pytest.mark.parametrize("temperature", [None, 0.5, 0.01])
def test_scores_beyond_float16_are_no_mask(temperature):
    """A single key: its value, whatever the score. The trace would have to write the score down."""
    assert scaled_dot_product_attention(*HALF, temperature=temperature).item() == 3
    theirs = torch.nn.functional.scaled_dot_product_attention(*HALF)  # NaN in torch 2.4
    torch.testing.assert_close(fused_attention(*HALF), theirs, equal_nan=True)
    with refuses(ValueError, f"q @ kᵀ {NOT_FINITE}torch.float16"):
        trace(*HALF, temperature=temperature)


@pytest.mark.parametrize(
    ("dtype", "size", "temperature"), [(torch.float16, 200, 0.5), (torch.float32, 1e19, 0.1)]
)
def test_scores_that_overflow_once_they_are_scaled(dtype, size, temperature):
    q, k = (torch.tensor([[x, x / 2]], dtype=dtype).mT[:1] for x in (-size, size))
    v = torch.tensor([[3.0]], dtype=dtype)
    assert scaled_dot_product_attention(q, k, v, temperature=temperature).item() == 3
    with refuses(ValueError, f"q @ kᵀ / temperature {NOT_FINITE}{dtype}"):
        trace(q, k, v, temperature=temperature)


@pytest.mark.parametrize("temperature", [0.0, 1e-320, 1e-50])
def test_the_trace_has_no_frozen_limit(temperature):
    message = (
        "temperature must not round to 0 in torch.float32, since the trace divides by it, got "
        f"{temperature}"
    )
    with refuses(ValueError, message):
        trace(*GOOD, temperature=temperature)


def test_the_trace_divides_by_what_float64_can_hold():
    """10⁻³⁰⁰ is 0 in float32."""
    q, k, v = inputs()
    weights = trace(0 * q, k, v, temperature=1e-300).weights
    torch.testing.assert_close(weights, torch.full_like(weights, 1 / k.shape[-2]))


@pytest.mark.parametrize("attend", [scaled_dot_product_attention, fused_attention, trace])
def test_values_with_an_axis_more_must_broadcast(attend):
    message = (
        "expected q (…, Tq, d_k), k (…, Tk, d_k) and v (…, Tk, d_v), no axis of length 0 and "
        "leading axes that broadcast, got (2, 5, 3), (2, 7, 3) and (2, 3, 7, 11)"
    )
    with refuses(ValueError, message):
        attend(random(2, 5, 3), random(2, 7, 3), random(2, 3, 7, 11))


@both
@pytest.mark.parametrize("Tk", [4, 101, 8191])
def test_the_error_of_long_rows_is_within_what_the_docstring_says(attend, Tk):
    eps = torch.finfo(torch.float32).eps
    v = torch.full((Tk, 1), 1 / 3)
    out = attend(torch.zeros(1, 5), torch.zeros(Tk, 5), v)
    error = (out.double() - v[0].double()).abs().item()
    assert error <= 2 * (Tk + 5 + 4) * eps / 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # torch itself calls it
def test_the_plain_path_has_second_and_forward_derivatives():
    """Torch's fused kernels have neither, as the documentation says of ``fused_attention``."""
    q, k, v = (
        x.double() for x in torch.randn(3, 2, 5, 3, generator=torch.Generator().manual_seed(1))
    )

    def output(q):
        return scaled_dot_product_attention(q, k, v)

    assert torch.autograd.gradgradcheck(output, (q.requires_grad_(),))
    assert torch.autograd.gradcheck(output, (q,), check_forward_ad=True)
