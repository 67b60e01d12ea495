"""The built book in Firefox and in WebKit: what its widgets say is what they say in Chromium.

By itself, with ``make hosts``: it needs two more browsers, and their drivers. Chromium's part is
in every other test of a page.
"""

import glob
import os
import re
import shutil
from types import SimpleNamespace

import pytest

from tests.conftest import SETTLED, SITE

# Firefox's driver leaves sockets to the garbage collector, WebKit's calls itself in an old way.
pytestmark = [
    pytest.mark.hosts,
    pytest.mark.filterwarnings("ignore:setting remote_server_addr:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning"),
]

CHAPTERS = sorted(path.stem for path in (SITE / "book").glob("[0-9]*.html")) + ["intro"]
# Of the book's pages: a browser also complains to itself, of old ways to write mathematics, and of
# a formula of which it has read a half so far (WHOLE looks at them later).
MESSAGES = r"""return Services.console.getMessageArray().map((one) => String(one.message))
    .filter((one) => /127\.0\.0\.1|_build\/html|blob:/.test(one))
    .filter((one) => !/mathvariant|Incorrect number of children/.test(one))"""
WHOLE = """() => [["munder, mover, msub, msup, mfrac, mroot", 2], ["munderover, msubsup", 3]]
    .every(([tags, parts]) => [...document.querySelectorAll(tags)]
        .every((one) => one.childElementCount === parts))"""
# What a browser tells of itself, and what it cannot do, differs rightly.
TELL_OF_THE_BROWSER = {"your_gpu", "your_kernel"}
SHOWN = """() => Object.fromEntries([...document.querySelectorAll("[data-ready]")].map((one) => {
    const values = [...one.querySelectorAll("input, select, textarea")].map((field) => field.value);
    return [one.dataset.ready, one.textContent + " | " + values.join(" ")];
}))"""
PROBLEMS = """() => [...document.querySelectorAll(".hydra-problem, .error")]
    .map((one) => one.textContent).filter(Boolean)"""
# The first slider of each widget one step on, or its second choice, as a hand would move it.
MOVE = """() => {
    for (const widget of document.querySelectorAll("[data-ready]")) {
        const slider = widget.querySelector("input[type=range]");
        if (!slider) {
            widget.querySelectorAll("input[type=radio], button")[1]?.click();
            continue;
        }
        slider[slider.valueAsNumber < slider.max ? "stepUp" : "stepDown"]();
        slider.dispatchEvent(new Event("input", { bubbles: true }));
    }
}"""
DRAWN = """() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(true))))"""


def missing(what):
    """Skip where a person looks, fail where the book is about to be published."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(what)


def found(names, package):
    program = next(filter(None, map(shutil.which, names)), None)
    return program or missing(f"no {names[0]} found; on Debian: apt-get install {package}")


@pytest.fixture(scope="module")
def firefox():
    """Firefox itself, through the protocol that its own tests use."""
    driver = pytest.importorskip("marionette_driver.marionette")
    browser = driver.Marionette(
        bin=found(("firefox-esr", "firefox"), "firefox-esr"),
        headless=True,
        gecko_log=os.devnull,
        prefs={"ui.prefersReducedMotion": 1},
    )
    browser.start_session()

    def said():
        with browser.using_context("chrome"):
            return browser.execute_script(MESSAGES)

    yield SimpleNamespace(
        go=browser.navigate,
        run=lambda script: browser.execute_async_script(
            f"const [end] = arguments; Promise.resolve(({script})()).then(end)"
        ),
        said=said,
    )
    browser.quit()
    browser.cleanup()


@pytest.fixture(scope="module")
def webkit(tmp_path_factory):
    """WebKit in GTK's small browser, which needs a display: xvfb-run -a gives it one."""
    webdriver = pytest.importorskip("selenium.webdriver")
    program = found(("WebKitWebDriver",), "webkit2gtk-driver")
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        missing("WebKit needs a display: xvfb-run -a make hosts")
    options = webdriver.WebKitGTKOptions()
    options.binary_location = sorted(glob.glob("/usr/lib/*/webkit2gtk-4.*/MiniBrowser"))[-1]
    options.add_argument("--automation")
    still = tmp_path_factory.mktemp("config")  # GTK's own way to ask for reduced motion
    for version in ("gtk-3.0", "gtk-4.0"):
        (still / version).mkdir()
        (still / version / "settings.ini").write_text("[Settings]\ngtk-enable-animations=false\n")
    service = webdriver.WebKitGTKService(program, env=os.environ | {"XDG_CONFIG_HOME": str(still)})
    browser = webdriver.WebKitGTK(options=options, service=service)
    yield SimpleNamespace(
        go=browser.get,
        run=lambda script: browser.execute_async_script(
            f"const [end] = arguments; Promise.resolve(({script})()).then(end)"
        ),
        said=list,  # it hands out no console: a widget that fails says so in the page
    )
    browser.quit()


@pytest.fixture(params=["firefox", "webkit"])
def engine(request):
    return request.getfixturevalue(request.param)


def wait(engine, script):
    """Until it is true; the driver's own limit ends it."""
    engine.run(
        f"() => new Promise((done) => {{ const ask = () => "
        f"(({script})() ? done(true) : setTimeout(ask, 50)); ask(); }})"
    )


def told(texts):
    return {
        name: re.sub(r"\s+", " ", text)
        for name, text in texts.items()
        if name not in TELL_OF_THE_BROWSER
    }


@pytest.mark.parametrize("address", ["http", "file"])
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_widgets_say_what_they_say_in_chromium(engine, open_page, site, chapter, address):
    url = f"{site[address]}book/{chapter}.html"
    page = open_page(url)
    engine.go(url)
    wait(engine, SETTLED)
    before = told(engine.run(SHOWN))
    assert before == told(page.evaluate(SHOWN))
    assert engine.run(PROBLEMS) == []
    assert engine.run(WHOLE)
    page.evaluate(MOVE)
    page.evaluate(DRAWN)
    engine.run(MOVE)
    engine.run(DRAWN)
    after = told(engine.run(SHOWN))
    assert after == told(page.evaluate(SHOWN))
    assert after != before
    assert engine.said() == []
