"""Splitting width: what the configuration refuses, and where every number goes."""

import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib.heads import (
    HeadConfig,
    merge_heads,
    split_heads,
)
from tests.refusal import refuses, unhooked

B, h, T, d_k = 2, 3, 5, 7
d_model = h * d_k


def numbered(*shape):
    """Every entry different, so that no two arrangements can agree by accident."""
    return torch.arange(torch.Size(shape).numel()).reshape(shape)


def test_a_configuration_is_frozen_and_compares_by_value():
    config = HeadConfig(768, 12)
    assert config == HeadConfig(d_model=768, n_heads=12)
    assert config.head_dim == 64
    with pytest.raises(AttributeError):
        config.n_heads = 7


def test_parameters_by_hand():
    assert HeadConfig(768, 12).parameters() == 2_359_296
    assert 12 * HeadConfig(768, 12).parameters() == 28_311_552
    assert HeadConfig(21, 3).parameters() == 4 * 21 * 21
    # The number of heads does not enter.
    assert len({HeadConfig(768, n).parameters() for n in (1, 2, 12, 768)}) == 1


def test_flops_by_hand():
    """Width 6 as 2 heads of 3; 5 queries, 7 keys, 11 sequences."""
    assert HeadConfig(6, 2).flops(5, 7, batch=11) == {
        "W_q": 2 * 11 * 5 * 6 * 6,
        "W_k": 2 * 11 * 7 * 6 * 6,
        "W_v": 2 * 11 * 7 * 6 * 6,
        "scores": 2 * 11 * 5 * 7 * 6,
        "mix": 2 * 11 * 5 * 7 * 6,
        "W_o": 2 * 11 * 5 * 6 * 6,
    }
    one, many = HeadConfig(768, 1).flops(128, 128), HeadConfig(768, 12).flops(128, 128)
    assert one == many


@pytest.mark.parametrize(
    ("d_model", "n_heads", "message"),
    [
        (
            768,
            7,
            "n_heads must divide d_model: got d_model=768, n_heads=7; nearest that fit: "
            "n_heads 6 or 8, or d_model 763 or 770",
        ),
        (
            13,
            5,
            "n_heads must divide d_model: got d_model=13, n_heads=5; nearest that fit: "
            "n_heads 1 or 13, or d_model 10 or 15",
        ),
        (
            5,
            7,
            "n_heads must divide d_model: got d_model=5, n_heads=7; nearest that fit: "
            "n_heads 5, or d_model 7",
        ),
        (0, 1, "d_model must be a positive integer, got 0"),
        (8, -2, "n_heads must be a positive integer, got -2"),
        (8, True, "n_heads must be a positive integer, got True"),
    ],
)
def test_refusals(d_model, n_heads, message):
    with refuses(ValueError, message):
        HeadConfig(d_model, n_heads)


@pytest.mark.parametrize(
    ("d_model", "n_heads", "near"),
    [
        (10**9, 7, "n_heads 5 or 8, or d_model 999999994 or 1000000001"),
        # A prime, and no divisor for far and wide.
        (2**61 - 1, 10**9, "d_model 2305843009000000000 or 2305843010000000000"),
    ],
)
def test_a_refusal_does_not_take_long(d_model, n_heads, near):
    message = f"n_heads must divide d_model: got d_model={d_model}, n_heads={n_heads}; "
    start = time.perf_counter()
    with refuses(ValueError, message + f"nearest that fit: {near}"):
        HeadConfig(d_model, n_heads)
    assert time.perf_counter() - start < 0.1


def test_numpy_integers_are_integers():
    with unhooked():
        config = HeadConfig(np.int64(12), np.uint8(3))
        assert config == HeadConfig(12, 3)
        assert type(config.head_dim) is int
        assert torch.equal(
            split_heads(numbered(5, 12), np.int32(3)), split_heads(numbered(5, 12), 3)
        )


@given(st.integers(1, 2000), st.integers(1, 200))
def test_a_width_that_does_not_divide_never_passes(d_model, n_heads):
    if d_model % n_heads == 0:
        assert HeadConfig(d_model, n_heads).head_dim * n_heads == d_model
        return
    with pytest.raises(ValueError, match="nearest") as error:
        HeadConfig(d_model, n_heads)
    heads, widths = str(error.value).split("nearest that fit: n_heads ")[1].split(", or d_model ")
    for suggestion in heads.split(" or "):
        assert HeadConfig(d_model, int(suggestion))
    for suggestion in widths.split(" or "):
        assert HeadConfig(int(suggestion), n_heads)


def is_a_split(split):
    """Is out[b, i, t, c] = x[b, t, i·d_k + c] everywhere?"""
    x = numbered(B, T, d_model)
    out = split(x)
    expected = torch.stack([x[..., i * d_k : (i + 1) * d_k] for i in range(h)], dim=1)
    return out.shape == expected.shape and torch.equal(out, expected)


def test_split_and_the_wrong_ways_to_split():
    assert is_a_split(lambda x: split_heads(x, h))
    # The missing transpose: the right shape, whole positions dealt out to the heads.
    assert not is_a_split(lambda x: x.view(B, h, T, d_k))
    # Heads and head width taken in the wrong order.
    assert not is_a_split(lambda x: x.view(B, T, d_k, h).permute(0, 3, 1, 2))


def is_a_merge(merge):
    """Is out[b, t, i·d_k + c] = x[b, i, t, c] everywhere?"""
    x = numbered(B, h, T, d_k)
    out = merge(x)
    expected = torch.cat([x[:, i] for i in range(h)], dim=-1)
    return out.shape == expected.shape and torch.equal(out, expected)


def test_merge_and_the_wrong_way_to_merge():
    assert is_a_merge(merge_heads)
    assert not is_a_merge(lambda x: x.reshape(B, T, d_model))


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64, torch.bool]
)
@pytest.mark.parametrize("batch", [(), (2,), (2, 13)])
def test_merge_undoes_split_bit_for_bit(dtype, batch):
    x = torch.randn(*batch, T, d_model, generator=torch.Generator().manual_seed(0)).to(dtype)
    back = merge_heads(split_heads(x, h))
    assert back.dtype == dtype
    assert torch.equal(back, x)
    heads = split_heads(x, h)
    assert torch.equal(split_heads(merge_heads(heads), h), heads)


def test_round_trip_alone_does_not_catch_a_missing_transpose():
    """Two wrong reshapes undo each other, which is why the entries are checked one by one."""
    x = numbered(B, T, d_model)
    assert torch.equal(x.view(B, h, T, d_k).reshape(B, T, d_model), x)


def test_a_split_is_a_view():
    """Strides before and after: nothing moves, and a head's rows stay d_model numbers apart."""
    x = torch.zeros(B, T, d_model)
    heads = split_heads(x, h)
    assert heads.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert x.view(B, T, h, d_k).stride() == (T * d_model, d_model, d_k, 1)
    assert heads.stride() == (T * d_model, d_k, d_model, 1)
    assert not heads[0, 0].is_contiguous()
    packed = heads.contiguous()
    assert packed.stride() == (h * T * d_k, T * d_k, d_k, 1)
    assert packed[0, 0].is_contiguous()
    # Back from the same memory, merging moves nothing either; from the packed one it must.
    merged = merge_heads(heads)
    assert merged.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert merge_heads(packed).untyped_storage().data_ptr() != packed.untyped_storage().data_ptr()


def test_only_the_width_must_be_there_to_split():
    assert split_heads(torch.zeros(0, d_model), h).shape == (h, 0, d_k)
    assert split_heads(torch.zeros(2, 0, d_model), h).shape == (2, h, 0, d_k)
    with refuses(ValueError, "x must be (…, T, d_model), got shape (2, 5, 0)"):
        split_heads(torch.zeros(2, 5, 0), h)


def test_flops_are_of_one_sequence_unless_told():
    assert HeadConfig(6, 2).flops(5, 7) == HeadConfig(6, 2).flops(5, 7, batch=1)


def test_a_strided_input_can_be_split():
    x = numbered(T, B, 2 * d_model).transpose(0, 1)[..., ::2]
    assert torch.equal(split_heads(x, h), split_heads(x.contiguous(), h))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: split_heads(numbered(21), 3),
            ValueError,
            "x must be (…, T, d_model), got shape (21,)",
        ),
        (
            lambda: split_heads(numbered(5, 21), 4),
            ValueError,
            "n_heads must divide d_model: got d_model=21, n_heads=4; nearest that fit: "
            "n_heads 3 or 7, or d_model 20 or 24",
        ),
        (
            lambda: split_heads([[1, 2]], 2),
            TypeError,
            "x must be a torch tensor, got list",
        ),
        (
            lambda: merge_heads(numbered(5, 7)),
            ValueError,
            "x must be (…, h, T, d_v), got shape (5, 7)",
        ),
        (lambda: HeadConfig(12.0, 3), ValueError, "d_model must be a positive integer, got 12.0"),
        (
            lambda: HeadConfig(12, 3).flops(-1, 5),
            ValueError,
            "queries must be a positive integer, got -1",
        ),
        (
            lambda: HeadConfig(12, 3).flops(5, 2.5),
            ValueError,
            "keys must be a positive integer, got 2.5",
        ),
        (
            lambda: HeadConfig(12, 3).flops(5, 5, batch=0),
            ValueError,
            "batch must be a positive integer, got 0",
        ),
    ],
)
def test_bad_input(call, error, message):
    with refuses(error, message):
        call()


def test_merge_refuses_a_list():
    with refuses(TypeError, "x must be a torch tensor, got list"):
        merge_heads([[[1.0]]])
