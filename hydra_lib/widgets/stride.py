"""The widget of strides; its arithmetic is ``static/strides.js``."""

import math

import traitlets

from hydra_lib.widgets._base import Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["StrideWidget"]

MOST = 96


class StrideWidget(Widget):
    """Follow one number of x (T, n_heads · head_dim) through view, transpose and contiguous.

    The batch has one sequence; ``T``, ``n_heads`` and ``head_dim`` give at most 96 numbers, each
    drawn as a cell of memory. The number is picked by ``head``, ``position`` and ``component``,
    counted from 0 as addresses are. ``wrong`` adds the view that skips the transpose.

    Raises ValueError for more numbers or an index out of range, traitlets.TraitError for a size
    below 1.
    """

    _esm = bundle("stride_widget.js")
    name = traitlets.Unicode("stride").tag(sync=True)
    T = traitlets.Int(4, min=1).tag(sync=True)
    n_heads = traitlets.Int(3, min=1).tag(sync=True)
    head_dim = traitlets.Int(2, min=1).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    position = traitlets.Int(0).tag(sync=True)
    component = traitlets.Int(0).tag(sync=True)
    wrong = traitlets.Bool(False).tag(sync=True)

    @traitlets.validate("T", "n_heads", "head_dim")
    def _check_size(self, proposal):
        sizes = {name: getattr(self, name) for name in ("T", "n_heads", "head_dim")}
        sizes[proposal["trait"].name] = proposal["value"]
        count = math.prod(sizes.values())
        if count > MOST:
            raise ValueError(f"T · n_heads · head_dim must be at most {MOST}, got {count}")
        return proposal["value"]

    @traitlets.validate("head", "position", "component")
    def _check_index(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        size = {"head": self.n_heads, "position": self.T, "component": self.head_dim}[name]
        if not 0 <= value < size:
            raise ValueError(f"{name} must lie in 0 … {size - 1}, got {value}")
        return value
