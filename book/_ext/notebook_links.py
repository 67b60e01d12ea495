"""The rocket and the download of a chapter lead to its notebook, not to the text it is built from.

The theme links to the file that a page is made of. A chapter's notebook lies elsewhere in the
repository, under ``notebooks/``.
"""

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]


def offer_notebook(app, pagename, templatename, context, doctree):
    notebook = ROOT / "notebooks" / f"{Path(pagename).name}.ipynb"
    if not notebook.exists():
        return
    for group in context["header_buttons"]:
        for button in group.get("buttons", []):
            if button["text"] == "Colab":
                page = context["pagename"] + context["page_source_suffix"]
                button["url"] = button["url"].removesuffix(page) + f"notebooks/{notebook.name}"
    shutil.copy(notebook, Path(app.outdir, "_sources", pagename).with_suffix(".ipynb"))


def setup(app):
    # After the theme, whose buttons have priority 501.
    app.connect("html-page-context", offer_notebook, priority=502)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
