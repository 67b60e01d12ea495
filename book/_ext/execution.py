"""Execute again when the library changed, and fail on an error that a cell merely printed.

The execution cache keys on a notebook's text and Sphinx reads a page again only when the page
changed; neither knows that a chapter shows what ``hydra_lib`` computes.
"""

import hashlib
from pathlib import Path

from sphinx.util import logging

ROOT = Path(__file__).parents[2]
# Whatever an executed cell can see besides its own text.
INPUTS = ("hydra_lib/**/*.*", "requirements.txt")
log = logging.getLogger(__name__)


def fingerprint(root: Path = ROOT) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for pattern in INPUTS for path in root.glob(pattern)):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def choose_cache(app, config):
    # Sphinx reads every page again when this setting changes, so nothing else has to be told; and
    # a library that was here before finds its own results again.
    cache = Path(app.outdir).parent / ".jupyter_cache" / fingerprint()
    config.nb_execution_cache_path = str(cache)


def refuse_tracebacks(app, doctree):
    for node in doctree.findall():
        if "traceback" in getattr(node, "attributes", {}).get("classes", ()):
            log.warning("a cell printed a traceback: …%s", node.astext()[-200:], location=node)


def setup(app):
    app.connect("config-inited", choose_cache, priority=1)
    app.connect("doctree-read", refuse_tracebacks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
