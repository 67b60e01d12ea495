"""The widget of the recursion: counts, areas and costs against the library, every control."""

import json
import random
import re

import numpy as np
import pytest
import traitlets
from playwright.sync_api import expect

from hydra_lib.matmul.counting import Tally, counted, triple_loop
from hydra_lib.matmul.schemes import LADERMAN, STRASSEN, naive
from hydra_lib.widgets import RecursionWidget, StrassenWidget
from tests.conftest import drag, drawn, expect_refused, follow, in_javascript, middle, pull, swipe
from tests.test_widgets_strassen import ALGORITHMS, AUTHORS, RAISED, invent, sent

browser = pytest.mark.browser


def test_both_widgets_have_the_same_factors():
    assert RecursionWidget().algorithms == StrassenWidget().algorithms
    with pytest.raises(traitlets.TraitError, match="read-only"):
        RecursionWidget().algorithms = {}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            {"algorithm": "laderman"},
            "algorithm must be naive or strassen or winograd",
        ),
        ({"levels": -1}, "levels must be an integer from 0 to 12, got -1"),
        ({"levels": 13}, "levels must be an integer from 0 to 12, got 13"),
        ({"addition": 4.5}, "addition must be a number from 0 to 4, got 4.5"),
        ({"addition": -1}, "addition must be a number from 0 to 4, got -1"),
    ],
)
def test_bad_settings(setting, message):
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        RecursionWidget(**setting)


# --- counts ---------------------------------------------------------------------------------------


def test_counts_are_the_library_s():
    cases = [(a, L) for a in ALGORITHMS.values() for L in range(13)]
    cases += [(a, L) for a in (LADERMAN, naive(2, 3, 5), naive(5, 1, 3)) for L in range(9)]
    asked = [[sent(a), L] for a, L in cases]
    got = json.loads(in_javascript("bilinear.js", "m.operationCounts(...c)", asked))
    for (algorithm, levels), counts in zip(cases, got, strict=True):
        assert tuple(counts) == algorithm.counts(levels)
        assert sum(counts) < 2**53
    others = [*ALGORITHMS.values(), LADERMAN, invent(random.Random(12))]
    asked = [[sent(a)] for a in others]
    written = json.loads(in_javascript("bilinear.js", "m.writtenAdditions(...c)", asked))
    assert [tuple(w) for w in written] == [a.additions(share=False) for a in others]
    assert len({sum(map(abs, np.ravel(f))) for f in (others[-1].U, others[-1].V)}) == 2


def test_triple_loop_counts():
    levels = list(range(13))
    got = json.loads(in_javascript("bilinear.js", "m.tripleLoopCounts(c)", levels))
    for L, result in zip(levels, got, strict=True):
        n = 2**L
        assert result == {"n": n, "counts": [n**3, n**3 - n**2]}
        assert tuple(result["counts"]) == ALGORITHMS["naive"].counts(L)
    for L, result in zip(range(4), got, strict=False):
        a, tally = np.ones((2**L, 2**L), dtype=int), Tally()
        triple_loop(counted(a, tally).tolist(), counted(a, tally).tolist())
        assert result["counts"] == [tally.multiplications, tally.additions]


def test_the_area_that_is_kept_is_the_share_of_the_work():
    cases = [(rank, levels) for rank in (7, 8) for levels in range(5)]
    got = json.loads(in_javascript("bilinear.js", "m.kept(...c)", cases))
    side = 64  # every edge is a multiple of this part of the square
    for (rank, levels), parts in zip(cases, got, strict=True):
        assert len(parts) == rank**levels
        board = np.zeros((side, side), dtype=int)
        for part in parts:
            x, y, width, height = (round(side * edge) for edge in part)
            assert [x / side, y / side, width / side, height / side] == part
            board[y : y + height, x : x + width] += 1
        assert board.max() == 1  # none lies on another
        assert board.mean() == (rank / 8) ** levels
    assert got[cases.index((7, 1))][0] == [0, 0, 0.5, 0.25]
    assert len({(w, h) for _, _, w, h in got[cases.index((7, 2))]} - {(1 / 8, 1 / 8)}) == 0


def test_cost_ratios():
    cases = [(a, L, c) for a in ALGORITHMS.values() for L in range(13) for c in (0, 0.25, 1, 4)]
    asked = [[sent(a), L, c] for a, L, c in cases]
    got = json.loads(in_javascript("bilinear.js", "m.costRatio(...c)", asked))
    for (algorithm, L, c), ratio in zip(cases, got, strict=True):
        products, sums = algorithm.counts(L)
        n = 2**L
        assert ratio == pytest.approx((products + c * sums) / (n**3 + c * (n**3 - n**2)), rel=1e-12)
    # By hand, Strassen once: 7 + 18 additions over 8 + 4.
    by_hand = json.loads(
        in_javascript("bilinear.js", "m.costRatio(...c)", [[sent(STRASSEN), 1, 1]])
    )
    assert by_hand == [25 / 12]


# --- controls -------------------------------------------------------------------------------------


def expect_depth(page, name, levels=1, addition=1):
    """The page shows what the library says of this depth."""
    drawn(page)
    algorithm = ALGORITHMS[name]
    rank = algorithm.rank
    expect(page.get_by_role("radio", name=AUTHORS[name])).to_be_checked()
    n = 2**levels
    expect(page.get_by_role("slider", name="Depth L")).to_have_attribute(
        "aria-valuetext", str(levels)
    )
    expect(page.get_by_role("slider", name="An addition costs")).to_have_attribute(
        "aria-valuetext", f"{addition:g} mult."
    )
    power = "".join(RAISED[int(digit)] for digit in str(levels))
    tally = page.locator(".hydra-tally")
    expect(tally.locator("caption")).to_have_text(
        f"Operations on numbers, n = 2{power} = {n:,}; an addition costs {addition:g}"
    )
    expect(tally.locator("thead th")).to_have_text([AUTHORS[name], "triple loop"])
    own, loop = algorithm.counts(levels), (n**3, n**3 - n**2)
    costs = [products + addition * additions for products, additions in (own, loop)]
    rows = [*zip(own, loop, strict=True), costs]
    expect(tally.locator("tbody td")).to_have_text(
        [f"{x:,.2f}".rstrip("0").rstrip(".") for row in rows for x in row]
    )
    a, b, c = algorithm.additions()
    written = sum(algorithm.additions(share=False))
    expect(page.locator(".hydra-note")).to_have_text(
        "The matrices are halved L times, down to single numbers"
        + (" (drawn: 4 times)" if levels > 4 else "")
        + f". A level takes {rank} products of "
        f"blocks and {a + b + c} additions, {a} in A, {b} in B and {c} in C"
        + (
            f"; as written {written}, but a sum that comes up again is taken once."
            if written != a + b + c
            else "."
        )
    )
    saving = page.locator(".hydra-saving")
    expect(saving).to_contain_text(
        f"Multiplications: {own[0]:,} of the triple loop's {n**3:,}, a share of (7/8){power} ="
        if rank == 7
        else f"Multiplications: {own[0]:,} of the triple loop's {n**3:,}, a share of (8/8){power} ="
    )
    share, ratio = (
        float(re.search(rf"{before}(\d+(?:\.\d+)?)", saving.text_content())[1])
        for before in (" = ", "Cost: ")
    )
    assert share == pytest.approx((rank / 8) ** levels, rel=5e-4)
    assert ratio == pytest.approx(costs[0] / costs[1], rel=5e-4)
    cheaper = [depth for depth in range(13) if costs_less(algorithm, depth, addition)]
    end = f"less from L = {cheaper[0]} on." if cheaper else "at no depth up to 12 is it less."
    expect(saving).to_contain_text(end)
    left = 100 * (rank / 8) ** levels
    expect(page.locator(".hydra-eighths figcaption")).to_have_text(
        re.compile(
            rf"left: {re.escape(f'{left:.3g}')}\s% of the square"
            + ("; pale: halved further" if levels > 4 else "")
            + "$"
        )
    )


def costs_less(algorithm, levels, addition):
    products, sums = algorithm.counts(levels)
    n = 2**levels
    return products + addition * sums < n**3 + addition * (n**3 - n**2)


@browser
def test_sliders_by_mouse_and_the_link_they_make(widget_page):
    page = widget_page(RecursionWidget(algorithm="winograd", levels=5))
    expect_depth(page, "winograd", 5)
    for label, share, setting in (
        ("Depth L", 1, (12, 1)),
        ("An addition costs", 1, (12, 4)),
        ("Depth L", 0, (0, 4)),
        ("An addition costs", 0, (0, 0)),
        ("Depth L", 0.5, (6, 0)),
        ("An addition costs", 0.5, (6, 2)),
    ):
        drag(page, label, share)
        expect_depth(page, "winograd", *setting)
    page.get_by_role("radio", name="Strassen 1969").click()
    expect_depth(page, "strassen", 6, 2)
    page.wait_for_url("**#recursion.addition=2&recursion.algorithm=strassen&recursion.levels=6")
    page.reload()
    page.wait_for_selector("[data-ready=recursion]")
    expect_depth(page, "strassen", 6, 2)


@browser
def test_every_depth(widget_page):
    page = widget_page(RecursionWidget(levels=0))
    page.get_by_role("slider", name="Depth L").focus()
    for levels in range(13):
        expect_depth(page, "strassen", levels)
        # The square's ink is the share, drawn as far as it can be seen, and shaded beyond.
        drawn, faint = page.evaluate(
            """(() => {
                const path = document.querySelector(".hydra-work");
                const parts = path.getAttribute("d").split("M").length - 1;
                return [parts, Number(path.style.fillOpacity)];
            })()"""
        )
        assert drawn == 7 ** min(levels, 4)
        assert faint == pytest.approx((7 / 8) ** max(0, levels - 4), abs=1e-4)
        page.keyboard.press("ArrowRight")


@browser
def test_the_curve_is_the_costs_and_the_dot_stands_on_it(widget_page):
    page = widget_page(RecursionWidget(levels=7, addition=2))
    read = """(() => {
        const heights = (kind) => document.querySelector(`.hydra-plot ${kind}`)
            .getAttribute("points").split(" ").map((point) => Number(point.split(",")[1]));
        const dot = document.querySelector(".hydra-plot circle");
        const grid = [...document.querySelectorAll(".hydra-plot :is(.hydra-grid, .hydra-base)")]
            .map((line) => Number(line.getAttribute("y1")));
        const marks = [...document.querySelectorAll(".hydra-plot text[text-anchor=end]")]
            .map((text) => Number(text.textContent));
        return {cost: heights(".hydra-line"), products: heights(".hydra-rule"),
                dot: ["cx", "cy"].map((at) => Number(dot.getAttribute(at))), grid, marks};
    })()"""
    seen = page.evaluate(read)
    # Two marks of the axis give the scale.
    low, high = seen["marks"].index(0.2), seen["marks"].index(2)
    slope = (np.log(2) - np.log(0.2)) / (seen["grid"][high] - seen["grid"][low])
    value = {
        kind: [float(np.exp(np.log(0.2) + slope * (y - seen["grid"][low]))) for y in seen[kind]]
        for kind in ("cost", "products")
    }
    for levels in range(13):
        n = 2**levels
        products, sums = STRASSEN.counts(levels)
        exact = (products + 2 * sums) / (n**3 + 2 * (n**3 - n**2))
        assert value["cost"][levels] == pytest.approx(exact, rel=5e-3)
        assert value["products"][levels] == pytest.approx((7 / 8) ** levels, rel=5e-3)
    assert seen["dot"][1] == pytest.approx(seen["cost"][7], abs=0.1)


@browser
def test_the_dot_is_dragged_from_depth_to_depth(widget_page):
    page = widget_page(RecursionWidget(levels=5))
    handle = page.locator(".hydra-plot .hydra-handle")
    before = middle(handle)[0]
    pull(page, handle, 1000)
    expect_depth(page, "strassen", 12)
    level = (middle(handle)[0] - before) / 7
    pull(page, handle, -0.4 * level)
    expect_depth(page, "strassen", 12)
    pull(page, handle, -2.6 * level)
    expect_depth(page, "strassen", 9)
    pull(page, handle, -1000)
    expect_depth(page, "strassen", 0)
    x, y = middle(handle)
    assert swipe(page, (x, y), (x + 3.2 * level, y)) == 0
    expect_depth(page, "strassen", 3)


@browser
def test_controls_by_keyboard(widget_page):
    page = widget_page(RecursionWidget())
    page.get_by_role("radio", name="Strassen 1969").focus()
    page.keyboard.press("ArrowLeft")
    expect_depth(page, "naive")
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    expect_depth(page, "naive", 12)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect_depth(page, "naive", 12, 1.25)
    page.get_by_role("slider", name="Depth L").focus()
    page.keyboard.press("Home")
    expect_depth(page, "naive", 0, 1.25)


@browser
def test_links(widget_page):
    asked = "#recursion.algorithm=naive&recursion.levels=0"
    page = widget_page(RecursionWidget(), fragment=asked)
    expect_depth(page, "naive", 0)
    follow(page, "#recursion.levels=7")
    expect_depth(page, "strassen", 7)  # a link leaves nothing of the one before
    for wrong in ["algorithm=laderman", "levels=13", "levels=-1", "levels=1.5", "addition=4.5",
                  "addition=-1", "product=1", "name=x"]:  # fmt: skip
        follow(page, f"#recursion.{wrong}")
        expect_refused(page, "recursion", wrong)
        expect_depth(page, "strassen")
