"""Execute what changed, and nothing else: chapters whose code, or whose library, is another one.

Two caches know nothing of the library: the one of executed notebooks keys on a notebook's text, and
Sphinx reads a page again only when the page changed. So a chapter is forgotten by both when a file
that it reaches (:mod:`reach`) changed. Whatever is then not in the cache is executed before Sphinx
begins to read, several chapters at a time, those that take times after all others and alone.
"""

import gc
import hashlib
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution
from myst_nb.core.read import create_nb_reader
from reach import reached
from sphinx.util import logging

ROOT = Path(__file__).parents[2]
log = logging.getLogger(__name__)


def fingerprint(code: str, root: Path = ROOT) -> str:
    """A digest of everything that the result of ``code`` depends on beside its own text."""
    digest = hashlib.sha256((root / "requirements.txt").read_bytes())
    for path in sorted(reached(code, root)):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def code_of(notebook) -> str:
    """Its code cells as one text that Python can parse."""
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return re.sub(r"^(\s*)%.*", r"\1pass", code, flags=re.MULTILINE)  # %pip and the like


def takes_times(code: str) -> bool:
    """Does it call a clock, or what of the library calls one?"""
    return bool(re.search(r"\b(bench|climb|compare|make_all|perf_counter)\(", code))


def place_cache(app, config):
    config.nb_execution_cache_path = str(Path(app.outdir).parent / ".jupyter_cache")


def execute(app):
    cache, notebooks = get_cache(app.config.nb_execution_cache_path), chapters(app)
    known = Path(app.config.nb_execution_cache_path) / "fingerprints.json"
    before = json.loads(known.read_text("utf-8")) if known.exists() else {}
    now = {name: fingerprint(code_of(nb), Path(app.srcdir)) for name, (_, nb) in notebooks.items()}
    app.changed = {name for name in now if now[name] != before.get(name)}
    stale = {str(notebooks[name][0]) for name in app.changed}
    for record in cache.list_cache_records():
        if record.uri in stale:
            cache.remove_cache(record.pk)
    known.parent.mkdir(exist_ok=True)
    known.write_text(json.dumps(now, indent=1), "utf-8")
    todo = {name: both for name, both in notebooks.items() if not is_cached(cache, both[1])}
    timed = {n for n, (_, nb) in todo.items() if takes_times(code_of(nb))}
    log.info("%s of %s chapters to execute", len(todo), len(notebooks))
    # The later chapters take longest, and begin first. As many run as there are processors, each on
    # one: two that both want all of them wait for each other.
    together = [name for name in reversed(todo) if name not in timed]
    for names, workers, threads in (
        (together, os.cpu_count(), {"OMP_NUM_THREADS": "1"}),
        (sorted(timed), 1, {}),
    ):
        with ThreadPoolExecutor(workers) as pool, mock.patch.dict(os.environ, threads):
            for name, seconds in pool.map(lambda name: run(app, name, *todo[name]), names):
                if seconds is not None:
                    path, notebook = todo[name]
                    bundle = CacheBundleIn(notebook, str(path), data={"execution_seconds": seconds})
                    cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def chapters(app) -> dict:
    """Path and notebook of every page with code, by its name."""
    found = {}
    settings = app.config.exclude_patterns, app.config.include_patterns
    for name in sorted(app.project.discover(*settings)):
        path = Path(app.project.doc2path(name, absolute=True))
        text = path.read_text("utf-8")
        reader = create_nb_reader(str(path), app.env.myst_config, app.env.mystnb_config, text)
        if reader and (notebook := reader.read(text)).cells:
            found[name] = path, notebook
    return found


def is_cached(cache, notebook) -> bool:
    try:
        return bool(cache.match_cache_notebook(notebook))
    except KeyError:
        return False


def run(app, name: str, path: Path, notebook) -> tuple[str, float | None]:
    """Execute one notebook in place; the seconds are None if it failed.

    MyST-NB then executes it once more and reports the error where the reader of the log expects it.
    """
    result = single_nb_execution(
        notebook,
        cwd=str(path.parent),
        timeout=app.config.nb_execution_timeout,
        allow_errors=False,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],  # each warns of its connection
    )
    log.info("executed %s in %.0f s%s", name, result.time, ": it failed" if result.err else "")
    return name, None if result.err else result.time


def read_again(app, env, added, changed, removed):
    return sorted(app.changed & env.found_docs)


def refuse_tracebacks(app, doctree):
    for node in doctree.findall():
        if "traceback" in getattr(node, "attributes", {}).get("classes", ()):
            log.warning("a cell printed a traceback: …%s", node.astext()[-200:], location=node)


def setup(app):
    # Pages are many small objects, read again and again: to look through them all so often for what
    # could be thrown away took a third of a build's time.
    gc.set_threshold(1_000_000)
    app.connect("config-inited", place_cache, priority=1)
    app.connect("builder-inited", execute, priority=900)  # MyST-NB reads its settings before
    app.connect("env-get-outdated", read_again)
    app.connect("doctree-read", refuse_tracebacks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
