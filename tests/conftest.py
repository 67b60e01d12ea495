"""A system Chromium, the built site on a local server, pages that tell what they said."""

import functools
import http.server
import os
import shutil
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build" / "html"
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
        page.on("requestfailed", lambda r: problems.append(f"failed: {r.url}"))
        page.goto(url)
        page.wait_for_load_state("networkidle")
        return page

    load.problems = problems
    yield load
    for context in contexts:
        context.close()
    assert problems == []
