"""Every page of the built site: silent, self-contained, and no wider than a phone."""

import pytest

from tests.conftest import SITE

PAGES = sorted(p.relative_to(SITE).as_posix() for p in SITE.glob("book/*.html")) or ["index.html"]
pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["http", "file"])
@pytest.mark.parametrize("page", ["index.html", "search.html", *PAGES])
def test_page_is_silent_and_asks_nobody(open_page, site, page, kind, scheme):
    opened = open_page(site[kind] + page, scheme=scheme)
    assert opened.evaluate("document.documentElement.dataset.theme") == scheme
    views = opened.locator('script[type="application/vnd.jupyter.widget-view+json"]').count()
    opened.wait_for_function(f"document.querySelectorAll('[data-ready]').length === {views}")
    if opened.locator(".math").count():
        opened.wait_for_function("document.querySelectorAll('mjx-container').length > 0")
        assert opened.locator("mjx-merror").count() == 0


@pytest.mark.parametrize("page", PAGES)
def test_page_fits_a_phone(open_page, site, page):
    opened = open_page(site["http"] + page, width=360)
    opened.wait_for_timeout(300)  # mathematics is set after loading
    assert opened.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("page", PAGES)
def test_pictures_say_what_they_show(open_page, site, page):
    opened = open_page(site["http"] + page)
    pictures = opened.locator(".bd-article img, .bd-article .themed svg")
    for picture in pictures.all():
        text = picture.get_attribute("aria-label") or picture.get_attribute("alt")
        assert text, picture.evaluate("e => e.outerHTML.slice(0, 200)")


def test_the_silence_test_hears(open_page, site):
    page = open_page(site["http"] + "book/intro.html")
    page.evaluate("console.log('hello')")
    page.evaluate("fetch('http://127.0.0.2/elsewhere').catch(() => {})")
    page.wait_for_timeout(200)
    heard = list(open_page.problems)
    open_page.problems.clear()
    assert any("console log: hello" in problem for problem in heard)
    assert any("request to http://127.0.0.2/elsewhere" in problem for problem in heard)
