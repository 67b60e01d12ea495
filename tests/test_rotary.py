"""Rotary positions: by hand, as relative positions, and inside the layer."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib.heads import HeadConfig
from hydra_lib.masking import causal_mask
from hydra_lib.multihead import MultiHeadAttention
from hydra_lib.rotary import RotaryAttention, rotate
from tests.refusal import refuses


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def randn(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=generator(), dtype=dtype)


def plain(x):
    """One coordinate pair at a time, by complex multiplication."""
    out = torch.empty_like(x)
    d = x.shape[-1]
    for t in range(x.shape[-2]):
        for i in range(d // 2):
            angle = t * 10_000 ** (-2 * i / d)
            turn = complex(math.cos(angle), math.sin(angle))
            pair = torch.complex(x[..., t, 2 * i], x[..., t, 2 * i + 1]) * turn
            out[..., t, 2 * i], out[..., t, 2 * i + 1] = pair.real, pair.imag
    return out


def test_against_complex_numbers():
    x = randn(3, 7, 10)
    torch.testing.assert_close(rotate(x), plain(x), rtol=1e-13, atol=1e-13)


def test_by_hand():
    x = torch.tensor([[0.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    expected = torch.tensor([[0.0, 1.0], [-math.sin(1), math.cos(1)]], dtype=torch.float64)
    torch.testing.assert_close(rotate(x), expected)


@given(st.integers(0, 5), st.integers(0, 5), st.integers(1, 13))
def test_scores_depend_on_the_distance_only(s, t, shift):
    q, k = randn(2, 6)
    wide = 20
    turned_q = rotate(q.expand(wide, 6))
    turned_k = rotate(k.expand(wide, 6))
    here = turned_q[s] @ turned_k[t]
    torch.testing.assert_close(turned_q[s + shift] @ turned_k[t + shift], here)


def test_lengths_do_not_change_and_position_0_does_not_move():
    x = randn(2, 5, 8)
    torch.testing.assert_close(rotate(x).norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(rotate(x)[:, 0], x[:, 0])


@pytest.mark.parametrize("start", [1, 3, 6])
def test_a_text_that_is_turned_piece_by_piece(start):
    x = randn(2, 7, 10)
    parts = rotate(x[:, :start]), rotate(x[:, start:], start)
    torch.testing.assert_close(torch.cat(parts, 1), rotate(x), rtol=1e-13, atol=1e-13)


def test_the_last_positions_are_apart():
    first, last = rotate(torch.ones(2, 2), 2**53 - 2)
    assert not torch.equal(first, last)


@pytest.mark.parametrize("start", [-1, 2.5, True, 2**53 - 2])
def test_a_start_that_is_no_position(start):
    with refuses(ValueError, f"start must be an integer from 0 to 9007199254740989, got {start}"):
        rotate(torch.ones(3, 4), start)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_dtype_is_kept(dtype):
    assert rotate(torch.ones(3, 4, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_narrow_dtype_is_rounded_once(dtype):
    x = randn(5, 7, 10).to(dtype)
    exact = rotate(x.double(), 4000)
    off = (rotate(x, 4000).double() - exact).abs() / exact.abs()
    assert off.max() <= torch.finfo(dtype).eps / 2 * 1.001  # what rounding alone may cost


def test_without_values_there_are_still_shapes():
    assert rotate(torch.ones(3, 4, device="meta")).shape == (3, 4)


@pytest.mark.parametrize("shape", [(4,), (3, 5)])
def test_shapes_that_cannot_be_turned(shape):
    message = f"x must be (…, T, d) with an even d, got {shape}"
    with refuses(ValueError, message):
        rotate(torch.zeros(shape))


def test_integers_are_not_turned():
    with refuses(TypeError, "x must be floating point, got torch.int64"):
        rotate(torch.ones(3, 4).long())


def test_torch_has_no_rotary_layer():
    """Without the rotation the layers would differ, silently."""
    layer = RotaryAttention(HeadConfig(12, 3), generator=generator())
    with refuses(TypeError, "layer must be a plain MultiHeadAttention, got RotaryAttention"):
        layer.to_torch()
    theirs = MultiHeadAttention(HeadConfig(12, 3), generator=generator()).to_torch()
    message = (
        "RotaryAttention cannot be made from a torch.nn.MultiheadAttention: call "
        "MultiHeadAttention.from_torch"
    )
    with refuses(TypeError, message):
        RotaryAttention.from_torch(theirs)


def test_an_odd_head_dim_is_refused_before_weights_are_made():
    message = "config must have an even head_dim, since rotary positions turn pairs, got 5"
    with refuses(ValueError, message):
        RotaryAttention(HeadConfig(15, 3), generator=generator())


def test_the_layer_is_the_plain_one_with_q_and_k_turned():
    config = HeadConfig(12, 3)
    layer = RotaryAttention(config, generator=generator()).double()
    base = MultiHeadAttention(config, generator=generator()).double()
    x = randn(2, 7, 12)
    ours, theirs = layer.trace(x, x, x), base.trace(x, x, x)
    torch.testing.assert_close(ours.q_heads, rotate(theirs.q_heads))
    torch.testing.assert_close(ours.k_heads, rotate(theirs.k_heads))
    assert torch.equal(ours.v_heads, theirs.v_heads)
    mask = causal_mask(7)
    torch.testing.assert_close(layer(x, x, x, mask), layer.trace(x, x, x, mask).output)


def test_without_positions_order_does_not_matter_with_them_it_does():
    config = HeadConfig(8, 2)
    x = randn(1, 5, 8)
    order = torch.tensor([3, 0, 4, 1, 2])
    base = MultiHeadAttention(config, generator=generator()).double()
    layer = RotaryAttention(config, generator=generator()).double()
    torch.testing.assert_close(base(x, x, x)[:, order], base(*[x[:, order]] * 3))
    assert not torch.allclose(layer(x, x, x)[:, order], layer(*[x[:, order]] * 3))
