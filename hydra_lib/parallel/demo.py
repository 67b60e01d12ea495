"""What chapter 12 runs on several ranks, and a script to start it with.

``torchrun --nproc-per-node 2 -m hydra_lib.parallel.demo`` on a laptop; on a machine with as many
GPUs the same command uses NCCL. Each function takes a mesh, runs on every rank, and compares with
the same computation on one: errors are relative to the largest entry.
"""

import copy
import os
from typing import NamedTuple, cast

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.experimental import implicit_replication

from hydra_lib.attention import scaled_dot_product_attention
from hydra_lib.heads import HeadConfig
from hydra_lib.masking import causal_mask
from hydra_lib.multihead import MultiHeadAttention
from hydra_lib.parallel.collectives import Collective, Collectives
from hydra_lib.parallel.heads import shard_heads
from hydra_lib.parallel.ranks import backend, mesh_of_ranks
from hydra_lib.parallel.sequence import attention_over_ranks
from hydra_lib.timing.accuracy import relative_error
from hydra_lib.toy.language import corpus
from hydra_lib.toy.model import ToyModel, train

__all__ = ["Seen", "heads", "keys", "main", "toy_losses"]


class Seen(NamedTuple):
    """What one rank saw: its part, errors against one process, collectives of both passes."""

    rank: int
    place: str
    shapes: dict[str, tuple[int, ...]]
    errors: dict[str, float]
    forward: list[Collective]
    backward: list[Collective]


def heads(
    mesh: DeviceMesh,
    config: HeadConfig,
    tokens: int,
    batch: int = 1,
) -> Seen:
    """A causal layer in float64 with its heads over the ranks; weights and inputs are random."""
    generator, kind = torch.Generator().manual_seed(0), mesh.device_type
    whole = MultiHeadAttention(config, generator=generator).double().to(kind)
    x = torch.randn(batch, tokens, config.d_model, generator=generator)
    x = x.double().to(kind)
    part = shard_heads(copy.deepcopy(whole), mesh)
    own, all_of_it = (x.clone().requires_grad_() for _ in range(2))
    with Collectives() as seen:
        output = part(own, own, own, causal=True)
        forward = list(seen.calls)
        output.square().sum().backward()
    expected = whole(all_of_it, all_of_it, all_of_it, causal=True)
    expected.square().sum().backward()
    errors = {"output": relative_error(output, expected)}
    errors["gradient of x"] = relative_error(own.grad, all_of_it.grad)
    shapes, truth = {}, dict(whole.named_parameters())
    for name, ours in part.named_parameters():
        own_rows, own_grad = cast(DTensor, ours), cast(DTensor, ours.grad)
        shapes[name] = tuple(own_rows.to_local().shape)
        gradient = own_grad.full_tensor()
        errors[f"gradient of {name}"] = relative_error(gradient, truth[name].grad)
    return _told(mesh, shapes, errors, forward, seen.calls[len(forward) :])


def keys(mesh: DeviceMesh, config: HeadConfig, tokens: int) -> Seen:
    """Causal attention in float64 with its keys over the ranks, in slices that may differ by 1."""
    generator, kind = torch.Generator().manual_seed(1), mesh.device_type
    shape = (3, config.n_heads, tokens, config.head_dim)
    drawn = torch.randn(shape, generator=generator).double().to(kind)
    slices = torch.arange(tokens).tensor_split(mesh.size())[mesh.get_local_rank()]
    mask = causal_mask(tokens).to(kind)
    q, k, v = (x.clone().requires_grad_() for x in drawn)
    own_q, own_k, own_v = (
        x.clone().requires_grad_() for x in (drawn[0], drawn[1][:, slices], drawn[2][:, slices])
    )
    with Collectives() as seen:
        output = attention_over_ranks(own_q, own_k, own_v, mesh, mask[:, slices])
        forward = list(seen.calls)
        output.square().sum().backward()
    expected = scaled_dot_product_attention(q, k, v, mask)
    expected.square().sum().backward()
    errors, shapes = {"output": relative_error(output, expected)}, {}
    pairs = {"q": (own_q, q.grad), "k": (own_k, k.grad[:, slices]), "v": (own_v, v.grad[:, slices])}
    for name, (x, gradient) in pairs.items():
        shapes[name] = tuple(x.shape)
        errors[f"gradient of {name}"] = relative_error(x.grad, gradient)
    return _told(mesh, shapes, errors, forward, seen.calls[len(forward) :])


def toy_losses(
    mesh: DeviceMesh, steps: int
) -> tuple[list[float], list[float], float, list[Collective]]:
    """Chapter 7's model, trained whole and with its heads over the ranks, in float64.

    The losses of both, the largest difference that is left between two weights, and all that was
    sent.
    """
    whole = ToyModel(generator=torch.Generator().manual_seed(0)).double().to(mesh.device_type)
    part = copy.deepcopy(whole)
    for layer in part.layers:
        shard_heads(layer, mesh)
    ids = corpus(32, seed=0).ids.to(mesh.device_type)
    about = {"steps": steps, "batch": 16, "seed": 0}
    one = list(train(whole, ids[:, :-1], ids[:, 1:], **about))
    # Norms and embeddings are the same on every rank; clipping meets them beside the shards.
    with implicit_replication(), Collectives() as seen:
        many = list(train(part, ids[:, :-1], ids[:, 1:], **about))
    differences = [
        (getattr(ours, "full_tensor", lambda ours=ours: ours)() - theirs).abs().max().item()
        for ours, theirs in zip(part.parameters(), whole.parameters(), strict=True)
    ]
    return one, many, max(differences), seen.calls


def _told(mesh: DeviceMesh, shapes, errors, forward, backward) -> Seen:
    place = f"{dist.get_backend()} on {mesh.device_type}"
    return Seen(mesh.get_local_rank(), place, shapes, errors, forward, backward)


def main() -> None:
    """What each rank of a ``torchrun`` does; rank 0 tells."""
    here = int(os.environ["LOCAL_WORLD_SIZE"])
    name, kind = backend(here)
    if kind == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(name)
    mesh, ranks = mesh_of_ranks(), dist.get_world_size()
    config = HeadConfig(64 * ranks, 4 * ranks)
    found = {
        "heads": heads(mesh, config, tokens=128),
        "keys": keys(mesh, config, tokens=128),
    }
    if dist.get_rank() == 0:
        place, gpus = found["heads"].place, torch.cuda.device_count()
        print(f"{ranks} ranks, {place}: {gpus} GPUs for {here} ranks here")
        for what, seen in found.items():
            worst = max(seen.errors.values())
            print(f"\n{what} over ranks; largest error {worst:.1e}")
            for shape in seen.shapes.items():
                print("  rank 0 has {:<11} {}".format(*shape))
            for when in ("forward", "backward"):
                calls = getattr(seen, when)
                sent = (f"{c.name} of {c.bytes:,} bytes" for c in calls)
                print(f"  {when:<8}", *sent)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
