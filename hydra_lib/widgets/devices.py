"""The widget of heads on devices; its arithmetic is ``static/costs.js``."""

from hydra_lib.widgets._base import MOST, Setting, Text, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["DevicesWidget"]


class DevicesWidget(Widget):
    """Deal the heads of a layer out to machines; see what each computes, and what it has to send.

    The forward pass of self-attention over ``T`` tokens, ``d_model`` wide with ``n_heads`` heads,
    in 16-bit numbers: each of the ``ranks`` computes ``rate`` TFLOP a second and sends
    ``bandwidth`` GB a second. Times are those of :mod:`hydra_lib.parallel.costs`, without latency.
    Heads need not divide the width or ranks the heads: then the widget shows the library's message;
    what was drawn last stays, in grey.

    ``d_model`` and ``n_heads`` are integers from 1 to 65,536, ``T`` one to a million, ``ranks`` one
    to 1,024, ``rate`` and ``bandwidth`` numbers from 0.001 to 10,000. Raises ValueError for others.
    """

    _esm = bundle("devices_widget.js")
    name = Text("devices").tag(sync=True)
    d_model = Setting(4096, low=1, high=65536, whole=True)
    n_heads = Setting(32, low=1, high=65536, whole=True)
    T = Setting(2048, low=1, high=MOST, whole=True)
    ranks = Setting(4, low=1, high=1024, whole=True)
    rate = Setting(100.0, low=0.001, high=10_000)
    bandwidth = Setting(100.0, low=0.001, high=10_000)
