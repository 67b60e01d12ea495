"""Derive every chapter's notebook, and store what nbval compares.

Edit ``book/name.md``, then run this. The notebook goes to ``notebooks/``, without outputs: they
would give away what the text asks to predict. A notebook whose code changed is executed, and what
its cells tagged ``nbval-check-output`` printed goes to ``tests/printed/``.
"""

import json

import nbformat
from nbclient import NotebookClient

from tools.export import BOOK, ROOT, derive, sources

NOTEBOOKS = ROOT / "notebooks"
PRINTED = ROOT / "tests" / "printed"


def code(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def checked(notebook) -> list:
    return [c for c in code(notebook) if "nbval-check-output" in c.metadata.get("tags", [])]


def printed(notebook) -> list[list[str]]:
    """What the checked cells print, as lines; refused if one shows anything but plain text."""
    notebook = nbformat.from_dict(notebook)
    resources = {"metadata": {"path": NOTEBOOKS}}
    quiet = ["--IPKernelApp.log_level=ERROR"]  # each kernel warns of its connection
    NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources=resources,
        extra_arguments=quiet,
    ).execute()
    lines = []
    for cell in checked(notebook):
        if not cell.outputs or any(o.get("name") != "stdout" for o in cell.outputs):
            raise ValueError(f"a checked cell must print, and nothing else:\n{cell.source}")
        lines.append("".join(output.text for output in cell.outputs).splitlines())
    return lines


def main() -> None:
    NOTEBOOKS.mkdir(exist_ok=True)
    PRINTED.mkdir(exist_ok=True)
    wanted = {text.stem: derive(text) for text in sources()}
    for path in [*NOTEBOOKS.glob("*.ipynb"), *PRINTED.glob("*.json")]:
        if path.stem not in wanted:
            # A chapter that had a notebook has readers who know its address.
            if (BOOK / f"{path.stem}.md").exists():
                tag = "no cell tagged nbval-check-output any more"
                raise SystemExit(f"{path.stem}.md has {tag}: tag one, or delete {path.name}")
            path.unlink()
    for stem, notebook in wanted.items():
        path, store = NOTEBOOKS / f"{stem}.ipynb", PRINTED / f"{stem}.json"
        before = code(nbformat.read(path, as_version=4)) if path.exists() else []
        if not store.exists() or code(notebook) != before:
            print(f"execute {path.name}", flush=True)
            lines = json.dumps(printed(notebook), ensure_ascii=False, indent=1)
            store.write_text(lines + "\n", "utf-8")
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
