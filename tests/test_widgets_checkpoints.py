"""The widget of a model on its way: what it reads, what it shows at a step, controls, links."""

import json
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib.toy import stored_checkpoints
from hydra_lib.widgets import CheckpointsWidget
from hydra_lib.widgets._base import SettingError
from tests.conftest import (
    UNREADABLE,
    drag,
    drawn,
    expect_refused,
    follow,
    in_javascript,
    middle,
    press,
    pull,
    swipe,
)
from tests.test_widgets_head_viewer import told

browser = pytest.mark.browser
SEEN = stored_checkpoints()
LAST = 1000
WEIGHTS = (50 * SEEN.weights).round() / 50  # as the page has them


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"step": 1050}, "step must be an integer from 0 to 1,000, got 1050"),
        ({"step": 75}, "step must be a multiple of 50, got 75"),
        ({"layer": 2}, "layer must be an integer from 0 to 1, got 2"),
        ({"head": 6}, "head must be an integer from 0 to 5, got 6"),
        ({"position": 12}, "position must be an integer from 0 to 11, got 12"),
    ],
)
def test_bad_settings(setting, message):
    with pytest.raises(SettingError, match=f"^{re.escape(message)}$"):
        CheckpointsWidget(**setting)


def test_limits_are_those_of_the_record():
    limits = CheckpointsWidget().limits
    count, layers, heads, T, _ = SEEN.weights.shape
    sizes = {"step": (count - 1) * SEEN.every + 1, "layer": layers, "head": heads, "position": T}
    assert {name: limit["max"] + 1 for name, limit in limits.items()} == sizes


def test_the_page_reads_what_the_library_reads():
    packed = json.dumps(CheckpointsWidget().seen)
    expression = f"""((read) => {{
        const one = read.at(c);
        const weights = one.weights.map((heads) => heads.map((own) => Array.from(own)));
        return [read.count, {{...one, weights}}];
    }})(m.readCheckpoints({packed}))"""
    indices = [0, 13, 20]
    found = json.loads(in_javascript("checkpoints.js", expression, indices))
    for index, (count, one) in zip(indices, found, strict=True):
        assert count == 21
        weights = WEIGHTS[index]
        got = torch.tensor(one["weights"]).reshape(weights.shape)
        assert torch.equal(got, weights)
        assert list(one["scores"]) == list(SEEN.scores)
        for role, table in one["scores"].items():
            torch.testing.assert_close(torch.tensor(table), SEEN.scores[role][index])
        assert list(one["right"]) == list(SEEN.right)
        for job, share in one["right"].items():
            assert share == pytest.approx(SEEN.right[job][index].item())


# --- the page -------------------------------------------------------------------------------------


def role_at(index, layer, head):
    at = {role: table[index, layer, head].item() for role, table in SEEN.scores.items()}
    best = max(at, key=at.get)
    return f"{best} {at[best]:.2f}" if at[best] >= 0.5 else "nothing"


def expect_view(page, step, layer=1, head=2, position=11):
    index = step // SEEN.every
    weights = WEIGHTS[index]
    slider = page.get_by_role("slider", name="Steps")
    expect(slider).to_have_value(str(step))
    unknown = torch.ones(12, 40)  # what comes next is not shown
    asked, _, *looks = told(SEEN.text, layer, head, position, weights, unknown, None, -1)
    expect(page.locator(".hydra-told > span")).to_have_text([asked, *looks])
    tiles = page.locator(".hydra-head")
    names = [
        f"layer {n // 6}, head {n % 6}: {role_at(index, n // 6, n % 6)}"
        for n in range(tiles.count())
    ]
    assert tiles.evaluate_all("all => all.map((one) => one.ariaLabel)") == names
    expect(page.locator(".hydra-head[aria-pressed=true]")).to_have_attribute(
        "aria-label", names[6 * layer + head]
    )
    row = [f"{w:.2f}" if w >= 0.05 else "" for w in weights[layer, head, position].tolist()]
    expect(page.locator(".hydra-symbols small")).to_have_text(row)
    expect(page.locator(".hydra-legend > span")).to_have_text(
        [re.compile(f"^ ?{job} ") for job in ("induction", "bracket", "entity")]
    )
    shares = [f"{100 * share[index].item():.0f}\u00a0%" for share in SEEN.right.values()]
    expect(page.locator(".hydra-legend output")).to_have_text(shares)
    # The dashed line stands at the step, and a dot of each job on it.
    left, right = 44, 340 - 16
    here = pytest.approx(left + (right - left) * step / LAST)
    places = "all => all.map((one) => Number(one.getAttribute('x1') ?? one.getAttribute('cx')))"
    lines = page.locator(".hydra-plot :is(.hydra-gap, .hydra-target, .hydra-spot)")
    assert lines.evaluate_all(places) == [here] * 5


@browser
def test_steps_by_every_hand(widget_page):
    page = widget_page(CheckpointsWidget())
    expect_view(page, 0)
    slider = page.get_by_role("slider", name="Steps")
    slider.focus()
    press(page, "ArrowRight")
    expect_view(page, 50)
    page.wait_for_url("**#checkpoints.step=50")
    press(page, "End")
    expect_view(page, LAST)
    drag(page, "Steps", 0.5)
    half = int(slider.input_value())
    assert 400 <= half <= 600
    expect_view(page, half)
    line = page.locator(".hydra-plot .hydra-target")
    pull(page, line, -10_000)
    expect_view(page, 0)
    pull(page, line, 10_000)
    expect_view(page, LAST)
    chart = page.locator(".hydra-plot svg")
    box = chart.bounding_box()
    chart.click(position={"x": box["width"] * (44 + (324 - 44) * 0.5) / 340, "y": 9})
    expect_view(page, 500)
    slider.press("End")
    drawn(page)
    expect_view(page, LAST)
    page.get_by_role("button", name="begin again").click()  # at once: less motion is asked for
    expect_view(page, 0)
    page.get_by_role("button", name="play").click()
    expect_view(page, LAST)


@browser
def test_a_finger_pulls_the_line(widget_page):
    page = widget_page(CheckpointsWidget(step=700), width=360)
    page.evaluate("document.body.style.minHeight = '3000px'")
    line = page.locator(".hydra-plot .hydra-target")
    line.scroll_into_view_if_needed()
    x, y = middle(line)
    assert swipe(page, (x, y), (x - 60, y + 3)) == 0
    step = int(page.get_by_role("slider", name="Steps").input_value())
    assert 400 < step < 600
    expect_view(page, step)
    x, y = middle(line)
    assert swipe(page, (x, y), (x + 3, y - 80)) > 40  # one that starts upwards scrolls
    expect_view(page, step)


@browser
def test_heads_and_symbols_by_pointer_and_keyboard(widget_page):
    page = widget_page(CheckpointsWidget(step=700))
    tiles, symbols = page.locator(".hydra-head"), page.locator(".hydra-symbols button")
    tiles.nth(2).click()  # of the other layer, and the same head
    expect_view(page, 700, 0, 2)
    tiles.nth(4).click()
    expect_view(page, 700, 0, 4)
    press(page, "ArrowRight")
    expect_view(page, 700, 0, 5)
    symbols.nth(7).hover()
    expect_view(page, 700, 0, 5, 7)
    symbols.nth(9).click()
    expect_view(page, 700, 0, 5, 9)
    press(page, "ArrowLeft")  # the pointer still lies where it was
    expect_view(page, 700, 0, 5, 8)
    page.mouse.move(0, 0)
    expect_view(page, 700, 0, 5, 8)
    page.wait_for_url("**#checkpoints.head=5&checkpoints.layer=0&checkpoints.position=8")


@browser
def test_where_motion_is_welcome_every_checkpoint_is_seen(widget_page):
    page = widget_page(CheckpointsWidget(step=500))
    page.emulate_media(reduced_motion="no-preference")
    page.evaluate("""() => {
        window.seen = [];
        const label = document.querySelector(".hydra-control output");
        new MutationObserver(() => seen.push(Number(label.textContent))).observe(label,
            { characterData: true, childList: true, subtree: true });
    }""")
    play, stop, again = (
        page.get_by_role("button", name=name, exact=True)
        for name in ("play", "stop", "begin again")
    )
    started = page.evaluate("performance.now()")
    play.click()
    expect(again).to_have_count(1)
    assert page.evaluate("seen") == list(range(550, LAST + 1, 50))
    assert page.evaluate("performance.now()") - started >= 10 * 200
    again.click()
    page.wait_for_function("seen.at(-1) >= 200 && seen.at(-1) < 900")
    expect(page.locator(".hydra")).to_have_attribute("aria-busy", "true")  # not read step by step
    page.locator(".hydra-head").nth(1).click()  # another head may be chosen meanwhile
    now = page.evaluate("seen.at(-1)")
    page.wait_for_function(f"seen.at(-1) > {now}")
    stop.click()
    expect(page.locator(".hydra")).to_have_attribute("aria-busy", "false")
    drawn(page)
    stopped = int(page.get_by_role("slider", name="Steps").input_value())
    page.wait_for_timeout(500)  # nothing is to happen
    expect_view(page, stopped, 0, 1)
    assert play.evaluate("one => (one.click(), one.textContent)") == "stop"  # at once
    page.get_by_role("slider", name="Steps").fill("100")  # who pulls it has it
    expect(play).to_have_count(1)
    page.wait_for_timeout(500)
    expect_view(page, 100, 0, 1)


@browser
def test_links(widget_page):
    fragment = "#checkpoints.step=650&checkpoints.layer=0&checkpoints.head=4"
    widget = CheckpointsWidget()
    # As a built page has it.
    widget.set_trait("seen", json.loads(json.dumps(widget.seen, sort_keys=True)))
    page = widget_page(widget, fragment=fragment)
    expect_view(page, 650, 0, 4)
    follow(page, "#checkpoints.step=100&checkpoints.position=3")
    expect_view(page, 100, position=3)
    for asked in ("step=75", "step=1050", "layer=2", "head=6", "position=12", "seen=1"):
        follow(page, f"#checkpoints.{asked}")
        expect_refused(page, "checkpoints", asked)


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_moves_and_all_can_be_read(widget_page, width):
    """Of all steps and heads; a line of text more would push the chart down."""
    page = widget_page(CheckpointsWidget(), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    chart = page.locator(".hydra-plot svg")
    tops = set()
    for step in (0, 300, 650, 700, LAST):
        for n in (0, 4, 6, 8, 11):
            page.locator(".hydra-head").nth(n).click()
            page.get_by_role("slider", name="Steps").fill(str(step))
            drawn(page)
            for symbol in (3, 7, 11):
                page.locator(".hydra-symbols button").nth(symbol).dispatch_event("mouseenter")
                tops.add(
                    round(chart.evaluate("(one) => one.getBoundingClientRect().top + scrollY"))
                )
            assert page.evaluate(f"({UNREADABLE})(document.body)") == []
    assert len(tops) == 1
