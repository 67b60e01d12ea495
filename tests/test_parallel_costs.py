"""Costs: by hand, against the code while it runs, and on 1,024 ranks that exist in name only."""

import math
import sys

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch._subclasses import FakeTensor
from torch.distributed._functional_collectives import all_reduce_coalesced
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from hydra_lib import HeadConfig, MultiHeadAttention, parallel
from hydra_lib.parallel import (
    Collectives,
    Cost,
    Seconds,
    attention_over_ranks,
    heads_over_ranks,
    keys_over_ranks,
    seconds,
    shard_heads,
)
from tests.refusal import refuses, unhooked

B, T = 3, 5


@pytest.fixture(params=[2, 7, 1024])
def ranks(request):
    """A group of that many, of which only rank 0 exists, and nothing is sent."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=request.param)
    yield request.param
    dist.destroy_process_group()


class LocalFlops(TorchDispatchMode):
    """FLOPs of this rank, by torch's own formulas: its counter takes a DTensor for the whole."""

    total = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented
        out = func(*args, **(kwargs or {}))
        count = flop_registry.get(func._overloadpacket)
        if count and not isinstance(out, FakeTensor):  # by which a DTensor plans
            self.total += count(*args, **(kwargs or {}), out_val=out)
        return out


def of_ring(calls, ranks):
    """Bytes that a rank sends for these all-reduces, step by step as a ring takes them."""
    assert {call.name for call in calls} <= {"all_reduce"}
    return sum(call.bytes / ranks for call in calls for _ in range(2 * (ranks - 1)))


@pytest.mark.parametrize("training", [False, True])
def test_heads_are_counted_while_they_run(ranks, training):
    config = HeadConfig(2 * ranks, ranks)
    layer = MultiHeadAttention(config, generator=torch.Generator().manual_seed(0))
    shard_heads(layer, init_device_mesh("cpu", (ranks,)))
    x = torch.randn(B, T, config.d_model, requires_grad=training)
    # Without its kernels, torch's attention is two products that can be counted.
    with sdpa_kernel(SDPBackend.MATH), Collectives() as seen, LocalFlops() as flops:
        output = layer(x, x, x).sum()
        if training:
            output.backward()
    assert output.isfinite()
    predicted = heads_over_ranks(config, T, ranks, B, element=4, training=training)
    assert flops.total == predicted.flops
    assert of_ring(seen.calls, ranks) == pytest.approx(predicted.bytes)
    assert predicted.messages == 2 * (ranks - 1) * (2 if training else 1)


def test_keys_are_counted_while_they_run(ranks):
    config, mesh = HeadConfig(12, 4), init_device_mesh("cpu", (ranks,))
    q = torch.randn(B, 4, T, 3)
    k, v = torch.randn(2, B, 4, 11, 3)
    with Collectives() as seen, LocalFlops() as flops:
        output = attention_over_ranks(q, k, v, mesh)
    assert output.shape == (B, 4, T, 3)
    assert output.sum() != 0
    predicted = keys_over_ranks(config, B * T, 11 * ranks, ranks)
    assert flops.total == predicted.flops
    assert of_ring(seen.calls, ranks) == pytest.approx(predicted.bytes)
    assert predicted.messages == 4 * (ranks - 1)


def test_several_tensors_at_once_are_counted_together(ranks):
    inputs = [torch.ones(3), torch.ones(2, 5)]
    with Collectives() as seen:
        for x in all_reduce_coalesced(inputs, "sum", dist.group.WORLD):
            x.wait()
    assert seen.calls == [("all_reduce_coalesced", 4 * 3 + 4 * 10)]


def test_by_hand():
    """d = 4, T = 3: four projections of 2·3·4·4, scores and mix of 2·3·3·4 each."""
    whole = heads_over_ranks(HeadConfig(4, 2), tokens=3, ranks=1)
    assert whole == Cost(4 * 96 + 2 * 72, 0, 0)
    # Two ranks: half of the FLOPs; of 3·4·2 = 24 bytes each sends half, twice.
    assert heads_over_ranks(HeadConfig(4, 2), tokens=3, ranks=2) == Cost(264, 24, 2)
    assert heads_over_ranks(HeadConfig(4, 2), 3, 2, batch=5, training=True) == Cost(3960, 240, 4)
    # One query, six keys: 4·6·4 FLOPs; of each of two heads m, l and two numbers of o.
    assert keys_over_ranks(HeadConfig(4, 2), 1, 6, 1) == Cost(96, 0, 0)
    assert keys_over_ranks(HeadConfig(4, 2), 1, 6, 2) == Cost(48, 2 * 4 * 4, 4)


@pytest.mark.parametrize("ranks", [2, 4, 16])
def test_the_ratio_knows_neither_batch_nor_heads(ranks):
    """communicate / compute = e (P − 1) rate / (bandwidth (4 d + 2 T)): the chapter's formula."""
    rate, bandwidth, element = 3e12, 5e9, 2
    for batch, heads, d, tokens in ((1, 16, 64, 7), (9, 32, 64, 7), (2, 16, 512, 1000)):
        cost = heads_over_ranks(HeadConfig(d, heads), tokens, ranks, batch, element)
        compute, communicate = seconds(cost, rate, bandwidth)
        formula = element * (ranks - 1) * rate / (bandwidth * (4 * d + 2 * tokens))
        assert communicate / compute == pytest.approx(formula)


def test_seconds():
    found = seconds(Cost(flops=8.0, bytes=6.0, messages=4), rate=2, bandwidth=3, latency=0.5)
    assert found == Seconds(4.0, 2.0 + 2.0)
    assert (found.total, found.share) == (8.0, 0.5)
    assert seconds(Cost(0, 0, 0), rate=1, bandwidth=1).share == 0
    assert seconds(Cost(8.0, 0.0, 0), 2.0, 1.0).share == 0
    # In half precision neither 10¹² nor the quotient is a number.
    with unhooked():
        found = seconds(Cost(1e12, 80.0, 2), np.float16(1000), np.float16(40))
    assert found == Seconds(1e9, 2.0)


def test_refused():
    config = HeadConfig(8, 4)
    fits = "these do: 1, 2, 4"
    with refuses(ValueError, f"ranks must divide n_heads: got n_heads=4 on 3 ranks; {fits}"):
        heads_over_ranks(config, 5, 3)
    with refuses(TypeError, "config must be a HeadConfig, got int"):
        heads_over_ranks(8, 5, 2)
    with refuses(ValueError, "ranks must be a positive integer, got 0"):
        keys_over_ranks(config, 5, 5, 0)
    with refuses(ValueError, "element must be a positive integer, got 0"):
        heads_over_ranks(config, 5, 2, element=0)
    with refuses(ValueError, "tokens must be a positive integer, got 1.5"):
        heads_over_ranks(config, 1.5, 2)
    with refuses(TypeError, "training must be True or False, got 1"):
        heads_over_ranks(config, 5, 2, training=1)
    cost = heads_over_ranks(config, 5, 2)
    with refuses(ValueError, "bandwidth must be above 0, got 0"):
        seconds(cost, 1e12, 0)
    with refuses(ValueError, "rate must be finite, got inf"):
        seconds(cost, math.inf, 1)
    with refuses(ValueError, "latency must be finite and at least 0, got -1"):
        seconds(cost, 1, 1, -1)
    with refuses(TypeError, "cost must be a Cost, got tuple"):
        seconds((1, 2, 3), 1, 1)


def test_an_older_torch_is_told_which_it_must_be(monkeypatch):
    monkeypatch.delitem(sys.modules, "hydra_lib.parallel.heads")
    monkeypatch.setitem(sys.modules, "torch.distributed.tensor", None)
    said = r"^shard_heads needs a torch with torch\.distributed, got "
    with pytest.raises(ImportError, match=said):
        parallel.__getattr__("shard_heads")
