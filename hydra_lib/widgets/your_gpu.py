"""The widget that measures the reader's own machine; see ``static/your_gpu.js`` and its imports."""

from typing import Any

import traitlets

from hydra_lib import _checks
from hydra_lib.records import check
from hydra_lib.widgets._base import Data, Setting, Text, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["YourGpuWidget"]

SWITCH: dict[str, Any] = {"options": (False, True)}
WIDTHS = (16, 32, 64, 72, 80, 96, 128)


class YourGpuWidget(Widget):
    """Kernels in JavaScript and WebGPU, verified and timed in the page that shows the widget.

    ``measure`` is "attention" (causal, B = 1, ``h`` heads of ``head_dim``, ``T`` positions),
    "matmul" (``n`` × ``n``) or "sweep", attention along T; ``budget`` is about how many seconds a
    run takes. ``no_wait``, ``cold``, ``upload``, ``pipeline`` and ``one_sample`` are mistakes to be
    made on purpose, beside the right time. Nothing runs before the reader asks for it, and nothing
    leaves the page.

    ``records`` is ``{name: record}`` as :func:`hydra_lib.records.records` gives it: forward times
    of the group "ladder" stand beside the reader's where the size is the same. ``result`` is what
    was measured last, as the page keeps it in its address, {} if nothing was.

    Raises ValueError as :func:`hydra_lib.records.check`, and for a setting outside these ranges.
    """

    _esm = bundle("your_gpu_widget.js")
    name = Text("your_gpu").tag(sync=True)
    measure = Setting("attention", options=("attention", "matmul", "sweep"))
    T = Setting(256, options=(64, 128, 256, 512, 1024, 2048, 4096))
    h = Setting(12, low=1, high=16, whole=True)
    head_dim = Setting(64, options=WIDTHS)
    n = Setting(512, options=(128, 256, 512, 1024, 2048))
    budget = Setting(10, options=(2, 5, 10, 20, 60))
    no_wait = Setting(False, **SWITCH)
    cold = Setting(False, **SWITCH)
    upload = Setting(False, **SWITCH)
    pipeline = Setting(False, **SWITCH)
    one_sample = Setting(False, **SWITCH)
    recorded: traitlets.List = traitlets.List(read_only=True).tag(sync=True)
    result = Data().tag(sync=True)

    def __init__(self, records: dict[str, dict] | None = None, **traits: Any):
        super().__init__(**traits)
        if records is not None:
            _checks.instance("records", records, dict)
        self.set_trait("recorded", _beside(records or {}))


def _beside(records: dict[str, dict]) -> list[dict]:
    """Of each record the forward times of the ladder, with the device's name."""
    rows = []
    for name, record in records.items():
        check(record, f"records[{name!r}]")
        about = record["environment"]
        for row in record["rows"]:
            if row["group"] == "ladder" and row.get("pass") == "forward":
                kept = ("kernel", "dtype", "T", "h", "head_dim", "p20", "p50", "p80")
                device = {"device": about["device"], "date": about["date"][:10]}
                rows.append(device | {key: row[key] for key in kept})
    return rows
