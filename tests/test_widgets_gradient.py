"""The widget of what a row of scores learns: arithmetic against the library, controls, links."""

import json
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import attention_backward, sentence
from hydra_lib.widgets import GradientWidget
from hydra_lib.widgets._base import SettingError
from tests.conftest import (
    drag,
    drawn,
    expect_refused,
    follow,
    in_javascript,
    middle,
    press,
    swipe,
    written_weight,
)

browser = pytest.mark.browser
VALUES = sentence.VALUES.double()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: GradientWidget(scores=[0.0] * 6),
            "scores must be a row of 7, each a number from -8 to 8, got",
        ),
        (
            lambda: GradientWidget(scores=[9.0] * 7),
            "scores must be a row of 7, each a number from -8 to 8, got",
        ),
        (lambda: GradientWidget(target=0), "target must be 1 or 2 or 6, got 0"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(SettingError, match=f"^{re.escape(message)}"):
        make()


def by_the_library(scores, values, target):
    """Chapter 8 on one row whose scores are given: a query of 1, the scores as keys."""
    q, k = torch.ones(1, 1, dtype=torch.float64), scores[:, None]
    p = torch.softmax(scores, dim=0)
    output = p @ values
    steps = attention_backward(q, k, values, (output - target)[None], temperature=1)
    return p, output, (output - target).square().sum() / 2, -steps.grad_scaled[0]


@pytest.mark.long
def test_arithmetic_agrees_with_the_library():
    generator = torch.Generator().manual_seed(5)
    cases, expected = [], []
    for index in range(1000):
        n = 1 + index % 11
        scores = 6 * torch.randn(n, generator=generator, dtype=torch.float64)
        values = torch.rand(n, 3, generator=generator, dtype=torch.float64)
        target = torch.rand(3, generator=generator, dtype=torch.float64)
        cases.append([x.tolist() for x in (scores, values, target)])
        expected.append(by_the_library(scores, values, target))
    got = json.loads(in_javascript("gradient.js", "m.learning(...c)", cases))
    for result, (p, output, loss, push) in zip(got, expected, strict=True):
        for name, wanted in (("p", p), ("output", output), ("loss", loss), ("push", push)):
            torch.testing.assert_close(
                torch.tensor(result[name], dtype=torch.float64), wanted, rtol=1e-9, atol=1e-12
            )
        weighed = torch.tensor(result["p"]).double() * torch.tensor(result["pull"]).double()
        torch.testing.assert_close(weighed, push, rtol=1e-5, atol=1e-7)


def descended(scores, target, steps, rate=8.0, enough=-1.0):
    """Descent by the library's gradients: the loss before each step, the scores after all, or
    where the loss is small enough."""
    losses = []
    for _ in range(steps):
        _, _, loss, push = by_the_library(scores, VALUES, VALUES[target])
        losses.append(loss.item())
        if losses[-1] <= enough:
            break
        scores = scores + rate * push
        low, high = scores.min(), scores.max()
        if high - low > 16:
            scores = (scores - (low + high) / 2).clamp(-8, 8)
        elif high > 8:  # a shift of all changes no weight
            scores = scores - (high - 8)
        elif low < -8:
            scores = scores - (low + 8)
    return losses, scores


@pytest.mark.long
def test_descent():
    generator = torch.Generator().manual_seed(4)
    starts = (4 * torch.randn(13, 7, generator=generator, dtype=torch.float64)).clamp(-8, 8)
    # The last two rates throw scores further apart than the ends; all but equal ones stay together.
    starts[:2] = 7.9 - torch.rand(2, 7, generator=generator, dtype=torch.float64) / 10
    starts[1] *= -1
    rates = [8.0] * 11 + [300.0, 3000.0]
    cases = [
        [s.tolist(), VALUES.tolist(), VALUES[6].tolist(), {"rate": r, "most": 8, "steps": 17}]
        for s, r in zip(starts, rates, strict=True)
    ]
    got = json.loads(in_javascript("gradient.js", "m.descent(...c)", cases))
    for result, start, rate in zip(got, starts, rates, strict=True):
        losses, scores = descended(start, 6, 17, rate)
        assert result["losses"] == pytest.approx(losses, rel=1e-9)
        assert result["scores"] == pytest.approx(scores.tolist(), rel=1e-9, abs=1e-9)
    assert {abs(x) for x in got[-1]["scores"]} >= {8}
    for result, start in zip(got[:2], starts[:2], strict=True):
        free, _ = descended(start - start.mean(), 6, 17, 8.0)  # no end is near
        assert result["losses"] == pytest.approx(free, rel=1e-9)


def rows(page):
    lines = page.locator(".hydra-learning tbody tr").all()
    return [[cell.inner_text() for cell in line.locator("td").all()[1:]] for line in lines]


def written(x):
    if x == 0:
        return "0"
    return "≈ 0" if abs(x) < 5e-4 else f"{'−' if x < 0 else '+'}{abs(x):.3f}"


def expected_rows(scores, target):
    p, output, _, push = by_the_library(scores, VALUES, VALUES[target])
    pull = (VALUES - output) @ (VALUES[target] - output)
    return [
        [written_weight(w), written(a), written(b)]
        for w, a, b in zip(p.tolist(), pull.tolist(), push.tolist(), strict=True)
    ]


FURTHEST = (VALUES[:, None] - VALUES).square().sum(dim=-1).max()
MOST_PUSH = 4 / 27 * FURTHEST


def test_no_bar_is_longer_than_its_scale():
    generator = torch.Generator().manual_seed(0)
    scores = 8 * (2 * torch.rand(20_000, 7, generator=generator, dtype=torch.float64) - 1)
    p = scores.softmax(dim=-1)
    output = p @ VALUES
    for target in range(7):
        pull = ((VALUES[target] - output)[:, None] * (VALUES - output[:, None])).sum(dim=-1)
        assert pull.abs().max() <= FURTHEST
        assert (p * pull).abs().max() <= MOST_PUSH


def expect_picture(page, scores, target):
    """Arcs as wide as the weights, words as high as their scores, bars as tall as the pushes."""
    p, output, _, push = by_the_library(scores, VALUES, VALUES[target])
    got = page.evaluate(
        """() => {
        const picture = document.querySelector(".hydra-taught");
        const all = (what, read) => [...picture.querySelectorAll(what)].map(read);
        const paint = (one) => one.style.getPropertyValue("--paint");
        const pixels = (name) => (one) => parseFloat(one.style.getPropertyValue(name));
        const number = (name) => (one) => Number(one.getAttribute(name));
        return {
            arcs: all(".hydra-paint", number("stroke-width")),
            seen: all(".hydra-paint", (one) => one.checkVisibility({ visibilityProperty: true })),
            starts: all(".hydra-paint", (one) => one.getPointAtLength(0).y),
            up: all(".hydra-knob", pixels("--up")),
            tall: all(".hydra-knob", pixels("--push")),
            falls: all(".hydra-knob", (one) => one.classList.contains("hydra-less")),
            above: all(".hydra-knob", (one) => {
                const [disc, bar] = [one, one.firstChild].map((x) => x.getBoundingClientRect());
                return bar.bottom <= disc.top + disc.height / 2 + 1;
            }),
            colours: all(".hydra-swatch", paint).slice(0, 2),
        };
    }"""
    )
    tall = 80 * push.abs() / MOST_PUSH
    up = 9 * (scores + 8)
    assert got["arcs"] == pytest.approx((34 * p).clamp(min=0.6).tolist())
    assert got["seen"] == (p >= 0.004).tolist()
    assert got["up"] == pytest.approx(up.tolist(), abs=0.051)
    assert got["starts"] == pytest.approx((220 - up).tolist(), abs=0.051)  # where the words stand
    assert got["tall"] == pytest.approx(tall.tolist(), abs=0.051)
    assert got["falls"] == (push < 0).tolist()
    assert [up or t < 1.5 for up, t in zip(got["above"], tall, strict=True)] == [
        rises or t < 1.5 for rises, t in zip(push >= 0, tall, strict=True)
    ]
    for colour, said in zip((VALUES[target], output), got["colours"], strict=True):
        levels = [int(x) for x in said.removeprefix("rgb(").removesuffix(")").split()]
        assert levels == pytest.approx((255 * colour).tolist(), abs=0.51)


@browser
def test_a_divided_row_that_hardly_learns_is_not_called_sure(widget_page):
    """Its mixture of two words is about as near to the third as it can come."""
    scores = [0, 7.2, 8, 0, 0, 0, 0]
    page = widget_page(GradientWidget(target=6, scores=scores))
    p, _, _, push = by_the_library(torch.tensor(scores).double(), VALUES, VALUES[6])
    assert p.max() < 0.7
    assert push.abs().max() < 0.005
    expect(page.locator(".hydra-summary")).to_have_text(
        re.compile(r"0\.005: no word that the row looks at lies much further towards the target\.$")
    )


@browser
def test_a_word_that_only_leads_towards_the_target_is_explained(widget_page):
    page = widget_page(GradientWidget(target=6))
    *_, push = by_the_library(torch.zeros(7).double(), VALUES, VALUES[6])
    assert push.argmax() == 2  # blue, on the way to purple
    expect(page.locator(".hydra-summary")).to_contain_text(
        "The step would raise “slept” most: its weight × pull is the largest. "
        "More of it also brings the mixture nearer to “tired”."
    )
    page.get_by_label("slept", exact=True).check()
    expect(page.locator(".hydra-summary")).not_to_contain_text("also")


@browser
def test_on_a_phone_the_run_its_words_and_its_curve_are_on_one_screen(widget_page):
    page = widget_page(GradientWidget(), width=360)
    run = page.get_by_role("button", name="run").bounding_box()
    curve = page.locator(".hydra-plot").bounding_box()
    assert 0 < curve["y"] + curve["height"] - run["y"] < 640
    assert page.get_by_role("slider").first.bounding_box()["y"] > curve["y"]


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_the_row_is_that_of_the_last_word_beside_its_target(widget_page, width):
    page = widget_page(GradientWidget(), width=width)
    aim, mix = (page.locator(".hydra-taught > .hydra-swatch").nth(i) for i in (0, 1))
    (aim_x, aim_y), (x, y) = middle(aim), middle(mix)
    assert x == pytest.approx(middle(page.locator(".hydra-knob").last)[0], abs=1)
    assert aim_y == pytest.approx(y, abs=1)
    assert aim_x < x
    ends = """paths => paths.map((one) =>
        one.getPointAtLength(one.getTotalLength()).matrixTransform(one.getScreenCTM()).x)"""
    beside = [x + 34 * (j - 3) / 7 for j in range(7)]  # seven equal weights fill its disc
    assert page.locator(".hydra-paint").evaluate_all(ends) == pytest.approx(beside, abs=0.6)


@browser
def test_drag_teach_and_saturate(widget_page):
    page = widget_page(GradientWidget())
    scores = torch.zeros(7, dtype=torch.float64)
    assert rows(page) == expected_rows(scores, 1)
    expect_picture(page, scores, 1)
    summary = page.locator(".hydra-summary")
    expect(summary).to_contain_text("The step would raise “cat” most")
    page.get_by_role("slider", name="slept").focus()
    press(page, "End")
    scores[2] = 8
    assert rows(page) == expected_rows(scores, 1)
    expect(summary).to_contain_text("sure, and wrong, and hardly learns")
    page.get_by_label("slept", exact=True).check()
    drawn(page)
    assert rows(page) == expected_rows(scores, 2)
    expect(summary).to_contain_text("the mixture has all but reached its target")
    page.get_by_role("button", name="even").click()
    drawn(page)
    assert rows(page) == expected_rows(torch.zeros(7, dtype=torch.float64), 2)
    drag(page, "tired", 1)
    scores = torch.zeros(7, dtype=torch.float64)
    scores[6] = 8
    assert rows(page) == expected_rows(scores, 2)
    expect_picture(page, scores, 2)
    page.wait_for_url("**#gradient.scores=*&gradient.target=2")
    begin = page.get_by_role("group", name="Begin", exact=True)
    begin.get_by_role("button", name="sure of “slept”").click()
    drawn(page)
    scores = torch.tensor([0.0, 0, 8, 0, 0, 0, 0], dtype=torch.float64)
    assert rows(page) == expected_rows(scores, 2)


@browser
def test_bars_below_the_numbers_go_to_their_side(widget_page):
    page = widget_page(GradientWidget())
    p, _, _, push = by_the_library(torch.zeros(7).double(), VALUES, VALUES[1])
    pull = push / p
    found = page.locator("td.hydra-signed").evaluate_all(
        """all => all.map((one) => ["--from", "--to"].map((name) =>
            parseFloat(one.style.getPropertyValue(name))))"""
    )
    for j in range(7):
        for value, most, (start, end) in (
            (pull[j], FURTHEST, found[2 * j]),
            (push[j], MOST_PUSH, found[2 * j + 1]),
        ):
            tip = 50 + 50 * float(value / most)
            assert (start, end) == pytest.approx(sorted((50, tip)), abs=1e-3)


@browser
def test_steps_are_gradient_descent(widget_page):
    page = widget_page(GradientWidget(target=6))
    scores = torch.zeros(7, dtype=torch.float64)
    for name, times in (("one step", 1), ("ten", 10), ("ten", 10)):
        page.get_by_role("button", name=name, exact=True).click()
        drawn(page)
        _, scores = descended(scores, 6, times)
        scores = (1e4 * scores).round() / 1e4
        assert rows(page) == expected_rows(scores, 6)


@browser
def test_where_motion_is_welcome_steps_are_seen_one_by_one(widget_page):
    page = widget_page(GradientWidget(target=6))
    page.emulate_media(reduced_motion="no-preference")
    page.evaluate(
        """() => {
            window.seen = new Set();
            const label = document.querySelector(".hydra-taught .hydra-label");
            new MutationObserver(() => seen.add(label.textContent)).observe(label,
                { characterData: true, subtree: true });
        }"""
    )
    page.get_by_role("button", name="ten", exact=True).click()
    _, scores = descended(torch.zeros(7, dtype=torch.float64), 6, 10)
    expected = expected_rows(scores, 6)
    expect(page.locator("td.hydra-bar")).to_have_text([weight for weight, *_ in expected])
    assert len(page.evaluate("[...seen]")) >= 8  # a frame may be lost
    # What the reader does meanwhile ends the walk.
    page.get_by_role("button", name="run", exact=True).click()
    page.get_by_role("button", name="even", exact=True).click()
    expect(page.locator("td.hydra-bar")).to_have_text(["0.143"] * 7)
    for _ in range(5):
        drawn(page)
    expect(page.locator("td.hydra-bar")).to_have_text(["0.143"] * 7)
    # What runs on arrives, and says once that it runs and once that it has ended.
    run = page.get_by_role("button", name="run", exact=True)
    run.evaluate(
        """(run) => {
            window.said = [];
            const told = () => said.push(run.textContent, run.closest(".hydra").ariaBusy);
            new MutationObserver(told).observe(run, { characterData: true, subtree: true });
        }"""
    )
    run.click()
    expect(page.locator(".hydra-summary")).to_contain_text("Learned: loss 0.00")
    expect(run).to_be_visible()
    assert page.evaluate("said") == ["stop", "true", "run", "false"]


@browser
def test_a_run_that_is_stopped_keeps_its_steps_in_sight(widget_page):
    page = widget_page(GradientWidget(target=6, scores=[0, 0, 8, 0, 0, 0, 0]))
    page.emulate_media(reduced_motion="no-preference")
    page.get_by_role("button", name="run").click()
    taken = """document.querySelector(".hydra-taken").getAttribute("points").split(" ").length"""
    page.wait_for_function(f"{taken} > 20")
    page.get_by_role("button", name="stop").click()
    drawn(page)  # the last step that was taken
    stopped = page.evaluate(taken)
    assert stopped > 20
    for _ in range(3):
        drawn(page)
    assert page.evaluate(taken) == stopped
    # Other steps take the place of a run: the two do not walk beside each other.
    run, stop = (page.get_by_role("button", name=name) for name in ("run", "stop"))
    run.click()
    page.get_by_role("button", name="ten").click()
    expect(run).to_be_visible()  # after the ten
    stopped = page.locator("td.hydra-bar").all_text_contents()
    for _ in range(3):
        drawn(page)
    assert page.locator("td.hydra-bar").all_text_contents() == stopped
    run.click()
    expect(stop).to_be_visible()
    page.get_by_role("button", name="one step").click()
    expect(run).to_be_visible()


@browser
def test_a_run_ends_where_the_row_has_learned(widget_page):
    sure = [0.0, 0, 8, 0, 0, 0, 0]
    page = widget_page(GradientWidget(target=6, scores=sure))
    _, scores = descended(torch.tensor(sure).double(), 6, 400, enough=0.005)
    page.get_by_role("button", name="run").click()
    drawn(page)
    assert rows(page) == expected_rows((1e4 * scores).round() / 1e4, 6)
    run = page.get_by_role("button", name="run")
    expect(run).to_have_attribute("aria-disabled", "true")  # nothing is left to learn
    run.focus()
    page.keyboard.press("Enter")
    drawn(page)
    assert rows(page) == expected_rows((1e4 * scores).round() / 1e4, 6)


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_a_word_is_dragged_to_its_score(widget_page, width):
    page = widget_page(GradientWidget(), width=width)
    discs = page.locator(".hydra-knob")
    scores = torch.zeros(7, dtype=torch.float64)
    for j, by, score in ((1, 27, 3), (2, -18, -2), (6, 400, 8)):
        x, y = middle(discs.nth(j))
        page.mouse.move(x + 8, y + 8)  # wherever it is taken: it does not jump
        page.mouse.down()
        page.mouse.move(x + 8, y + 8 - by, steps=3)
        page.mouse.up()
        drawn(page)
        scores[j] = score
        assert rows(page) == expected_rows(scores, 1)
        expect_picture(page, scores, 1)
    # Its line leads from the lowest place of its middle to the highest.
    line = page.locator(".hydra-rail").last.bounding_box()
    assert middle(discs.nth(6))[1] == pytest.approx(line["y"], abs=3)
    assert line["height"] == pytest.approx(16 * 9, abs=1)
    x, y = middle(discs.nth(0))
    assert swipe(page, (x, y), (x, y - 9)) == 0  # a finger too, and the page stays
    scores[0] = 1
    assert rows(page) == expected_rows(scores, 1)


@browser
def test_a_finger_that_scrolls_changes_no_score(widget_page):
    page = widget_page(GradientWidget(), width=360)
    page.evaluate("document.body.style.minHeight = '3000px'")
    before = rows(page)
    slider = page.get_by_role("slider", name="cat")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    x, y = box["x"] + 0.1 * box["width"], box["y"] + box["height"] / 2
    assert swipe(page, (x, y), (x, y - 150)) > 0
    assert rows(page) == before
    expect(slider).to_have_js_property("valueAsNumber", 0)
    x, y = middle(slider)
    swipe(page, (x, y), (x + 0.2 * box["width"], y))  # sideways it is meant
    assert rows(page) != before


@browser
def test_the_curve_is_the_loss_to_come(widget_page):
    sure = [0, 0, 8, 0, 0, 0, 0]
    page = widget_page(GradientWidget(target=1, scores=sure))

    def curve():
        points = page.locator(".hydra-plot .hydra-line").get_attribute("points").split(" ")
        x, y = zip(*(map(float, point.split(",")) for point in points), strict=True)
        dot = page.locator(".hydra-plot .hydra-dot")
        assert [float(dot.get_attribute(at)) for at in ("cx", "cy")] == pytest.approx(
            [x[0], y[0]], abs=0.06
        )
        assert x == pytest.approx([x[0] + i * (x[200] - x[0]) / 200 for i in range(201)], abs=0.06)
        low, high = page.evaluate(
            """() => ["0", "0.4"].map((mark) => {
                const texts = [...document.querySelectorAll(".hydra-plot text[text-anchor=end]")];
                return texts.find((one) => one.textContent === mark).getAttribute("y") - 4;
            })"""
        )
        return [0.4 * (at - low) / (high - low) for at in y]

    losses, _ = descended(torch.tensor(sure).double(), 1, 201)
    assert curve() == pytest.approx(losses, abs=1e-3)
    half = next(i for i, loss in enumerate(losses) if loss < losses[0] / 2)
    told = page.locator(".hydra-summary")
    expect(told).to_contain_text(f"Loss 0.46, halved after {half} steps. ")
    near = page.locator(".hydra-taught .hydra-label").first  # on a phone the sentence is far below
    expect(near).to_have_text("loss 0.46: half the squared distance of the two")
    # Sure and wrong: a plain, then a cliff.
    assert losses[60] > 0.99 * losses[0]
    assert losses[160] < 0.01 * losses[0]
    page.get_by_role("button", name="even").click()
    drawn(page)
    losses, _ = descended(torch.zeros(7).double(), 1, 201)
    assert curve() == pytest.approx(losses, abs=1e-3)
    follow(page, f"#gradient.scores={json.dumps(sure)}&gradient.target=6")
    losses, _ = descended(torch.tensor(sure).double(), 6, 201)
    assert losses[200] > losses[0] / 2
    expect(told).to_contain_text(f"Loss {losses[0]:.3g}, and {losses[200]:.3g} after 200 steps. ")
    page.get_by_label("slept", exact=True).check()
    expect(told).to_have_text(re.compile(r"^Learned: loss [^,]*\. "))  # nothing to halve
    for scores, target, steps, said in (
        ([-6, 3, -4, -6, 3, -1, -4], 4, 1, "1 step. "),
        ([3, 5, 3, 2, -1, 2, -1], 0, 2, "2 steps. "),
    ):
        losses, _ = descended(torch.tensor(scores).double(), target, 3)
        assert losses[steps - 1] >= losses[0] / 2 > losses[steps]
        follow(page, f"#gradient.scores={json.dumps(scores)}&gradient.target={target}")
        expect(told).to_contain_text(f"halved after {said}")


@browser
def test_the_steps_taken_stay_in_sight_until_something_else_moves_the_row(widget_page):
    page = widget_page(GradientWidget(target=1))

    def past():
        points = page.locator(".hydra-taken").get_attribute("points").split(" ")
        ahead = page.locator(".hydra-line").get_attribute("points").split(" ")
        assert points[-1] == ahead[0]
        return points[:-1]

    ahead = page.locator(".hydra-line").get_attribute("points").split(" ")
    assert past() == []
    page.get_by_role("button", name="ten").click()
    drawn(page)
    assert len(past()) == 10
    heights = [point.split(",")[1] for point in ahead]
    assert [point.split(",")[1] for point in past()] == heights[:10]
    page.get_by_role("button", name="one step").click()
    drawn(page)
    assert [point.split(",")[1] for point in past()] == heights[:11]
    for _ in range(9):
        page.get_by_role("button", name="ten").click()
        drawn(page)
    assert len(past()) == 100  # as many as there is room for
    start, now = past()[0], page.locator(".hydra-dot")
    step = (float(now.get_attribute("cx")) - float(start.split(",")[0])) / 100
    assert float(ahead[1].split(",")[0]) - float(ahead[0].split(",")[0]) == pytest.approx(
        step, abs=0.11
    )
    page.get_by_label("tired", exact=True).check()  # another target
    drawn(page)
    assert past() == []
    page.get_by_role("button", name="ten").click()
    page.get_by_role("slider", name="slept").press("ArrowRight")
    drawn(page)
    assert past() == []


@browser
@pytest.mark.parametrize("width", [320, 1280])
def test_links_and_room(widget_page, width):
    page = widget_page(GradientWidget(), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.locator(".hydra-panels", has=page.locator("table"))
    assert box.evaluate("x => x.scrollWidth <= x.clientWidth + 1")
    follow(page, "#gradient.scores=[0,0,8,0,0,0,0]&gradient.target=6")
    wanted = torch.tensor([0.0, 0, 8, 0, 0, 0, 0]).double()
    assert rows(page) == expected_rows(wanted, 6)
    for asked in ("scores=[1]", "scores=[0,0,9,0,0,0,0]", "target=0", "targets=[1]"):
        follow(page, f"#gradient.{asked}")
        expect_refused(page, "gradient", asked)


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_columns_keep_their_places(widget_page, width):
    page = widget_page(GradientWidget(), width=width)
    heads = page.locator(".hydra-learning thead th")

    def places():
        drawn(page)
        return [head.bounding_box()["x"] for head in heads.all()]

    even = places()
    page.get_by_role("slider", name="tired").focus()
    page.keyboard.press("End")  # pushes become ≈ 0, which is narrower
    expect(page.locator(".hydra-learning")).to_contain_text("≈ 0")
    assert places() == even


@browser
def test_a_score_that_rounds_to_zero_has_no_sign(widget_page):
    page = widget_page(GradientWidget(scores=[-0.04, -0.06, 0, 0, 0, 0, 0]))
    sliders = page.get_by_role("slider")
    expect(sliders.nth(0)).to_have_attribute("aria-valuetext", "0.0")
    expect(sliders.nth(1)).to_have_attribute("aria-valuetext", "−0.1")
