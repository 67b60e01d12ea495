"""A still of each widget in its page: its elements as they first stand, made by a Chromium.

The still keeps the widget's room until the widget runs, and is what there is without JavaScript. It
has the widget's own elements and style, so it is as high at every width and as dark. Without a
Chromium the pages are as they were, and a widget makes its own room when it starts.
"""

import os
import re
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright
from sphinx.util import logging

log = logging.getLogger(__name__)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
VIEW = re.compile(r'<script type="application/vnd\.jupyter\.widget-view\+json">.*?</script>')
NOTE = "<noscript><p>To move this, the page needs JavaScript.</p></noscript>"
# What a reader sees in a control is a property; only attributes are written down.
ELEMENTS = """() => [...document.querySelectorAll("[data-ready]")].map((el) => {
    for (const input of el.querySelectorAll("input")) {
        input.setAttribute("value", input.value);
        input.toggleAttribute("checked", input.checked);
    }
    for (const option of el.querySelectorAll("option"))
        option.toggleAttribute("selected", option.selected);
    return [el.className, el.innerHTML];
})"""


def add_stills(pages: list[Path]) -> None:
    live = [page for page in pages if VIEW.search(page.read_text("utf-8"))]
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if not executable or not live:
        log.info("no Chromium, so no stills of the widgets" if live else "no widgets")
        return
    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root, which is who runs most containers.
        sandbox = [] if os.geteuid() else ["--no-sandbox"]
        browser = playwright.chromium.launch(
            executable_path=executable, args=[*sandbox, "--disable-gpu"]
        )
        for path in live:
            log.info("drawing the widgets of %s", path.name)
            page = browser.new_page(reduced_motion="reduce")
            page.goto(path.resolve().as_uri())
            text = path.read_text("utf-8")
            count = len(VIEW.findall(text))
            page.wait_for_function(f"document.querySelectorAll('[data-ready]').length === {count}")
            page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
            drawn = page.evaluate(ELEMENTS)
            for view, (classes, elements) in zip(VIEW.findall(text), drawn, strict=True):
                # The widget's own classes, or rules for this widget alone miss its still.
                still = f'{view}\n<div class="{classes} still" inert>{elements}</div>{NOTE}'
                text = text.replace(view, still, 1)
            path.write_text(text, "utf-8")
            page.close()
        browser.close()
