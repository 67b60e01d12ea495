"""The widget of measured results; its arithmetic is ``static/records.js``."""

import math

import traitlets

from hydra_lib.timing.rows import ceilings_of
from hydra_lib.widgets._base import Setting, SettingError, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["ExplorerWidget"]

NEEDED = ("group", "kernel", "pass", "dtype", "p20", "p50", "p80")
SIZES = ("n", "T", "head_dim", "B", "h")
OTHERS = ("flops", "bytes", "reference", "ratio", "spread", "error", "peak_bytes")
ABOUT = ("device", "date", "versions")
SIZE = {"low": 1, "high": 2**53, "whole": True, "options": (None,)}
CHARTS = ("roofline", "T", "head_dim", "n")


class ExplorerWidget(Widget):
    """Every row of measured records: a table with the fastest first, ratios, and a chart.

    ``records`` is ``{name: record}`` as :func:`hydra_lib.records.records` gives it: a record has
    ``environment`` (:func:`hydra_lib.timing.environment.environment_of`), ``rows``
    (:mod:`hydra_lib.timing.rows`) and, for the roofline, ``ceilings`` by dtype. Of these the page
    gets what it shows.

    The other traits choose rows, by the names of their keys: ``record``, ``group``, ``dtype``,
    ``n``, ``T``, ``head_dim``, ``B``, ``h``, and ``direction`` for the key "pass"; None leaves it
    to the widget. ``reference`` is the kernel that ratios are taken to, ``kernel`` the one that is
    marked; ``show`` one of time, speed, ratio; ``chart`` one of roofline, T, head_dim, n. Where
    no row has such a combination the page says so, and shows what there is.

    Raises ValueError for records without rows, rows without a time, a machine that is not named,
    and for a setting that no row has.
    """

    _esm = bundle("explorer_widget.js")
    name = traitlets.Unicode("explorer").tag(sync=True)
    records = traitlets.Dict().tag(sync=True)
    record = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    group = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    direction = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    dtype = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    n = Setting(None, **SIZE)
    T = Setting(None, **SIZE)
    head_dim = Setting(None, **SIZE)
    B = Setting(None, **SIZE)
    h = Setting(None, **SIZE)
    reference = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    kernel = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    show = Setting("time", options=("time", "speed", "ratio"))
    chart = Setting(None, options=(None, *CHARTS))

    def __init__(self, records, **traits):
        if not isinstance(records, dict) or not records:
            raise ValueError(f"records must be a dictionary of at least one record, got {records}")
        slim = {name: _slim(name, record) for name, record in records.items()}
        super().__init__(records=slim, **traits)

    @traitlets.validate("record", "group", "direction", "dtype", *SIZES, "reference", "kernel")
    def _check_setting(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        key = {"direction": "pass", "reference": "kernel"}.get(name, name)
        rows = [row for record in self.records.values() for row in record["rows"]]
        offered = self.records if name == "record" else dict.fromkeys(r.get(key) for r in rows)
        if value is not None and value not in offered:
            known = ", ".join(str(x) for x in offered if x is not None) or "nothing"
            raise SettingError(f"{name} must be one of those measured ({known}), got {value!r}")
        return value


def _slim(name: str, record: object) -> dict:
    """What the page reads of a record."""
    if not isinstance(record, dict) or not record.get("rows"):
        raise ValueError(f"record {name!r} has no rows")
    about = record.get("environment") or {}
    if missing := [key for key in ABOUT if not about.get(key)]:
        lacks = f"environment lacks {', '.join(missing)}"
        raise ValueError(f"record {name!r} must say where and when it was measured: {lacks}")
    ceilings = ceilings_of({"ceilings": {}, **record})
    return {
        "what": record.get("what", ""),
        "environment": {key: about.get(key) for key in (*ABOUT, "cpu", "threads")},
        "ceilings": {
            dtype: {"peak": 1e12 * c.matmul.tflop_per_s, "bandwidth": 1e9 * c.copy.gb_per_s}
            for dtype, c in ceilings.items()
        },
        "rows": [_slim_row(f"row {i} of record {name!r}", r) for i, r in enumerate(record["rows"])],
    }


def _slim_row(which: str, row: dict) -> dict:
    if missing := [key for key in NEEDED if row.get(key) is None]:
        raise ValueError(f"{which} lacks {', '.join(missing)}")
    times = [row[key] for key in ("p20", "p50", "p80")]
    if row.get("unit", "s") != "s" or not 0 < times[0] <= times[1] <= times[2] < math.inf:
        got = f"{times} {row.get('unit', 's')}"
        raise ValueError(f"{which} must have 0 < p20 ≤ p50 ≤ p80 in seconds, got {got}")
    kept = {key: row.get(key) for key in NEEDED + SIZES + OTHERS}
    return {key: value for key, value in kept.items() if value is not None}
