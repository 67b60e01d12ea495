"""The site's own search: which sections it finds, and what it shows of them."""

import json
import re
from pathlib import Path

import pytest
from sections import plain

from tests.conftest import opening

SITE = Path(__file__).parents[1] / "_build" / "html"


@pytest.mark.parametrize(
    ("tex", "typed"),
    [
        (r"\frac{q \cdot k}{\sqrt{d_k}} \le \tau", "(q ⋅ k)/√d_k ≤ τ"),
        (r"W_Q^{(i)} \in d_{\text{model}}", "W_Q^(i) ∈ d_model"),
        (r"\begin{aligned} a &= \tfrac12 \\ b &= 3\, c \end{aligned}", "a = 1/2 b = 3 c"),
        (r"\sqrt{1 - \rho^2} = e^{s_{ij}/\tau}", "√(1 - ρ^2) = e^(s_ij/τ)"),
        (r"\sqrt e + \sqrt{\frac{1}{1 + x}}", "√e + √(1/(1 + x))"),
        (r"S = -\sum_i p_i \log p_i", "S = -∑_i p_i log p_i"),
        (r"\bigl(\lVert q \rVert^2 + \mathbb{E}[x]\bigr)", "(‖ q ‖^2 + E[x])"),
    ],
)
def test_formulas_are_typed(tex, typed):
    assert plain(tex) == typed


@pytest.fixture(scope="module")
def sections():
    text = (SITE / "_static" / "sections.js").read_text("utf-8")
    return json.loads(text.removeprefix("const SECTIONS = ").removesuffix(";\n"))


@pytest.fixture(scope="module")
def search(chromium, site):
    """What is found first for a question: addresses in the site."""
    with opening(chromium) as open_page:
        page = open_page(site["http"] + "search.html?q=softmax")
        page.wait_for_selector("#search-results p.search-summary:has-text('found')")
        yield asking(page)


def asking(page):
    def first(asked, number=3):
        return page.evaluate(
            """([asked, number]) => {
              Search.output.replaceChildren();
              Search.query(asked);
              return [...Search.output.querySelectorAll("li > a")].slice(0, number)
                .map((a) => a.getAttribute("href"));
            }""",
            [asked, number],
        )

    first.page = page
    return first


@pytest.mark.slow
def test_a_section_is_its_prose(sections):
    by_title = {title: text for page, _, title, _, text, _ in sections if "library" not in page}
    exercises = by_title["2.7. Exercises"]
    assert "strictly before" in exercises.lower()
    assert "def " not in exercises  # code
    assert "without its diagonal" not in exercises  # a hint
    assert "has nothing before it" not in exercises  # a solution
    assert "√d_k" in by_title["4. Scaling: the √dₖ theorem"]
    assert not any(re.search(r"[\\{}]|\b(sqrt|[td]?frac)\b", text) for text in by_title.values())


@pytest.mark.slow
def test_every_section_is_where_it_is_said_to_be(sections):
    pages = {page: (SITE / f"{page}.html").read_text("utf-8") for page, *_ in sections}
    for page, place, title, *_ in sections:
        assert not place or f'id="{place}"' in pages[page], title


@pytest.mark.browser
def test_words_of_the_index_lead_to_their_sections(search, sections):
    missed = [
        (word, title)
        for page, place, title, index, *_ in sections
        for word in filter(None, index.split(", "))
        if f"{page}.html#{place}" not in search(word)
    ]
    assert not missed


@pytest.mark.browser
@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("why divide by sqrt(d_k)", "04_scaling.html#the-variance-of-a-score"),
        ("how many heads should I use", "07_learned_heads.html#one-wide-head-or-many"),
        ("softmax of a fully masked row", "02_masking.html#the-row-with-nothing-to-see"),
        ("KV cache under GQA", "06_heads.html#fewer-kv-heads-than-query-heads"),
        ("attention vs RNN", "05_attention.html#against-a-recurrent-network"),
    ],
)
def test_questions_find_their_section(search, asked, first):
    assert search(asked, 1) == [f"book/{first}"]


@pytest.mark.browser
def test_chapters_stand_before_the_library_and_excerpts_hold_the_words(search):
    library = ["/library/" in address for address in search("masking", 60)]
    assert library == sorted(library)
    assert {True, False} == set(library)
    first = search.page.locator("#search-results li").first
    assert "mask" in first.locator("p.context .highlighted").first.text_content().lower()
    assert "Contents" not in first.text_content()
    assert search("apply_mask", 9)[-1].endswith("#hydra_lib.masking.apply_mask")


@pytest.mark.browser
def test_a_word_that_is_nowhere_is_named(search):
    assert search("zebras") == []
    status = search.page.locator("p.search-summary")
    assert status.text_content() == "Nothing was found. No section has “zebras”."
    assert search("strassen zebras")
    assert status.text_content().endswith(" places found. No section has “zebras”.")


@pytest.mark.browser
def test_an_excerpt_shows_where_the_words_stand_together(search):
    search("speculative decoding", 1)
    excerpt = search.page.locator("#search-results li p.context").first.text_content()
    assert "speculative decoding" in excerpt
    assert len(excerpt) < 260
