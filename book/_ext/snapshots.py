"""A still of each widget in its page, and a card with the first of them, made by a Chromium.

A still is a widget's elements as they first stand; a card is the picture that other sites show
beside a link to the page. The still keeps the widget's room until the widget runs, and is what
there is without JavaScript. It has the widget's own elements and style, so it is as high at every
width and as dark. Where a page has boxes that lead to others, as the front page has, each shows
the card of its page, small. What was drawn is kept beside the pages, and drawn again when its page
has changed. Without a Chromium the pages are as they were, and a widget makes its own room when it
starts.
"""

import hashlib
import io
import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import chromium
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from sphinx.util import logging

log = logging.getLogger(__name__)
VIEW = re.compile(r'<script type="application/vnd\.jupyter\.widget-view\+json">.*?</script>')
CARD = (840, 441)  # pixels, in the proportion that most sites show
SMALL = (420, 220)
BOX = re.compile(
    r'(<div class="sd-card [^>]*>)(?=(?:(?!<div class="sd-card ).)*?href="(\w+)\.html")', re.DOTALL
)
FRAME = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
NOTE = "<noscript><p>To move this, the page needs JavaScript.</p></noscript>"
# What a reader sees in a control is a property; only attributes are written down.
ELEMENTS = """() => [...document.querySelectorAll("[data-ready]")].map((el) => {
    for (const input of el.querySelectorAll("input")) {
        input.setAttribute("value", input.value);
        input.toggleAttribute("checked", input.checked);
    }
    for (const area of el.querySelectorAll("textarea")) area.textContent = area.value;
    for (const option of el.querySelectorAll("option"))
        option.toggleAttribute("selected", option.selected);
    return [el.className, el.innerHTML];
})"""


def add_stills(pages: list[Path], out: Path, base: str) -> None:
    live = [page for page in pages if VIEW.search(page.read_text("utf-8"))]
    if chromium.find() is None or not live:
        log.info("no Chromium, so no stills of the widgets" if live else "no widgets")
        return
    kept = {page: out.parent / ".stills" / digest(page) for page in live}
    new = [page for page in live if not (kept[page] / "elements.json").exists()]
    # Two at a time: each is a browser of its own.
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda some: draw(some, kept), filter(None, (new[::2], new[1::2]))))
    for folder in set((out.parent / ".stills").iterdir()) - set(kept.values()):
        shutil.rmtree(folder)
    (out / "_images").mkdir(exist_ok=True)
    for page, folder in kept.items():
        for picture in ("card.png", "light.webp", "dark.webp"):
            shutil.copy(folder / picture, out / "_images" / f"{page.stem}-{picture}")
        page.write_text(with_stills(page, folder, base), "utf-8")
    for page in pages:
        text = page.read_text("utf-8")
        if BOX.search(text):
            page.write_text(BOX.sub(lambda box: box[0] + small_cards(box[2], out), text), "utf-8")


def digest(page: Path) -> str:
    """Of what a page's stills depend on: the page, with the digests of its files, and this code."""
    parts = page.read_bytes(), Path(__file__).read_bytes(), chromium.find().encode()
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def draw(pages: list[Path], folders: dict[Path, Path]) -> None:
    """Each page's widgets into its folder, and its card in three sizes and colours."""
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright, "--disable-gpu")
        for path in pages:
            log.info("drawing the widgets of %s", path.name)
            page = browser.new_page(reduced_motion="reduce")
            page.goto(path.resolve().as_uri())
            count = len(VIEW.findall(path.read_text("utf-8")))
            # By a selector: to ask a function twice is to evaluate text, which the page forbids.
            page.locator("[data-ready]").nth(count - 1).wait_for(state="attached")
            page.evaluate(FRAME)
            elements = page.evaluate(ELEMENTS)
            folder = folders[path]
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "card.png").write_bytes(take_card(page))
            make_small(page, folder)
            (folder / "elements.json").write_text(json.dumps(elements), "utf-8")  # the last of all
            page.close()
        browser.close()


def with_stills(page: Path, folder: Path, base: str) -> str:
    text = page.read_text("utf-8")
    elements = json.loads((folder / "elements.json").read_text("utf-8"))
    for view, (classes, inside) in zip(VIEW.findall(text), elements, strict=True):
        # The widget's own classes, or rules for this widget alone miss its still.
        still = f'{view}\n<div class="{classes} still" inert>{inside}</div>{NOTE}'
        text = text.replace(view, still, 1)
    image = (
        f'<meta property="og:image" content="{base}_images/{page.stem}-card.png" />\n    '
        '<meta property="twitter:card" content="summary_large_image" />'
    )
    return text.replace("<title>", f"{image}\n    <title>", 1)


def take_card(page: Page) -> bytes:
    """The page about its first widget, in the middle, or from its top where it is high."""
    width, height = CARD
    # So narrow that the text stands alone; so high that nothing sticks to an edge.
    page.set_viewport_size({"width": width, "height": 3 * height})
    page.evaluate(FRAME)
    box = page.locator("[data-ready]").first.bounding_box()
    top = box["y"] - max(0, (height - box["height"]) / 2)
    clip = {"x": 0, "y": max(0, top), "width": width, "height": height}
    # A picture of what lies in no window takes three times as long.
    return page.screenshot(clip=clip, full_page=top > 2 * height)


def make_small(page: Page, folder: Path) -> None:
    """The card in the size of a box, in the light and in the dark."""
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        with Image.open(io.BytesIO(take_card(page))) as image:
            image.resize(SMALL, Image.Resampling.LANCZOS).save(folder / f"{theme}.webp")


def small_cards(name: str, out: Path) -> str:
    """What shows a page's card in a box: one of two pictures, read when it comes into view."""
    if not (out / f"_images/{name}-light.webp").exists():
        return ""
    return "".join(
        f'<img class="sd-card-img-top only-{theme}" src="../_images/{name}-{theme}.webp"'
        f' width="{SMALL[0]}" height="{SMALL[1]}" loading="lazy" alt="" />'
        for theme in ("light", "dark")
    )
