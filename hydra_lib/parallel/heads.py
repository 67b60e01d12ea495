"""Heads over ranks: the columns of W_q, W_k and W_v are dealt out, and the rows of W_o.

Tensor parallelism by PyTorch's own means. A head needs no other head before W_o, so each rank
computes its own from its own slices, and the sum that W_o takes over heads becomes one all-reduce.
"""

from collections.abc import Callable

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

from hydra_lib import _checks
from hydra_lib.heads import HeadConfig
from hydra_lib.multihead import MultiHeadAttention, check_whole
from hydra_lib.parallel.costs import check_heads
from hydra_lib.parallel.ranks import check_mesh

__all__ = ["shard_heads"]


def shard_heads(layer: MultiHeadAttention, mesh: DeviceMesh) -> MultiHeadAttention:
    """Leave on each rank of ``mesh`` its heads of ``layer``, in place; the layer is returned too.

    ``out = Σ_ranks merge(heads of the rank) W_o[rank]ᵀ``, W_o[rank] being the columns that meet
    these heads. Rank r of P gets heads r·h/P … (r + 1)·h/P − 1: those rows of W_q, W_k and W_v
    (``ColwiseParallel``) and those columns of W_o (``RowwiseParallel``), each as a ``DTensor``.

    The call takes the same inputs as before, which must be the same on every rank, and gives the
    whole output on every rank. Gradients of inputs are whole, those of weights are the rank's own.
    ``layer.config`` becomes the rank's part, d_model/P and n_heads/P: a mask with an axis for the
    heads is one for these, and its trace shows them. The layer knows their contributions no
    longer, since W_o is cut. A :class:`hydra_lib.rotary.RotaryAttention` can be sharded as well.

    Communication: one all-reduce of the output forward, one of the gradient backward for each
    tensor among query, key and value that needs one: for ``layer(x, x, x)``, one in all. Error:
    that of a sum in another order.

    Raises NoGroupError without a process group; TypeError for a ``layer`` or ``mesh`` that is
    none; ValueError for heads that the ranks do not divide, a mesh of more than one dimension, of
    other devices than the layer's or without this rank, and for a layer sharded before.
    Source: Shoeybi et al. (2019), *Megatron-LM*, section 3.
    """
    _checks.instance("layer", layer, MultiHeadAttention)
    check_mesh(mesh, layer.W_q.weight.device)
    check_whole(layer)
    (d, h), ranks = (layer.config.d_model, layer.config.n_heads), mesh.size()
    check_heads(h, ranks)
    plan = {name: ColwiseParallel() for name in ("W_q", "W_k", "W_v")}
    parallelize_module(layer, mesh, {**plan, "W_o": RowwiseParallel()})
    layer.config = HeadConfig(d // ranks, h // ranks)

    layer.register_forward_pre_hook(_same_on_all(mesh), with_kwargs=True)
    return layer


def _same_on_all(mesh: DeviceMesh) -> Callable:
    """A hook: inputs become replicated DTensors, one for one tensor.

    Self-attention then adds the three gradients of its input before they are reduced, once.
    """

    def hook(module: torch.nn.Module, args: tuple, named: dict) -> tuple[tuple, dict]:
        made: dict[int, DTensor] = {}

        def known(x: object) -> object:
            if not isinstance(x, torch.Tensor) or x.device.type != mesh.device_type:
                return x  # the layer's own checks refuse it
            if id(x) not in made and not isinstance(x, DTensor):
                made[id(x)] = DTensor.from_local(x, mesh, [Replicate()], run_check=False)
            return made.get(id(x), x)

        roles = ("query", "key", "value")
        return (
            (*map(known, args[:3]), *args[3:]),
            {name: known(x) if name in roles else x for name, x in named.items()},
        )

    return hook
