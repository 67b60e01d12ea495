"""Hydra: one operation, ``weights @ values``, from a running sum to a CUDA kernel.

The flat public API. ``figures``, ``widgets``, ``show`` and ``exercises`` are imported by name where
they are wanted, because what they need (matplotlib, anywidget) is slow to load.
"""

from hydra_lib.aggregation import *
from hydra_lib.aggregation import __all__ as _aggregation
from hydra_lib.attention import *
from hydra_lib.attention import __all__ as _attention
from hydra_lib.backward import *
from hydra_lib.backward import __all__ as _backward
from hydra_lib.boltzmann import *
from hydra_lib.boltzmann import __all__ as _boltzmann
from hydra_lib.heads import *
from hydra_lib.heads import __all__ as _heads
from hydra_lib.masking import *
from hydra_lib.masking import __all__ as _masking
from hydra_lib.multihead import *
from hydra_lib.multihead import __all__ as _multihead
from hydra_lib.recompute import *
from hydra_lib.recompute import __all__ as _recompute
from hydra_lib.scaling import *
from hydra_lib.scaling import __all__ as _scaling

__all__ = [
    *_aggregation,
    *_attention,
    *_backward,
    *_boltzmann,
    *_heads,
    *_masking,
    *_multihead,
    *_recompute,
    *_scaling,
]
