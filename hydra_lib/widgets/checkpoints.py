"""The widget of a model on its way; what is read is ``static/checkpoints.js``."""

import functools

import torch
import traitlets

from hydra_lib.toy.checkpoints import stored_checkpoints
from hydra_lib.widgets._base import Setting, SettingError, Text, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["CheckpointsWidget"]


class CheckpointsWidget(Widget):
    """Go back in the training of the toy model, and see its heads form.

    Shown is :func:`hydra_lib.toy.checkpoints.stored_checkpoints`: at each checkpoint where every
    head looks in one document, to a fiftieth; how it scores in each role, and which share of each
    job is answered right, to a hundredth. ``step`` is a step of the training at which there is a
    checkpoint, a multiple of 50 up to 1000; ``layer``, ``head`` and ``position``, that of a symbol,
    count from 0.

    Raises ValueError for a step between two checkpoints, and for a layer, head or position that
    does not exist.
    """

    _esm = bundle("checkpoints_widget.js")
    name = Text("checkpoints").tag(sync=True)
    seen = traitlets.Dict(read_only=True).tag(sync=True)
    """``text``, ``every``, the number of ``layers`` and ``heads``; ``scores`` by role and ``right``
    by job, both in hundredths; ``weights`` of keys no later than their query in fiftieths, a letter
    each from "0" on. Checkpoints come last."""

    step = Setting(0, low=0, high=1000, whole=True)
    layer = Setting(1, low=0, high=1, whole=True)
    head = Setting(2, low=0, high=5, whole=True)
    position = Setting(11, low=0, high=11, whole=True)

    @traitlets.default("seen")
    def _seen(self):
        return _packed()

    @traitlets.validate("step")
    def _check_step(self, proposal):
        every = self.seen["every"]
        if proposal["value"] % every:
            raise SettingError(f"step must be a multiple of {every}, got {proposal['value']}")
        return proposal["value"]


@functools.cache
def _packed() -> dict:
    text, every, weights, scores, right = stored_checkpoints()
    _, layers, heads, T, _ = weights.shape
    past = torch.ones(T, T).tril().bool()
    return {
        "text": text,
        "every": every,
        "layers": layers,
        "heads": heads,
        "weights": _letters(weights[..., past].movedim(0, -1)),
        "scores": {role: _hundredths(table.movedim(0, -1)) for role, table in scores.items()},
        "right": {job: _hundredths(shares) for job, shares in right.items()},
    }


def _hundredths(shares: torch.Tensor) -> list:
    return (100 * shares).round().int().tolist()


def _letters(shares: torch.Tensor) -> str:
    """A page that a server packs takes less of them than of bytes in base64, whose letters cut
    through the bytes."""
    fiftieths = (50 * shares).round().to(torch.uint8).flatten()
    return (fiftieths + ord("0")).numpy().tobytes().decode("ascii")
