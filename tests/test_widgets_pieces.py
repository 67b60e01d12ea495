"""The widget of a softmax in pieces: findings and merges against the library, controls, links."""

import itertools
import json
import math
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import causal_mask, scaled_dot_product_attention, sentence
from hydra_lib.parallel import merge, partial_softmax
from hydra_lib.widgets import PiecesWidget
from hydra_lib.widgets._base import SettingError
from tests.conftest import drawn, expect_refused, follow, in_javascript, press

browser = pytest.mark.browser
Q, K, V = (x.double() for x in (sentence.QUERIES, sentence.KEYS, sentence.VALUES))
WHOLE = scaled_dot_product_attention(Q, K, V, causal_mask(7))
START = [False, True, False, False, True, False]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"cuts": [True] * 5}, "cuts must be a row of 6, each False or True, got"),
        ({"cuts": [1] * 6}, "cuts must be a row of 6, each False or True, got"),
        ({"word": 7}, "word must be an integer from 0 to 6, got 7"),
        ({"word": "it"}, "word must be an integer from 0 to 6, got 'it'"),
    ],
)
def test_bad_settings(setting, message):
    with pytest.raises(SettingError, match=f"^{re.escape(message)}"):
        PiecesWidget(**setting)


def slices(cuts):
    places = [j + 1 for j, cut in enumerate(cuts) if cut]
    return [part.tolist() for part in torch.arange(7).tensor_split(places)]


def findings(word, cuts):
    mask = causal_mask(7)[word : word + 1]
    return [
        partial_softmax(Q[word : word + 1], K[own], V[own], mask[:, own]) for own in slices(cuts)
    ]


def test_slices():
    cases = [list(cuts) for cuts in itertools.product((False, True), repeat=6)]
    got = json.loads(in_javascript("pieces.js", "m.slicesOf(c)", cases))
    assert got == [slices(cuts) for cuts in cases]


@pytest.mark.long
def test_findings_and_merges_agree_with_the_library():
    scores = PiecesWidget().scores
    cases = [
        [scores, V.tolist(), word, own, other]
        for word in range(7)
        for own, other in itertools.combinations(
            [[0], [1], [2, 3], [0, 4, 6], [5], [3, 5, 6], list(range(7))], 2
        )
    ]
    expression = """(([s, v, i, a, b]) => (([x, y]) => [x, y, m.merge(x, y), m.merge(y, x)])(
        [m.finding(s, v, i, a), m.finding(s, v, i, b)]))(c)"""
    for (_, _, word, *parts), got in zip(
        cases, json.loads(in_javascript("pieces.js", expression, cases)), strict=True
    ):
        mask = causal_mask(7)[word : word + 1]
        a, b = (partial_softmax(Q[word : word + 1], K[own], V[own], mask[:, own]) for own in parts)
        both = merge(a, b)
        for one, expected in zip(got, (a, b, both, both), strict=True):
            assert float(one["m"]) == pytest.approx(expected.m.item(), abs=1e-6)
            assert one["l"] == pytest.approx(expected.l.item(), rel=1e-6)
            assert one["o"] == pytest.approx(expected.o[0].tolist(), rel=1e-6, abs=1e-12)


# --- the page ---------------------------------------------------------------------------------


def rgb(colour):
    return "rgb(" + " ".join(str(math.floor(255 * x + 0.5)) for x in colour) + ")"


def signed(x):
    return "−∞" if x == -math.inf else f"{x:.1f}".replace("-", "−")


def expect_setting(page, word=4, cuts=START):
    found = findings(word, cuts)
    L = [math.exp(one.m.item()) * one.l.item() for one in found]
    boxes = page.locator(".hydra-ranks > div")
    expect(boxes).to_have_count(len(found))
    for r, (box, one, own) in enumerate(zip(boxes.all(), found, slices(cuts), strict=True)):
        expect(box.locator("strong")).to_have_text(str(r))
        said = [f"m {signed(one.m.item())}", f"l {one.l.item():.2f}"]
        expect(box.locator("span:not(.hydra-swatch)")).to_have_text(said)
        assert box.evaluate("box => box.style.gridColumn") == f"span {len(own)}"
        paint = box.locator(".hydra-swatch").get_attribute("style") or ""
        mixture = (one.o / one.l)[0].tolist()
        assert paint.removeprefix("--paint:") == (rgb(mixture) if one.l > 0 else "")
    parts = page.locator(".hydra-merged span").evaluate_all("""spans => spans.map((span) => {
        const box = span.getBoundingClientRect();
        return [box.width, Number(span.style.getPropertyValue("--part"))];
    })""")
    assert [part for _, part in parts] == pytest.approx([x / sum(L) for x in L], abs=1e-6)
    widths = [width for width, _ in parts]
    shares = [x / sum(L) for x in L]
    for width, share in zip(widths, shares, strict=True):  # a border of one pixel each
        assert width == pytest.approx(share * sum(widths), abs=2 + len(parts))
    taken = [(one.o / one.l)[0] for one in found if one.l > 0]
    outcome = page.locator(".hydra-held").first
    naive = torch.stack(taken).mean(dim=0)
    colours = [rgb(WHOLE[word].tolist()), rgb(naive.tolist())]
    for swatch, colour in zip(outcome.locator(".hydra-swatch").all(), colours, strict=True):
        assert swatch.get_attribute("style") == f"--paint:{colour}"
    vectors = [
        "(" + ", ".join(f"{x:.2f}".lstrip("0") for x in y.tolist()) + ")"
        for y in (WHOLE[word], naive)
    ]
    text = f"output {vectors[0]}; if all mixtures that ranks found counted the same: {vectors[1]}"
    expect(outcome).to_have_text(re.compile(re.escape(text).replace(r"\ ", r"\s+")))
    summary = page.locator(".hydra-summary")
    largest = max(one.m.item() for one in found)
    expect(summary).to_contain_text(f"the largest score of all is {signed(largest)}; ")
    idle = [str(r) for r, one in enumerate(found) if one.l == 0]
    ranks = f"s {', '.join(idle[:-1])} and {idle[-1]}" if len(idle) > 1 else f" {''.join(idle)}"
    if idle:
        expect(summary).to_contain_text(f" Rank{ranks} found nothing: ")
    else:
        expect(summary).not_to_contain_text("found nothing")
    pressed = page.locator(".hydra-dealt button").evaluate_all(
        "all => all.map(button => button.getAttribute('aria-pressed') === 'true')"
    )
    assert pressed == cuts
    keys = page.locator(".hydra-dealt .hydra-share").all_inner_texts()
    scores = (Q[word] @ K.T / math.sqrt(2)).tolist()
    assert keys == [signed(s) if j <= word else "−∞" for j, s in enumerate(scores)]
    faint = page.locator(".hydra-dealt > .hydra-swatch").evaluate_all(
        "all => all.map(one => one.classList.contains('hydra-none'))"
    )
    assert faint == [j > word for j in range(7)]


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_wherever_it_is_cut_the_output_stays(widget_page, width):
    page = widget_page(PiecesWidget(), width=width)
    expect_setting(page)
    expect(page.locator(".hydra-summary")).to_contain_text(
        "For “it” the largest score of all is 4.7; relative to it, the sum is 1.1: "
        "91.2 % from rank 0, 8.84 % from rank 1."
    )
    cuts = list(START)
    for at, name in ((0, "the and cat"), (4, "it and was"), (1, "cat and slept")):
        page.get_by_role("button", name=f"cut between {name}").click()
        drawn(page)
        cuts[at] = not cuts[at]
        expect_setting(page, cuts=cuts)
    page.get_by_role("radio", name="tired").click()
    drawn(page)
    expect_setting(page, 6, cuts)
    page.get_by_role("radio", name="the", exact=True).click()
    drawn(page)
    expect_setting(page, 0, cuts)
    # A button lies over the gap between its two words, as high as they and their colours.
    colours = page.locator(".hydra-dealt > .hydra-swatch")
    for j, button in enumerate(page.locator(".hydra-dealt button").all()):
        words = page.locator(".hydra-dealt > span:not([class])")
        left, right = (words.nth(i).bounding_box() for i in (j, j + 1))
        box = button.bounding_box()
        centres = [b["x"] + b["width"] / 2 for b in (left, box, right)]
        assert centres[1] == pytest.approx((centres[0] + centres[2]) / 2, abs=1)
        above = colours.nth(j).bounding_box()["y"] - box["y"]
        below = box["y"] + box["height"] - left["y"] - left["height"]
        assert 0 <= above < 8
        assert 0 <= below < 8
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@browser
def test_by_keys(widget_page):
    page = widget_page(PiecesWidget())
    page.get_by_role("button", name="cut between because and it").focus()
    press(page, "Enter")
    cuts = [False, True, False, True, True, False]
    expect_setting(page, cuts=cuts)
    press(page, "Space")
    expect_setting(page)
    page.get_by_role("radio", name="it", exact=True).focus()
    press(page, "ArrowRight")
    expect_setting(page, 5)
    page.wait_for_url("**#pieces.word=5")
    page.reload()
    page.wait_for_selector("[data-ready=pieces]")
    expect_setting(page, 5)


@browser
def test_a_link_that_makes_no_sense_is_told_so(widget_page):
    page = widget_page(PiecesWidget())
    for asked in ["word=7", "word=1.5", "cuts=[true]", "cuts=[0,0,0,0,0,0]"]:
        follow(page, f"#pieces.{asked}")
        expect_refused(page, "pieces", asked)
        expect_setting(page)


@browser
def test_links(widget_page):
    every = "[true,true,true,true,true,true]"
    page = widget_page(PiecesWidget(), fragment=f"#pieces.word=6&pieces.cuts={every}")
    expect_setting(page, 6, [True] * 6)
    first = "[true,false,false,false,false,false]"
    follow(page, f"#pieces.word=4&pieces.cuts={first}")
    expect(page.locator(".hydra-summary")).to_contain_text(
        "less than 0.1 % from rank 0, more than 99.9 % from rank 1"
    )
    follow(page, "#pieces.word=2")
    expect_setting(page, 2)
