"""Heads and keys over 1, 2 and 4 processes of this machine, one thread each, and the links between.

Whatever is timed is first compared with one process that computes in float64, and attention over
ranks with torch's own context parallelism. A sample is the time of the slowest rank. Run from
the root of the repository: ``python benchmarks/parallel.py`` takes a minute or more and writes
``hydra_lib/records/parallel.json``. More ranks than the processor has cores share them.
"""

import copy
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from unhindered import unhindered

from hydra_lib.attention import scaled_dot_product_attention
from hydra_lib.heads import HeadConfig
from hydra_lib.multihead import MultiHeadAttention
from hydra_lib.parallel import (
    attention_over_ranks,
    heads_over_ranks,
    keys_over_ranks,
    run,
    shard_heads,
)
from hydra_lib.records import FOLDER, write
from hydra_lib.timing.accuracy import relative_error
from hydra_lib.timing.environment import environment_of
from hydra_lib.timing.sampling import quantiles

OUT = FOLDER / "parallel.json"
RANKS = (1, 2, 4)
LAYERS = [(HeadConfig(1024, 16), 512), (HeadConfig(256, 16), 64)]
CACHE = HeadConfig(1024, 16), 16_384  # keys on each rank, so that the work of a rank is the same
MESSAGES = [8, 2**16, 2**21, 2**24]  # bytes
SAMPLES = 21


def timed(function):
    """Seconds of the slowest rank, sample by sample; all start together."""
    function()
    found = []
    for _ in range(SAMPLES):
        dist.barrier()
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    slowest = torch.tensor(found, dtype=torch.float64)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    p20, p50, p80, _ = quantiles(slowest.numpy())
    return {"seconds": p50, "seconds_p20": p20, "seconds_p80": p80, "samples": SAMPLES}


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def links(mesh):
    """An all-reduce of messages of several sizes."""
    torch.set_num_threads(1)
    messages = [torch.zeros(size // 4) for size in MESSAGES]
    return [
        {"group": "links", "ranks": mesh.size(), "bytes": x.nbytes}
        | timed(lambda x=x: dist.all_reduce(x))
        for x in messages
    ]


def layers(mesh):
    """Self-attention with its heads over the ranks, forward, and forward and backward."""
    torch.set_num_threads(1)
    rows, ranks = [], mesh.size()
    for config, tokens in LAYERS:
        layer = MultiHeadAttention(config, generator=torch.Generator().manual_seed(0))
        x = normal(1, tokens, config.d_model).requires_grad_()
        exact = output_and_gradient(copy.deepcopy(layer).double(), x.detach().double())
        shard_heads(layer, mesh)
        errors = map(relative_error, output_and_gradient(layer, x.detach()), exact)

        def forward(layer=layer, x=x):
            with torch.no_grad():
                layer(x, x, x)[0, 0, 0].item()  # and wait for what is on its way

        def both(layer=layer, x=x):
            layer(x, x, x).sum().backward()
            x.grad[0, 0, 0].item()

        for (training, step), error in zip(((False, forward), (True, both)), errors, strict=True):
            cost = heads_over_ranks(config, tokens, ranks, element=4, training=training)
            about = {"group": "heads", "ranks": ranks, "training": training, "error": error}
            sizes = {"d_model": config.d_model, "h": config.n_heads, "T": tokens}
            rows.append(about | sizes | {"flops": cost.flops, "bytes": cost.bytes} | timed(step))
    return rows


def output_and_gradient(layer, x):
    """What a layer gives, and the gradient of its sum by the input."""
    x = x.clone().requires_grad_()
    output = layer(x, x, x)
    output.sum().backward()
    layer.zero_grad()
    return output.detach(), x.grad


def cache(mesh):
    """One query to a cache of keys that grows with the ranks."""
    torch.set_num_threads(1)
    config, keys = CACHE
    q = normal(1, config.n_heads, 1, config.head_dim)
    of_all = [
        normal(2, 1, config.n_heads, keys, config.head_dim, seed=1 + r) for r in range(mesh.size())
    ]
    exact = scaled_dot_product_attention(q.double(), *torch.cat(of_all, -2).double())
    k, v = of_all[mesh.get_local_rank()]
    error = relative_error(attention_over_ranks(q, k, v, mesh), exact)
    del of_all, exact
    cost = keys_over_ranks(config, 1, keys * mesh.size(), mesh.size())
    about = {"group": "keys", "ranks": mesh.size(), "error": error}
    sizes = {"d_model": config.d_model, "h": config.n_heads, "keys": keys * mesh.size()}
    return (
        about
        | sizes
        | {"flops": cost.flops, "bytes": cost.bytes}
        | timed(lambda: attention_over_ranks(q, k, v, mesh)[0, 0, 0, 0].item())
    )


def like_torch(mesh):
    """Our attention over ranks, and torch's context parallelism: both errors against float64."""
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.experimental._attention import context_parallel_unshard

    whole = [normal(3, 1, 2, 16, 4)[i] for i in range(3)]
    theirs = [x.clone() for x in whole]
    own = slice(*(16 // mesh.size() * (mesh.get_local_rank() + i) for i in (0, 1)))
    with context_parallel(mesh, buffers=theirs, buffer_seq_dims=[2, 2, 2]):
        found = F.scaled_dot_product_attention(*theirs)  # the rank's own queries
        # It may deal queries out in another order, to balance causal work: this puts them back.
        (found,) = context_parallel_unshard(mesh, [found], [2])
    q, k, v = whole
    ours = attention_over_ranks(q, k[..., own, :], v[..., own, :], mesh)
    exact = scaled_dot_product_attention(*(x.double() for x in whole))
    return relative_error(ours, exact), relative_error(found, exact)


def main():
    unhindered()
    torch.set_num_threads(1)
    load = os.getloadavg()[0]  # of the minute before: whoever else was at work
    agrees = run(like_torch, 2, timeout=300)
    print("against torch's context parallelism:", agrees, flush=True)
    assert max(max(errors) for errors in agrees) < 1e-5
    rows = []
    for ranks in RANKS:
        for job in (links, layers, cache):
            if ranks > 1 or job is not links:
                found = run(job, ranks, timeout=300)[0]
                rows += found if isinstance(found, list) else [found]
                print(ranks, job.__name__, flush=True)
    for row in rows:
        assert row.get("error", 0) < 1e-5, row
        print(row)
    record = {
        "what": "Heads and keys over processes of one machine, one thread each, and their links",
        "environment": environment_of(),
        "settings": {
            "backend": "gloo",
            "cores": len(os.sched_getaffinity(0)),
            "load": load,
            "dtype": "float32",
        },
        "checks": [
            {"what": "attention over 2 ranks, against float64", "error": max(a for a, _ in agrees)},
            {"what": "torch's context parallelism, likewise", "error": max(b for _, b in agrees)},
        ],
        "rows": rows,
    }
    write(record, OUT)


if __name__ == "__main__":
    main()
