"""What the tests of ``hydra_lib.parallel`` run on ranks; ranks import it."""

import copy
import os
import signal
import sys
import time
from unittest import mock

import torch
import torch.distributed as dist
from torch.distributed.tensor.debug import CommDebugMode

from hydra_lib import (
    HeadConfig,
    MultiHeadAttention,
    RotaryAttention,
    scaled_dot_product_attention,
)
from hydra_lib.parallel import Collectives, attention_over_ranks, shard_heads
from hydra_lib.parallel.demo import heads, keys, toy_losses

Tq, Tk, B = 7, 5, 3


def draw(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def leaves_in_silence(mesh):
    os._exit(0)


def close(ours, theirs):
    torch.testing.assert_close(getattr(ours, "full_tensor", lambda: ours)(), theirs)


def layers(mesh, kind=MultiHeadAttention):
    """24 heads, which 2, 3 and 4 ranks divide, and biases that are not zero."""
    whole = kind(HeadConfig(48, 24), bias=True, generator=torch.Generator().manual_seed(0))
    for index, parameter in enumerate(whole.double().parameters()):
        if parameter.ndim == 1:
            parameter.data = draw(48, seed=index)
    return whole, shard_heads(copy.deepcopy(whole), mesh)


def compare(whole, part, inputs, arguments, own_arguments):
    """Outputs and gradients of a layer on one process and on ranks; collectives of both passes."""
    theirs = {id(x): x.clone().requires_grad_() for x in inputs}
    ours = {id(x): x.clone().requires_grad_() for x in inputs}
    expected = whole(*(theirs[id(x)] for x in inputs), **arguments)
    (expected * draw(*expected.shape, seed=9)).sum().backward()
    with Collectives() as seen:
        output = part(*(ours[id(x)] for x in inputs), **own_arguments)
        forward = list(seen.calls)
        (output * draw(*expected.shape, seed=9)).sum().backward()
    close(output, expected)
    for x in inputs:
        close(ours[id(x)].grad, theirs[id(x)].grad)
    for own, parameter in zip(part.parameters(), whole.parameters(), strict=True):
        close(own.grad, parameter.grad)
        own.grad = parameter.grad = None
    return [tuple(call) for call in forward], [tuple(call) for call in seen.calls[len(forward) :]]


def sharded_layers(mesh):
    """Self- and cross-attention, every kind of mask, rotary positions, a trace."""
    found = {}
    whole, part = layers(mesh)
    x, query, key = (draw(B, T, 48, seed=T) for T in (11, Tq, Tk))
    found["self"] = compare(whole, part, (x, x, x), {"causal": True}, {"causal": True})
    mask = draw(B, Tq, Tk, seed=1) > 0
    mask[0, 3] = False
    found["cross"] = compare(whole, part, (query, key, key), {"mask": mask}, {"mask": mask})
    for_heads = draw(B, 24, Tq, Tk, seed=2) > 0
    mine = for_heads.chunk(mesh.size(), 1)[mesh.get_local_rank()]
    found["heads"] = compare(
        whole, part, (query, key, draw(B, Tk, 48, seed=3)), {"mask": for_heads}, {"mask": mine}
    )
    with Collectives() as seen, torch.no_grad():
        close(part(query=x, key=x, value=x), whole(x, x, x))
        steps = part.trace(x, x, x)
    chunk = whole.trace(x, x, x).heads.chunk(mesh.size(), 1)[mesh.get_local_rank()]
    close(steps.heads, chunk)
    close(steps.output, whole(x, x, x))
    found["no gradient"] = [tuple(call) for call in seen.calls]
    found["rotary"] = compare(
        *layers(mesh, RotaryAttention), (x, x, x), {"causal": True}, {"causal": True}
    )
    found["shapes"] = {name: tuple(p.to_local().shape) for name, p in part.named_parameters()}
    found["config"] = (part.config.d_model, part.config.n_heads, part.config.head_dim)
    return found


def counted_by_torch(mesh):
    """CommDebugMode's count and ours, of one pass forward and back."""
    _, part = layers(mesh)
    x = draw(B, Tq, 48, seed=0).requires_grad_()
    with CommDebugMode() as theirs, Collectives() as ours:
        part(x, x, x).sum().backward()
    return theirs.get_total_counts(), len(ours.calls)


def split_sequence(mesh):
    """Slices of different length, rows that one rank or all ranks may not see, half precision."""
    rank, ranks = mesh.get_local_rank(), mesh.size()
    q, k, v = draw(2, 7, 13, 3, seed=1), draw(2, 1, 11, 3, seed=2), draw(2, 1, 11, 5, seed=3)
    mask = (draw(13, 11, seed=4) > -0.5) & torch.ones(13, 11).bool().tril()
    mask[4] = False
    mask[7, :6] = False
    cuts = [0, 1, *range(5, 5 + ranks - 2), 11]
    own = slice(cuts[rank], cuts[rank + 1])
    theirs = [x.clone().requires_grad_() for x in (q, k, v)]
    expected = scaled_dot_product_attention(*theirs, mask)
    (expected * draw(*expected.shape, seed=9)).sum().backward()
    ours = [x.clone().requires_grad_() for x in (q, k[..., own, :], v[..., own, :])]
    with Collectives() as seen:
        output = attention_over_ranks(*ours, mesh, mask[:, own])
        forward = list(seen.calls)
        (output * draw(*expected.shape, seed=9)).sum().backward()
    close(output, expected)
    assert output[..., 4, :].eq(0).all()
    close(ours[0].grad, theirs[0].grad)
    for x, whole in zip(ours[1:], theirs[1:], strict=True):
        close(x.grad, whole.grad[..., own, :])
    sharp = [
        1e4 * ours[0].detach(),
        *(x.detach() for x in ours[1:]),
    ]  # e^s overflows, e^(s − m) not
    expected_sharp = scaled_dot_product_attention(1e4 * q, k, v, mask)
    close(attention_over_ranks(*sharp, mesh, mask[:, own]), expected_sharp)
    half = [x.detach().bfloat16() for x in ours]
    coarse = attention_over_ranks(*half, mesh, mask[:, own])
    assert coarse.dtype == torch.bfloat16
    torch.testing.assert_close(coarse.double(), expected, atol=0.05, rtol=0.05)
    return [tuple(call) for call in forward], [tuple(call) for call in seen.calls[len(forward) :]]


def everything(mesh):
    """One start of the ranks for all that is compared."""
    small = mesh.size() < 4  # six heads
    with mock.patch("torch.nn.utils.clip_grad_norm_"):
        unclipped = toy_losses(mesh, steps=1) if small else None
    return {
        "unclipped": unclipped,
        "layers": sharded_layers(mesh),
        "counted": counted_by_torch(mesh),
        "sequence": split_sequence(mesh),
        "toy": toy_losses(mesh, steps=3) if small else None,
        "demo": (heads(mesh, HeadConfig(24, 12), 11, 2), keys(mesh, HeadConfig(24, 12), 13)),
    }


# --- ranks that come to no good end ---------------------------------------------------------------


def raises(mesh):
    if mesh.get_local_rank() == 1:
        raise ValueError("the second rank has had enough")
    dist.barrier()


def is_killed(mesh):
    if mesh.get_local_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()


def leaves(mesh):
    if mesh.get_local_rank() == 1:
        os._exit(3)
    dist.barrier()


def says_good_bye(mesh):
    if mesh.get_local_rank() == 1:
        sys.exit(0)


def adds_its_rank(mesh, x):
    x += 1 + mesh.get_local_rank()
    return x.tolist()


def doubles(mesh, x):
    return (2 * x).tolist()


def draws(mesh, generator):
    return torch.rand(1, generator=generator).item()


def sleeps(mesh, folder):
    (folder / str(mesh.get_local_rank())).write_text(str(os.getpid()))
    time.sleep(600)


def writes_and_is_killed(mesh, folder):
    (folder / str(mesh.get_local_rank())).write_text(str(os.getpid()))
    dist.barrier()
    if mesh.get_local_rank() == 2:
        time.sleep(600)  # and meets nobody who could tell it
    is_killed(mesh)
