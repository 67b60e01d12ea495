"""On a narrow page a printed sentence goes on in the next line; what stands in columns scrolls."""

import re

from docutils import nodes

COLUMNS = re.compile(r"\S {2,}\S")


def mark(app, doctree, docname):
    for output in doctree.findall(nodes.literal_block):
        if "stream" in output["classes"] and not COLUMNS.search(output.astext()):
            output["classes"].append("sentence")


def setup(app):
    app.connect("doctree-resolved", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
