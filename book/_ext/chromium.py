"""A Chromium of this machine, for what draws a page and what tests one."""

import os
import shutil

from playwright.sync_api import Browser, Playwright

# The first is the same engine without windows: a page costs it two thirds of the processor time.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
# This list overrides Playwright's, of which the first matters to the tests. The other two are
# drop-downs of the address bar, which cost as much as a page of the book in every window, unseen.
FEATURES_OFF = ("PaintHolding", "WebUIOmniboxPopup", "WebUIOmniboxAimPopup")
MISSING = "no Chromium found; on Debian: apt-get install chromium"


def find() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def launch(playwright: Playwright, *flags: str) -> Browser:
    # Chromium refuses its sandbox to root, which is who runs most containers.
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    off = f"--disable-features={','.join(FEATURES_OFF)}"
    return playwright.chromium.launch(
        executable_path=find(), args=[*sandbox, "--disable-background-networking", off, *flags]
    )
