"""Bring every chapter's pair in step and store the outputs that nbval compares.

Edit either twin, then run this: the newer one wins. The public address of the repository is copied
from ``_config.yml`` into the cell that installs the library in Colab. A notebook is executed when
its code changed or a checked cell has no output; only the text of cells tagged
``nbval-check-output`` is stored, so that diffs stay readable.
"""

import re
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import yaml
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
INSTALL = re.compile(r"(?<=hydra_lib @ git\+)https://\S+(?=\")")


def checked(cell) -> bool:
    return "nbval-check-output" in cell.metadata.get("tags", [])


def kept(output) -> bool:
    return output.output_type == "stream" or "text/plain" in output.get("data", {})


def store(notebook: Path, before: list[str]) -> None:
    nb = nbformat.read(notebook, as_version=4)
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    if before != [cell.source for cell in code] or any(checked(c) and not c.outputs for c in code):
        print(f"execute {notebook.name}")
        resources = {"metadata": {"path": str(notebook.parent)}}
        NotebookClient(nb, timeout=600, kernel_name="python3", resources=resources).execute()
    nb.metadata.pop("widgets", None)
    for cell in code:
        # nbval takes a cell with outputs and no count for one that was never run.
        cell.execution_count = 1 if checked(cell) else None
        cell.outputs = [o for o in cell.outputs if kept(o)] if checked(cell) else []
        for output in cell.outputs:
            if "data" in output:
                output.data = {"text/plain": output.data["text/plain"]}
                if "execution_count" in output:
                    output.execution_count = 1
                output.metadata = {}
        cell.metadata.pop("execution", None)
    nbformat.write(nb, notebook)


def main() -> None:
    address = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]["url"]
    for text in sorted((ROOT / "book").glob("[0-9][0-9]_*.md")):
        notebook = text.with_suffix(".ipynb")
        before = []
        if notebook.exists():
            before = [c.source for c in jupytext.read(notebook).cells if c.cell_type == "code"]
        subprocess.run([sys.executable, "-m", "jupytext", "--quiet", "--sync", text], check=True)
        source = text.read_text("utf-8")
        if (addressed := INSTALL.sub(address, source)) != source:
            text.write_text(addressed, "utf-8")
            subprocess.run(
                [sys.executable, "-m", "jupytext", "--quiet", "--sync", text], check=True
            )
        store(notebook, before)


if __name__ == "__main__":
    main()
