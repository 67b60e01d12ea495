"""Change one place of a widget's JavaScript at a time, and see whether its tests notice.

    python tools/mutants_js.py [file …] [--sample N] [--seed S]

A file is a name in hydra_lib/widgets/static, all of them by default; ``--sample`` takes N mutants
of each. Works in a copy of the project, needs Linux (it forks, so that torch is imported once) and
a Chromium, and prints each mutant with its fate. What survives is a missing test or changes nothing
that can be seen.
"""

import argparse
import importlib
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path

import anywidget  # noqa: F401  slow to import, hence before the first fork
import hypothesis  # noqa: F401
import playwright.sync_api  # noqa: F401
import pytest
import torch  # noqa: F401

ROOT = Path(__file__).parents[1]
STATIC = "hydra_lib/widgets/static"

# The tests of a file that is not named after its widget: tests/test_widgets_….py
TESTS = {
    "arrow_names.js": ["sentence", "projection"],
    "attention.js": ["trace", "projection", "rotary"],
    "bilinear.js": ["strassen", "recursion"],
    "boltzmann.js": ["temperature"],
    "chart.js": ["explorer"],
    "costs.js": ["devices"],
    "explorer_chart.js": ["explorer"],
    "gpu.js": ["gpu_kernels", "your_gpu", "your_kernel"],
    **{f"head_viewer_{part}.js": ["head_viewer"] for part in ("heads", "roles", "strip", "told")},
    "heads.js": ["head_splitter"],
    "kernels.js": ["gpu_kernels", "your_gpu"],
    "leisurely.js": ["learning", "scaling"],
    "levels.js": ["temperature"],
    "limits.js": [],
    "loops.js": ["gpu_timing", "your_gpu"],
    "masking.js": ["mask"],
    "multihead.js": ["learning"],
    "particles.js": ["temperature"],
    "projection_plane.js": ["projection"],
    "random.js": ["scaling", "head_viewer"],
    "records.js": ["explorer"],
    "sampling.js": ["gpu_timing", "your_gpu"],
    "sentence_plane.js": ["sentence"],
    "sentence_pots.js": ["sentence"],
    "strides.js": ["stride"],
    "toy_language.js": ["head_viewer"],
    "toy_model.js": ["head_viewer"],
    "trace_change.js": ["trace"],
    "trace_drawing.js": ["trace", "projection", "rotary"],
    "ui.js": ["head_splitter", "aggregation", "temperature", "mask", "trace"],
    "walk.js": ["learning", "checkpoints"],
    "your_gpu_chart.js": ["your_gpu"],
}

SWAPS = [
    (r"===", "!=="), (r"!==", "==="), (r"<=", "<"), (r">=", ">"), (r" < ", " <= "),
    (r" > ", " >= "), (r"&&", "||"), (r"\|\|", "&&"), (r" \+ ", " - "), (r" - ", " + "),
    (r" \* ", " / "), (r" / ", " * "), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"Math\.min", "Math.max"), (r"Math\.max", "Math.min"), (r"Math\.floor", "Math.ceil"),
    (r"\?\?", "&&"), (r"(?<=[(\s])!(?=[\w(])", ""),
    (r"(?<![\w.₀-₉])\d+(?![\w.])", lambda m: str(int(m[0]) + 1)),
    (r'"[^"\n]+"', lambda m: m[0][:-1] + 'X"'),
]  # fmt: skip
# Types are checked elsewhere; what was imported before a fork is not pytest's to rewrite.
OPTIONS = ["-q", "-x", "-p", "no:cacheprovider", "-o", "addopts="]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
LONGEST = 600  # seconds; a fault may make a loop endless
STATEMENT = re.compile(r"^ +[\w.]+(\(|\[| [-+*|?]*= ).*;$")


def mutants(text: str) -> list[tuple[int, str, str]]:
    """Every (line, what it says then, the whole text), comments and imports left alone."""
    lines, found, inside = text.split("\n"), [], False
    for n, line in enumerate(lines):
        code = re.sub(r"(^|\s)//.*|/\*.*", lambda m: " " * len(m[0]), line)
        inside = (inside or "/*" in line) and "*/" not in line
        if inside or line.lstrip().startswith(("*", "import", "}", "export default")):
            continue
        new = [
            line[: m.start()] + (swap(m) if callable(swap) else swap) + line[m.end() :]
            for pattern, swap in SWAPS
            for m in re.finditer(pattern, code)
        ]
        for changed in new + ([""] if STATEMENT.match(line) else []):
            found.append((n + 1, changed, "\n".join([*lines[:n], changed, *lines[n + 1 :]])))
    return list(dict.fromkeys(found))


def runs_javascript(function) -> bool:
    """Whether it, or a function of its module that it names, reads JavaScript or runs it."""
    names = function.__code__.co_names
    helpers = [function.__globals__.get(name) for name in names]
    own = [f for f in helpers if getattr(f, "__module__", None) == function.__module__]
    return bool({"in_javascript", "in_node", "STATIC", "bundle"} & set(names)) or any(
        runs_javascript(f) for f in own if hasattr(f, "__code__") and f is not function
    )


class Only:
    """The tests that run JavaScript: first by calls, which is quick, then what is stored of each of
    these widgets, then what is done in a page."""

    def __init__(self, widgets: list[str]):
        self.widgets = widgets

    def pytest_collection_modifyitems(self, items):
        opened = [i for i in items if "launched" in i.fixturenames]  # a browser, one with a GPU too
        called = [i for i in items if i not in opened and runs_javascript(i.function)]
        shown = [i for i in opened if "shown" in i.fixturenames]  # each widget in all its states
        own = [i for i in shown if i.callspec.params["shown"] in self.widgets]
        items[:] = called + own + [i for i in opened if i not in shown]


def widgets_of(file: str) -> list[str]:
    return TESTS.get(file, [file.removesuffix(".js").removesuffix("_widget")])


def tests_of(file: str) -> list[str]:
    own = [f"tests/test_widgets_{name}.py" for name in widgets_of(file)]
    return [*own, "tests/test_widgets.py"]


def survives(file: str) -> bool:
    """Whether its tests pass; in a child, which reads anew what depends on the JavaScript."""
    if child := os.fork():
        return os.waitpid(child, 0)[1] == 0
    os.setpgid(0, 0)  # with the Node and the browser that it starts
    endless = threading.Timer(LONGEST, os.killpg, (0, signal.SIGKILL))
    endless.daemon = True
    endless.start()
    log = os.open("out.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    for name in [name for name in sys.modules if name.startswith(("hydra_lib.widgets", "tests"))]:
        del sys.modules[name]
    try:
        os._exit(pytest.main([*OPTIONS, *tests_of(file)], plugins=[Only(widgets_of(file))]))
    finally:
        os._exit(9)  # a child must not go on where its parent does


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", help="names in hydra_lib/widgets/static, all if none")
    parser.add_argument("--sample", type=int, help="so many mutants of each file")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    known = sorted(path.name for path in (ROOT / STATIC).glob("*.js"))
    names = [Path(name).name for name in asked.files] or known
    if unknown := [name for name in names if name not in known]:
        parser.error(f"files must be of {', '.join(known)}, got {', '.join(unknown)}")
    with tempfile.TemporaryDirectory() as place:
        skip = shutil.ignore_patterns("__pycache__", ".*", "_build")
        folder = Path(shutil.copytree(ROOT, Path(place, "copy"), ignore=skip))
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        importlib.import_module("hydra_lib.widgets")
        for path in (folder / STATIC / name for name in names):
            text = path.read_text("utf-8")
            if not survives(path.name):
                sys.exit(f"{path.name}: its tests fail unchanged\n{Path('out.txt').read_text()}")
            every = mutants(text)
            count = min(asked.sample or len(every), len(every))
            killed = 0
            for line, changed, mutant in random.Random(asked.seed).sample(every, count):
                path.write_text(mutant, "utf-8")
                alive = survives(path.name)
                killed += not alive
                fate = "survived" if alive else "killed"
                print(f"{fate:8} {path.name}:{line}: {changed.strip() or '(deleted)'}", flush=True)
            path.write_text(text, "utf-8")
            print(f"{path.name}: {killed} of {count} killed, of {len(every)}", flush=True)


if __name__ == "__main__":
    main()
