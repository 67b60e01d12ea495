"""What a chapter shows that it does not compute: the library's own code."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hydra_lib import _checks

if TYPE_CHECKING:
    from IPython.display import Markdown

__all__ = ["shader", "source"]


def source(*things: Callable) -> "Markdown":
    """The source of functions or classes, as highlighted Markdown.

    Without docstrings, which stand on the book's library page, and without notes to the
    formatter: a chapter shows what the code does.
    Raises TypeError for a thing that is no function or class written in Python.
    """
    from IPython.display import Markdown  # only a notebook asks for this

    return Markdown("```python\n" + "\n\n\n".join(_bare(thing) for thing in things) + "\n```")


def shader(name: str) -> "Markdown":
    """The kernel ``hydra_lib/widgets/static/<name>.wgsl``, which pages run, as Markdown.

    Raises ValueError for a name that no kernel has.
    """
    from IPython.display import Markdown

    folder = Path(__file__).parent / "widgets" / "static"
    known = sorted(path.stem for path in folder.glob("*.wgsl"))
    _checks.one_of("name", name, known)
    return Markdown(f"```wgsl\n{(folder / name).with_suffix('.wgsl').read_text('utf-8')}```")


def _bare(thing: Callable) -> str:
    try:
        # A module has a source, too, and of a lambda's line it is only a part.
        if not callable(thing) or getattr(thing, "__name__", "") == "<lambda>":
            raise TypeError
        code = textwrap.dedent(inspect.getsource(thing))
    except (TypeError, OSError):
        got = type(thing).__name__
        raise TypeError(
            "things must be functions or classes written in Python, got "
            f"{got} {_checks.shown(thing)}"
        ) from None
    lines = code.splitlines()
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [n for n in ast.walk(ast.parse(code)) if isinstance(n, documented)]
    for node in sorted(nodes, key=lambda n: n.lineno, reverse=True):  # lines below stay in place
        if ast.get_docstring(node) is not None:
            doc, *rest = node.body
            if lines[doc.lineno - 1][: doc.col_offset].strip():
                continue  # on the line of its def
            instead = [] if rest else [" " * doc.col_offset + "pass"]
            lines[doc.lineno - 1 : doc.end_lineno] = instead
    return "\n".join(line.removesuffix("  # fmt: skip") for line in lines)
