"""The training of the stored model, seen on its way: where heads looked, and what was answered."""

from typing import NamedTuple

import torch
from jaxtyping import Float

from hydra_lib.records import FOLDER
from hydra_lib.toy.language import JOBS
from hydra_lib.toy.roles import ROLES

__all__ = ["Checkpoints", "stored_checkpoints"]


class Checkpoints(NamedTuple):
    """What was seen at step 0, and at every so many steps after it."""

    text: str
    """The document that the heads looked at."""

    every: int
    """Steps between two checkpoints."""

    weights: Float[torch.Tensor, "checkpoints layers h T T"]
    """Of each head, where it looked in the document: a row a query."""

    scores: dict[str, Float[torch.Tensor, "checkpoints layers h"]]
    """How each head scored in each role, as :func:`hydra_lib.toy.roles.role_scores` says it."""

    right: dict[str, Float[torch.Tensor, " checkpoints"]]
    """Of the look-ups of each job, the share answered right."""


def stored_checkpoints() -> Checkpoints:
    """The first steps of a second training of :func:`hydra_lib.toy.model.stored`, from its start.

    What was measured was rounded to hundredths, so a row of weights need not sum to 1. ``scores``
    and ``right`` are those of 100 documents that the model was not trained on.

    Raises FileNotFoundError when the file is not there: ``benchmarks/heads.py`` writes it.

    >>> stored_checkpoints().weights.shape
    torch.Size([21, 2, 6, 12, 12])
    """
    from safetensors import safe_open  # training needs none of it

    path = FOLDER / "checkpoints.safetensors"
    if not path.is_file():
        raise FileNotFoundError(
            "there are no stored checkpoints, hydra_lib/records/checkpoints.safetensors: "
            "python benchmarks/heads.py checkpoints makes them"
        )
    with safe_open(path, "pt") as file:
        about = file.metadata()
        # Checkpoints come last in the file: what hardly changes between two of them packs best.
        pairs, scores, right = (
            file.get_tensor(name).movedim(-1, 0) / 100 for name in ("weights", "scores", "right")
        )
    T = len(about["text"])
    weights = torch.zeros(*pairs.shape[:-1], T, T)
    weights[..., torch.ones(T, T).tril().bool()] = pairs
    return Checkpoints(
        about["text"],
        int(about["every"]),
        weights,
        dict(zip(ROLES, scores.unbind(1), strict=False)),
        dict(zip(JOBS[1:], right.unbind(1), strict=True)),
    )
