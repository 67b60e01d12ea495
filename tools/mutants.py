"""How many small faults would the tests notice? Plant them one at a time and see.

    python tools/mutants.py masking toy.model --sample 40 --seed 0

A mutant is a copy of the project with one change in one module: a comparison, an operator, a
constant, a condition, an argument left out, a statement deleted, a result not returned. For each
the module's own tests run, ``tests/test_masking.py`` and the module's doctests. A mutant that no
test notices is printed as survived: either a test is missing, or the change means nothing.
Without names, the modules of the core; without ``--sample``, every mutant.

Docstrings, annotations, ``__all__``, imports, the texts of errors and zip's ``strict``, which is
an assertion itself, are left alone.

The maintained tools did not fit when they were tried: mutmut runs pytest several times in one
process, which the plugin that checked the signatures refused; cosmic-ray starts a new Python, and
so torch, for every mutant. Here torch is imported once and each mutant is a fork. Linux and macOS
only.
"""

import argparse
import ast
import gc
import importlib
import math
import os
import random
import resource
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = "aggregation masking boltzmann scaling attention heads multihead rotary backward recompute"
ALSO = {"recompute": ["tests/test_backward.py"]}  # one table of cases for both gradients
SWAPS = {
    "Lt": ["LtE", "GtE"], "LtE": ["Lt", "Gt"], "Gt": ["GtE", "LtE"], "GtE": ["Gt", "Lt"],
    "Eq": ["NotEq"], "NotEq": ["Eq"], "Is": ["IsNot"], "IsNot": ["Is"], "In": ["NotIn"],
    "NotIn": ["In"], "And": ["Or"], "Or": ["And"], "Add": ["Sub"], "Sub": ["Add"],
    "Mult": ["Div"], "Div": ["Mult"], "FloorDiv": ["Mult"], "Mod": ["Mult"], "Pow": ["Mult"],
    "BitAnd": ["BitOr"], "BitOr": ["BitAnd"],
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "amin": "amax", "amax": "amin", "any": "all", "all": "any"}
NAMES |= {"zeros": "ones", "ones": "zeros", "sum": "mean", "mean": "sum", "tril": "triu"}


def swapped(node: ast.AST, field: str, old: ast.AST, new: ast.AST) -> str:
    """The source of ``node`` with ``old``, in its ``field``, replaced by ``new``."""
    value = getattr(node, field)
    changed = [new if x is old else x for x in value] if isinstance(value, list) else new
    copy = type(node)(**{**dict(ast.iter_fields(node)), field: changed})
    return ast.unparse(ast.fix_missing_locations(ast.copy_location(copy, node)))


def expressions(node: ast.AST):
    """Sources that could stand in place of this expression."""
    for field in ("op", "ops"):
        operators = getattr(node, field, [])
        for old in operators if isinstance(operators, list) else [operators]:
            for name in SWAPS.get(type(old).__name__, ()):
                yield swapped(node, field, old, getattr(ast, name)())
    match node:
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield ast.unparse(node.operand)
        case ast.Constant(value=bool()):
            yield str(not node.value)
        case ast.Constant(value=int() | float()):
            yield from (str(node.value + 1), str(node.value - 1))
        case ast.IfExp():
            yield swapped(node, "test", node.test, ast.UnaryOp(ast.Not(), node.test))
        case ast.Attribute(attr=name) if name in NAMES:
            yield swapped(node, "attr", name, NAMES[name])
        case ast.Call():
            for keyword in node.keywords:
                rest = [k for k in node.keywords if k is not keyword]
                if keyword.arg != "strict":
                    yield ast.unparse(ast.Call(node.func, node.args, rest))


def statements(node: ast.stmt, rebound: set[str]):
    match node:
        case ast.Return(value=ast.expr()):
            yield "return None"
        case ast.Expr() | ast.AugAssign() | ast.Raise():
            yield "pass"
        # Without its only binding a name fails of itself, which would flatter the tests.
        case ast.Assign() if all(
            n.id in rebound or isinstance(n.ctx, ast.Load)
            for target in node.targets
            for n in ast.walk(target)
            if isinstance(n, ast.Name)
        ):
            yield "pass"
        case ast.If() | ast.While():
            test = ast.unparse(node.test)
            yield node.test, f"not ({test})"


def mutants(source: str) -> list[tuple[ast.AST, str]]:
    """Every (node, source to put in its place) of a module."""
    found = []

    def visit(node, rebound=frozenset()):
        if isinstance(node, ast.FunctionDef):
            names = [a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)]
            names += [
                n.id
                for n in ast.walk(node)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            ]
            rebound = {name for name in names if names.count(name) > 1}
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        listed = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        strict = isinstance(node, ast.keyword) and node.arg == "strict"
        skipped = isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr)
        if text or listed or strict or skipped:
            return
        if isinstance(node, ast.stmt):
            for change in statements(node, rebound):
                found.append(change if isinstance(change, tuple) else (node, change))
        elif isinstance(node, ast.expr):
            found.extend((node, change) for change in expressions(node))
        for field, child in ast.iter_fields(node):
            if field in ("annotation", "returns", "exc"):
                continue
            for part in child if isinstance(child, list) else [child]:
                if isinstance(part, ast.AST):
                    visit(part, rebound)

    visit(ast.parse(source))
    return found


def planted(source: str, node: ast.AST, change: str) -> str:
    lines = source.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    if isinstance(node, ast.expr):
        change = f"({change})"
    return (source.encode()[:start] + change.encode() + source.encode()[end:]).decode()


def passes(copy: Path, files: list[str], limit: float) -> tuple[bool, float]:
    """Whether these tests of the copy pass in a fork, and its processor time in seconds.

    The kernel ends a fork that takes longer than ``limit``, however busy the machine is.
    """
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit),) * 2)
        os.chdir(copy)
        sys.path.insert(0, str(copy))
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        # pytest warns of what was imported before it could rewrite the assertions in it.
        options = "-x -q -p no:cacheprovider -W ignore::pytest.PytestAssertRewriteWarning"
        code = importlib.import_module("pytest").main(
            [*options.split(), "--hypothesis-seed=0", *files]
        )
        os._exit(int(code))
    _, status, usage = os.wait4(child, 0)
    return status == 0, usage.ru_utime + usage.ru_stime


def examine(name: str, copy: Path, sample: int | None, seed: int) -> None:
    module = Path("hydra_lib", *name.split(".")).with_suffix(".py")
    files = [f"tests/test_{name.replace('.', '_')}.py", str(module), *ALSO.get(name, [])]
    source = (copy / module).read_text("utf-8")
    passed, seconds = passes(copy, files, 600)
    if not passed:
        sys.exit(f"{' '.join(files)} fail without any mutant")
    every = mutants(source)
    chosen = random.Random(seed).sample(every, min(sample or len(every), len(every)))
    killed = 0
    for node, change in sorted(chosen, key=lambda m: (m[0].lineno, m[0].col_offset)):
        (copy / module).write_text(planted(source, node, change), "utf-8")
        survived, _ = passes(copy, files, 10 + 5 * seconds)
        killed += not survived
        was = " ".join(ast.get_source_segment(source, node).split())
        verdict = "SURVIVED" if survived else "killed  "
        print(f"{verdict} {module}:{node.lineno}: {was[:70]}  ->  {change[:70]}", flush=True)
    (copy / module).write_text(source, "utf-8")
    rate = killed / len(chosen) if chosen else 1
    print(f"{name}: {killed} of {len(chosen)} killed ({rate:.0%}), {len(every)} in all", flush=True)


def tested() -> list[str]:
    """The modules that have tests of their own."""
    paths = (p.relative_to(ROOT / "hydra_lib") for p in (ROOT / "hydra_lib").rglob("*.py"))
    names = (".".join(path.with_suffix("").parts) for path in paths)
    return sorted(n for n in names if (ROOT / f"tests/test_{n.replace('.', '_')}.py").is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", default=CORE.split(), help="such as toy.model")
    parser.add_argument("--sample", type=int, help="how many mutants of each module")
    parser.add_argument("--seed", type=int, default=0)
    options, known = parser.parse_args(), tested()
    if unknown := [name for name in options.modules if name not in known]:
        parser.error(f"modules must be of {', '.join(known)}, got {', '.join(unknown)}")
    # One thread, before torch starts any, and nothing compiled that could outlive its source.
    os.environ |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    for slow in ("torch", "matplotlib", "pytest", "hypothesis", "nbval.plugin", "beartype.claw"):
        importlib.import_module(slow)
    gc.freeze()

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        skip = shutil.ignore_patterns("__pycache__", ".*", "_build")
        shutil.copytree(ROOT, copy, ignore=skip)
        for name in options.modules:
            examine(name, copy, options.sample, options.seed)


if __name__ == "__main__":
    main()
