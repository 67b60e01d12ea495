"""Every page of the built site: silent, self-contained, and no wider than a phone."""

import http.server
import importlib
import re
import threading
import time

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import expect

from tests.conftest import ROOT, SITE, VIEWS, drawn, opening

PAGES = sorted(p.relative_to(SITE).as_posix() for p in SITE.glob("book/**/*.html"))
PAGES = PAGES or ["index.html"]
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=["index.html", "search.html", *PAGES])
def page(request, chromium, site):
    """Each page in the dark, opened once for the tests down to the one that makes it a phone's;
    at the end it must have said nothing."""
    with opening(chromium) as open_page:
        yield open_page(site["http"] + request.param, scheme="dark")


def is_complete(page, scheme):
    # The first page only sends on to another, which may still be on its way.
    expect(page.locator(f"html[data-theme={scheme}]")).to_be_attached()
    if page.locator(".math").count():
        expect(page.locator("mjx-container").first).to_be_attached()
        expect(page.locator("mjx-merror")).to_have_count(0)


def test_page_is_silent_and_asks_nobody(page):
    is_complete(page, "dark")
    page.emulate_media(color_scheme="light")
    expect(page.locator("html[data-theme=light]")).to_be_attached()


@pytest.mark.parametrize("name", ["index.html", "search.html", *PAGES])
def test_page_is_silent_as_a_file(open_page, site, name):
    is_complete(open_page(site["file"] + name), "light")


def test_no_code_is_cut_on_a_desktop(page):
    """83 letters fit; a listing of the library's is written for that where a chapter shows it."""
    if "/library" in page.url:
        pytest.skip("not written for it")
    listings = page.locator(".bd-article pre:visible")
    cut = "all => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.innerText)"
    assert listings.evaluate_all(cut) == []
    printed = "\n".join(page.locator(".bd-article .output.stream pre").all_text_contents())
    columns = re.compile(r"\S {2,}\S.* {2,}\S")  # a sentence may break into lines, a table may not
    assert [line for line in printed.split("\n") if len(line) > 83 and columns.search(line)] == []


def test_hints_and_solutions_are_closed_until_they_are_asked_for(page):
    if not re.search(r"/\d\d_", page.url):
        pytest.skip("no chapter")
    solutions, asked = page.locator(".solution"), page.locator(".exercise form.answer")
    assert solutions.count() >= 4
    assert page.locator(".solution[inert]").count() == asked.count() < solutions.count()
    for answer in asked.all():
        answer.locator("input").first.press("Space")  # ticks a box; a field wants a number
        for field in answer.get_by_role("textbox").all():
            field.fill("0.3")
        answer.get_by_role("button").dispatch_event("click")
    for solution in solutions.all():
        inside = solution.locator("div.cell").first
        expect(inside).to_be_hidden()
        solution.get_by_role("button").first.dispatch_event("click")
        expect(inside).to_be_visible()
    hints = page.locator(".exercise details.sd-dropdown")
    assert hints.count() == 2 * solutions.count()
    assert hints.evaluate_all("all => all.every((one) => !one.open)")
    shut = hints.evaluate_all("all => all.map((one) => one.getBoundingClientRect().y)")
    assert shut[::2] == shut[1::2]  # two share a line
    below = page.locator(".exercise + .solution").evaluate_all(
        """all => all.map((one) => one.getBoundingClientRect().y
            - one.previousElementSibling.getBoundingClientRect().bottom)"""
    )
    assert below == pytest.approx([0] * solutions.count(), abs=0.5)  # at the foot of its exercise


def test_page_fits_a_phone(page):
    """320 px are a small phone, and a desktop of 1280 at 400 %. Letters may be larger by half."""
    page.set_viewport_size({"width": 320, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.set_viewport_size({"width": 360, "height": 900})
    # In the letters of the book, which are wider than those of a page without its theme.
    cut = "all => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)"
    assert page.locator(".hydra-panels, .hydra-product, .hydra-boards").evaluate_all(cut) == []
    printed = page.locator(".bd-article .output.stream pre:visible").evaluate_all(cut)
    assert [text for text in printed if not re.search(r"\S {2,}\S", text)] == []  # no columns
    letters = {"fontSizes": {"standard": 24, "fixed": 20}}
    page.context.new_cdp_session(page).send("Page.setFontSizes", letters)
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "24px"
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.fixture(scope="module", params=PAGES)
def read(request):
    return BeautifulSoup((SITE / request.param).read_text("utf-8"), "html.parser")


def test_pictures_say_what_they_show(read):
    # The front page's boxes are links, which say more than their pictures.
    shown = ".bd-article img:not(.sd-card-img-top), .bd-article .themed > *"
    for picture in read.select(shown):
        assert picture.get("aria-label") or picture.get("alt"), str(picture)[:200]


def test_a_page_offers_no_cell_that_it_cannot_run(read):
    assert "No answer yet" not in read.select_one("article").text
    for exercise in read.select(".exercise:has(form.answer)"):
        assert not exercise.select("div.cell"), exercise.text[:80]
    # A name of its own would keep what a line that folds code says from a screen reader.
    assert not read.select("div.cell summary[aria-label]")


LIBRARY = sorted((ROOT / "book" / "library").glob("*.md"))


@pytest.mark.parametrize("page", LIBRARY, ids=lambda p: p.stem)
def test_every_public_name_of_a_module_is_on_its_page(page):
    built = (SITE / "book" / "library" / f"{page.stem}.html").read_text("utf-8")
    assert "Alias for field number" not in built  # Python's own text for one without
    for module in re.findall(r"automodule:: (\S+)\n +:members:", page.read_text("utf-8")):
        names = getattr(importlib.import_module(module), "__all__", ())  # it may be a package's
        assert [n for n in names if not re.search(rf'id="hydra_lib[\w.]*\.{n}"', built)] == []


def test_what_is_wider_than_the_text_stays_on_the_page(open_page, site):
    """The theme gives it a third more at every width from 992 px, and has the room from 1200 px."""
    opened = open_page(site["http"] + "book/01_aggregation.html", width=992)
    wide, text = opened.locator(".tag_full-width"), opened.locator(".bd-article h1")
    for width in (992, 1199, 1200, 1280, 1920):
        opened.set_viewport_size({"width": width, "height": 900})
        box, column = wide.bounding_box(), text.bounding_box()
        assert box["x"] + box["width"] < width
        assert (box["width"] > 1.3 * column["width"]) == (width >= 1200)


@pytest.mark.parametrize(("width", "seen"), [(360, 0), (800, 1)])
def test_on_a_phone_nothing_lies_on_what_a_finger_is_at(open_page, site, width, seen):
    """The theme's way back to the top appears when the page is scrolled up again."""
    opened = open_page(site["http"] + "book/10_timing.html", width=width)
    opened.mouse.move(width / 2, 400)
    for way in (1500, -400):
        opened.mouse.wheel(0, way)
        drawn(opened)
    expect(opened.locator("#pst-back-to-top:visible")).to_have_count(seen)


def test_no_sum_over_a_board_is_cut_when_all_its_terms_are_bold(open_page, site):
    """In the letters of the book, as above."""
    opened = open_page(site["http"] + "book/09_strassen.html")
    for algorithm in ("Strassen 1969", "Winograd's form"):
        opened.get_by_role("radio", name=algorithm).first.check()
        opened.get_by_role("radio", name="M₇").check()
        drawn(opened)
        for caption in opened.locator(".hydra-board caption").all():
            last, room = caption.evaluate(
                "e => [e.lastElementChild, e].map((one) => one.getBoundingClientRect().right)"
            )
            assert last <= room + 0.5, caption.text_content()


def test_the_folded_list_of_contents_opens_for_a_keyboard(open_page, site):
    opened = open_page(site["http"] + "book/01_aggregation.html")
    side, link = opened.locator(".bd-sidebar-secondary"), opened.locator(".page-toc a").last
    expect(side).to_have_class(re.compile(r"\bhide\b"))
    folded = side.bounding_box()["height"]
    link.focus()
    assert side.bounding_box()["height"] > folded + 100
    expect(opened.locator("nav.page-toc")).to_have_css("opacity", "1")


def test_an_aside_opens_by_hand_by_a_link_and_on_paper(open_page, site):
    address = site["http"] + "book/04_scaling.html"
    opened = open_page(address)
    aside = opened.locator("section.aside", has=opened.locator("#scaling-slip"))
    inside = aside.locator("p").first
    expect(inside).to_be_hidden()
    aside.locator("> details > summary").press("Enter")
    expect(inside).to_be_visible()
    aside.locator("h3").click()
    expect(inside).to_be_hidden()
    opened.evaluate("location.hash = 'scaling-slip'")
    expect(inside).to_be_visible()
    expect(aside.locator("h3")).to_be_in_viewport()
    paper = open_page(address)
    asides = paper.locator("section.aside > details")
    assert asides.count() > 2
    asides.first.locator("> summary").press("Enter")
    paper.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert asides.evaluate_all("all => all.every((one) => one.open)")
    paper.evaluate("dispatchEvent(new Event('afterprint'))")
    assert asides.evaluate_all("all => all.filter((one) => one.open).length") == 1
    linked = open_page(address + "#scaling-slip")
    expect(linked.locator("section.aside > details[open]")).to_have_count(1)
    expect(linked.locator("#scaling-slip ~ details h3")).to_be_in_viewport()


@pytest.mark.parametrize("page", ["claims", "notation"])
def test_tables_of_sentences_need_no_scrolling_on_a_phone(open_page, site, page):
    opened = open_page(site["http"] + f"book/{page}.html", width=360)
    for table in opened.locator(".bd-article table").all():
        assert table.evaluate("e => e.scrollWidth <= e.clientWidth")
        first = table.locator("tbody tr").first.locator("td")
        beside, below = first.nth(0).bounding_box(), first.last.bounding_box()
        assert below["y"] > beside["y"], "each meaning stands below its sign"


def test_paper_is_light_and_nothing_is_cut(open_page, site):
    page = open_page(site["http"] + "book/03_softmax.html", scheme="dark")
    page.set_viewport_size({"width": 560, "height": 800})  # A5, or A4 at a larger type
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    boxes = page.locator(".bd-article div.highlight pre, .hydra")
    assert boxes.count() > 10
    for box in boxes.all():
        assert box.evaluate("e => !e.clientWidth || e.scrollWidth <= e.clientWidth")
    inside = page.locator(".hydra").first.evaluate("e => getComputedStyle(e).breakInside")
    assert inside == "avoid"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize(
    ("chapter", "part", "style"),
    [
        ("05_attention", ".hydra-traced + .hydra-sticky", ("position", "static")),
        ("07_learned_heads", ".hydra-looks", ("display", "none")),
    ],
)
def test_on_paper_nothing_lies_on_what_it_does_not_belong_to(open_page, site, chapter, part, style):
    """A sentence that stays in sight, and arcs that know the screen's letters only."""
    page = open_page(site["http"] + f"book/{chapter}.html")
    at = page.locator(part).first
    read = f"e => getComputedStyle(e).{style[0]}"
    expect(at).to_be_attached()
    assert at.evaluate(read) != style[1]
    page.emulate_media(media="print")
    assert at.evaluate(read) == style[1]


def test_what_is_cut_on_a_phone_shows_it_in_high_contrast(open_page, site):
    page = open_page(site["http"] + "book/05_attention.html", width=360)
    page.emulate_media(forced_colors="active")
    listings = page.locator(".bd-article pre:visible").all()
    dotted = 0
    for listing in listings:
        wide, end = listing.evaluate(
            "e => [e.scrollWidth > e.clientWidth, getComputedStyle(e).borderInlineEndStyle]"
        )
        assert (end == "dotted") == wide, listing.inner_text()[:200]
        dotted += wide
    assert 0 < dotted < len(listings)


def test_folded_code_and_provenance_stand_below_their_figure(open_page, site):
    opened = open_page(site["http"] + "book/10_timing.html")
    cells = opened.locator("div.tag_hide-input:has(.stream):has(.themed):visible").all()
    assert len(cells) > 1
    for cell in cells:
        parts = [".themed", ".stream", "details.above-input"]
        tops = [cell.locator(part).first.bounding_box()["y"] for part in parts]
        assert tops == sorted(tops)
        assert cell.locator("summary").first.bounding_box()["height"] < 30
        behind = cell.locator(".stream .highlight")
        expect(behind).to_have_css("background-color", "rgba(0, 0, 0, 0)")  # a caption, no box


def test_a_link_shows_the_controls_of_a_widget_higher_than_the_window(open_page, site):
    opened = open_page(site["http"] + "book/04_scaling.html", width=360)
    opened.get_by_role("link", name="keys around 3").click()
    slider = opened.get_by_role("slider", name="Mean μk")
    expect(slider).to_have_value("3")
    expect(slider).to_be_in_viewport()


@pytest.mark.parametrize("kind", ["http", "file"])
def test_a_link_in_the_text_moves_the_widget(open_page, site, kind):
    page = open_page(site[kind] + "book/03_softmax.html")
    told = page.locator("[data-ready=temperature] .hydra-summary")
    expect(told).to_contain_text("At τ = 1:")
    page.get_by_role("link", name="melted").click()
    expect(told).to_contain_text("Melted")
    page.go_back()
    expect(told).to_contain_text("At τ = 1:")


def test_the_silence_test_hears(open_page, site):
    page = open_page(site["http"] + "book/intro.html")
    with page.expect_console_message():
        page.evaluate("console.log('hello')")
    elsewhere = "fetch('http://127.0.0.2/elsewhere').catch(() => {})"
    with page.expect_console_message(lambda m: "Content Security Policy" in m.text):
        page.evaluate(elsewhere)  # the page's policy stops it first, and says so
    page = open_page("data:text/html,<p>no policy</p>")
    with page.expect_event("requestfailed"):
        page.evaluate(elsewhere)
    heard = list(open_page.problems)
    open_page.problems.clear()
    assert any("console log: hello" in problem for problem in heard)
    assert any("Content Security Policy" in problem for problem in heard)
    assert "request to http://127.0.0.2/elsewhere" in heard
    assert "failed: http://127.0.0.2/elsewhere" in heard


@pytest.fixture(params=["first module", "last state", "last view", "last picture"])
def halting(request):
    """An address where a page arrives in two pieces, cut inside of what a widget needs."""
    whole = (SITE / "book" / "03_softmax.html").read_bytes()
    at = {
        "first module": whole.index(b'hydra.module+json">') + 500,
        "last state": whole.rindex(b"widget-state+json") + 500,
        "last view": whole.rindex(b"widget-view+json") + 30,
        "last picture": whole.rindex(b' still" inert>') + 200,
    }[request.param]

    class Halting(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            if self.path.endswith("03_softmax.html"):
                self.wfile.write(whole[:at])
                self.wfile.flush()
                time.sleep(1)
                self.wfile.write(whole[at:])
            else:
                self.wfile.write((SITE / self.path.split("/html/")[1].split("?")[0]).read_bytes())

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Halting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/html/book/03_softmax.html"
    server.shutdown()
    server.server_close()


# The server stands first, so that it ends last: what a page still waits for, as its icon, which it
# asks for after all else, would be reset.
def test_widgets_start_though_the_page_halts_on_its_way(halting, open_page):
    page = open_page(halting)
    assert page.locator("[data-ready]").count() == page.locator(VIEWS).count() >= 2
