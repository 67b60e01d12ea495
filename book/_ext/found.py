"""What search engines and lost readers need: descriptions, addresses, a site map, a page for 404.

The public address follows from the repository's: a fork changes one line of ``_config.yml``.
"""

import html
import re
from pathlib import Path
from urllib.parse import urlsplit

from docutils import nodes

LENGTH = 155  # about what a result of a search shows
# What a link to the book shows is that of its first page.
TAGS = re.compile(r'<meta (?:name="description"|property="(?:og|twitter):\w+") [^>]*>')
MISSING = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta http-equiv="Content-Security-Policy" content="default-src 'none'" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<title>Page not found · {title}</title>
</head>
<body>
<main><h1>This page is not here</h1><p><a href="{home}">{title} begins here.</a></p></main>
</body>
</html>
"""

# With an icon: without one a browser asks for a favicon.ico that is not there.
FIRST = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self'" />
<meta http-equiv="refresh" content="0; url={first}" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<link rel="icon" href="_static/logo.svg" />
<link rel="canonical" href="{base}{first}" />
{tags}
<title>{title}</title>
</head>
<body><a href="{first}">{title} begins here.</a></body>
</html>
"""


def place(app, config):
    owner, name = urlsplit(config.html_theme_options["repository_url"]).path.strip("/").split("/")
    config.html_baseurl = f"https://{owner}.github.io/{name}/"


def describe(app, pagename, templatename, context, doctree):
    title = re.sub("<[^>]+>", "", context.get("title", ""))
    if title == app.config.html_title:  # the first page: no "Hydra — Hydra"
        context["docstitle"] = "an interactive book about multi-head attention"
        title = f"{title}: {context['docstitle']}"
    elif pagename.startswith("book/library/"):  # whose titles are names of packages
        context["docstitle"] = f"the library of {app.config.html_title}"
    text = description(doctree) if doctree else ""
    if text:
        # What a site shows that links here; its picture is added where pictures are taken.
        shown = {
            "og:type": "article",
            "og:site_name": app.config.html_title,
            "og:title": title,
            "og:description": text,
            "og:url": f"{app.config.html_baseurl}{pagename}.html",
        }
        tags = [("property", *pair) for pair in shown.items()]
        if not any(map(describes, doctree.findall(nodes.meta))):
            tags.append(("name", "description", text))
        context["metatags"] += "".join(
            f'<meta {kind}="{name}" content="{html.escape(value)}" />\n'
            for kind, name, value in tags
        )


def describes(meta: nodes.meta) -> bool:
    return meta.get("name") == "description"


def description(doctree) -> str:
    """What the page's head says, or its first paragraph, cut at a word, without markup."""
    for meta in filter(describes, doctree.findall(nodes.meta)):
        return meta["content"]
    paragraph = next((p for p in doctree.findall(nodes.paragraph) if len(p.astext()) > 40), None)
    if paragraph is None:
        return ""
    text = re.sub(r"[$\\]|\s+", " ", paragraph.astext())
    text = re.sub(r" +", " ", text).strip()
    return text if len(text) <= LENGTH else text[:LENGTH].rsplit(" ", 1)[0] + " …"


def write_map(app, error):
    if error or app.builder.name != "html":
        return
    out, base = Path(app.outdir), app.config.html_baseurl
    urls = "".join(
        f"<url><loc>{base}{name}.html</loc></url>\n" for name in sorted(app.env.found_docs)
    )
    schema = "http://www.sitemaps.org/schemas/sitemap/0.9"
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    (out / "sitemap.xml").write_text(f'{head}<urlset xmlns="{schema}">\n{urls}</urlset>\n', "utf-8")
    (out / "robots.txt").write_text(f"User-agent: *\nAllow: /\nSitemap: {base}sitemap.xml\n")
    missing = MISSING.format(title=html.escape(app.config.html_title), home=base)
    (out / "404.html").write_text(missing, "utf-8")
    title = html.escape(app.config.html_title)
    first = f"{app.config.master_doc}.html"
    tags = "\n".join(TAGS.findall((out / first).read_text("utf-8")))
    first = FIRST.format(title=title, base=base, first=first, tags=tags)
    (out / "index.html").write_text(first, "utf-8")


def setup(app):
    app.connect("config-inited", place)
    app.connect("html-page-context", describe)
    app.connect("build-finished", write_map, priority=950)  # when the pages are finished
    return {"parallel_read_safe": True, "parallel_write_safe": True}
