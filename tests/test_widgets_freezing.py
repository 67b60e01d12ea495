"""Rows of many unrelated scores: arithmetic against the library, every control, links."""

import json
import math
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import entropy, probabilities
from hydra_lib.widgets import FreezingWidget, ScalingWidget
from hydra_lib.widgets._base import SettingError
from tests.conftest import (
    brief,
    drag,
    drawn,
    expect_refused,
    follow,
    in_javascript,
    middle,
    press,
    swipe,
)

browser = pytest.mark.browser
WIDTHS = [2**e for e in range(9)]
LENGTHS = [2**e for e in range(1, 13)]
LEFT, FOOT = 44, 8 + 20 * 12  # of the plane; a field is 36 wide and 20 high


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"d_k": 3}, "d_k must be 1 or 2 or 4 or 8 or 16 or 32 or 64 or 128 or 256, got 3"),
        ({"n": 1}, f"n must be {' or '.join(map(str, LENGTHS))}, got 1"),
        ({"seed": -1}, "seed must be an integer from 0 to 4,294,967,295, got -1"),
    ],
)
def test_bad_settings(setting, message):
    with pytest.raises(SettingError, match=f"^{re.escape(message)}$"):
        FreezingWidget(**setting)


@pytest.mark.slow
def test_fields_are_the_keys_in_use():
    found = torch.tensor(FreezingWidget().keys_in_use)
    assert found.shape == (12, 9)
    generator = torch.Generator().manual_seed(1)
    for n, fields in zip(LENGTHS, found, strict=True):
        rows = torch.randn(250, n, generator=generator)
        for d_k, field in zip(WIDTHS, fields, strict=True):
            in_use = entropy(rows * d_k**0.5).exp()
            error = (in_use.var() * (1 / 250 + 1 / 100)).sqrt()
            assert abs(field - in_use.mean()) < 5 * error, (n, d_k)
    # The random-energy model: e^{−σ²/2τ²} of all keys at width 1; and fewer at every wider one.
    assert found[-1, 0] / 4096 == pytest.approx(math.exp(-1 / 2), rel=0.01)
    assert (found.diff(dim=1) < 0).all()


def test_unrelated_scores():
    few, more, other = json.loads(
        in_javascript("scaling.js", "m.unrelated(...c)", [[7, 5], [4096, 5], [4096, 6]])
    )
    assert (len(few), len(more)) == (7, 4096)
    assert few == sorted(few, reverse=True)
    assert set(few) < set(more)
    assert not set(more) & set(other)
    z = torch.tensor(more, dtype=torch.float64)
    assert abs(z.mean()) < 4 / 64
    assert abs(z.var() - 1) < 4 * math.sqrt(2) / 64


# --- the page -------------------------------------------------------------------------------------


def row(n, d_k, seed=0):
    """Weights and keys in use of the page's row, by the library."""
    (scores,) = json.loads(in_javascript("scaling.js", "m.unrelated(...c)", [[n, seed]]))
    scores = d_k**0.5 * torch.tensor(scores, dtype=torch.float64)
    return probabilities(scores), entropy(scores).exp().item()


def expect_row(page, d_k, n, seed=0):
    p, used = row(n, d_k, seed)
    q, left = row(n, 1, seed)
    cells = [f"{brief(used)} of {n}", f"{p[0]:.3f}", f"{brief(left)} of {n}", f"{q[0]:.3f}"]
    expect(page.locator("tbody td")).to_have_text(cells)
    side = "right of" if d_k > 2 * math.log(n) else "left of"
    expect(page.locator(".hydra-summary")).to_have_text(
        f"At width {d_k}, {side} the line, this row uses {brief(used)} of {n} keys. "
        f"With its scores divided by √dₖ it uses {brief(left)}."
    )
    return p, q


def x_of(d_k):
    return LEFT + 36 * (math.log2(d_k) + 0.5)


def y_of(n):
    return FOOT - 20 * (math.log2(n) - 0.5)


def marks(page):
    """Where the ring, the dot and what is held stand."""
    found = page.locator(".hydra-dot, .hydra-phases .hydra-ring, .hydra-handle").evaluate_all(
        "all => all.map((one) => ['cx', 'cy'].map((name) => Number(one.getAttribute(name))))"
    )
    return [tuple(mark) for mark in found]


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_what_is_drawn_is_what_is_said(widget_page, width):
    page = widget_page(FreezingWidget(d_k=16, n=128), width=width)
    weights = expect_row(page, 16, 128)
    expect(page.locator("thead th")).to_have_text(["weights of", "keys in use", "largest"])
    dot = (x_of(16), y_of(128))
    assert marks(page) == [(x_of(1), y_of(128)), dot, dot]
    path = page.locator(".hydra-solid")
    ends = [float(path.get_attribute(name)) for name in ("x1", "y1", "x2", "y2")]
    assert ends == [*dot, x_of(1), y_of(128)]
    points = page.locator("polyline").get_attribute("points").split(" ")
    for n, point in ((2, points[0]), (64 * 2**0.5, points[40]), (4096, points[80])):
        x, y = map(float, point.split(","))
        assert (x, y) == pytest.approx((x_of(2 * math.log(n)), y_of(n)), abs=0.06)
    labels = [("dₖ = 2 ln n", x_of(2 * math.log(4096)) + 6, y_of(4096) + 4)]
    labels += [(str(d_k), x_of(d_k), FOOT + 15) for d_k in WIDTHS[::2]]
    labels += [(str(n), LEFT - 6, y_of(n) + 4) for n in LENGTHS[::3]]
    labels += [("width dₖ →", LEFT + 36 * 4.5, FOOT + 32), ("n ↑", 2, 18)]
    labels += [("÷ √dₖ", (x_of(16) + x_of(1)) / 2, y_of(128) - 6)]
    said = page.locator(".hydra-phases text").evaluate_all(
        "all => all.map((one) => [one.textContent, +one.getAttribute('x'), +one.getAttribute('y')])"
    )
    for (text, *place), (expected, *where) in zip(said, labels, strict=True):
        assert text == expected
        assert place == pytest.approx(where)
    # The stronger the colour of a field, the more keys in use, on a scale of logarithms.
    opacities = page.locator(".hydra-fields rect").evaluate_all(
        "all => all.map((one) => ['x', 'y', 'fill-opacity'].map((name) => +one.getAttribute(name)))"
    )
    assert len(opacities) == 12 * 9
    for used, n, fields in zip(
        FreezingWidget().keys_in_use,
        LENGTHS,
        [opacities[i : i + 9] for i in range(0, 108, 9)],
        strict=True,
    ):
        for field, d_k, (x, y, opacity) in zip(used, WIDTHS, fields, strict=True):
            assert (x, y) == pytest.approx((x_of(d_k) - 18, y_of(n) - 10))
            assert opacity == pytest.approx(math.log2(field) / 12, abs=6e-4)
    # The weights end to end, the largest first; those under a pixel of 480 are one piece.
    for bar, p in zip(page.locator(".hydra-weights").all(), weights, strict=True):
        pieces = bar.locator("rect").evaluate_all(
            "all => all.map((one) => ['x', 'width'].map((name) => +one.getAttribute(name)))"
        )
        thick = p[p * 480 >= 1]
        assert [wide for _, wide in pieces[:-1]] == pytest.approx((480 * thick).tolist())
        starts = torch.cat([torch.zeros(1), thick.cumsum(0)]).tolist()
        assert [x for x, _ in pieces] == pytest.approx([480 * x for x in starts])
        assert pieces[-1][1] == pytest.approx(480 * (1 - thick.sum().item()), abs=1e-6)
    kinds = page.locator(".hydra-weights").first.locator("rect")
    expect(kinds.nth(0)).to_have_class("hydra-even")
    expect(kinds.nth(1)).to_have_class("hydra-odd")
    expect(kinds.last).to_have_class("hydra-thin")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@browser
def test_by_keys_sliders_and_button(widget_page):
    page = widget_page(FreezingWidget())
    expect_row(page, 64, 256)
    page.get_by_role("slider", name="Width dₖ").focus()
    press(page, "ArrowRight")
    expect_row(page, 128, 256)
    press(page, "Home")
    expect_row(page, 1, 256)
    expect(page.get_by_text("÷ √dₖ", exact=True)).to_be_hidden()
    drag(page, "Keys n", 1)
    expect_row(page, 1, 4096)
    expect(page.get_by_role("slider", name="Keys n")).to_have_attribute("aria-valuetext", "4096")
    drag(page, "Width dₖ", 0.25)
    expect(page.get_by_text("÷ √dₖ", exact=True)).to_be_visible()
    page.get_by_role("button", name="draw again").click()
    expect_row(page, 4, 4096, seed=1)
    page.wait_for_url("**#freezing.d_k=4&freezing.n=4096&freezing.seed=1")
    page.reload()
    page.wait_for_selector("[data-ready=freezing]")
    expect_row(page, 4, 4096, seed=1)


@browser
@pytest.mark.parametrize("widget", [FreezingWidget, ScalingWidget])
def test_after_the_last_draw_comes_the_first(widget_page, widget):
    page = widget_page(widget(seed=2**32 - 1))
    page.get_by_role("button", name="draw again").click()
    page.wait_for_url("**.seed=0")


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_the_point_follows_the_pointer_and_a_field_takes_it(widget_page, width):
    page = widget_page(FreezingWidget(), width=width)
    picture = page.locator(".hydra-phases svg")
    picture.scroll_into_view_if_needed()
    frame = picture.bounding_box()
    unit = frame["width"] / (LEFT + 36 * 9 + 6)

    def at(d_k, n):
        return frame["x"] + unit * x_of(d_k), frame["y"] + unit * y_of(n)

    def to(d_k, n):
        page.mouse.move(*at(d_k, n), steps=3)

    page.mouse.move(*at(64, 256))
    page.mouse.down()
    to(8 * 1.3, 1024 / 1.3)
    expect_row(page, 8, 1024)
    to(2000, 2**15)  # above the plane and right of it
    expect_row(page, 256, 4096)
    to(0.2, 0.5)
    expect_row(page, 1, 2)
    to(32, 64)
    page.mouse.up()
    to(2, 1024)  # let go
    expect_row(page, 32, 64)
    page.mouse.click(*at(4, 2048))
    expect_row(page, 4, 2048)
    drawn(page)
    assert marks(page)[1] == (x_of(4), y_of(2048))


@browser
def test_a_link_that_makes_no_sense_is_told_so(widget_page):
    page = widget_page(FreezingWidget())
    for asked in ["d_k=3", "n=8192", "seed=-1", "keys_in_use=1"]:
        follow(page, f"#freezing.{asked}")
        expect_refused(page, "freezing", asked)


@browser
def test_links(widget_page):
    page = widget_page(FreezingWidget(), fragment="#freezing.d_k=2&freezing.n=16")
    expect_row(page, 2, 16)
    follow(page, "#freezing.n=32")
    expect_row(page, 64, 32)


@browser
def test_a_finger_drags_the_point_and_scrolls_beside_it(widget_page):
    page = widget_page(FreezingWidget(d_k=64, n=256), width=360)
    page.evaluate("document.body.style.minHeight = '3000px'")
    handle = page.locator(".hydra-handle")
    x, y = middle(handle)
    assert swipe(page, (x, y), (x - 60, y - 40)) == 0
    page.wait_for_url("**#freezing.*")
    now = middle(handle)
    assert now[0] < x - 30
    assert now[1] < y - 10
    assert swipe(page, (now[0], now[1] + 60), (now[0], now[1] - 60)) > 50
