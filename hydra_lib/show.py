"""What a chapter prints that it does not compute: the library's code, and recorded measurements."""

import ast
import inspect
import json
import textwrap
from importlib.resources import files

__all__ = ["record", "records", "source"]


def record(name: str) -> dict | None:
    """The measurement that ``benchmarks/`` wrote to ``book/data/<name>.json``, or None.

    None means that nobody has measured it yet, and the page says so; a figure is never invented.
    """
    path = files("hydra_lib.records").joinpath(f"{name}.json")
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def records(prefix: str) -> dict[str, dict]:
    """All measurements whose name begins with ``prefix``, by name; empty when there is none."""
    names = sorted(p.name for p in files("hydra_lib.records").iterdir() if p.name.endswith(".json"))
    return {
        name: record(name)
        for name in (name.removesuffix(".json") for name in names)
        if name.startswith(prefix)
    }


def source(*things):
    """The source of functions or classes, without docstrings, as highlighted Markdown.

    The docstrings stand on the book's library page; a chapter shows what the code does.
    Raises TypeError for a thing that was not written in Python.
    """
    from IPython.display import Markdown  # only a notebook asks for this

    return Markdown("```python\n" + "\n\n\n".join(_bare(thing) for thing in things) + "\n```")


def _bare(thing) -> str:
    code = textwrap.dedent(inspect.getsource(thing))
    lines = code.splitlines()
    documented = (ast.FunctionDef, ast.ClassDef)
    for node in reversed([n for n in ast.walk(ast.parse(code)) if isinstance(n, documented)]):
        if ast.get_docstring(node) is not None:
            doc = node.body[0]
            del lines[doc.lineno - 1 : doc.end_lineno]
    return "\n".join(lines)
