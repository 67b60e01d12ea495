"""What was measured, and the weights that were trained: files that travel with the code.

``benchmarks/`` writes them; a chapter reads them with :func:`record`, so that a figure is either
what somebody measured, on a device and a day that it names, or is not there.
"""

import difflib
import json
from pathlib import Path

__all__ = ["FOLDER", "record", "records"]

FOLDER = Path(__file__).parent
"""Where the files lie; the benchmarks write them there.

:meta hide-value:
"""

KNOWN = {
    "attention": "benchmarks/attention.py",
    "heads": "benchmarks/heads.py",
    "ladder": "benchmarks/ladder.py",
    "page": "benchmarks/page.py",
    "strassen": "benchmarks/strassen.py",
}
"""The records that a benchmark writes, whether or not it was run; GPUs add ``gpu-<device>``."""


def record(name: str) -> dict | None:
    """The measurement that a benchmark wrote to ``hydra_lib/records/<name>.json``.

    None for a known record that nobody has measured yet; the page then says so. Raises ValueError
    for a name that no benchmark writes.

    >>> record("gpu-of-tomorrow") is None
    True
    """
    path = FOLDER / f"{name}.json"
    if path.is_file():
        return json.loads(path.read_text("utf-8"))
    if name in KNOWN or name.startswith("gpu-"):
        return None
    names = sorted(KNOWN | records(""))
    near = difflib.get_close_matches(name, names, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"expected a record among {', '.join(names)}; got {name!r}{meant}")


def records(prefix: str) -> dict[str, dict]:
    """All measurements whose name begins with ``prefix``, by name; empty when there is none."""
    return {path.stem: record(path.stem) for path in sorted(FOLDER.glob(f"{prefix}*.json"))}
