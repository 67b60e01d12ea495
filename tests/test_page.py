"""What a page weighs, holds still, may run, says to a screen reader and to a search engine."""

import gzip
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import axe_playwright_python
import formulas
import matplotlib.image
import pages
import pydata_sphinx_theme
import pytest
import snapshots
import styles
from playwright.sync_api import expect

from hydra_lib import widgets
from hydra_lib.widgets._bundle import SEAM
from tests.conftest import SITE, UNREADABLE, VIEWS, drawn, opening

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
PAGES = sorted(p.relative_to(SITE).as_posix() for p in SITE.glob("book/**/*.html"))
CHAPTERS = [page for page in PAGES if re.match(r"book/\d\d_", page)]
EVERY = [*PAGES, "search.html", "genindex.html"]
SHIFT = """() => new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) sum += entry.value;
    }).observe({type: "layout-shift", buffered: true});
    setTimeout(() => done(sum), 100);
})"""


VIEWPORTS = [(page, width) for page in CHAPTERS for width in (1280, 360)]


@pytest.fixture(scope="module", params=VIEWPORTS, ids=str)
def chapter(request, chromium, site):
    """A chapter, opened once for the tests that leave it as it was."""
    page, width = request.param
    with opening(chromium) as open_page:
        yield open_page(site["http"] + page, width=width)


@pytest.fixture
def narrow(chapter):
    """For what no width changes, or what only a phone can break."""
    if chapter.viewport_size["width"] > 360:
        pytest.skip("asked on a phone")


def test_a_file_is_sent_once():
    sent = {}
    assert pages.once(SEAM.join(["a", "b"]), sent) == ["a", "b"]
    assert pages.once(SEAM.join(["b", "c", "a"]), sent) == [1, "c", 0]


@pytest.mark.slow
@pytest.mark.parametrize("page", CHAPTERS)
def test_widgets_share_files_and_the_first_module_stands_in_the_head(page):
    text = (SITE / page).read_text("utf-8")
    found = [(match.start(), *match.groups()) for match in pages.SCRIPT.finditer(text)]
    (at,) = (start for start, kind, _ in found if pages.MODULE in kind)
    assert at < text.index("</head>")
    files, sources = [], []
    for _, kind, body in found:
        if pages.MODULE in kind:
            parts = [json.loads(body)]
        elif pages.STATE in kind:
            parts = [model["state"]["_esm"] for model in json.loads(body)["state"].values()]
        else:
            continue
        for source in parts:
            files += [part for part in source if isinstance(part, str)]
            sources.append(SEAM.join(p if isinstance(p, str) else files[p] for p in source))
    assert len(files) == len(set(files))
    assert sources[0] == sources[1]
    bundles = {getattr(widgets, name)._esm for name in widgets.__all__}
    assert set(map(str, sources)) <= set(map(str, bundles))


@pytest.mark.browser
def test_exercises_theorems_and_solutions_are_told_apart_by_name(chapter):
    titles = chapter.locator(":is(.exercise, .proof) > .admonition-title")
    assert titles.count() >= 4
    assert titles.evaluate_all("(all) => all.every((one) => one.role === 'heading')")
    buttons = chapter.locator(".solution .toggle-button")
    names = buttons.evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    assert len(set(names)) == len(names) >= 4
    assert all(re.fullmatch(r"Solution to Exercise \d+\.\d+", name) for name in names)


@pytest.mark.browser
def test_a_chapter_is_light(chapter):
    """In 270 kB as a server of static pages packs them, pictures and icons included."""
    names = chapter.evaluate("performance.getEntriesByType('resource').map((e) => e.name)")
    files = {SITE / chapter.url.split("/html/")[1]} | {
        SITE / name.split("/html/")[1].split("?")[0] for name in names if name.startswith("http")
    }
    assert len(files) <= 8, files
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) <= 270_000


@pytest.mark.browser
def test_a_chapter_holds_still(chapter):
    assert chapter.evaluate(SHIFT) <= 0.02


CUT = """() => [...document.querySelectorAll(".hydra :is(td, th, button, figcaption)")]
    .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 2)
    .map((one) => `${one.closest("[data-ready]").dataset.ready}: ${one.textContent}`)"""


@pytest.mark.browser
def test_what_a_widget_says_fits_where_it_stands(chapter):
    assert chapter.evaluate(CUT) == []


HEIGHTS = "all => all.map((one) => Math.round(one.getBoundingClientRect().height))"


@pytest.mark.browser
def test_without_scripts_a_still_stands_for_each_widget_and_is_as_high(chromium, chapter):
    """Below the first screen too, where no shift is counted but a link may lead."""
    context = chromium.new_context(viewport=chapter.viewport_size, java_script_enabled=False)
    opened = context.new_page()
    opened.goto(chapter.url)
    stills = opened.locator(".still").evaluate_all(HEIGHTS)
    assert len(stills) == opened.locator(VIEWS).count()
    assert all(height > 150 for height in stills)
    assert stills == chapter.locator("[data-ready]").evaluate_all(HEIGHTS)
    expect(opened.locator("nav.page-toc")).to_be_hidden()  # no script folds it where it lies on one
    for told in opened.locator(".hydra-of-browser").all():
        expect(told).to_be_hidden()  # of the browser that made the picture
    context.close()


WIDER = """() => [...document.querySelectorAll("span.math")]
    .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
    .map((one) => one.querySelector(".tex").textContent)"""


@pytest.mark.browser
def test_a_formula_in_a_line_is_no_wider_than_the_line(chapter):
    """The theme cuts what is: split it where a line may break, between two formulas."""
    chapter.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert chapter.evaluate(WIDER) == []


SMALL = """() => [...document.querySelectorAll(".themed")]
    .filter((one) => one.checkVisibility() && one.scrollWidth <= one.clientWidth)
    .map((one) => [one.firstElementChild.ariaLabel, ...[...one.querySelectorAll("svg text")]
        .map((text) => [parseFloat(getComputedStyle(text).fontSize), text.getScreenCTM()])
        .map(([size, {a, b}]) => size * Math.hypot(a, b)) // some are turned
        .filter((size) => size < 8)])
    .filter(([_, ...sizes]) => sizes.length > 0)"""


@pytest.mark.browser
def test_letters_of_a_figure_can_be_read_on_a_phone(chapter, narrow):
    """In what scrolls they may be smaller: there all of it is seen at once by whoever has room."""
    chapter.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert chapter.evaluate(SMALL) == []


PARTED = """() => {
    for (const one of document.querySelectorAll("details")) one.open = true;
    const article = document.querySelector("article"), found = new Set();
    const sign = document.createRange();
    for (let width = 290; width < 340; width += 7) {
        article.style.width = `${width}px`;
        for (const one of document.querySelectorAll("span.math")) {
            const after = one.nextSibling;
            if (!/^[,.;:!?)’-]/.test(after?.data)) continue;
            sign.setStart(after, 0), sign.setEnd(after, 1);
            if (sign.getBoundingClientRect().left < one.getBoundingClientRect().right - 5)
                found.add(one.querySelector(".tex").textContent + after.data);
        }
    }
    article.style.width = "";
    return [...found];
}"""


@pytest.mark.browser
def test_no_line_begins_with_the_comma_after_a_formula(chapter, narrow):
    assert chapter.evaluate(PARTED) == []


SHOWN = "all => all.filter((one) => one.checkVisibility({visibilityProperty: true})).length"


@pytest.mark.browser
def test_a_screen_reader_meets_each_formula_that_is_shown(chapter, narrow):
    """A rule of style can take what is unseen from the tree it reads, and leave the elements."""
    shown = chapter.locator("mjx-container").evaluate_all(SHOWN)
    session = chapter.context.new_cdp_session(chapter)
    root = session.send("DOM.getDocument", {"depth": 0})["root"]["backendNodeId"]
    asked = {"backendNodeId": root, "role": "MathMLMath"}
    read = session.send("Accessibility.queryAXTree", asked)["nodes"]
    assert len([node for node in read if not node["ignored"]]) == shown > 0


MOVED = """async () => {
    const unreadable = UNREADABLE;
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const grown = [], hidden = new Set();
    const readable = (widget) =>
        unreadable(widget).forEach((text) => hidden.add(`${widget.dataset.ready}: ${text}`));
    for (const widget of document.querySelectorAll("[data-ready]")) {
        const heights = [];
        const height = () => widget.getBoundingClientRect().height;
        const note = async () => { await frame(); heights.push(height()); readable(widget); };
        for (const range of widget.querySelectorAll("input[type=range]:enabled")) {
            const [low, high, was] = [range.min, range.max, range.value].map(Number);
            for (let i = 0; i <= 13; i++) {
                range.value = i === 13 ? was : low + (high - low) * i / 12;
                range.dispatchEvent(new Event("input", {bubbles: true}));
                await note();
            }
        }
        for (const box of widget.querySelectorAll("input[type=checkbox]:enabled"))
            for (const _ of [1, 2]) { box.click(); await note(); }
        for (const one of widget.querySelectorAll("input[type=radio]")) {
            one.click();
            await note();
        }
        for (const row of widget.querySelectorAll(".hydra-results tbody button")) {
            row.click();
            await note();
        }
        const more = Math.max(...heights) - Math.min(...heights);
        if (more > 0) grown.push(`${widget.dataset.ready} by ${more}`);
        for (const choice of widget.querySelectorAll("select"))
            for (const option of [...choice.options]) {
                choice.value = option.value;
                choice.dispatchEvent(new Event("change", {bubbles: true}));
                await frame();
                readable(widget);
            }
    }
    return [grown, [...hidden]];
}""".replace("UNREADABLE", UNREADABLE)


@pytest.mark.browser
def test_what_is_moved_by_hand_moves_nothing_below_and_covers_no_text(chapter):
    """A choice of other data may have another table; a slider, a tick and a rule may not. In a
    picture no text lies on another or leaves it.

    The last of those that share a page: it moves it.
    """
    assert chapter.evaluate(MOVED) == [[], []]


@pytest.mark.browser
def test_whatever_is_said_of_a_head_the_page_below_stays(open_page, site):
    """Of heads of the last layer, switched off, at each symbol of a document."""
    page = open_page(site["http"] + "book/07_learned_heads.html")
    heights = """async () => {
        const told = document.querySelector(".hydra-told"), heights = new Set();
        const frame = () => new Promise((done) => requestAnimationFrame(() => done()));
        const all = (kind) => [...document.querySelectorAll(kind)];
        for (const head of all(".hydra-head").slice(-4, -2)) {
            head.click();
            await frame();
            const off = document.querySelector("[data-ready] input[type=checkbox]");
            if (!off.checked) off.click();
            for (const symbol of all(".hydra-symbols button")) {
                symbol.click();
                await frame();
                heights.add(told.offsetHeight);
            }
        }
        return [...heights];
    }"""
    for width in (1280, 1000, 360):
        page.set_viewport_size({"width": width, "height": 900})
        page.get_by_role("button", name="another document").click()
        drawn(page)
        assert len(page.evaluate(heights)) == 1, width


@pytest.mark.browser
def test_outputs_lie_on_the_page_in_the_dark(open_page, site):
    """The theme lays a light panel behind outputs of HTML, as if all were drawn for light pages."""
    opened = open_page(site["http"] + "book/10_timing.html", scheme="dark")
    outputs = opened.locator("div.cell_output .text_html")
    assert outputs.locator("> .themed").count() > 1
    assert outputs.locator("> p:not(.verdict)").count() > 0
    behind = outputs.evaluate_all("all => all.map((e) => getComputedStyle(e).backgroundColor)")
    assert set(behind) == {"rgba(0, 0, 0, 0)"}


@pytest.mark.slow
@pytest.mark.parametrize("page", EVERY)
def test_a_page_runs_nothing_that_was_not_built(page):
    text = (SITE / page).read_text("utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    scripts = next(part for part in policy.split(";") if part.strip().startswith("script-src"))
    assert "unsafe" not in scripts
    assert "http" not in policy
    assert not re.search(r'<\w+[^>]*\son\w+="', text)


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["http", "file"])
def test_the_policy_stops_a_foreign_script(open_page, site, kind):
    page = open_page(site[kind] + "book/03_softmax.html")
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
    }""")
    page.wait_for_timeout(200)
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in problem for problem in open_page.problems)
    open_page.problems.clear()


OPENED = """async () => {
    for (const one of document.querySelectorAll("details")) one.open = true;
    const solutions = document.querySelectorAll(".toggle-hidden");
    for (const one of solutions) one.classList.remove("toggle-hidden");
    document.body.getBoundingClientRect(); // what fades in has begun to: by half it is too pale
    await Promise.all(document.getAnimations().map((one) => one.finished));
}"""


@pytest.mark.axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("page", EVERY)
def test_axe_finds_nothing_serious(chromium, site, page, width, scheme):
    context = chromium.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        reduced_motion="reduce",
        bypass_csp=True,  # for axe itself
    )
    opened = context.new_page()
    opened.goto(site["http"] + page)
    opened.wait_for_load_state("networkidle")
    opened.evaluate(OPENED)
    opened.evaluate(AXE)
    found = opened.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    context.close()
    serious = [one for one in found if one["impact"] in {"serious", "critical"}]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in serious] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_found_and_cited(page):
    text = (SITE / page).read_text("utf-8")
    title, suffix = re.search("<title>(.*?) &#8212; (.*?)</title>", text).groups()
    assert title != suffix
    [tag] = re.findall(r'<meta [^>]*name="description"[^>]*>', text)  # one, of the page or ours
    assert re.search('content="[^"]{40,160}"', tag)
    assert re.search(rf'<link rel="canonical" href="https://[^"]*/{page}"', text)
    assert re.search('<meta property="og:title" content="[^"]+"', text)
    large = 'property="twitter:card" content="summary_large_image"'
    assert (large in text) == ('property="og:image"' in text)


@pytest.mark.slow
def test_a_link_to_the_book_shows_its_first_page():
    root, first = ((SITE / page).read_text("utf-8") for page in ("index.html", "book/intro.html"))
    tags = re.findall(r'<meta (?:name="description"|property="og:\w+").*', first)
    assert len(tags) > 5
    assert all(tag in root for tag in tags)
    assert 'og:title" content="Hydra: an interactive book about multi-head attention"' in root


@pytest.mark.slow
def test_without_a_script_what_is_typed_in_a_widget_can_be_read():
    text = (SITE / "book" / "11_kernel.html").read_text("utf-8")
    assert re.search(r"<textarea[^>]*>for \(var", text)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("page", CHAPTERS)
def test_a_link_to_a_chapter_shows_its_first_widget(page):
    text = (SITE / page).read_text("utf-8")
    base = re.search('<link rel="canonical" href="(https://.*)book/', text)[1]
    card = re.search('<meta property="og:image" content="([^"]+)"', text)[1]
    assert card.startswith(base)
    image = matplotlib.image.imread(SITE / card.removeprefix(base))
    assert image.shape[:2] == (441, 840)
    assert image.std() > 0.02  # not an empty place


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_front_page_shows_every_chapter_in_the_theme_that_is_shown(open_page, site, scheme):
    page = open_page(site["http"] + "book/intro.html", scheme=scheme)
    images = page.locator(f".sd-card img.only-{scheme}")
    pages = [*CHAPTERS, "all_of_it.html"]
    expect(images).to_have_count(len(pages))
    for image, chapter in zip(images.all(), pages, strict=True):
        image.scroll_into_view_if_needed()
        expect(image).to_have_js_property("naturalWidth", 420)
        assert Path(chapter).stem in image.get_attribute("src")
    other = "dark" if scheme == "light" else "light"
    assert not any(image.is_visible() for image in page.locator(f".sd-card img.only-{other}").all())


@pytest.mark.slow
def test_the_site_map_names_every_page():
    root = ElementTree.parse(SITE / "sitemap.xml").getroot()
    named = {url[0].text.split("/", 4)[4] for url in root}
    assert named == set(PAGES)
    assert "sitemap.xml" in (SITE / "robots.txt").read_text("utf-8")
    assert "begins here" in (SITE / "404.html").read_text("utf-8")
    first = (SITE / "index.html").read_text("utf-8")
    assert 'url=book/intro.html"' in first
    assert 'rel="icon" href="_static/logo.svg"' in first  # else a browser asks for favicon.ico


def test_a_formula_is_drawn_read_and_copied():
    shown, error = formulas.typeset(r"\frac{a}{b} < 1", True)
    assert error is None
    assert "<mfrac><mi>a</mi><mi>b</mi></mfrac>" in shown  # read
    assert '<span class="tex" aria-hidden="true">$$\\frac{a}{b} &lt; 1$$</span>' in shown  # copied
    used = set(re.findall('href="#([^"]+)"', shown))
    assert used
    assert used == set(re.findall(' id="([^"]+)"', formulas.typeset.page_glyphs(shown)))
    assert "tabindex" not in shown
    assert 'tabindex="0"' in formulas.typeset("x+" * 40 + "x", True)[0]  # wider than a phone
    formulas.typeset.close()


@pytest.mark.parametrize(
    ("tex", "error"),
    [
        (r"\frac{a}", "Missing argument for \\frac"),
        (r"\unheard", "Undefined control sequence \\unheard"),
    ],
)
def test_what_cannot_be_typeset_says_why(tex, error):
    assert formulas.typeset(tex, False) == (tex, error)
    formulas.typeset.close()


def test_a_page_is_drawn_again_when_it_changed_or_another_browser_draws(tmp_path, monkeypatch):
    page, same, other = (tmp_path / name for name in ("page.html", "same.html", "other.html"))
    for path, text in ((page, "<p>a"), (same, "<p>a"), (other, "<p>b")):
        path.write_text(text, "utf-8")
    monkeypatch.setattr(snapshots.chromium, "find", lambda: "one")
    before = snapshots.digest(page)
    assert before == snapshots.digest(same) != snapshots.digest(other)
    monkeypatch.setattr(snapshots.chromium, "find", lambda: "two")
    assert snapshots.digest(page) != before


def test_only_rules_that_a_page_uses_are_kept():
    css = ".a,.b:not(.c){x:1} .d{x:2} @media print{.d{x:3} #e .a{x:4}} p>.a\\:b{x:5} @media x{.d{}}"
    css += "@container y (width < 9em){.d{x:7}}"
    used = {"a", "b", "e", "a:b"}
    assert styles.purge(css, used) == (".a,.b:not(.c){x:1}@media print{#e .a{x:4}}p>.a\\:b{x:5}")
    assert styles.purge(":is(.a, .b:not(.c)) p, .d{x:6}", used) == ":is(.a, .b:not(.c)) p{x:6}"
    assert styles.words(['<p class="a b" id="c">'], ["add('d-e')"]) >= {"a", "b", "c", "d-e"}


def test_the_policy_names_each_script_by_its_digest():
    text = "<script>1</script><script src='x'></script><script type='a/json'>2</script>"
    digest = "'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='"  # of the text 1
    assert f"script-src 'self' blob: {digest};" in pages.policy(text)


THEME = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static/scripts"
LEFT_OUT = [(pages.FOCUS, "pydata-sphinx-theme.js"), (pages.DELEGATED, "bootstrap.js")]


@pytest.mark.parametrize(("pattern", "script"), LEFT_OUT)
def test_what_is_left_out_of_the_theme_is_still_there(pattern, script):
    assert len(pattern.findall((THEME / script).read_text("utf-8"))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("pattern", [pattern for pattern, _ in LEFT_OUT])
def test_what_is_left_out_of_the_theme_is_in_no_page(pattern):
    assert not pattern.search((SITE / "_static" / "book.js").read_text("utf-8"))


@pytest.mark.browser
def test_a_press_searches_the_page_for_nothing_and_opens_what_it_should(open_page, site):
    page = open_page(site["http"] + "book/03_softmax.html")
    # In the page, since what Playwright looks for it searches too.
    searched = page.evaluate("""() => {
        const found = [];
        document.querySelectorAll = (all) => (found.push(all), []);
        document.querySelector("[data-ready] .hydra-summary").click();
        delete document.querySelectorAll;
        return found;
    }""")
    assert searched == []
    menu = page.locator(".dropdown-menu").first
    expect(menu).to_be_hidden()
    page.locator("[data-bs-toggle=dropdown]").first.click()
    expect(menu).to_be_visible()
    page.locator("[data-ready] .hydra-summary").first.click()
    expect(menu).to_be_hidden()


@pytest.mark.browser
def test_what_scrolls_takes_focus_and_what_is_folded_once_it_is_opened(open_page, site):
    page = open_page(site["http"] + "book/10_timing.html", width=360)
    boxes = page.locator(".bd-article pre")
    folded = "e.closest('details:not([open])')"
    wide = "(e.scrollWidth > e.clientWidth)"
    assert boxes.evaluate_all(f"all => all.some((e) => {folded})")
    reached = f"all => all.every((e) => (e.tabIndex === 0) === (!{folded} && {wide}))"
    assert boxes.evaluate_all(reached)
    assert boxes.evaluate_all(f"all => all.some((e) => !{folded} && {wide})")
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 800})
        drawn(page)
        moving = "document.getAnimations().map((one) => one.finished)"  # the sidebars
        page.evaluate(f"() => Promise.allSettled({moving}).then(() => null)")
        drawn(page)
        assert boxes.evaluate_all(reached)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    drawn(page)
    assert not boxes.evaluate_all(f"all => all.some((e) => {folded})")
    assert boxes.evaluate_all(reached)
