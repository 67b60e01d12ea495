"""The notebooks hold no outputs; nbval compares with what ``make sync`` stored beside the tests."""

import json
from pathlib import Path

from nbformat.v4 import new_output

PRINTED = Path(__file__).parents[1] / "tests" / "printed"


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for stem in {item.path.stem for item in items if item.path.parent == here}:
        checked = [i for i in items if i.path == here / f"{stem}.ipynb" and i.options["check"]]
        stored = json.loads((PRINTED / f"{stem}.json").read_text("utf-8"))
        for item, lines in zip(checked, stored, strict=True):
            text = "".join(line + "\n" for line in lines)
            item.cell.outputs = [new_output("stream", name="stdout", text=text)]
            item.cell.execution_count = 1  # nbval takes a cell without one for never run
