"""A system Chromium, the built site on a local server, pages of widgets, and what they said."""

import functools
import gc
import http.server
import importlib.util
import inspect
import itertools
import json
import math
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import chromium as installed
import pytest
import torch
from hypothesis import settings
from jaxtyping import install_import_hook
from playwright.sync_api import expect

ROOT = Path(__file__).parents[1]
SITE = ROOT / "_build" / "html"
HOST = ROOT / "book" / "_static" / "widget_host.js"

# Shapes are checked where signatures have some. To wrap every other function too took a quarter of
# the quick tests' processor time.
SHAPED = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "hydra_lib").rglob("*.py"))
    if "\nfrom jaxtyping import" in path.read_text("utf-8")
]
install_import_hook(SHAPED, "beartype.beartype")

# A busy machine is no falsifying example.
settings.register_profile("unhurried", deadline=None)
settings.register_profile("few", deadline=None, max_examples=20)
settings.register_profile("thorough", deadline=None, max_examples=750)
settings.load_profile("unhurried")

# Nor is it a broken page: the default is 5 seconds.
expect.set_options(timeout=20_000)

# Without a GPU, Triton's kernels are interpreted; it asks when it is first imported.
os.environ.setdefault("TRITON_INTERPRET", "0" if torch.cuda.is_available() else "1")

if sys.version_info < (3, 11) and importlib.util.find_spec("triton"):
    # jaxtyping for Python 3.10 wraps kernels too, and Triton would compile the wrapper.
    import triton

    plain_jit = triton.jit
    triton.jit = lambda fn=None, **how: (
        plain_jit(inspect.unwrap(fn), **how) if fn else functools.partial(triton.jit, **how)
    )

# While tests are collected nothing is thrown away, and what was collected stays: to go through all
# of that again and again took a tenth of the quick tests' processor time.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def pytest_unconfigure():
    if node.cache_info().currsize:
        with node() as process:
            process.stdin.close()
    gc.unfreeze()  # or at the end something would seem to leak


@pytest.fixture(scope="session")
def launched():
    """``launched(*flags)``: a system Chromium."""
    from playwright.sync_api import sync_playwright

    if installed.find() is None:
        if os.environ.get("CI") == "true":
            pytest.fail(installed.MISSING)
        pytest.skip(installed.MISSING)
    with sync_playwright() as playwright:
        # Nothing but this machine has an address: what else is asked for fails, and is told.
        nowhere = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        yield lambda *flags: installed.launch(playwright, nowhere, *flags)


@pytest.fixture(scope="session")
def chromium(launched):
    browser = launched("--disable-gpu")
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def gpu_chromium(launched):
    """One with WebGPU, which SwiftShader computes: a processor, whose times say nothing."""
    browser = launched("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader")
    yield browser
    browser.close()


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class _Written(_Silent):
    """Sends the page that a test has written, whatever is asked for."""

    text = ""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(_Written.text.encode())


def serve(folder: Path, kind=_Silent):
    handler = functools.partial(kind, directory=str(folder))
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


@pytest.fixture(scope="session")
def address_of():
    """``address_of(text)``: where this page is, until the next one is written."""
    server = serve(ROOT, _Written)

    def write(text: str) -> str:
        _Written.text = text
        return f"http://127.0.0.1:{server.server_port}/html/widgets.html"

    yield write
    server.shutdown()
    server.server_close()


VIEWS = 'script[type="application/vnd.jupyter.widget-view+json"]'
SETTLED = f"""() => document.querySelectorAll('{VIEWS}').length
    === document.querySelectorAll('[data-ready]').length"""


def settled(page):
    """Wait for each widget, by a selector: to evaluate text again is what a page forbids."""
    if count := page.locator(VIEWS).count():
        page.locator("[data-ready]").nth(count - 1).wait_for(state="attached")


@contextmanager
def opening(browser):
    """``open_page(url)`` loads a page and its widgets; at the end it must have said
    and asked for nothing."""
    contexts, problems = [], []

    def load(url: str, width=1280, scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        own = url.split("/html/")[0] if url.startswith("http") else "file:"

        def asked(request):
            if not request.url.startswith((own, "blob:", "data:")):
                problems.append(f"request to {request.url}")

        context.on("request", asked)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda m: problems.append(f"console {m.type}: {m.text}"))
        page.on("pageerror", lambda e: problems.append(f"error: {e}"))
        # A reload aborts what was still on its way; whatever could not be had fails otherwise.
        page.on(
            "requestfailed",
            lambda r: r.failure == "net::ERR_ABORTED" or problems.append(f"failed: {r.url}"),
        )
        page.goto(url)
        settled(page)
        return page

    load.problems = problems
    yield load
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def open_page(chromium):
    with opening(chromium) as load:
        yield load


@pytest.fixture
def widget_page(open_page, address_of):
    return showing_widgets(open_page, address_of)


@pytest.fixture
def gpu_page(gpu_chromium, address_of):
    """``widget_page`` in a browser with WebGPU."""
    with opening(gpu_chromium) as load:
        yield showing_widgets(load, address_of)


def showing_widgets(open_page, address_of):
    """``widget_page(*widgets)`` opens a page that holds just these, as the book would show them."""
    from ipywidgets.embed import dependency_state, embed_data

    def load(*widgets, fragment="", **options):
        state = dependency_state(widgets, drop_defaults=False)  # else of all that were ever made
        data = embed_data(views=widgets, state=state, drop_defaults=False)
        text = "<!doctype html><meta charset=utf-8><title>widgets</title>"
        text += "<meta name=viewport content='width=device-width'><link rel=icon href='data:,'>"
        text += f"<style>{widgets[0]._css}</style><script>{HOST.read_text('utf-8')}</script>"
        kinds = [("state", data["manager_state"])] + [("view", view) for view in data["view_specs"]]
        for kind, content in kinds:
            body = json.dumps(content).replace("</", "<\\/")
            mime = f"application/vnd.jupyter.widget-{kind}+json"
            text += f"<div><script type='{mime}'>{body}</script></div>"
        return open_page(address_of(text) + fragment, **options)

    return load


def drawn(page):
    """Wait until the page has drawn what was changed: a widget draws in the next frame."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


def follow(page, fragment):
    """Go to another fragment of the page, as a link in its text does; wait until drawn."""
    page.evaluate(
        """(hash) => new Promise((done, fail) => {
            if (location.hash === hash) fail(new Error(`the page is at ${hash} already`));
            addEventListener("hashchange", done, { once: true });
            location.hash = hash;
        })""",
        fragment,
    )
    drawn(page)


RUN = """
const real = (x) => ({"inf": Infinity, "-inf": -Infinity})[x] ?? x;
require("readline").createInterface({input: process.stdin}).on("line", async (line) => {
    const {source, expression, cases} = JSON.parse(line);
    let said;
    try {
        const m = await import("data:text/javascript," + encodeURIComponent(source));
        const of = new Function("m", "real", "c", "return (" + expression + ")");
        said = ["", JSON.stringify(await Promise.all(cases.map((c) => of(m, real, c))),
            (_, x) => x === Infinity ? "inf" : x === -Infinity ? "-inf" : x)];
    } catch (error) {
        said = [error.stack, ""];
    }
    console.log(JSON.stringify(said));
});
"""

NUMBER = itertools.count()


@functools.cache
def node():
    """The Node that Playwright brings along; it stays, since to start it takes a while."""
    from playwright._impl._driver import compute_driver_executable

    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    return subprocess.Popen([compute_driver_executable()[0], "-e", RUN], **pipes)


def in_javascript(module, expression, cases):
    """``expression`` of each case ``c``, with the exports of a static module as ``m``, as JSON.
    A promise is waited for.

    Computed by Node: a module without a DOM needs no browser.
    """
    from hydra_lib.widgets._bundle import bundle

    return in_node(bundle(module), expression, cases)


def in_node(source, expression, cases):
    """The same for the text of a module; each time it begins anew, with a state of its own."""
    source += f"\n// {next(NUMBER)}"
    task = {"source": source, "expression": expression, "cases": cases}
    node().stdin.write(json.dumps(task) + "\n")
    node().stdin.flush()
    error, said = json.loads(node().stdout.readline())
    assert not error, error
    return said


def in_browser(chromium, module, expression, cases):
    """The same in a page, for a module that makes elements."""
    from hydra_lib.widgets._bundle import bundle

    page = chromium.new_page()
    try:
        return page.evaluate(
            f"""async ([source, cases]) => {{
                const url = URL.createObjectURL(new Blob([source], {{type: "text/javascript"}}));
                const m = await import(url);
                return JSON.stringify(cases.map((c) => {expression}));
            }}""",
            [bundle(module), cases],
        )
    finally:
        page.close()


def stir(x):
    """The last steps of MurmurHash3, on 32 bits."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = ((x ^ x >> shift) * factor) % 2**32
    return x ^ x >> 16


def uniforms(seed, stream=0):
    """The numbers of ``random.js``, in their order."""
    golden = 0x9E3779B9
    start = stir((stir((seed + golden) % 2**32) + stream) % 2**32)
    for i in itertools.count(1):
        yield (stir((start + i * golden) % 2**32) + 0.5) / 2**32


def extended(x):
    """Nested lists of numbers, infinities as :func:`in_javascript` writes them."""
    return [extended(y) for y in x] if isinstance(x, list) else float(x)


def written_weight(p, drawn=False):
    """A weight as the page writes it, three digits; in the drawing of a row 0 and 1 are short."""
    if drawn and p in (0, 1):
        return str(int(p))
    return "<.001" if 0 < p < 5e-4 else f"{p:.3f}"


def written(x):
    """A number as the page writes it: four digits, signs of the typesetter."""
    if not math.isfinite(x):
        return "not a number" if math.isnan(x) else "∞" if x > 0 else "−∞"
    if x and not 1e-3 <= abs(x) < 1e5:
        mantissa, exponent = f"{x:.2e}".split("e")
        return f"{mantissa}e{int(exponent):+d}".replace("-", "−")
    return f"{float(f'{x:.4g}') + 0.0:g}".replace("-", "−")


def brief(x):
    """The same with three digits, as ``brief`` of ``ui.js`` writes it."""
    return written(float(f"{x:.3g}"))


def heat(weight):
    """The background of a weight, as a style."""
    return re.compile(rf"^--heat: ?{re.escape(f'{100 * weight:.1f}')}%;?$")


def table_of(page, caption):
    return page.locator("table", has=page.locator(f"caption:text-is('{caption}')"))


def expect_table(page, caption, rows):
    """A table of the page holds just these texts."""
    cells = table_of(page, caption).locator("tbody td")
    expect(cells).to_have_text([text for row in rows for text in row])
    expect(table_of(page, caption).locator("tbody tr")).to_have_count(len(rows))


# Texts of pictures below an element that leave their picture, or lie on another text there. The
# letters of a text take less room than the line they stand in.
UNREADABLE = """(root) => [...root.querySelectorAll("svg")].flatMap((picture) => {
    const found = [], before = [], room = picture.getBoundingClientRect();
    for (const one of picture.querySelectorAll("text")) {
        const said = one.textContent;
        if (!said || !one.checkVisibility({visibilityProperty: true})) continue;
        const box = one.getBoundingClientRect();
        const [left, right] = [box.left + 1, box.right - 1];
        const [top, bottom] = [box.top + box.height / 5, box.bottom - box.height / 5];
        if (left < room.left - 1 || right > room.right + 1) found.push(`${said} leaves`);
        if (top < room.top - 1 || bottom > room.bottom + 1) found.push(`${said} leaves`);
        for (const [text, l, r, t, b] of before)
            if (left < r && l < right && top < b && t < bottom) found.push(`${said} on ${text}`);
        before.push([said, left, right, top, bottom]);
    }
    return found;
})"""


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)
    drawn(page)


def drag(page, label, share):
    """Pull the handle of a slider to a share of its length."""
    slider = page.get_by_role("slider", name=label)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + share * box["width"], middle, steps=3)
    page.mouse.up()
    drawn(page)


def swipe(page, start, end, lift="touchEnd"):
    """A finger goes from one place to another; how far the page has scrolled by then."""
    before = page.evaluate("scrollY")
    finger = page.context.new_cdp_session(page)
    finger.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    for step in range(13):
        x, y = (a + (b - a) * step / 12 for a, b in zip(start, end, strict=True))
        kind = "touchMove" if step else "touchStart"
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        drawn(page)
    finger.send("Input.dispatchTouchEvent", {"type": lift, "touchPoints": []})
    drawn(page)
    return page.evaluate("scrollY") - before


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def pull(page, handle, right):
    """The mouse drags a handle so many pixels to the right."""
    handle.scroll_into_view_if_needed()
    x, y = middle(handle)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right, y, steps=8)
    page.mouse.up()
    drawn(page)


def expect_refused(page, widget, asked):
    """The page says that the link asks for what the widget cannot show."""
    trait, _, text = asked.partition("=")
    expect(page.locator(f"[data-ready={widget}] > .hydra-problem").last).to_have_text(
        f"The link asks for {trait} = {text}, which this widget cannot show."
    )
