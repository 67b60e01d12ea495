"""Finish the written pages: one stylesheet, one deferred script, each widget's state beside it.

The theme and the extensions link thirty files in every head, most of them for what a page does not
have. What a page needs is gathered into ``book.css`` and ``book.js``; the originals stay where the
build put them, asked for by nobody.
"""

import base64
import hashlib
import json
import re
from pathlib import Path

import snapshots
import styles

from hydra_lib.widgets._bundle import SEAM

LINK = re.compile(r"[ \t]*<link\b[^>]*>\n?")
SCRIPT = re.compile(r"[ \t]*<script\b([^>]*)>(.*?)</script>\n?", re.DOTALL)
NAMED = 'aria-label="Show the pages of this part"'
CHARSET = '<meta charset="utf-8" />'
RELATIVE = re.compile(r"""url\((["']?)(?!["']|data:|#)""")
VIEWPORT = re.compile(r'<meta name="viewport"[^>]*>')
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
MODULE = "application/vnd.hydra.module+json"
DROPPED = ("fontawesome.js", "design-tabs.js")
# The theme's own way to let what scrolls take focus; ours, in site.js, lays out nothing folded, and
# the page once.
FOCUS = re.compile(
    r'document\.querySelectorAll\(\["pre",[^]]*\]\.join\(", "\)\)'
    r"\.forEach\(e=>\{e\.tabIndex=[^}]*\}\)"
)
# Bootstrap looks for all that a press could mean in the whole page, a dozen times a press and more
# the longer the page is. What was pressed, and what it stands in, can be asked instead.
DELEGATED = re.compile(
    r"const (\w)=\w\.querySelectorAll\((\w)\);(for\(let\{target:(\w)\}=\w;\4&&\4!==this;"
    r"\4=\4\.parentNode\))for\(const (\w) of \1\)if\(\5===\4\)return"
)
# Only the page of the search needs these, a form on every other page leads there; in this order,
# since Sphinx searches as soon as it has its index.
SEARCH = ("searchtools.js", "language_data.js", "sections.js", "/search.js", "searchindex.js")
# Who listens goes from heading to heading, and looks for exercises and theorems among them.
TITLED = re.compile(r'(<div class="(?:exercise|proof) [^>]*>\s*<p class="admonition-title")>')
NAMELESS = 'aria-label="Toggle hidden content"'  # the buttons of all solutions
SOLUTION = 'aria-label="${item.querySelector(".admonition-title").textContent.trim()}"'
INLINE = ("quiet.js", "widget_host.js")  # what must run while the page is still being read


class Site:
    def __init__(self, out: Path):
        self.out = out
        self.sheets: list[Path] = []
        self.scripts: list[Path | str] = []

    def gather(self, items: list, item) -> None:
        if item not in items:
            items.append(item)

    def finish(self, page: Path) -> None:
        text = page.read_text("utf-8")
        if "Content-Security-Policy" in text or "<head>" not in text:
            return  # finished, or none of ours
        root = "../" * len(page.relative_to(self.out).parents[1:])
        heads = [f'<link rel="stylesheet" href="{root}_static/book.css">\n']
        inline, searching = [], []

        def link(match):
            tag = match[0]
            href = re.search(r'href="([^"?]+)', tag)
            if 'rel="stylesheet"' in tag:
                self.gather(self.sheets, (page.parent / href[1]).resolve())
            return "" if 'rel="stylesheet"' in tag or 'rel="preload"' in tag else tag

        def script(match):
            attributes, body = match[1], match[2]
            src = re.search(r'src="([^"?]+)', attributes)
            if "json" in attributes or "data-cfasync" in attributes:
                return match[0]
            if src is None:
                if "pagename" in body or "searchInput" in body:
                    return "" if "pagename" in body else match[0]
                self.gather(self.scripts, body)
            elif src[1].endswith(INLINE):
                if src[1].endswith("quiet.js") or VIEW in text:
                    source = (page.parent / src[1]).read_text("utf-8")
                    inline.append(f"<script>{source}</script>\n")
            elif src[1].endswith(SEARCH):
                if page.name == "search.html":
                    searching.append(src[1])
            elif not src[1].endswith(DROPPED):
                self.gather(self.scripts, (page.parent / src[1]).resolve())
            return ""

        text = beside_their_views(text)
        text = SCRIPT.sub(script, LINK.sub(link, text))
        viewport = VIEWPORT.search(text)[0]  # it stands there three times
        text = VIEWPORT.sub("", text).replace("<title>", viewport + "\n    <title>", 1)
        heads += inline
        searching.sort(key=lambda src: [src.endswith(name) for name in SEARCH].index(True))
        sources = [f"{root}_static/book.js", *searching]
        heads += [f'<script defer src="{src}"></script>\n' for src in sources]
        # After the theme's own first script, which reads what the reader chose last time.
        text = text.replace("</script>", "</script>\n" + "".join(heads), 1)
        text = re.sub(r'onclick="(?:window\.)?(\w+)\(\)"', r'data-calls="\1"', text)
        # The theme's own: a part that opens has no name.
        text = text.replace(
            '<summary><span class="toctree', f'<summary {NAMED}><span class="toctree'
        )
        # MyST-NB's: what says what is folded is not heard for its label.
        text = text.replace('<summary aria-label="Toggle hidden content">', "<summary>")
        text = TITLED.sub(r'\1 role="heading" aria-level="3">', text)
        # And docutils': entries of a list that do not call themselves so.
        text = text.replace('role="doc-biblioentry"', 'role="listitem"')
        page.write_text(text.replace(CHARSET, CHARSET + "\n    " + policy(text), 1), "utf-8")

    def write_shared(self, pages: list[Path]) -> None:
        """``book.css`` and ``book.js``, and their digests into the pages' links."""
        static = self.out / "_static"
        texts = [page.read_text("utf-8") for page in pages]
        if self.sheets:
            parts = [p if isinstance(p, str) else p.read_text("utf-8") for p in self.scripts]
            # togglebutton.js stands above what it is set to, and waits for the page; deferred, it
            # need not wait, and would find nothing to toggle.
            parts.sort(key=lambda part: not part.startswith("var togglebuttonSelector"))
            script = ";\n".join(re.sub(r"//# sourceMappingURL=\S+", "", part) for part in parts)
            script = script.replace(NAMELESS, SOLUTION)
            script = DELEGATED.sub(r"\3if(\4.matches(\2))return", FOCUS.sub("", script))
            inline = [body for text in texts for _, body in SCRIPT.findall(text)]
            used = styles.words(texts, [script, *inline])
            sheet = "".join(rebased(path, static, used) for path in self.sheets)
            (static / "book.css").write_text(
                '@charset "utf-8";' + styles.icons(sheet, static) + sheet, "utf-8"
            )
            (static / "book.js").write_text(script, "utf-8")
        for name in ("book.css", "book.js"):
            digest = hashlib.sha256((static / name).read_bytes()).hexdigest()[:8]
            texts = [re.sub(rf"{name}(\?v=\w+)?", f"{name}?v={digest}", text) for text in texts]
        for page, text in zip(pages, texts, strict=True):
            page.write_text(text, "utf-8")


def policy(text: str) -> str:
    """What a page may run: its own files, its widgets' modules, and the scripts named by digest."""
    inline = (
        body for attributes, body in SCRIPT.findall(text) if not re.search("src=|json", attributes)
    )
    digests = sorted({hashlib.sha256(body.encode()).digest() for body in inline})
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    # Styles may stand in the page: drawings and widgets set them on single elements.
    return (
        '<meta http-equiv="Content-Security-Policy" content="default-src \'self\'; '
        f"script-src 'self' blob: {hashes}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self' data:; object-src 'none'; base-uri 'none'; "
        "form-action 'self'\" />"
    )


def rebased(path: Path, static: Path, used: set[str]) -> str:
    folder = path.parent.relative_to(static)
    css = path.read_text("utf-8")
    imports = re.findall(r'@import "([^"]+)";', css)
    css = styles.purge(re.sub(r"@(import|charset)[^;]*;", "", css), used)
    before = "".join(rebased((path.parent / name).resolve(), static, used) for name in imports)
    return before + RELATIVE.sub(rf"url(\g<1>{folder.as_posix()}/", css)


def once(source: str, sent: dict[str, int]) -> list[str | int]:
    """The files of a bundle; one that the page has sent before is its number there, from 0."""
    files: list[str | int] = []
    for file in source.split(SEAM):
        files.append(sent.get(file, file))
        sent.setdefault(file, len(sent))
    return files


def embedded(value) -> str:
    """JSON that can stand in a script element."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("</", r"<\/").replace("<!--", r"\u003c!--")


def beside_their_views(text: str) -> str:
    """Each widget's state stands before its first view, its style in the head for its still."""
    found = next((one for one in SCRIPT.finditer(text) if STATE in one[1]), None)
    if found is None:
        return text
    states = json.loads(found[2])["state"]
    text = text[: found.start()] + text[found.end() :]
    used = styles.words([text], [model["state"].get("_esm", "") for model in states.values()])
    sheets = dict.fromkeys(model["state"].pop("_css", "") for model in states.values())
    style = "".join(styles.purge(sheet, used) for sheet in sheets)
    text = text.replace("</head>", f"<style>{style}</style>\n</head>", 1)

    sent: dict[str, int] = {}
    # The first widget's module is made while the page is still being read: it stands in the head.
    views = (json.loads(body)["model_id"] for kind, body in SCRIPT.findall(text) if VIEW in kind)
    first = next((states[model]["state"] for model in views if model in states), {})
    if "_esm" in first:
        module = embedded(once(first["_esm"], sent))
        text = text.replace("</head>", f'<script type="{MODULE}">{module}</script>\n</head>', 1)

    def view(match):
        if VIEW not in match[1]:
            return match[0]
        model = json.loads(match[2])["model_id"]
        if model not in states:
            return match[0]
        own = states[model]["state"]
        if "_esm" in own:
            own["_esm"] = once(own["_esm"], sent)
        state = embedded({"state": {model: states.pop(model)}})
        return f'<script type="{STATE}">{state}</script>\n{match[0]}'

    return SCRIPT.sub(view, text)


def finish_pages(app, error):
    if error or app.builder.name != "html":
        return
    out = Path(app.outdir)
    pages = [p for p in sorted(out.rglob("*.html")) if "_static" not in p.relative_to(out).parts]
    site = Site(out.resolve())
    for page in pages:
        site.finish(page.resolve())
    pages = [page for page in pages if "book.css" in page.read_text("utf-8")]
    site.write_shared(pages)
    snapshots.add_stills(pages, out, app.config.html_baseurl)


def setup(app):
    # Every page is written anew: what the shared files hold depends on all of them.
    app.connect("env-get-updated", lambda app, env: env.found_docs)
    app.connect("build-finished", finish_pages, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
