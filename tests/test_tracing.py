"""Causal attention where there are no values to look at: compiled, exported, batched, fake, meta.

Each in the library as a reader imports it: what checks shapes under test is itself Python code that
a compiler would have to follow.
"""

import subprocess
import sys

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import vmap

from hydra_lib.attention import fused_attention
from hydra_lib.heads import HeadConfig
from hydra_lib.masking import causal_mask
from hydra_lib.multihead import MultiHeadAttention
from tests.refusal import unhooked


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def layer(kind=MultiHeadAttention):
    return kind(HeadConfig(6, 3), generator=torch.Generator().manual_seed(0))


def attend(x):
    return fused_attention(x, x, x, causal=True)


def test_meta_and_fake_tensors():
    x = random(2, 5, 6)
    masks = {"causal": True}, {"mask": causal_mask(5)}
    with unhooked():
        for options in masks:
            meta = {name: o.to("meta") if name == "mask" else o for name, o in options.items()}
            assert fused_attention(*[x.to("meta")] * 3, **meta).shape == x.shape
            assert layer().to("meta")(*[x.to("meta")] * 3, **meta).shape == x.shape
        with FakeTensorMode() as mode:
            fake, mask = mode.from_tensor(x), mode.from_tensor(causal_mask(5))
            assert attend(fake).shape == x.shape
            assert fused_attention(fake, fake, fake, mask).shape == x.shape


def test_vmap():
    x = random(7, 2, 5, 6)
    with unhooked():
        torch.testing.assert_close(vmap(attend)(x), attend(x))
        masks = random(7, 5, 5) > 0
        batched = vmap(lambda y, m: fused_attention(y, y, y, m))(x, masks)
        torch.testing.assert_close(batched, fused_attention(x, x, x, masks[:, None]))


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_a_traced_call_has_no_mask_baked_in():
    """Traced with the triangle, called with another mask."""
    x, everything = random(2, 5, 6), torch.ones(5, 5).bool()
    with unhooked():
        traced = torch.jit.trace(fused_attention, (x, x, x, causal_mask(5)))
        for mask in (causal_mask(5), everything, everything.triu()):
            torch.testing.assert_close(traced(x, x, x, mask), fused_attention(x, x, x, mask))


EXPORT = """
import torch
from hydra_lib import HeadConfig, MultiHeadAttention, RotaryAttention, causal_mask, fused_attention

class Causal(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
    def forward(self, x, mask=None):
        return self.layer(x, x, x, mask, causal=True)

x = torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(0))
for kind in (MultiHeadAttention, RotaryAttention):
    layer = Causal(kind(HeadConfig(12, 3), generator=torch.Generator().manual_seed(0)))
    for arguments in ((x,), (x, torch.arange(5) != 1)):
        right = layer(*arguments)
        exported = torch.export.export(layer, arguments).module()
        torch.testing.assert_close(exported(*arguments), right)
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(*arguments), right)
        torch._dynamo.reset()
print("done")
"""


@pytest.mark.slow
def test_export_and_a_graph_without_breaks():
    run = subprocess.run([sys.executable, "-c", EXPORT], capture_output=True, text=True)
    assert run.stdout == "done\n", run.stderr[-2000:]
