"""Heads and sequences over several devices, on PyTorch's own distributed engine.

:func:`hydra_lib.parallel.heads.shard_heads` deals out the heads of a layer (tensor parallelism),
:func:`hydra_lib.parallel.sequence.attention_over_ranks` the keys of a sequence, and
:mod:`hydra_lib.parallel.partials` merges the partial softmaxes. ``run`` starts the ranks,
:mod:`hydra_lib.parallel.costs` says what they cost before there are any.

Needs a torch with ``torch.distributed``. It stands on top of the library: nothing imports it.
"""

from importlib import import_module
from typing import Any

import torch

# The merge and the costs need no torch.distributed, which takes a second to import.
_HOME = {
    "Collective": "collectives",
    "Collectives": "collectives",
    "Cost": "costs",
    "NoGroupError": "ranks",
    "Partial": "partials",
    "RankFailedError": "launch",
    "Seconds": "costs",
    "attention_of": "partials",
    "attention_over_ranks": "sequence",
    "backend": "ranks",
    "heads_over_ranks": "costs",
    "keys_over_ranks": "costs",
    "merge": "partials",
    "mesh_of_ranks": "ranks",
    "partial_softmax": "partials",
    "run": "launch",
    "seconds": "costs",
    "shard_heads": "heads",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    except ImportError as error:
        got = f"got {torch.__version__} ({error})"
        raise ImportError(f"{name} needs a torch with torch.distributed, {got}") from error
