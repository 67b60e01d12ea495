"""A system Chromium, the built site on a local server, pages of widgets, and what they said."""

import functools
import http.server
import inspect
import json
import os
import shutil
import sys
import threading
from pathlib import Path

import pytest
import torch
from hypothesis import settings

# A busy machine is no falsifying example.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# Without a GPU, Triton's kernels are interpreted; it asks when it is first imported.
os.environ.setdefault("TRITON_INTERPRET", "0" if torch.cuda.is_available() else "1")

if sys.version_info < (3, 11):
    # jaxtyping for Python 3.10 wraps kernels too, and Triton would compile the wrapper.
    import triton

    plain_jit = triton.jit
    triton.jit = lambda fn=None, **how: (
        plain_jit(inspect.unwrap(fn), **how) if fn else functools.partial(triton.jit, **how)
    )

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build" / "html"
HOST = ROOT / "book" / "_static" / "widget_host.js"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        message = "no Chromium found; on Debian: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root, which is who runs most containers.
        sandbox = [] if os.geteuid() else ["--no-sandbox"]
        browser = playwright.chromium.launch(
            executable_path=executable,
            args=[*sandbox, "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def serve(folder: Path):
    handler = functools.partial(_Silent, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(scope="session")
def site():
    """Addresses of the built site: in a subfolder of a server, and as files."""
    if not (SITE / "index.html").exists():
        pytest.fail("the book is not built: run make book")
    server = serve(SITE.parent)  # the site lies in its subfolder html/
    yield {"http": f"http://127.0.0.1:{server.server_port}/html/", "file": SITE.as_uri() + "/"}
    server.shutdown()
    server.server_close()


@pytest.fixture
def open_page(chromium):
    """``open_page(url)`` loads a page; at the end it must have said and asked for nothing."""
    contexts, problems = [], []

    def load(url: str, width=1280, scheme="light"):
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        own = url.split("/html/")[0] if url.startswith("http") else "file:"

        def route(route):
            foreign = not route.request.url.startswith((own, "blob:", "data:"))
            if foreign:
                problems.append(f"request to {route.request.url}")
            route.abort() if foreign else route.continue_()

        context.route("**/*", route)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda m: problems.append(f"console {m.type}: {m.text}"))
        page.on("pageerror", lambda e: problems.append(f"error: {e}"))
        # A reload aborts what was still on its way; whatever could not be had fails otherwise.
        page.on(
            "requestfailed",
            lambda r: r.failure == "net::ERR_ABORTED" or problems.append(f"failed: {r.url}"),
        )
        page.goto(url)
        page.wait_for_load_state("networkidle")
        return page

    load.problems = problems
    yield load
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def widget_page(open_page, tmp_path):
    """``widget_page(*widgets)`` opens a page that holds just these, as the book would show them."""
    from ipywidgets.embed import embed_data

    servers = []

    def load(*widgets, fragment="", **options):
        data = embed_data(views=widgets, drop_defaults=False)
        text = "<!doctype html><meta charset=utf-8><title>widgets</title>"
        text += "<meta name=viewport content='width=device-width'><link rel=icon href='data:,'>"
        text += f"<script>{HOST.read_text('utf-8')}</script>"
        kinds = [("state", data["manager_state"])] + [("view", view) for view in data["view_specs"]]
        for kind, content in kinds:
            body = json.dumps(content).replace("</", "<\\/")
            mime = f"application/vnd.jupyter.widget-{kind}+json"
            text += f"<div><script type='{mime}'>{body}</script></div>"
        folder = tmp_path / "html"
        folder.mkdir(exist_ok=True)
        (folder / "widgets.html").write_text(text, "utf-8")
        servers.append(serve(tmp_path))
        address = f"http://127.0.0.1:{servers[-1].server_port}/html/widgets.html"
        page = open_page(address + fragment, **options)
        for widget in widgets:
            page.wait_for_selector(f"[data-ready={widget.name}]")
        return page

    yield load
    for server in servers:
        server.shutdown()
        server.server_close()


def in_browser(chromium, module, expression, cases):
    """``expression`` of each case ``c``, with the exports of a static module as ``m``, as JSON."""
    from hydra_lib.widgets._bundle import bundle

    page = chromium.new_page()
    try:
        return page.evaluate(
            f"""async ([source, cases]) => {{
                const url = URL.createObjectURL(new Blob([source], {{type: "text/javascript"}}));
                const m = await import(url);
                const real = (x) => ({{"inf": Infinity, "-inf": -Infinity}})[x] ?? x;
                return JSON.stringify(cases.map((c) => {expression}),
                    (_, x) => x === Infinity ? "inf" : x === -Infinity ? "-inf" : x);
            }}""",
            [bundle(module), cases],
        )
    finally:
        page.close()


def numbers(text):
    return json.loads(text, parse_constant=None)


def extended(x):
    """Nested lists of numbers, infinities as :func:`in_browser` writes them."""
    return [extended(y) for y in x] if isinstance(x, list) else float(x)
