"""A toy language whose every answer is known, a two-layer model of it, and what its heads do.

The language (:mod:`hydra_lib.toy.language`) asks for three look-ups; the model
(:mod:`hydra_lib.toy.model`) is attention and nothing else; :mod:`hydra_lib.toy.roles` scores where
each head looks, :mod:`hydra_lib.toy.checkpoints` has what was seen while it learned, and
:mod:`hydra_lib.toy.ablation` takes heads away to see what they were for.
"""

from hydra_lib.toy.ablation import (
    ablate,
    ablate_by_kind,
    clone,
    equalize,
    head_weights,
    mean_heads,
    mean_heads_by_kind,
)
from hydra_lib.toy.checkpoints import Checkpoints, stored_checkpoints
from hydra_lib.toy.language import (
    JOBS,
    KINDS,
    NAMES,
    SYMBOLS,
    WORDS,
    Corpus,
    Reader,
    corpus,
    encode,
)
from hydra_lib.toy.model import TOY, ToyModel, stored, train
from hydra_lib.toy.roles import ROLES, job_losses, role_scores, role_targets

__all__ = [
    "JOBS",
    "KINDS",
    "NAMES",
    "ROLES",
    "SYMBOLS",
    "TOY",
    "WORDS",
    "Checkpoints",
    "Corpus",
    "Reader",
    "ToyModel",
    "ablate",
    "ablate_by_kind",
    "clone",
    "corpus",
    "encode",
    "equalize",
    "head_weights",
    "job_losses",
    "mean_heads",
    "mean_heads_by_kind",
    "role_scores",
    "role_targets",
    "stored",
    "stored_checkpoints",
    "train",
]
