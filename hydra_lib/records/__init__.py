"""What was measured, and the weights that were trained: files that travel with the code.

``benchmarks/`` writes them; a chapter reads them with :func:`record`, so that a figure is either
what somebody measured, on a device and a day that it names, or is not there.
:mod:`hydra_lib.records.schema` says what a record holds.
"""

import json
from pathlib import Path
from typing import Any

from hydra_lib import _checks
from hydra_lib.records.schema import SIZES, check, machine

__all__ = [
    "FOLDER",
    "SIZES",
    "check",
    "group",
    "provenance",
    "record",
    "records",
    "rounded",
    "write",
]

FOLDER = Path(__file__).parent
"""Where the files lie; the benchmarks write them there.

:meta hide-value:
"""

KNOWN = {"attention", "heads", "ladder", "page", "parallel", "strassen"}
"""The records that a benchmark writes, whether or not it was run; GPUs add ``gpu-<device>``."""


def record(name: str) -> dict | None:
    """The measurement that a benchmark wrote to ``hydra_lib/records/<name>.json``.

    None for a known record that nobody has measured yet; the page then says so. Raises ValueError
    for a name that no benchmark writes, TypeError for one that is no text.

    >>> record("gpu-of-tomorrow") is None
    True
    """
    _checks.instance("name", name, str)
    paths = {path.stem: path for path in FOLDER.glob("*.json")}
    if not name.startswith("gpu-"):
        _checks.one_of("name", name, sorted(KNOWN | paths.keys()))
    return json.loads(paths[name].read_text("utf-8")) if name in paths else None


def records(prefix: str) -> dict[str, dict]:
    """All measurements whose name begins with ``prefix``, by name; empty when there is none.

    Raises TypeError for a prefix that is no text.
    """
    _checks.instance("prefix", prefix, str)
    paths = [path for path in sorted(FOLDER.glob("*.json")) if path.stem.startswith(prefix)]
    return {path.stem: json.loads(path.read_text("utf-8")) for path in paths}


def group(record: dict, name: str) -> list[dict]:
    """The rows of a record that were measured for one thing, in their order.

    Raises ValueError when there are none, and as :func:`hydra_lib.records.schema.check`.

    >>> {row["h"] for row in group(record("ladder"), "ladder")}
    {12}
    """
    check(record)
    _checks.one_of("name", name, dict.fromkeys(row["group"] for row in record["rows"]))
    return [row for row in record["rows"] if row["group"] == name]


def provenance(record: dict) -> str:
    """What a number of this record must not be quoted without: device, threads, date; versions.

    The threads are those of a processor; a GPU has its own. ``static/records.js`` says the same.
    Raises ValueError as :func:`hydra_lib.records.schema.check`.

    >>> about = {"device": "EPYC", "cpu": "EPYC", "threads": 1, "date": "2026-01-02T03:04:05"}
    >>> about |= {"tf32": None, "versions": {"torch": "2.13.0", "cuda": None}}
    >>> print(provenance({"what": "Nothing.", "environment": about, "rows": []}))
    EPYC, 1 thread, 2026-01-02;
    torch 2.13.0.
    """
    check(record)
    about = record["environment"]
    versions = ", ".join(f"{key} {value}" for key, value in about["versions"].items() if value)
    return f"{machine(about)}, {about['date'][:10]};\n{versions}."


def write(record: dict, path: Path) -> None:
    """Check a record and write it as JSON, a line for every row, floats to four digits.

    The old file stays until the new one is complete. Raises ValueError as
    :func:`hydra_lib.records.schema.check` does, and for NaN and infinities; TypeError for a
    ``path`` that is none.
    """
    _checks.instance("path", path, Path)
    record = rounded(record)
    check(record, path.stem)
    lines = []
    for key, value in record.items():
        text = _text(value)
        if isinstance(value, list) and value:
            inner = ",\n".join(map(_text, value))
            text = f"[\n{inner}\n]"
        lines.append(f"{json.dumps(key)}: {text}")
    new = path.with_suffix(".new")
    new.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    new.replace(path)


def rounded(value: Any) -> Any:
    """Floats to four significant digits, in nested dictionaries, lists and tuples too.

    >>> rounded({"p50": 0.123456, "h": 12})
    {'p50': 0.1235, 'h': 12}
    """
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(v) for v in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
