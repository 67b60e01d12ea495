import numpy as np
import pytest
import torch

from hydra_lib.attention import scaled_dot_product_attention
from hydra_lib.heads import HeadConfig
from hydra_lib.masking import causal_mask
from hydra_lib.timing import sizes as workload
from hydra_lib.timing.environment import NoCudaError
from hydra_lib.timing.exact import (
    attend_causally,
    exact_attention,
    exact_gradients,
    forward_and_backward,
    row_error,
)
from hydra_lib.timing.memory import peak_bytes
from hydra_lib.timing.sizes import AttentionSize
from tests.refusal import refuses, unhooked

SIZE = AttentionSize(B=2, h=3, T=7, head_dim=5)


@pytest.mark.parametrize("bad", [{"B": 0}, {"h": -1}, {"T": False}, {"head_dim": True}])
def test_a_size_is_four_positive_integers(bad):
    ((name, value),) = bad.items()
    text = f"{name} must be a positive integer, got {value!r}"
    with refuses(ValueError, text):
        AttentionSize(**{"B": 1, "h": 1, "T": 1, "head_dim": 1} | bad)


def test_flops_are_those_of_the_pairs():
    pairs = sum(i + 1 for i in range(7)) * 2 * 3
    assert SIZE.flops() == pairs * (2 * 5 + 2 * 5)
    assert SIZE.flops(backward=True) == pairs * 7 * 2 * 5
    # Without the mask twice as much, but for the diagonal.
    full = HeadConfig(768, 12).flops(1024, 1024, batch=8)
    size = AttentionSize(8, 12, 1024, 64)
    assert size.flops() * 2 * 1024 == (full["scores"] + full["mix"]) * 1025


def test_bytes_are_those_of_the_arrays():
    tensors = SIZE.tensors(torch.bfloat16)
    one = tensors[0].nbytes
    assert SIZE.bytes(torch.bfloat16) == 4 * one
    assert SIZE.bytes(torch.bfloat16, backward=True) == 12 * one
    matrix = torch.empty(2, 3, 7, 7, dtype=torch.bfloat16).nbytes
    assert SIZE.bytes(torch.bfloat16, passes=8) == 4 * one + 8 * matrix
    assert SIZE.bytes(torch.float32, True, 19) == 2 * (12 * one + 19 * matrix)


def test_tensors_are_views_of_the_width():
    tensors = SIZE.tensors(torch.float32)
    assert len(tensors) == 4
    for x, again in zip(tensors, SIZE.tensors(torch.float32), strict=True):
        assert x.shape == (2, 3, 7, 5)
        assert x.stride() == (7 * 15, 5, 15, 1)
        assert torch.equal(x, again)
    assert not torch.equal(tensors[0], tensors[1])
    assert SIZE.tensors(torch.float16)[3].dtype == torch.float16
    with refuses(TypeError, "dtype must have at least 16 bits, got torch.float8_e4m3fn"):
        SIZE.tensors(torch.float8_e4m3fn)


def test_a_size_of_numpys_integers_is_a_size():
    with unhooked():
        size = AttentionSize(np.int64(2), 3, np.int8(5), 7)
    assert size == AttentionSize(2, 3, 5, 7)
    assert type(size.T) is int


def test_attention_is_the_books():
    q, k, v, gradient = SIZE.tensors(torch.float64)
    plain = scaled_dot_product_attention(q, k, v, causal_mask(7))
    torch.testing.assert_close(attend_causally(q, k, v), plain)
    torch.testing.assert_close(exact_attention(q, k, v), plain)
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    out = scaled_dot_product_attention(q, k, v, causal_mask(7))
    wanted = (out.detach(), *torch.autograd.grad(out, (q, k, v), gradient))
    for found in (
        exact_gradients(q, k, v, gradient),
        forward_and_backward(attend_causally)(q, k, v, gradient),
    ):
        assert not found[0].requires_grad
        for x, y in zip(found, wanted, strict=True):
            torch.testing.assert_close(x, y)


def test_the_exact_answer_is_float64_whatever_comes():
    q, k, v, gradient = SIZE.tensors(torch.bfloat16)
    wide = exact_attention(q.double(), k.double(), v.double())
    assert torch.equal(exact_attention(q, k, v), wide)
    found = exact_gradients(q, k, v, gradient)
    assert {x.dtype for x in found} == {torch.float64}
    for x, y in zip(
        found, exact_gradients(*(x.double() for x in (q, k, v, gradient))), strict=True
    ):
        assert torch.equal(x, y)


def test_missing_rows_are_seen():
    exact = torch.tensor([[8.0, 0.0], [0.0, 2.0], [0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]).double()
    assert row_error(exact, exact) == 0.0
    result = exact.clone()
    result[4] = 0
    assert row_error(result, exact) == 1.0
    result = exact.clone()
    result[2, 1] = 0.5  # where nothing should be: against the median of the others, 2
    assert row_error(result, exact) == 0.25
    nothing = torch.zeros(3, 2).double()
    assert row_error(nothing, nothing) == 0.0
    assert row_error(nothing + torch.tensor([3.0, 4.0]), nothing) == 5.0
    mostly = torch.tensor([[0.0], [0.0], [0.0], [4.0]]).double()
    assert row_error(mostly + 1, mostly) == 0.25
    result[0, 0] = torch.nan
    assert not row_error(result, exact) <= 1


def test_peak_memory_needs_cuda():
    text = "device must be CUDA, where torch counts peak memory, got cpu"
    with pytest.raises(NoCudaError, match=f"^{text}$"):
        peak_bytes(torch.clone, torch.ones(2), device="cpu")


def test_the_books_of_memory_are_read_around_one_call(monkeypatch):
    said, held = [], {"now": 100, "most": 100}

    def call():
        said.append("call")
        held["most"] = 175

    cuda = workload.torch.cuda
    monkeypatch.setattr(cuda, "device_count", lambda: 1)
    monkeypatch.setattr(cuda, "synchronize", lambda d: said.append("wait"))
    monkeypatch.setattr(cuda, "reset_peak_memory_stats", lambda d: said.append("reset"))
    monkeypatch.setattr(cuda, "memory_allocated", lambda d: held["now"])
    monkeypatch.setattr(cuda, "max_memory_allocated", lambda d: held["most"])
    assert peak_bytes(call) == 75
    assert said == ["wait", "reset", "call", "wait"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_peak_memory_on_cuda():
    x = torch.ones(2**20, device="cuda")
    assert peak_bytes(torch.clone, x) == 2**22
