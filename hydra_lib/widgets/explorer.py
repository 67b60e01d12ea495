"""The widget of measured results; its arithmetic is ``static/records.js``."""

from typing import Any

import traitlets

from hydra_lib import _checks
from hydra_lib.records import SIZES, check
from hydra_lib.widgets._base import Setting, SettingError, Text, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["ExplorerWidget"]

AXES = [size for size in SIZES if size != "levels"]  # the levels are the kernel's own
LEFT_OUT = ("samples", "ratio_p20", "ratio_p80")
SIZE = {"low": 1, "high": 2**53, "whole": True, "options": (None,)}
CHARTS = ("roofline", "T", "head_dim", "n")


class ExplorerWidget(Widget):
    """Timed rows of measured records: a table with the fastest first, ratios, and a chart.

    ``records`` is ``{name: record}`` as :func:`hydra_lib.records.records` gives it, of which the
    page gets what it shows; ``groups`` are the groups to show, the first one first, all if None.
    Of a kernel that was timed more than once it shows one row: the one paired with the reference.

    The other traits choose rows, by the names of their keys: ``record``, ``group``, ``dtype``,
    ``d_model``, ``m``, ``k``, ``n``, ``T``, ``head_dim``, ``B``, ``h``, and ``direction`` for the
    key "pass"; None leaves it to the widget. ``reference`` is the kernel that ratios are taken to,
    ``kernel`` the one that is marked; ``show`` one of time, speed, ratio; ``chart`` one of
    roofline, T, head_dim, n. Where no row has such a combination the page says so, and shows what
    there is.

    Raises ValueError as :func:`hydra_lib.records.check`, for a record without timed rows, for a
    group that it does not have, and for a setting that no row has.
    """

    _esm = bundle("explorer_widget.js")
    name = Text("explorer").tag(sync=True)
    records = traitlets.Dict().tag(sync=True)
    record = Text(None, allow_none=True).tag(sync=True)
    group = Text(None, allow_none=True).tag(sync=True)
    direction = Text(None, allow_none=True).tag(sync=True)
    dtype = Text(None, allow_none=True).tag(sync=True)
    d_model = Setting(None, **SIZE)
    m = Setting(None, **SIZE)
    k = Setting(None, **SIZE)
    n = Setting(None, **SIZE)
    T = Setting(None, **SIZE)
    head_dim = Setting(None, **SIZE)
    B = Setting(None, **SIZE)
    h = Setting(None, **SIZE)
    reference = Text(None, allow_none=True).tag(sync=True)
    kernel = Text(None, allow_none=True).tag(sync=True)
    show = Setting("time", options=("time", "speed", "ratio"))
    chart = Setting(None, options=(None, *CHARTS))

    def __init__(self, records, groups=None, **traits):
        if not isinstance(records, dict) or not records:
            got = _checks.shown(records)
            raise ValueError(f"records must be a dictionary of at least one record, got {got}")
        if groups is not None:
            _checks.instance("groups", groups, list)
        slim = {name: _slim(name, record, groups) for name, record in records.items()}
        super().__init__(records=slim, **traits)

    @traitlets.validate("record", "group", "direction", "dtype", *AXES, "reference", "kernel")
    def _check_setting(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        key = {"direction": "pass", "reference": "kernel"}.get(name, name)
        rows = [row for record in self.records.values() for row in record["rows"]]
        offered = self.records if name == "record" else dict.fromkeys(r.get(key) for r in rows)
        if value is not None and value not in offered:
            known = ", ".join(str(x) for x in offered if x is not None) or "nothing"
            got = _checks.shown(value)
            raise SettingError(f"{name} must be one of those measured ({known}), got {got}")
        return value


def _slim(name: str, record: Any, groups: list[str] | None) -> dict:
    """What the page reads of a record."""
    check(record, f"records[{name!r}]")
    rows = record["rows"]
    if groups is not None:
        known = dict.fromkeys(row["group"] for row in rows)
        for group in groups:
            _checks.one_of("groups", group, known)
        rows = [row for group in groups for row in rows if row["group"] == group]
    timed = [row for row in rows if "kernel" in row]
    if not timed:
        raise ValueError(f"records[{name!r}] must have timed rows to show, got none")
    return {
        "what": record["what"],
        "environment": record["environment"],
        "ceilings": {
            dtype: {
                "peak": both["matmul"]["flops"] / both["matmul"]["p50"],
                "bandwidth": both["copy"]["bytes"] / both["copy"]["p50"],
            }
            for dtype, both in record.get("ceilings", {}).items()
        },
        "rows": [
            {k: v for k, v in row.items() if v is not None and k not in LEFT_OUT} for row in timed
        ],
    }
