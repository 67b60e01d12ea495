"""The rocket and the download of a chapter lead to its notebook, not to the text it is built from.

The theme links to the file that a page is made of. A chapter's notebook lies elsewhere in the
repository, under ``notebooks/``; a page that has none, such as the front page, offers none.
"""

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]


def link(app, pagename, templatename, context, doctree):
    name = f"{Path(pagename).name}.ipynb"
    groups = context.get("header_buttons", [])
    if not (ROOT / "notebooks" / name).exists():
        groups[:] = [group for group in groups if group.get("label") != "launch-buttons"]
        for group in groups:
            if "buttons" in group:
                group["buttons"] = [b for b in group["buttons"] if b["text"] != ".ipynb"]
        return
    page = pagename + context["page_source_suffix"]
    for group in groups:
        for button in group.get("buttons", []):
            if button["text"] == "Colab":
                button["url"] = button["url"].removesuffix(page) + f"notebooks/{name}"


def copy(app, exception):
    if exception or app.builder.name != "html":
        return
    # In place of what the theme offers for download: MyST text in cells, with all outputs.
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(notebook, Path(app.outdir, "_sources", "book"))


def setup(app):
    app.connect("html-page-context", link, priority=502)  # the theme makes its buttons at 501
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
