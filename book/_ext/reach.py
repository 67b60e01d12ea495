"""Which files of ``hydra_lib`` a piece of code reaches: what it imports, directly or not.

Read off the text, so that asking costs no import. A package's ``__init__`` only hands names on, and
only the names asked for are followed; lazy ones stand there in a dictionary ``_HOME``.
"""

import ast
import functools
import re
from pathlib import Path

PACKAGE = "hydra_lib"


def reached(code: str, root: Path) -> set[Path]:
    """Files under ``root`` that ``code`` depends on, with the data that lie beside them."""
    found: dict[Path, bool] = {}
    for names in imported(code, PACKAGE):
        _follow(*names, root, found)
    return set(found)


@functools.cache  # many chapters reach the same files
def imported(code: str, package: str) -> list[tuple[str, str | None]]:
    """(module, name) for every import from ``package``; the name is None for a whole module.

    >>> imported("import hydra_lib.toy\\nfrom hydra_lib import boltzmann, decay", "hydra_lib")
    [('hydra_lib.toy', None), ('hydra_lib', 'boltzmann'), ('hydra_lib', 'decay')]
    """
    pairs = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            pairs += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            pairs += [(node.module, alias.name) for alias in node.names]
    return [(module, name) for module, name in pairs if module.split(".")[0] == package]


# In ``found`` a file is True once everything in it was followed, and False while only names that it
# hands on were asked for.


def _follow(module: str, name: str | None, root: Path, found: dict[Path, bool]) -> None:
    path = root.joinpath(*module.split("."))
    if (name and (path / name).is_dir()) or path.joinpath(f"{name}.py").is_file():
        return _follow(f"{module}.{name}", None, root, found)
    if not path.is_dir():
        return _read(path.with_suffix(".py"), root, found)
    init = path / "__init__.py"
    if name is None:
        return _read(init, root, found)
    found.setdefault(init, False)
    tree = ast.parse(init.read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and name in [a.asname or a.name for a in node.names]:
            return _follow(node.module, name, root, found)
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_HOME":
            home = ast.literal_eval(node.value)
            if name in home:
                return _follow(f"{module}.{home[name]}", name, root, found)
    return _read(init, root, found)  # defined here


def _read(path: Path, root: Path, found: dict[Path, bool]) -> None:
    if found.get(path):
        return
    code = path.read_text("utf-8")
    found[path] = True
    if path.name == "__init__.py":
        data = (p for p in path.parent.glob("*.*") if p.suffix in (".json", ".safetensors"))
        found |= dict.fromkeys(data, True)
    for script in re.findall(r'bundle\("(\w+\.js)"\)', code):
        _read_script(path.parent / "static" / script, found)
    for names in imported(code, PACKAGE):
        _follow(*names, root, found)


def _read_script(path: Path, found: dict[Path, bool]) -> None:
    if path not in found:
        found |= {path: True, path.parent / "ui.css": True}
        for script in re.findall(r'from "\./(\w+\.(?:js|wgsl))"', path.read_text("utf-8")):
            _read_script(path.parent / script, found)
