"""The widget of strides; its arithmetic is ``static/strides.js``."""

import math

import traitlets

from hydra_lib.widgets._base import Setting, SettingError, Text, Widget, inside, proposed
from hydra_lib.widgets._bundle import bundle

__all__ = ["StrideWidget"]

MOST = 96
SIZE = {"low": 1, "high": MOST, "whole": True}
INDEX = {"low": 0, "high": MOST - 1, "whole": True}
INDEXED = {"head": "n_heads", "position": "T", "component": "head_dim"}


class StrideWidget(Widget):
    """Follow one number of x (T, n_heads · head_dim) through view, transpose and contiguous.

    The batch has one sequence; ``T``, ``n_heads`` and ``head_dim`` give at most 96 numbers, each
    drawn as a cell of memory. The number is picked by ``head``, ``position`` and ``component``,
    counted from 0 as addresses are. ``wrong`` shows the view that skips the transpose,
    in the place of ``contiguous``.

    Raises ValueError for more numbers, a size below 1 or an index out of range.
    """

    _esm = bundle("stride_widget.js")
    name = Text("stride").tag(sync=True)
    T = Setting(4, **SIZE)
    n_heads = Setting(3, **SIZE)
    head_dim = Setting(2, **SIZE)
    head = Setting(0, **INDEX)
    position = Setting(0, **INDEX)
    component = Setting(0, **INDEX)
    wrong = Setting(False, options=(True, False))

    @traitlets.validate(*INDEXED, *INDEXED.values())
    def _check_fit(self, proposal):
        setting = proposed(proposal, *INDEXED, *INDEXED.values())
        count = math.prod(setting[size] for size in INDEXED.values())
        if count > MOST:
            raise SettingError(f"T · n_heads · head_dim must be at most {MOST}, got {count}")
        for index, size in INDEXED.items():
            inside(index, setting[index], setting[size])
        return proposal["value"]
