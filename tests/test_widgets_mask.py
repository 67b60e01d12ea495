"""The widget of masks: its arithmetic against the library, every control, links."""

import json
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import boltzmann, masking
from hydra_lib.widgets import MaskWidget
from hydra_lib.widgets._base import SettingError
from tests.conftest import (
    drawn,
    expect_refused,
    expect_table,
    follow,
    in_javascript,
    middle,
    press,
    swipe,
    table_of,
    written,
)

browser = pytest.mark.browser
SCORES = [
    [1.0, 0.2, -0.5, 0.8, 0.1],
    [0.3, 1.2, 0.4, -0.2, 0.9],
    [-0.6, 0.5, 0.7, 1.1, 0.0],
    [0.9, -0.1, 0.3, 0.6, 1.4],
    [0.2, 0.8, -0.3, 0.5, 1.0],
]
TOGGLES = "scores: press to forbid or allow"


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MaskWidget([[1, 2]]), "scores must be square, got 1 × 2"),
        (lambda: MaskWidget([[1, 2], [3, 4]], [[True]]), "mask must be 2 × 2, got 1 × 1"),
        (
            lambda: MaskWidget([[1]]).set_trait("scores", [[1, 2], [3, 4]]),
            "scores must be 1 × 1, got 2 × 2",
        ),
        (
            lambda: MaskWidget([[1]], [[1]]),
            "mask must be a matrix of at most 16 × 16, each True or False, got [[1]]",
        ),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(SettingError, match=f"^{re.escape(message)}$"):
        make()


# --- arithmetic -----------------------------------------------------------------------------------


@pytest.mark.long
def test_mask_arithmetic_agrees_with_the_library():
    generator = torch.Generator().manual_seed(2)
    cases = []
    for index in range(1000):
        T = 1 + index % 7
        scores = 5 * torch.randn(T, T, generator=generator, dtype=torch.float64)
        mask = torch.rand(T, T, generator=generator) < 0.6
        cases.append({"scores": scores.tolist(), "mask": mask.tolist()})
    expression = """[-Infinity, 0].map((fill) => {
        const weights = m.maskedSoftmax(c.scores, c.mask, fill);
        return [weights, m.leaked(weights, c.mask)];
    })"""
    got = json.loads(in_javascript("masking.js", expression, cases))
    for case, results in zip(cases, got, strict=True):
        scores = torch.tensor(case["scores"], dtype=torch.float64)
        mask = torch.tensor(case["mask"])
        for fill, (weights, leaks) in zip((-torch.inf, 0.0), results, strict=True):
            expected = boltzmann.probabilities(scores.masked_fill(~mask, fill))
            close = {"rtol": 1e-9, "atol": 1e-15}
            torch.testing.assert_close(
                torch.tensor(weights, dtype=torch.float64), expected, **close
            )
            leaked = (expected * ~mask).sum(-1)
            torch.testing.assert_close(torch.tensor(leaks, dtype=torch.float64), leaked, **close)


def test_mask_presets_are_the_library_s():
    names = ["causal", "window", "padding", "everything", "an empty row"]
    got = json.loads(in_javascript("masking.js", "m.masks[c](5)", names))
    expected = [
        masking.causal_mask(5),
        masking.window_mask(5, 2),
        masking.padding_mask(torch.tensor([3]), 5)[0].expand(5, 5),
        torch.ones(5, 5, dtype=torch.bool),
        masking.causal_mask(5) & (torch.arange(5) != 2)[:, None],
    ]
    assert got == [mask.tolist() for mask in expected]


# --- controls -------------------------------------------------------------------------------------


def expect_mask(page, mask, scores=SCORES, preset="", kind=""):
    """Every cell of the page, its text, state, shade and label, is the library's."""
    drawn(page)
    scores, T = torch.tensor(scores, dtype=torch.float64), len(mask)
    expect(page.get_by_role("combobox", name="Mask", exact=True)).to_have_value(preset)
    expect(page.get_by_label("Scores")).to_have_value(kind)
    places = [(i, j) for i in range(T) for j in range(T)]
    toggles = table_of(page, TOGGLES).locator("button")
    expect(toggles).to_have_text([written(scores[place].item()) for place in places])
    hatched = toggles.evaluate_all(
        """all => all.map((b) => getComputedStyle(b).backgroundImage.startsWith("repeating"))"""
    )
    assert hatched == [not mask[place] for place in places]
    told = toggles.evaluate_all(
        "all => all.map((b) => [b.getAttribute('aria-pressed'), b.getAttribute('aria-label')])"
    )
    assert told == [
        [
            "true" if mask[i, j] else "false",
            f"row {i + 1} to column {j + 1}: {'allowed' if mask[i, j] else 'forbidden'}, "
            f"score {written(scores[i, j].item())}",
        ]
        for i, j in places
    ]
    said = []
    for caption, fill in (("softmax with −∞", -torch.inf), ("softmax with 0 (wrong)", 0.0)):
        weights = boltzmann.probabilities(scores.masked_fill(~mask, fill))
        leaks = (weights * ~mask).sum(-1)
        rows = [
            [f"{w:.2f}" for w in [*row, leak]] for row, leak in zip(weights, leaks, strict=True)
        ]
        expect_table(page, caption, rows)
        shown = (
            table_of(page, caption)
            .locator("tbody tr")
            .evaluate_all(
                """rows => rows.map((row) => [...row.querySelectorAll("td")].map((cell) =>
                [cell.style.getPropertyValue("--heat"), cell.className]))"""
            )
        )
        for i, row in enumerate(shown):
            assert row[T] == ["", ""]
            for j, (shade, kind_of) in enumerate(row[:T]):
                assert float(shade.rstrip("%")) == pytest.approx(
                    100 * weights[i, j].item(), abs=0.051
                )
                leaky = not mask[i, j] and weights[i, j] > 0
                kinds = set(kind_of.split()) - {"hydra-source"}
                assert kinds == ({"hydra-heat", "hydra-leak"} if leaky else {"hydra-heat"})
        said.append(leaks.max().item())
    empty = (~mask).all(-1).sum().item()
    expect(page.locator(".hydra-summary")).to_have_text(
        (
            "Nothing is forbidden: both give the same."
            if mask.all()
            else f"With −∞ the forbidden positions get {written(said[0])}; with 0 (outlined) "
            f"the leakiest row gives them {said[1]:.2f} of its weight."
        )
        + (f" {empty} row{'s have' if empty > 1 else ' has'} " if empty else "")
        + ("nothing to attend to: zeros." if empty else "")
    )


@browser
def test_what_stands_there(widget_page):
    page = widget_page(MaskWidget(SCORES))
    expect(page.locator("caption")).to_have_text(
        [TOGGLES, "softmax with −∞", "softmax with 0 (wrong)"]
    )
    for caption, last in ((TOGGLES, []), ("softmax with −∞", ["leak"])):
        numbered = [str(n) for n in range(1, 6)]
        table = table_of(page, caption)
        expect(table.locator("thead th")).to_have_text(numbered + last)
        expect(table.locator("tbody th")).to_have_text(numbered)
    expect(page.locator("table.hydra-dense")).to_have_count(3)
    expect(page.locator(".hydra-control > span")).to_have_text(["Mask", "Scores"])
    options = page.get_by_role("combobox", name="Mask", exact=True).locator("option")
    expect(options).to_have_text(
        ["your own", "causal", "window", "padding", "everything", "an empty row"]
    )
    expect(options.first).to_be_disabled()
    expect(options.nth(1)).to_be_enabled()
    expect(page.get_by_label("Scores").locator("option")).to_have_text(
        ["as given", "all zero", "your own"]
    )
    expect_mask(page, masking.causal_mask(5), preset="causal")


@browser
def test_cells_by_pointer_and_keyboard(widget_page):
    page = widget_page(MaskWidget(SCORES))
    mask = masking.causal_mask(5)
    toggles = page.locator(".hydra-toggle")
    stops = toggles.evaluate_all("(all) => all.map((one) => one.tabIndex)")
    assert stops == [0] + [-1] * 24  # who comes by the tab key passes one cell, not all
    toggles.nth(4).click()  # row 1, column 5
    mask[0, 4] = True
    expect_mask(page, mask)
    toggles.nth(4).focus()
    press(page, "ArrowDown", "ArrowLeft", "Space")  # row 2, column 4
    mask[1, 3] = True
    expect_mask(page, mask)
    press(page, "ArrowUp", "ArrowRight", "Enter")  # back to row 1, column 5
    mask[0, 4] = False
    expect_mask(page, mask)
    expect(page.locator(".hydra-toggle[tabindex='0']")).to_have_count(1)
    expect(page.locator(".hydra-toggle[tabindex='0']")).to_be_focused()
    toggles.nth(8).click()  # row 2, column 4 again
    expect_mask(page, masking.causal_mask(5), preset="causal")


@browser
def test_a_cell_is_lit_in_both_results(widget_page):
    page = widget_page(MaskWidget(SCORES))
    lit = """() => [...document.querySelectorAll("table")].slice(1).map((table) =>
        [...table.querySelectorAll("tbody td")].flatMap((cell, n) =>
            cell.classList.contains("hydra-source") ? [n] : []))"""
    toggles = page.locator(".hydra-toggle")
    toggles.nth(7).hover()  # row 2, column 3; a leak stands at the end of the results' rows
    assert page.evaluate(lit) == [[8], [8]]
    page.mouse.move(2, 2)
    assert page.evaluate(lit) == [[], []]
    toggles.nth(0).focus()
    press(page, "ArrowDown", "ArrowRight")
    assert page.evaluate(lit) == [[7], [7]]
    press(page, "Tab")
    assert page.evaluate(lit) == [[], []]


@browser
def test_a_stroke_paints_what_its_first_cell_becomes(widget_page):
    page = widget_page(MaskWidget(SCORES))
    mask = masking.causal_mask(5)
    toggles = page.locator(".hydra-toggle")

    def stroke(*places):
        for at, (i, j) in enumerate(places):
            page.mouse.move(*middle(toggles.nth(5 * i + j)))
            if at == 0:
                page.mouse.down()
        page.mouse.up()
        drawn(page)

    stroke((0, 2), (0, 3), (1, 3), (1, 1))  # two of these are allowed already, and stay so
    for place in ((0, 2), (0, 3), (1, 3), (1, 2)):
        mask[place] = True
    expect_mask(page, mask)
    stroke((4, 0), (4, 4), (2, 4))  # too quick for an event in every cell, and round a corner
    mask[4] = False
    expect_mask(page, mask)
    stroke((4, 4), (4, 0))
    mask[4] = True
    expect_mask(page, mask)
    stroke((0, 2), (0, 3), (0, 2))  # there and back: the first cell is painted once
    mask[0, 2:4] = False
    expect_mask(page, mask)
    toggles.nth(4).focus()
    press(page, "Enter")  # a key still toggles after a stroke
    mask[0, 4] = True
    expect_mask(page, mask)
    page.mouse.move(*middle(toggles.nth(24)))
    page.mouse.down(button="right")
    page.mouse.move(*middle(toggles.nth(22)), steps=4)
    page.mouse.up(button="right")
    page.mouse.move(5, 5)  # pressed elsewhere, a pointer paints nothing
    page.mouse.down()
    box = toggles.nth(24).bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5, steps=4)
    page.mouse.up()
    expect_mask(page, mask)


@browser
def test_a_finger_paints_too(widget_page):
    page = widget_page(MaskWidget(SCORES), width=360)
    mask = masking.causal_mask(5)
    (x, y), (end, _) = [middle(page.locator(".hydra-toggle").nth(at)) for at in (1, 3)]
    swipe(page, (x, y), (end, y))
    mask[0, 1:4] = True
    expect_mask(page, mask)
    # A stroke that the browser takes over, to scroll by, leaves no trace.
    swipe(page, (x, y), (end, y), lift="touchCancel")
    expect_mask(page, mask)


@browser
def test_presets_scores_and_the_link_they_leave(widget_page):
    page = widget_page(MaskWidget(SCORES))
    preset = page.get_by_role("combobox", name="Mask", exact=True)
    preset.select_option("window")
    expect_mask(page, masking.window_mask(5, 2), preset="window")
    preset.focus()
    press(page, "ArrowDown")
    padding = masking.padding_mask(torch.tensor([3]), 5)[0].expand(5, 5)
    expect_mask(page, padding, preset="padding")
    page.get_by_label("Scores").select_option("all zero")
    expect_mask(page, padding, [[0.0] * 5] * 5, preset="padding", kind="all zero")
    preset.select_option("everything")
    everything = torch.ones(5, 5, dtype=torch.bool)
    expect_mask(page, everything, [[0.0] * 5] * 5, preset="everything", kind="all zero")
    page.get_by_label("Scores").select_option("as given")
    preset.select_option("an empty row")
    mask = masking.causal_mask(5)
    mask[2] = False
    expect_mask(page, mask, preset="an empty row")
    link = json.dumps(mask.tolist()).replace(" ", "")
    page.wait_for_function(
        "(link) => decodeURIComponent(location.hash) === `#mask.mask=${link}`", arg=link
    )
    page.reload()
    expect_mask(page, mask, preset="an empty row")


@browser
def test_links(widget_page):
    page = widget_page(MaskWidget([[1, 2], [3, 4]], [[True, True], [False, True]]))
    mask, zeros = torch.tensor([[False, True], [False, False]]), [[0.0, 0.0]] * 2
    follow(page, "#mask.mask=[[false,true],[false,false]]&mask.scores=[[0,0],[0,0]]")
    expect_mask(page, mask, zeros, kind="all zero")
    follow(page, "#mask.scores=[[5,0],[-1000000,1000000]]")
    drawn(page)
    expect(table_of(page, TOGGLES).locator("button")).to_have_text(
        ["5", "0", "−1.00e+6", "1.00e+6"]
    )
    expect(page.get_by_label("Scores")).to_have_value("own")
    for asked in (
        "mask=[[true,true]]",
        "mask=[[true],[true]]",
        "mask=[[1,0],[0,1]]",
        "mask=true",
        "scores=[[1]]",
        "scores=[[1,2,3],[1,2,3],[1,2,3]]",
        "scores=[[1,2],[3,null]]",
        "scores=[[1,2],[3,1e308]]",
        "given=[[0,0],[0,0]]",
    ):
        follow(page, f"#mask.{asked}")
        expect_refused(page, "mask", asked)


@browser
def test_a_small_leak_is_not_said_to_be_none(widget_page):
    page = widget_page(MaskWidget([[10] * 3] * 3))
    expect(page.locator(".hydra-summary")).to_contain_text(
        "the leakiest row gives them less than 0.01 of its weight."
    )
