"""Hydra: one operation, ``weights @ values``, from a running sum to a CUDA kernel.

The flat public API. ``figures``, ``widgets``, ``show`` and ``exercises`` are imported by name where
they are wanted, because what they need (matplotlib, anywidget) is slow to load.
"""

from hydra_lib.aggregation import *
from hydra_lib.aggregation import __all__ as _aggregation
from hydra_lib.boltzmann import *
from hydra_lib.boltzmann import __all__ as _boltzmann
from hydra_lib.masking import *
from hydra_lib.masking import __all__ as _masking

__all__ = [*_aggregation, *_boltzmann, *_masking]
