"""Every widget in JupyterLab, where anywidget's own runtime shows it: as the book's page does.

The page of the book has no kernel and runs the same modules by ``book/_static/widget_host.js``.
Here both get the same hand and must say the same; and what it set arrives in Python, and back.
"""

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import unquote

import nbformat
import pytest
from playwright.sync_api import expect

from tests.conftest import ROOT, drawn, follow, opening, showing_widgets
from tests.test_hosts_engines import DRAWN, MOVE
from tests.test_widgets import EVERY

pytestmark = pytest.mark.hosts

MAKE = f"""import json, sys
sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "book" / "_ext")!r}]
from tests.test_widgets import EVERY
widgets, fresh = ({{name: make() for name, make in EVERY.items()}} for _ in range(2))
def changed(name):
    now, before = (set_of[name].get_state() for set_of in (widgets, fresh))
    return {{key: now[key] for key in now if now[key] != before[key] and key != "layout"}}
"""
CHANGES = "print(json.dumps({name: changed(name) for name in widgets}))"
BACK = """for name in widgets:
    for key in changed(name):
        setattr(widgets[name], key, getattr(fresh[name], key))
print("{}")"""
# All cells stand in the page at once, and nothing asks whether to fetch news.
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
SHOWN = "(one) => one.textContent.replace(/\\s+/g, ' ')"


@contextmanager
def server(folder):
    """JupyterLab with settings of its own; yields its address."""
    settings = folder / "settings"
    for name, content in SETTINGS.items():
        path = settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    own = {f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    own |= {"JUPYTERLAB_SETTINGS_DIR": str(settings), "IPYTHONDIR": str(folder / "ipython")}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", "--IdentityProvider.token="]
    running = subprocess.Popen(
        [*command, f"--ServerApp.root_dir={folder}"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | own,
    )
    try:
        said = []
        for line in running.stderr:
            said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+/", line):
                yield found[0]
                break
        else:
            pytest.fail("".join(said))
    finally:
        running.terminate()
        running.stderr.close()
        running.wait()


@pytest.fixture(scope="module")
def notebook(chromium, tmp_path_factory):
    """The page of a notebook with a cell for each widget and two that look into the kernel."""
    pytest.importorskip("jupyterlab")
    folder = tmp_path_factory.mktemp("lab")
    codes = [MAKE, *(f"widgets[{name!r}]" for name in EVERY), CHANGES, BACK]
    cells = [nbformat.v4.new_code_cell(code) for code in codes]
    about = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    book = nbformat.v4.new_notebook(cells=cells, metadata=about)
    nbformat.write(book, folder / "widgets.ipynb")
    with server(folder) as url:
        context = chromium.new_context(
            viewport={"width": 1280, "height": 900}, reduced_motion="reduce"
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"{url}lab/tree/widgets.ipynb")
        page.get_by_text("| Idle").wait_for()
        run(page, 0)
        expect(cell(page, 0).locator(".jp-OutputArea-output")).to_have_text([])  # no error
        for i in range(len(EVERY)):
            run(page, i + 1)
        yield page
        context.close()


def cell(page, index):
    return page.locator(".jp-Notebook .jp-Cell").nth(index)


def run(page, index):
    cell(page, index).locator(".jp-InputArea-editor").click()
    page.keyboard.press("Control+Enter")
    # The first one imports torch, on a new machine from files that were never read.
    prompt = cell(page, index).locator(".jp-InputPrompt")
    expect(prompt).to_have_text(re.compile(r"\[\d+\]:"), timeout=120_000)


def asked(page, index):
    """What a cell prints, as JSON."""
    run(page, index)
    return json.loads(cell(page, index).locator(".jp-OutputArea-output pre").inner_text())


def fragment(url):
    """The settings that stand in an address."""
    parts = re.findall(r"[#&][\w-]+\.(\w+)=([^&]*)", url)
    return {trait: readable(unquote(value)) for trait, value in parts}


def readable(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def test_widgets_in_jupyterlab(notebook, chromium, address_of):
    widgets = {name: cell(notebook, i).locator(".hydra") for i, name in enumerate(EVERY, start=1)}
    for widget in widgets.values():
        expect(widget).to_have_count(1, timeout=30_000)

    def shown():
        return {name: widget.evaluate(SHOWN) for name, widget in widgets.items()}

    before, moved, settings, back = {}, {}, {}, {}
    with opening(chromium) as load:
        for name, make in EVERY.items():
            page = showing_widgets(load, address_of)(make())
            own = page.locator(".hydra")
            before[name] = own.evaluate(SHOWN)
            page.evaluate(MOVE)
            drawn(page)
            moved[name] = own.evaluate(SHOWN)
            # The setting rests in the address before a timer that was set later and takes longer.
            page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
            settings[name] = fragment(page.url)
            if settings[name]:
                follow(page, "")
            back[name] = own.evaluate(SHOWN)
    assert shown() == before
    assert asked(notebook, len(EVERY) + 1) == {name: {} for name in EVERY}
    # From the page to the kernel.
    for widget in widgets.values():
        widget.evaluate(
            f"(one) => {{ one.dataset.ready = ''; ({MOVE})(); delete one.dataset.ready; }}"
        )
    notebook.evaluate(DRAWN)
    assert shown() == moved
    assert asked(notebook, len(EVERY) + 1) == settings
    assert sum(map(bool, settings.values())) > 10
    # And from the kernel to the page.
    asked(notebook, len(EVERY) + 2)
    notebook.evaluate(DRAWN)
    assert shown() == back
