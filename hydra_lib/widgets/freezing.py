"""The widget of many unrelated scores; its arithmetic is ``static/scaling.js``."""

import functools
import math

import torch

from hydra_lib.boltzmann import entropy
from hydra_lib.widgets._base import Setting, Text, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["FreezingWidget"]

WIDTHS = tuple(2**e for e in range(9))
LENGTHS = tuple(2**e for e in range(1, 13))
ROWS = 100


@functools.cache
def measured() -> list[list[float]]:
    """Keys in use for each length and width: the mean over rows, the same ones at every width."""
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randn(ROWS, n, generator=generator) for n in LENGTHS]
    return [[entropy(math.sqrt(d_k) * z).exp().mean().item() for d_k in WIDTHS] for z in rows]


class FreezingWidget(Widget):
    """Drag a point over widths and numbers of keys: how many of a row's keys are in use?

    The ``n`` scores of the row are independent and normal with variance ``d_k``, those of a query
    of length √d_k with keys of unit variance that have nothing to do with it; they stand as they
    are and divided by √d_k. ``n`` is a power of two from 2 to 4096, ``d_k`` one from 1 to 256. The
    page draws the row, the same one for the same ``seed``; a longer row begins with the shorter
    one.

    ``keys_in_use`` has, for each n and each d_k, the mean of exp(entropy) over 100 rows, measured
    here; the line d_k = 2 ln n is the freezing temperature of Derrida (1981) at τ = 1.

    Raises ValueError for a setting outside these ranges.
    """

    _esm = bundle("freezing_widget.js")
    name = Text("freezing").tag(sync=True)
    d_k = Setting(64, options=WIDTHS)
    n = Setting(256, options=LENGTHS)
    seed = Setting(0, low=0, high=2**32 - 1, whole=True)
    keys_in_use = Setting(
        [[1.0]], low=1, high=LENGTHS[-1], shape=(len(LENGTHS), len(WIDTHS)), read_only=True
    )

    def __init__(self, d_k=64, n=256, **traits):
        super().__init__(d_k=d_k, n=n, **traits)
        self.set_trait("keys_in_use", measured())
