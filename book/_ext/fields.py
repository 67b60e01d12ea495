"""Fields of named tuples, in the library's pages.

Python gives one without a text "Alias for field number 0", which says nothing beside its name.
"""


def drop(app, what, name, obj, options, lines):
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()


def setup(app):
    app.connect("autodoc-process-docstring", drop)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
