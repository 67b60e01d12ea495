"""Partial softmaxes: the merge is addition, for any split of the keys, in any order."""

import functools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib import causal_mask, scaled_dot_product_attention
from hydra_lib.parallel import Partial, attention_of, merge, partial_softmax
from tests.refusal import refuses

B, Tq, Tk, d_k, d_v = 2, 5, 11, 3, 7
numbers = st.floats(-1e4, 1e4, allow_subnormal=False)


def pieces(q, k, v, mask, sizes):
    parts = (k.split(sizes, -2), v.split(sizes, -2), mask.split(sizes, -1))
    return [partial_softmax(q, *part) for part in zip(*parts, strict=True)]


def inputs(dtype=torch.float64, scale=1.0):
    generator = torch.Generator().manual_seed(0)
    shapes = (B, Tq, d_k), (B, Tk, d_k), (B, Tk, d_v)
    q, k, v = (torch.randn(s, generator=generator).to(dtype) for s in shapes)
    return scale * q, k, v


@st.composite
def partials(draw, queries=3, width=2):
    """Any m, −∞ among them; there l and o are 0."""
    row = st.one_of(st.just(-math.inf), numbers)
    m = torch.tensor(draw(st.lists(row, min_size=queries, max_size=queries))).double()
    some = st.lists(st.floats(-8, 8), min_size=queries * width, max_size=queries * width)
    o = torch.tensor(draw(some)).double().view(queries, width)
    l = 1 + o.abs().sum(-1)
    nobody = m == -math.inf
    return Partial(m, l.masked_fill(nobody, 0.0), o.masked_fill(nobody[:, None], 0.0))


def of_nothing(like):
    m, l, o = like
    return Partial(torch.full_like(m, -torch.inf), torch.zeros_like(l), torch.zeros_like(o))


def same(a, b, exactly=False):
    assert torch.equal(a.m, b.m)
    for x, y in zip(a[1:], b[1:], strict=True):
        torch.testing.assert_close(x, y, rtol=0 if exactly else 1e-12, atol=0 if exactly else 1e-12)


# --- one theorem: an associative and commutative sum with a zero ---------------------------------


@given(partials(), partials(), partials())
def test_the_grouping_does_not_matter(a, b, c):
    same(merge(merge(a, b), c), merge(a, merge(b, c)))


@given(partials(), partials())
def test_the_order_does_not_matter_to_the_last_bit(a, b):
    same(merge(a, b), merge(b, a), exactly=True)


@given(partials())
def test_nothing_is_the_identity_to_the_last_bit(a):
    same(merge(a, of_nothing(a)), a, exactly=True)
    same(merge(of_nothing(a), a), a, exactly=True)


@given(partials(), partials())
def test_it_is_the_addition_of_what_the_parts_stand_for(a, b):
    """(e^m l, e^m o) is added: the theorem's proof, in numbers that e^m can hold."""
    a, b = (part._replace(m=part.m / 100) for part in (a, b))
    together = merge(a, b)
    for index in (1, 2):
        sides = [part.m.exp().reshape(-1, *[1] * (index - 1)) * part[index] for part in (a, b)]
        whole = together.m.exp().reshape(-1, *[1] * (index - 1)) * together[index]
        torch.testing.assert_close(whole, sides[0] + sides[1], rtol=1e-12, atol=1e-12)


def test_by_hand():
    one = Partial(torch.tensor([0.0]), torch.tensor([1.0]), torch.tensor([[8.0]]))
    two = Partial(torch.tensor([math.log(2)]), torch.tensor([3.0]), torch.tensor([[4.0]]))
    both = merge(one, two)  # e^(0 − log 2) = 1/2
    assert both.m.item() == pytest.approx(math.log(2))
    assert both.l.item() == pytest.approx(0.5 * 1 + 3)
    assert both.o.item() == pytest.approx(0.5 * 8 + 4)
    assert attention_of(both).item() == pytest.approx(8 / 3.5)
    assert str(both).splitlines() == ["m  (1,)", "l  (1,)", "o  (1, 1)"]


# --- equal to attention ---------------------------------------------------------------------------


@given(st.data())
def test_any_split_of_the_keys_in_any_order(data):
    cuts = sorted(data.draw(st.sets(st.integers(1, Tk - 1))))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, Tk], strict=True)]
    q, k, v = inputs()
    mask = torch.tensor(data.draw(st.lists(st.booleans(), min_size=Tq * Tk, max_size=Tq * Tk)))
    mask = mask.view(Tq, Tk)
    parts = data.draw(st.permutations(pieces(q, k, v, mask, sizes)))
    found = attention_of(functools.reduce(merge, parts))
    torch.testing.assert_close(found, scaled_dot_product_attention(q, k, v, mask))


def test_values_may_have_leading_axes_of_their_own():
    q, k, v = (x[0] for x in inputs())
    v = torch.stack([v, 2 * v, -v])
    first, second = (partial_softmax(q, k[cut], v[:, cut]) for cut in (slice(4), slice(4, None)))
    found = attention_of(merge(merge(first, of_nothing(first)), second))
    torch.testing.assert_close(found, scaled_dot_product_attention(q, k, v))


def test_a_row_forbidden_in_one_part_and_a_row_forbidden_in_all():
    q, k, v = inputs()
    mask = torch.ones(Tq, Tk).bool()
    mask[1, :4] = False
    mask[3] = False
    first, second = pieces(q, k, v, mask, [4, 7])
    assert first.m[:, 1].eq(-math.inf).all()
    assert first.l[:, 1].eq(0).all()
    assert second.m[:, 1].isfinite().all()
    found = attention_of(merge(first, second))
    assert found[:, 3].eq(0).all()
    torch.testing.assert_close(found, scaled_dot_product_attention(q, k, v, mask))


@pytest.mark.parametrize(
    ("dtype", "scale", "tolerance"),
    [
        *((torch.float64, scale, 1e-9) for scale in (1e-3, 1.0, 1e3)),
        (torch.float32, 1.0, 1e-5),
        (torch.float16, 1.0, 0.01),
        (torch.bfloat16, 1.0, 0.05),
    ],
)
def test_gradients_go_through_every_part(dtype, scale, tolerance):
    mask = torch.cat((causal_mask(Tq), torch.zeros(Tq, Tk - Tq).bool()), -1)
    mask[2] = False
    grads = []
    for split in ([Tk], [2, 3, 6]):
        leaves = [x.clone().requires_grad_() for x in inputs(dtype, scale)]
        out = attention_of(functools.reduce(merge, pieces(*leaves, mask, split)))
        assert out.dtype == torch.promote_types(dtype, torch.float32)
        grads.append(torch.autograd.grad(out.square().sum(), leaves))
        expected = scaled_dot_product_attention(*leaves, mask)
        torch.testing.assert_close(out.to(dtype), expected)
    plain = torch.autograd.grad(expected.double().square().sum(), leaves)
    for ours, again, theirs in zip(*grads, plain, strict=True):
        assert ours.isfinite().all()
        torch.testing.assert_close(ours, again, rtol=tolerance, atol=tolerance)
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def test_it_is_the_recurrence_of_the_fused_kernel():
    """top, total and acc of ``hydra_lib/kernels``, met tile by tile, are m, l and o."""
    q, k, v = inputs()
    parts = pieces(q, k, v, torch.ones(Tq, Tk).bool(), [4, 4, 3])
    top = torch.full((B, Tq), -math.inf).double()
    total, acc = torch.zeros(B, Tq).double(), torch.zeros(B, Tq, d_v).double()
    for tile, values in zip(k.split(4, -2), v.split(4, -2), strict=True):
        s = q @ tile.mT / math.sqrt(d_k)
        higher = torch.maximum(top, s.amax(-1))
        p, fade = (s - higher[..., None]).exp(), (top - higher).exp()
        total = total * fade + p.sum(-1)
        acc = acc * fade[..., None] + p @ values
        top = higher
    same(functools.reduce(merge, parts), Partial(top, total, acc))


def test_it_is_what_torch_merges_by():
    """torch's ring attention keeps o / l and m + log l; from CPU kernels' outputs, too."""
    ring = pytest.importorskip("torch.distributed.tensor.experimental._context_parallel._attention")
    q, k, v = (x[:, None] for x in inputs(torch.float32))
    theirs, found = ring._SDPAMerger(False, 2), []
    for tile, values in zip(k.split([4, 7], -2), v.split([4, 7], -2), strict=True):
        own = partial_softmax(q, tile, values)
        out, lse = attention_of(own), own.m + own.l.log()
        square = torch.nn.functional.pad(values, (0, 0))[..., :d_k]  # the kernel wants d_v = d_k
        kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, tile, square)
        torch.testing.assert_close(out[..., :d_k], kernel[0])
        torch.testing.assert_close(lse, kernel[1])
        theirs.step(out, lse, False)
        found.append(own)
    together = merge(*found)
    out, lse = theirs.results()
    torch.testing.assert_close(attention_of(together), out)
    torch.testing.assert_close((together.m + together.l.log()), lse)


# --- refused --------------------------------------------------------------------------------------


def test_what_is_no_partial_and_what_does_not_fit():
    part = partial_softmax(*inputs())
    with refuses(TypeError, "b must be a Partial, got tuple"):
        merge(part, tuple(part))
    with refuses(TypeError, "part must be a Partial, got Tensor"):
        attention_of(part.o)
    with refuses(ValueError, "b.m must have shape (2, 5), got (1, 5)"):
        merge(part, Partial(*(x[:1] for x in part)))
    with refuses(ValueError, "b.o must have shape (2, 5, 7), got (2, 5, 6)"):
        merge(part, part._replace(o=part.o[..., :6]))
    with refuses(TypeError, "b.m must be torch.float64 like a.m, got torch.float32"):
        merge(part, Partial(*(x.float() for x in part)))
    q, k, v = inputs()
    with refuses(TypeError, "mask must be torch.bool with True = may attend, got torch.float64"):
        partial_softmax(q, k, v, torch.ones(Tq, Tk).double())
