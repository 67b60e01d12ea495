"""How much of each chapter's height, on a desktop, is open code, is picture, and is printed text.

Reads the built book in ``_build/html`` and prints a table; stores nothing. The aim: widgets and
figures at least 30 %, open code at most 15 %. The last column is the share of pictures in what is
read before the exercises and the sources, which are text alone.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.append(str(Path(__file__).parents[1] / "book" / "_ext"))
import chromium

SITE = Path(__file__).parents[1] / "_build" / "html"
PAGES = sorted(SITE.glob("book/[0-9][0-9]_*.html"))
SHARES = """() => {
    const height = (selector) => [...document.querySelectorAll(selector)]
        // What lies in a solution that is still shut has a height, and is not seen.
        .filter((part) => part.checkVisibility({ visibilityProperty: true }))
        .reduce((total, part) => total + part.getBoundingClientRect().height, 0);
    const whole = height("article");
    const drawn = ".cell_output img, .cell_output svg:not([data-ready] svg, mjx-container svg)";
    const pictures = height("article [data-ready]") + height(drawn);
    const after = ["exercises", "sources"].map((id) => `article section[id="${id}"]`).join();
    return [whole, height("article .cell_input") / whole, pictures / whole,
        height("article .cell_output pre") / whole, pictures / (whole - height(after))];
}"""


def main() -> None:
    if not PAGES or chromium.find() is None:
        raise SystemExit("the book must be built (make book), and a Chromium be installed")
    print(f"{'chapter':<20} {'px':>7} {'code':>6} {'pictures':>9} {'printed':>8} {'before':>7}")
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        for page in PAGES:
            opened = browser.new_page(viewport={"width": 1280, "height": 900})
            opened.goto(page.as_uri())
            opened.wait_for_function("document.querySelector('[data-ready]') !== null")
            whole, *shares = opened.evaluate(SHARES)
            code, pictures, printed, before = (f"{share:.0%}" for share in shares)
            print(f"{page.stem:<20} {whole:>7.0f} {code:>6} {pictures:>9} {printed:>8} {before:>7}")
        browser.close()


if __name__ == "__main__":
    main()
