"""What nbval compares with lies beside the tests; the folded solutions are executed, too.

The notebooks hold no outputs: ``make sync`` stored what the checked cells print. The solutions are
text in them, and run after the last cell.
"""

import json
import os
from collections import defaultdict
from pathlib import Path
from unittest import mock

import pytest
from nbformat.v4 import new_code_cell, new_output
from nbval.plugin import IPyNbCell

from tools.export import solutions

PRINTED = Path(__file__).parents[1] / "tests" / "printed"


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for path in {item.path for item in items if item.path.parent == here}:
        own = [item for item in items if item.path == path]
        checked = [item for item in own if item.options["check"]]
        stored = json.loads((PRINTED / f"{path.stem}.json").read_text("utf-8"))
        for item, lines in zip(checked, stored, strict=True):
            text = "".join(line + "\n" for line in lines)
            item.cell.outputs = [new_output("stream", name="stdout", text=text)]
            item.cell.execution_count = 1  # nbval takes a cell without one for never run
        added = [
            IPyNbCell.from_parent(
                own[0].parent,
                name=f"Solution {number}",
                cell_num=len(own) + number,
                cell=new_code_cell(source),
                options=defaultdict(bool),
            )
            for number, source in enumerate(solutions(own[0].parent.nb))
        ]
        after = items.index(own[-1]) + 1
        items[after:after] = added
        for item in own + added:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup():
    """Kernels start as a reader's do: without what the tests of Triton set for themselves."""
    with mock.patch.dict(os.environ):
        os.environ.pop("TRITON_INTERPRET", None)
        return (yield)
