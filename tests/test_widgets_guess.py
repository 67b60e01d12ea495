"""Guessing measured ratios: what is shown against the record, every control, links."""

import math
import re

import pytest
from playwright.sync_api import expect

from hydra_lib.records import group, record
from hydra_lib.widgets import GuessWidget
from hydra_lib.widgets._base import SettingError
from tests.conftest import drag, drawn, expect_refused, follow, middle, press, swipe

browser = pytest.mark.browser
LOW, HIGH = math.log10(0.1), math.log10(10_000)


def row(kernel, T, ratio, reference="all at once"):
    return {"kernel": kernel, "T": T, "ratio": ratio, "reference": reference}


# The reference itself is paired with nothing. Over it, loops take 400 and 2,000, fused 0.8 to 0.2.
ROWS = [
    row("loops", 16, 1 / 400),
    row("all at once", 16, None, None),
    row("fused", 16, 1.25),
    row("loops", 64, 1 / 2000),
    row("all at once", 64, None, None),
    row("fused", 64, 4.0),
    row("fused", 1024, 5.0),
]


NONE = [None, None]


def made(**settings):
    return GuessWidget(ROWS, "a machine, one day", **settings)


def guessed(*row, T):
    """These guesses at one length and none at the others."""
    return [list(row) if one == T else NONE for one in (16, 64, 1024)]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: GuessWidget({}, ""), TypeError, "rows must be a list, got dict"),
        (lambda: GuessWidget([None], ""), TypeError, "rows[0] must be a dict, got NoneType"),
        (
            lambda: GuessWidget([{"reference": "a", "kernel": "b", "T": 1}], ""),
            ValueError,
            "rows must have kernel, T and ratio, got one without ratio",
        ),
        (
            lambda: GuessWidget([row("loops", 16, 0.5, ["fused"])], ""),
            TypeError,
            "the reference of rows[0] must be a str, got list",
        ),
        (
            lambda: GuessWidget([row(None, 16, 0.5)], ""),
            TypeError,
            "kernel must be a str, got NoneType",
        ),
        (
            lambda: GuessWidget([row("loops", 8.5, 0.5)], ""),
            ValueError,
            "T must be a positive integer, got 8.5",
        ),
        (
            lambda: GuessWidget([], ""),
            ValueError,
            "rows must be paired with one reference, got []",
        ),
        (
            lambda: GuessWidget([*ROWS, row("loops", 16, 2.0, "fused")], ""),
            ValueError,
            "rows must be paired with one reference, got ['all at once', 'fused']",
        ),
        (
            lambda: GuessWidget([*ROWS, row("loops", 16, 1 / 300)], ""),  # of another pass
            ValueError,
            "rows must be of one pass, one per kernel and T, got two loops at 16",
        ),
        (
            lambda: GuessWidget([row("loops", 16, 1 / 20_000)], ""),
            ValueError,
            "ratios must lie between 0.0001 and 10, got 5e-05",
        ),
        (
            lambda: GuessWidget([row("loops", 16, 0)], ""),
            ValueError,
            "ratios must lie between 0.0001 and 10, got 0",
        ),
        (
            lambda: GuessWidget([row("loops", 16, None)], ""),
            TypeError,
            "ratio must be a number, got NoneType",
        ),
        (
            lambda: GuessWidget([row("loops", 16, 11.0)], ""),
            ValueError,
            "ratios must lie between 0.0001 and 10, got 11",
        ),
        (
            lambda: made(guesses=[[1.0]]),
            SettingError,
            "guesses must be (3, 2) factors, got (1, 1)",
        ),
        (
            lambda: made(T=32),
            SettingError,
            "T must be one of those measured (16, 64, 1024), got 32",
        ),
        (
            lambda: made(looked=[True]),
            SettingError,
            "looked must be 3 truths, got 1",
        ),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        make()


def test_a_factor_is_one_over_the_ratio_of_the_record():
    assert made().factors == [
        {"kernel": "loops", "times": {"16": 400.0, "64": 2000.0}},
        {"kernel": "fused", "times": {"16": 0.8, "64": 0.25, "1024": 0.2}},
    ]
    assert (made().guesses, made().T, made().looked) == (
        [NONE] * 3,
        16,
        [False] * 3,
    )
    rows = [r for r in group(record("ladder"), "ladder") if r["pass"] == "forward"]
    widget = GuessWidget(rows, "")
    times = {one["kernel"]: one["times"] for one in widget.factors}
    for r in rows:
        if r["reference"]:
            assert times[r["kernel"]][str(r["T"])] == 1 / r["ratio"]
    assert list(times) == ["Python loops", "one head at a time", "SDPA math", "SDPA flash"]
    assert widget.reference == "all heads at once"


# --- the page ---------------------------------------------------------------------------------


def expect_rows(page, *rows):
    """What is said of each kernel, and the guess below it."""
    for i, (said, guess) in enumerate(rows):
        of = page.locator(".hydra-guess").nth(i)
        expect(of.locator("b")).to_have_text(said)
        expect(of.locator("small")).to_have_text(guess)


def share(factor):
    return (math.log10(factor) - LOW) / (HIGH - LOW)


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_what_was_measured_stays_covered_until_the_reader_looks(widget_page, width):
    page = widget_page(made(T=64, guesses=guessed(30, 0.5, T=64)), width=width)
    expect_rows(page, ("30 ×", ""), ("0.5 ×", ""))
    expect(page.locator(".hydra-truth:visible")).to_have_count(0)
    expect(page.locator(".hydra-summary")).to_have_text(
        "Covered: the measured times. All of these compute the same numbers from the same q, k "
        "and v."
    )
    page.get_by_role("button", name="look").click()
    expect_rows(page, ("2,000 ×", " you: 30 ×"), ("0.250 ×", " you: 0.5 ×"))
    expect(page.locator(".hydra-truth:visible")).to_have_count(2)
    # 2000 / 30 is farther off than 0.5 / 0.25.
    expect(page.locator(".hydra-summary")).to_have_text(
        "At T = 64, loops: 2,000 times as long as all at once; fused: 0.250 times. "
        "Farthest off is the guess for loops, by a factor of 66.7."
    )
    expect(page.locator(".hydra-note").last).to_have_text("a machine, one day")
    # Another length was not what the guesses were for.
    page.get_by_role("radio", name="16", exact=True).click()
    expect(page.locator(".hydra-guess small")).to_have_text([""] * 3)
    expect(page.locator(".hydra-summary")).to_contain_text("Covered")
    page.get_by_role("button", name="look").click()
    expect(page.locator(".hydra-summary")).to_contain_text("You made no guess for this length.")
    page.get_by_role("radio", name="64", exact=True).click()
    expect(page.locator(".hydra-summary")).to_contain_text("Farthest off is the guess for loops")
    axis = page.locator(".hydra-decades span")
    named = "← faster | slower →"
    expect(axis).to_have_text(["0.1", "1", "10", "100", "1k", "10k", named])
    one, named = (axis.nth(i).bounding_box()["x"] for i in (1, 6))
    assert one == named  # both in the middle of 1
    unit = page.locator(".hydra-guess").nth(2)
    expect(unit).to_contain_text("all at once")
    expect(unit.locator("b")).to_have_text("1 ×")
    expect(page.get_by_role("button", name="cover again")).to_be_visible()
    page.get_by_role("button", name="cover again").click()
    expect(page.locator(".hydra-truth:visible")).to_have_count(0)


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_bars_and_marks_stand_on_one_scale(widget_page, width):
    page = widget_page(
        made(T=64, guesses=guessed(2000, 0.25, T=64), looked=[False, True, False]), width=width
    )
    found = page.evaluate("""[...document.querySelectorAll(".hydra-guess")].map((row) => {
        const track = row.querySelector(".hydra-track").getBoundingClientRect();
        const truth = row.querySelector(".hydra-truth");
        const labels = [...(row.querySelector(".hydra-decades")?.children ?? [])].map((span) => {
            const box = span.getBoundingClientRect();
            return [span.textContent, box.left];
        });
        return {track: [track.left, track.right], labels,
                ends: truth && ["--from", "--to"].map((name) =>
                    parseFloat(truth.style.getPropertyValue(name)) / 100)};
    })""")
    loops, fused, _, axis = found
    assert loops["ends"] == pytest.approx([share(1), share(2000)], abs=1e-6)
    assert fused["ends"] == pytest.approx([share(0.25), share(1)], abs=1e-6)
    thumb = 1.25 * 16  # as in ui.css
    left, right = loops["track"][0] + thumb / 2, loops["track"][1] - thumb / 2
    labels = [(float(text.replace("k", "000")), x) for text, x in axis["labels"]]
    assert [factor for factor, _ in labels] == [0.1, 1, 10, 100, 1000, 10_000]
    lines = page.locator(".hydra-guesses-made").get_attribute("style")
    assert lines == f"--decades:5;--one:{100 * share(1):g}%"  # between labels one step each
    for factor, x in labels:
        assert x == pytest.approx(left + share(factor) * (right - left), abs=0.6)
    # A guess that is right has its mark where the bar ends: a press there changes nothing.
    x = left + share(2000) * (right - left)
    box = page.locator(".hydra-track input").first.bounding_box()
    page.mouse.click(x, box["y"] + box["height"] / 2)
    expect_rows(page, ("2,000 ×", " you: 2,000 ×"))


@browser
def test_guesses_by_mouse_and_by_keys(widget_page):
    page = widget_page(made())
    loops, fused = (page.get_by_role("slider", name=name) for name in ("loops", "fused"))
    expect(loops).to_have_attribute("aria-valuetext", "no guess yet")
    drag(page, "loops", 1)
    expect_rows(page, ("10,000 ×", ""), ("?", ""))
    _, y = middle(fused)  # the mark that stands at 1 is pressed: that is a guess too
    box = fused.bounding_box()
    page.mouse.click(box["x"] + 10 + share(1) * (box["width"] - 20), y)
    expect_rows(page, ("10,000 ×", ""), ("1 ×", ""))
    drag(page, "fused", 0)
    expect_rows(page, ("10,000 ×", ""), ("0.1 ×", ""))
    fused.focus()
    for _ in range(20):
        press(page, "ArrowRight")
    expect_rows(page, ("10,000 ×", ""), ("1 ×", ""))  # put back by hand, it is a guess
    press(page, "Home", "ArrowRight")
    expect(fused).to_have_attribute("aria-valuetext", "0.11 × as long")
    press(page, "End", "ArrowLeft")
    expect(fused).to_have_attribute("aria-valuetext", "8,910 × as long")
    loops.focus()
    press(page, "Home")
    expect_rows(page, ("0.1 ×", ""), ("8,910 ×", ""))
    page.wait_for_url(
        "**#guess.guesses=%5B%5B0.1%2C8910%5D%2C%5Bnull%2Cnull%5D%2C%5Bnull%2Cnull%5D%5D"
    )
    page.reload()
    page.wait_for_selector("[data-ready=guess]")
    expect_rows(page, ("0.1 ×", ""), ("8,910 ×", ""))


@browser
def test_a_kernel_that_was_not_run_says_so(widget_page):
    page = widget_page(made())
    expect(page.get_by_role("radio", name="16", exact=True)).to_be_checked()
    expect_rows(page, ("?", ""), ("?", ""))
    page.get_by_role("radio", name="1,024").click()
    expect_rows(page, ("not run", ""), ("?", ""))
    expect(page.locator(".hydra-truth:visible")).to_have_count(0)
    cover = """tracks => tracks.map((one) => getComputedStyle(one, "::after").content !== "none")"""
    tracks = page.locator(".hydra-track:not(.hydra-decades)")
    # There is nothing under the first, and the last is the unit.
    assert tracks.evaluate_all(cover) == [False, True, False]
    page.get_by_role("button", name="look").click()
    expect_rows(page, ("not run", ""), ("0.200 ×", ""))
    assert tracks.evaluate_all(cover) == [False, False, False]
    expect(page.get_by_role("slider", name="loops")).to_have_count(0)  # nothing to guess
    expect(page.locator(".hydra-truth:visible")).to_have_count(1)
    expect(page.locator(".hydra-summary")).to_have_text(
        "At T = 1,024, fused: 0.200 times as long as all at once. "
        "You made no guess for this length."
    )
    # Each length is looked at by itself, so the next is guessed; a second look compares the two.
    page.get_by_role("radio", name="64", exact=True).click()
    expect_rows(page, ("?", ""), ("?", ""))
    page.get_by_role("button", name="look").click()
    expect_rows(page, ("2,000 ×", ""), ("0.250 ×", ""))
    expect(page.get_by_role("slider")).to_have_count(0)  # no mark was a guess
    page.get_by_role("radio", name="1,024").click()
    expect_rows(page, ("not run", ""), ("0.200 ×", ""))
    page.get_by_role("radio", name="64", exact=True).click()
    page.get_by_role("button", name="cover again").click()
    page.get_by_role("radio", name="1,024").click()
    expect_rows(page, ("not run", ""), ("0.200 ×", ""))
    page.get_by_role("radio", name="64", exact=True).click()
    fused = page.get_by_role("slider", name="fused")
    expect(fused).to_be_enabled()
    fused.focus()
    page.keyboard.press("ArrowRight")
    expect_rows(page, ("?", ""), ("1.1 ×", ""))
    page.get_by_role("button", name="look").click()
    expect_rows(page, ("2,000 ×", ""), ("0.250 ×", " you: 1.1 ×"))
    expect(fused).to_be_disabled()  # who has looked guesses no more
    expect(page.locator(".hydra-summary")).to_contain_text("Farthest off is the guess for fused")


@browser
def test_a_tap_guesses_where_it_is_and_a_press_on_a_name_does_not(widget_page):
    page = widget_page(made(), width=360)
    page.get_by_text("loops", exact=True).click()
    drawn(page)
    expect_rows(page, ("?", ""), ("?", ""))
    finger = page.context.new_cdp_session(page)
    finger.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    box = page.get_by_role("slider", name="loops").bounding_box()
    at = {"x": box["x"] + 10 + share(100) * (box["width"] - 20), "y": box["y"] + box["height"] / 2}
    for kind, points in (("touchStart", [at]), ("touchEnd", [])):
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    expect_rows(page, ("100 ×", ""), ("?", ""))
    page.get_by_text("fused", exact=True).click()
    drawn(page)
    expect_rows(page, ("100 ×", ""), ("?", ""))


@browser
def test_a_finger_guesses_and_scrolls(widget_page):
    page = widget_page(made(), width=360)
    assert (
        page.locator(".hydra-track input").first.evaluate(
            "input => getComputedStyle(input).touchAction"
        )
        == "pan-y"
    )  # sideways guesses, up and down scrolls
    drag(page, "loops", 0.6)
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@browser
def test_a_link_that_makes_no_sense_is_told_so(widget_page):
    page = widget_page(made())
    for asked in [
        "T=32",
        "T=1.5",
        "guesses=[1,1]",
        "guesses=[[1,1]]",
        "guesses=[[1],[1],[1]]",
        "guesses=[[1,20000],[1,1],[1,1]]",
        "guesses=[[1,0],[1,1],[1,1]]",
        "looked=true",
        "looked=[true]",
        "looked=[1,0,0]",
        "factors={}",
    ]:
        follow(page, f"#guess.{asked}")
        expect_refused(page, "guess", asked)
        expect_rows(page, ("?", ""), ("?", ""))


@browser
def test_links(widget_page):
    page = widget_page(
        made(),
        fragment="#guess.T=64&guess.looked=[false,true,false]&guess.guesses=[[null,null],[100,0.2],[null,null]]",
    )
    expect_rows(page, ("2,000 ×", " you: 100 ×"), ("0.250 ×", " you: 0.2 ×"))
    follow(page, "#guess.T=1024")
    expect_rows(page, ("not run", ""), ("?", ""))  # nothing of the link before


@browser
def test_a_finger_scrolls_the_page_beside_the_mark(widget_page):
    page = widget_page(made(), width=360)
    page.evaluate("document.body.style.minHeight = '3000px'")
    track = page.locator(".hydra-guess .hydra-track").first
    was = track.locator("input").input_value()
    box, y = track.bounding_box(), middle(track)[1]
    far = box["x"] + box["width"] - 12
    assert swipe(page, (far, y), (far, y - 80)) > 40
    assert track.locator("input").input_value() == was


@browser
@pytest.mark.parametrize("off", [0, 6])
def test_a_finger_that_scrolls_from_a_mark_has_not_guessed(widget_page, off):
    page = widget_page(made(), width=360)
    page.evaluate("document.body.style.minHeight = '3000px'")
    x, y = mark_of(page, "loops")
    assert swipe(page, (x + off, y), (x + off, y - 80)) > 40
    expect_rows(page, ("?", ""), ("?", ""))


@browser
def test_a_tap_on_a_mark_says_that_it_belongs_there(widget_page):
    page = widget_page(made(), width=360)
    x, y = mark_of(page, "loops")
    finger = page.context.new_cdp_session(page)
    finger.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    expect_rows(page, ("1 ×", ""), ("?", ""))


def mark_of(page, name):
    box = page.get_by_role("slider", name=name).bounding_box()
    return box["x"] + 10 + share(1) * (box["width"] - 20), box["y"] + box["height"] / 2
