"""Multi-head attention on this machine: against torch's, and the claims about splitting width.

Every pair is checked against float64, then timed in alternation on one thread, with freed memory
kept: page faults would count in the times of large results. A ratio is the
reference's time over the candidate's, so above 1 the candidate is faster. Run from the root of the
repository: ``python benchmarks/attention.py`` takes about four minutes and writes
``hydra_lib/records/attention.json``.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from unhindered import unhindered

from hydra_lib.heads import (
    HeadConfig,
    split_heads,
)
from hydra_lib.masking import causal_mask
from hydra_lib.multihead import MultiHeadAttention
from hydra_lib.records import FOLDER, write
from hydra_lib.timing.accuracy import check
from hydra_lib.timing.environment import environment_of, keep_memory
from hydra_lib.timing.measurement import compare
from hydra_lib.timing.rows import pair_rows

OUT = FOLDER / "attention.json"
LAYERS = [
    (HeadConfig(384, 12), 1, 16),
    (HeadConfig(384, 12), 1, 128),
    (HeadConfig(512, 8), 8, 64),
    (HeadConfig(768, 12), 1, 128),
    (HeadConfig(768, 12), 4, 256),
    (HeadConfig(768, 12), 1, 1024),
    (HeadConfig(1536, 24), 1, 256),
]


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def make(config):
    return MultiHeadAttention(config, bias=True, generator=torch.Generator().manual_seed(1))


def told(group, kernels, comparison, backward=False, **sizes):
    """The two rows of a pair, which are printed too."""
    print(
        f"{group:10} {' / '.join(kernels):64} "
        f"{' '.join(f'{k}={v}' for k, v in sizes.items()):40} "
        f"{comparison.reference.p50 * 1e3:9.3f} ms {comparison.candidate.p50 * 1e3:9.3f} ms  "
        f"ratio {comparison.p50:5.2f} ± {comparison.spread:4.0%}",
        flush=True,
    )
    return pair_rows(group, kernels, sizes, comparison, backward=backward)


def forward_and_backward(layer):
    """Output and input gradient, with the gradient of every weight taken too."""
    weights = list(layer.parameters())

    def run(x):
        out = layer(x)
        gradients = torch.autograd.grad(out.square().sum(), [x, *weights])
        return out.detach(), gradients[0]

    return run


class Torch(nn.Module):
    """torch.nn.MultiheadAttention as a user would call it who does not want the weights."""

    def __init__(self, module, causal=False):
        super().__init__()
        self.module, self.causal = module, causal

    def forward(self, x):
        if not self.causal:
            return self.module(x, x, x, need_weights=False)[0]
        mask = ~causal_mask(x.shape[1])
        return self.module(x, x, x, need_weights=False, attn_mask=mask, is_causal=True)[0]


class Ours(nn.Module):
    def __init__(self, layer, causal=False):
        super().__init__()
        self.layer, self.causal = layer, causal

    def forward(self, x):
        return self.layer(x, x, x, causal=self.causal)


class Direct(nn.Module):
    """The least one can write: four linear maps and torch's function, nothing checked."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.h = layer, layer.config.n_heads

    def forward(self, x):
        c, size = self.layer, (*x.shape[:-1], self.h, -1)
        q, k, v = (w(x).view(size).transpose(1, 2) for w in (c.W_q, c.W_k, c.W_v))
        heads = F.scaled_dot_product_attention(q, k, v)
        return c.W_o(heads.transpose(1, 2).flatten(2))


class Plain(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer.trace(x, x, x).output


def layers():
    """Our layer's fused path against torch's module, the bare function, and our own plain path."""
    for config, batch, length in LAYERS:
        ours = make(config)
        theirs = ours.to_torch()
        x = random(batch, length, config.d_model)
        sizes = {"d_model": config.d_model, "h": config.n_heads, "B": batch, "T": length}
        flops = sum(config.flops(length, length, batch).values())

        def pair(name, reference, candidate, own="our layer", x=x, sizes=sizes, **options):
            backward = x.requires_grad
            wrap = forward_and_backward if backward else (lambda layer: layer)
            exact = wrap(copy.deepcopy(candidate).double())
            found = compare(wrap(reference), wrap(candidate), (x,), exact=exact, **options)
            return told("layer", (name, own), found, backward, **sizes)

        options = {"flops": flops, "budget": 4.0}
        with torch.no_grad():
            for name, mode in (
                ("torch in training mode", True),
                ("torch in evaluation mode", False),
            ):
                module = copy.deepcopy(theirs).train(mode)
                yield from pair(name, Torch(module), Ours(ours), **options)
            yield from pair(
                "torch in evaluation mode, causal",
                Torch(module, True),
                Ours(ours, True),
                "our layer, causal",
                budget=4.0,
            )
            direct = "projections and SDPA called directly"
            yield from pair(direct, Direct(ours), Ours(ours), **options)
            yield from pair("our plain path", Plain(ours), Ours(ours), **options)
        x = x.requires_grad_()
        module = copy.deepcopy(theirs).train()
        yield from pair("torch in training mode", Torch(module), Ours(ours), x=x, budget=12.0)


def strides():
    """Reference: on the strided view a split gives. Candidate: on a packed copy."""

    def scores(q, k):
        return q @ k.mT

    for batch, length in ((1, 128), (1, 512), (8, 128), (8, 512)):
        config = HeadConfig(768, 12)
        sizes = {"B": batch, "T": length, "h": 12, "head_dim": 64}
        wide = [random(batch, length, config.d_model, seed=i) for i in range(3)]
        strided = tuple(split_heads(x, config.n_heads) for x in wide)
        for name, fn, inputs in (
            ("q @ kᵀ", scores, strided[:2]),
            ("attention", F.scaled_dot_product_attention, strided),
        ):
            packed = [x.contiguous() for x in inputs]
            found = compare(
                lambda *s, fn=fn: fn(*s),
                lambda *s, fn=fn, packed=packed: fn(*packed),
                inputs,
                exact=fn,
                budget=1.0,
            )
            names = (f"{name}, strided", f"{name}, packed beforehand")
            yield from told("strides", names, found, **sizes)
            found = compare(
                fn, lambda *s, fn=fn: fn(*(x.contiguous() for x in s)), inputs, budget=1.0
            )
            names = (f"{name}, strided", f"{name}, packing included")
            yield from told("strides", names, found, **sizes)
    # One head, one sequence: a plain matrix product whose rows lie 768 apart, or 64.
    for length in (128, 512):
        q, k = (split_heads(random(length, 768, seed=i), 12)[0] for i in range(2))
        near = [q.contiguous(), k.contiguous()]
        found = compare(
            scores,
            lambda q, k, near=near: scores(*near),
            (q, k),
            exact=scores,
            budget=1.0,
        )
        names = ("one head's q @ kᵀ, strided", "one head's q @ kᵀ, packed beforehand")
        yield from told("strides of one head", names, found, T=length)


def heads():
    """Reference: one head of the full width. Candidate: the same width in several heads.

    With W_q = 0 all weights are equal and the number of heads changes nothing but the work's shape,
    so that both can be checked against one answer.
    """
    for n_heads in (2, 4, 12, 24):
        for length in (64, 256, 1024):
            config = HeadConfig(768, n_heads)
            one, many = make(HeadConfig(768, 1)), make(config)
            for layer in (one, many):
                nn.init.zeros_(layer.W_q.weight)
            flops = sum(config.flops(length, length).values())
            with torch.no_grad():
                found = compare(
                    Ours(one),
                    Ours(many),
                    (random(1, length, 768),),
                    exact=Ours(copy.deepcopy(one).double()),
                    flops=flops,
                    budget=2.5,
                )
            yield from told("heads", ("1 head", f"{n_heads} heads"), found, T=length)


class Recurrent(nn.Module):
    def __init__(self, width):
        super().__init__()
        torch.manual_seed(0)  # torch.nn.RNN takes no generator
        self.rnn = nn.RNN(width, width, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0]


def recurrent():
    """Reference: a recurrent layer, n steps in a row. Candidate: attention, one step.

    Two different functions, so each is checked against its own result in float64, and has its own
    count of FLOPs.
    """
    for width in (128, 512):
        rnn = Recurrent(width)
        layer = Direct(make(HeadConfig(width, width // 64)))  # nothing checked on either side
        for length in (16, 64, 128, 256, 512, 1024, 2048, 4096):
            x = random(1, length, width)
            with torch.no_grad():
                errors = [
                    check("whole layer", [m(x)], [copy.deepcopy(m).double()(x.double())])
                    for m in (rnn, layer)
                ]
                # What both must give was checked; they need not agree with each other, or with x.
                found = compare(rnn, layer, (x,), exact=lambda x: x, tolerance=1e9, budget=0.5)
            names = ("recurrent network", "whole layer")
            rows = told("recurrent", names, found, d_model=width, T=length)
            rows[0] |= {"error": errors[0], "flops": 4 * length * width**2}
            flops = HeadConfig(width, 1).flops(length, length)
            rows[1] |= {"error": errors[1], "flops": sum(flops.values())}
            yield from rows


def main():
    unhindered()
    torch.set_num_threads(1)
    keep_memory()
    record = {
        "what": "Multi-head attention on one thread of a processor, freed memory kept, verified, "
        "then timed in pairs",
        "environment": environment_of(),
        "rows": [],
    }
    for group in (layers, strides, heads, recurrent):
        record["rows"] += group()
    write(record, OUT)


if __name__ == "__main__":
    main()
