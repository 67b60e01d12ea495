"""A section whose title begins with "Aside:" is folded to that title; a link to it opens it.

In a notebook it is a section like any other. What the chapter's thread needs stands in no aside.
"""

from docutils import nodes

MARK = "Aside: "


def fold(app, doctree, docname):
    if app.builder.format != "html":
        return
    for section in list(doctree.findall(nodes.section)):
        if section[0].astext().startswith(MARK):
            section["classes"].append("aside")
            section.insert(1, nodes.raw("", "</summary>", format="html"))
            section.insert(0, nodes.raw("", "<details><summary>", format="html"))
            section.append(nodes.raw("", "</details>", format="html"))


def setup(app):
    app.connect("doctree-resolved", fold)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
