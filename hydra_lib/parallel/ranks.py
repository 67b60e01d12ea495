"""Ranks: the processes of one job, each usually with a device, and the mesh that they form."""

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from hydra_lib import _checks

__all__ = ["NoGroupError", "backend", "mesh_of_ranks"]


class NoGroupError(ValueError):
    """Ranks were asked for in a process that belongs to no group of processes."""


def backend(ranks: int) -> tuple[str, str]:
    """What ranks on this machine talk through, and where they compute.

    ("nccl", "cuda") where torch sees a GPU for each of the ``ranks``, else ("gloo", "cpu"): NCCL
    refuses two ranks on one GPU. Raises ValueError for ranks that are no positive integer.
    """
    ranks = _checks.integer("ranks", ranks)
    if dist.is_nccl_available() and torch.cuda.device_count() >= ranks:
        return "nccl", "cuda"
    return "gloo", "cpu"


def mesh_of_ranks() -> DeviceMesh:
    """All ranks of the group that this process belongs to, in one row.

    Its device type is where the group's backend computes. Raises NoGroupError without a group.
    """
    check_group()
    kind = "cuda" if dist.get_backend() == "nccl" else "cpu"
    return init_device_mesh(kind, (dist.get_world_size(),))


def check_group() -> None:
    if not dist.is_initialized():
        raise NoGroupError(
            "expected a process group, got none: start the script with torchrun and call "
            "torch.distributed.init_process_group, or call hydra_lib.parallel.run"
        )


def check_mesh(mesh: Any, device: torch.device) -> None:
    """Refuse what is no row of ranks, of the kind of ``device``, with this one among them."""
    _checks.instance("mesh", mesh, DeviceMesh)
    check_group()
    if mesh.ndim != 1:
        shape = " × ".join(map(str, mesh.mesh.shape))
        raise ValueError(f"mesh must be one row of ranks, got {shape}: give one of its dimensions")
    if mesh.get_coordinate() is None:
        ranks = ", ".join(map(str, mesh.mesh.tolist()))
        raise ValueError(f"mesh must have this rank in it, got {ranks} on rank {dist.get_rank()}")
    if mesh.device_type != device.type:
        raise ValueError(f"mesh must be of {device.type} ranks, got {mesh.device_type}")
