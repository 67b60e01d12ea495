"""Run the notebooks as a reader elsewhere would: in a fresh environment with that place's versions.

``python3.13 -m tools.imitate tools/colab.txt`` makes an environment from the file, runs the first
cell of a notebook in it, from this checkout's last commit instead of the public address, sees that
it brought in nothing but the library and what only the library needs, and executes all notebooks:
once as things are, and once more without Triton. Needs nothing but Python, pip and git.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
BROUGHT = {"hydra_lib", "jaxtyping", "wadler_lindig"}


def first_cell() -> str:
    """The first code cell of a notebook, with this checkout for an address."""
    cells = json.loads(NOTEBOOKS[0].read_text("utf-8"))["cells"]
    source = "".join(next(cell for cell in cells if cell["cell_type"] == "code")["source"])
    # With a host: pip takes no address without one for an address.
    here = f'"hydra_lib @ git+{ROOT.as_uri().replace("file://", "file://localhost", 1)}"'
    found, changes = re.subn(r'"hydra_lib @ git\+[^"]*"', lambda _: here, source)
    if changes != 1:
        raise ValueError(f"the first cell names no address to install from:\n{source}")
    return found


def freeze(run) -> dict[str, str]:
    """Name to version of everything that is installed."""
    lines = run("pip", "freeze", "--all", capture_output=True, text=True).stdout.split("\n")
    return {re.split(r"==| @ ", line)[0].replace("-", "_"): line for line in lines if line}


def refuse_changes(before: dict[str, str], after: dict[str, str]) -> None:
    """Exit with what is not as it was, the library's own packages apart."""
    added = {name for name in after if name not in before}
    changed = [f"{was} -> {after.get(n)}" for n, was in before.items() if after.get(n) != was]
    if added - BROUGHT or "hydra_lib" not in added or changed:
        sys.exit(f"the first cell added {sorted(added)} and changed {changed}")
    print(f"the first cell added {', '.join(sorted(added))} and changed nothing", flush=True)


def execute(run, folder: Path, how: str) -> None:
    for notebook in NOTEBOOKS:
        shutil.copy(notebook, folder)
        start = time.monotonic()
        run("jupyter-execute", "--timeout=900", "--kernel_name=python3", notebook.name)
        print(f"{how}: {notebook.name} in {time.monotonic() - start:.0f} s", flush=True)


def main(versions: str) -> None:
    with tempfile.TemporaryDirectory() as made:
        place, folder = Path(made) / "place", Path(made) / "notebooks"
        folder.mkdir()
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        # A kernel must find what was installed there, and nothing of this checkout.
        surroundings = {**os.environ, "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        surroundings.pop("PYTHONPATH", None)

        def run(program, *arguments, **options):
            command = [place / "bin" / program, *arguments]
            return subprocess.run(command, check=True, cwd=folder, env=surroundings, **options)

        run("pip", "install", "--quiet", "--requirement", Path(versions).resolve())
        before = freeze(run)
        run("python", "-c", first_cell())
        refuse_changes(before, freeze(run))
        if "triton" in before:
            execute(run, folder, "with Triton")
            run("pip", "uninstall", "--quiet", "--yes", "triton")
        execute(run, folder, "without Triton")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.imitate tools/colab.txt")
    main(sys.argv[1])
