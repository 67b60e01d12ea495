"""Heads on devices: the arithmetic against the library's costs, every control, links."""

import json
import re

import pytest
import torch
import traitlets
from playwright.sync_api import expect

from hydra_lib import HeadConfig
from hydra_lib.parallel import heads_over_ranks, seconds
from hydra_lib.widgets import DevicesWidget
from tests.conftest import (
    drag,
    expect_refused,
    expect_table,
    follow,
    in_javascript,
    middle,
    press,
    pull,
    swipe,
)

browser = pytest.mark.browser


@pytest.mark.parametrize(
    "setting",
    [{"ranks": 0}, {"ranks": 1025}, {"T": 1.5}, {"n_heads": 0}, {"rate": 0}, {"bandwidth": 1e5}],
)
def test_bad_settings(setting):
    (name,) = setting
    with pytest.raises(traitlets.TraitError, match=name):
        DevicesWidget(**setting)


# --- arithmetic -----------------------------------------------------------------------------------


def random_cases(count):
    """Widths, heads and ranks, of which each may or may not divide the one before."""
    generator = torch.Generator().manual_seed(11)

    def draw(most):
        return torch.randint(1, most + 1, (), generator=generator).item()

    cases = []
    for index in range(count):
        ranks, own, width = draw(16), draw(9), draw(64)
        odd = index % 3 == 0
        case = {"ranks": ranks, "heads": ranks * own + odd, "T": draw(5000)}
        case["dModel"] = case["heads"] * width + (index % 7 == 0)
        speeds = 10 ** (6 * torch.rand(2, generator=generator, dtype=torch.float64))
        cases.append(case | dict(zip(("rate", "bandwidth"), speeds.tolist(), strict=True)))
    return cases


def predicted(case):
    """The library's cost, or what it says against the case."""
    try:
        config = HeadConfig(case["dModel"], case["heads"])
        return heads_over_ranks(config, case["T"], case["ranks"]), ""
    except ValueError as error:
        return None, str(error)


@pytest.mark.long
def test_costs_and_refusals_agree_with_the_library():
    cases = random_cases(1200)
    expression = """({says: m.refused(c.dModel, c.heads, c.ranks),
        cost: m.headsOverRanks(c.dModel, c.T, c.ranks),
        time: m.seconds(m.headsOverRanks(c.dModel, c.T, c.ranks), c.rate, c.bandwidth)})"""
    got = json.loads(in_javascript("costs.js", expression, cases))
    refused = 0
    for case, found in zip(cases, got, strict=True):
        cost, says = predicted(case)
        assert found["says"] == says
        if says:
            refused += 1
            continue
        assert found["cost"]["flops"] == pytest.approx(cost.flops)
        assert found["cost"]["bytes"] == pytest.approx(cost.bytes)
        expected = seconds(cost, case["rate"], case["bandwidth"])
        assert found["time"]["compute"] == pytest.approx(expected.compute)
        assert found["time"]["communicate"] == pytest.approx(expected.communicate)
        assert found["time"]["share"] == pytest.approx(expected.share)
    assert 200 < refused < 1000


def test_speedups_are_for_the_ranks_that_divide():
    case = {"dModel": 96, "heads": 12, "tokens": 70, "rate": 3e9, "bandwidth": 2e6}
    (points,) = json.loads(in_javascript("costs.js", "m.speedups(c)", [case]))
    assert [p["ranks"] for p in points] == [1, 2, 3, 4, 6, 12]
    config = HeadConfig(96, 12)
    totals = [seconds(heads_over_ranks(config, 70, p["ranks"]), 3e9, 2e6).total for p in points]
    assert [p["times"] for p in points] == pytest.approx([totals[0] / t for t in totals])
    (many,) = json.loads(in_javascript("costs.js", "m.divisors(c)", [65536]))
    assert many == [2**e for e in range(11)]  # to 1,024 ranks


@browser
def test_a_slider_keeps_its_length_and_the_chart_its_ticks(widget_page):
    page = widget_page(DevicesWidget(T=1, bandwidth=0.001, rate=1000))
    tokens = page.get_by_role("slider", name="Tokens T")
    width = tokens.bounding_box()["width"]
    frame = page.locator(".hydra-plot svg").bounding_box()
    labels = page.locator(".hydra-plot text").all()
    assert [x.text_content() for x in labels[:4]] == ["1e−6", "1e−4", "0.01", "1"]
    for label in labels:
        assert label.bounding_box()["x"] >= frame["x"], label.text_content()
    tokens.focus()
    press(page, "End")
    assert tokens.bounding_box()["width"] == width
    expect(page.get_by_label("T", exact=True)).to_have_value(str(2**19))


@browser
def test_a_slower_link_bends_the_curve_and_not_its_axis(widget_page):
    page = widget_page(DevicesWidget(ranks=8))
    ticks = page.locator(".hydra-plot text")
    before = ticks.all_text_contents()
    dot = page.locator(".hydra-dot")
    high = float(dot.get_attribute("cy"))
    link = page.get_by_role("slider", name="Link, GB/s")
    link.focus()
    for _ in range(10):
        press(page, "ArrowLeft")
        assert ticks.all_text_contents() == before
        assert float(dot.get_attribute("cy")) > high  # lower in the picture
        high = float(dot.get_attribute("cy"))
    # Slower still, and the axis goes on by a decade at a time.
    axes = set()
    for _ in range(35):
        press(page, "ArrowLeft")
        axes.add(
            str(
                page.locator(".hydra-plot .hydra-grid").evaluate_all(
                    "all => all.map((one) => one.getAttribute('y1'))"
                )
            )
        )
    assert 1 < len(axes) <= 5


@browser
def test_a_number_is_taken_as_it_is_shown(widget_page):
    page = widget_page(DevicesWidget())
    field = page.get_by_role("textbox").nth(2)
    for text, value in (("4,096", "4096"), ("1,000,000", "1000000"), ("10,24", None), (",5", None)):
        field.fill(text)
        field.press("Enter")
        problem = page.locator(".hydra-control .hydra-problem", has_text="expected")
        expect(problem).to_have_count(int(value is None))
        if value:
            expect(field).to_have_value(value)
    field.fill("64")
    field.press("Enter")
    # One complaint at a time: the one about what was typed last.
    heads = page.get_by_label("n_heads")
    heads.fill("31")
    heads.press("Enter")
    expect(page.locator(".hydra-misfit")).to_be_visible()
    heads.fill("0")
    heads.press("Enter")
    expect(page.locator(".hydra-misfit")).to_be_hidden()


def test_prefixes():
    cases = [0, 1, 999, 999.6, 1000, 0.00125, 2.52e7, 8.59e10, 1e-9, 5e-14, 3e22]
    got = json.loads(in_javascript("costs.js", "m.prefixed(c, 's')", cases))
    expected = ["0 s", "1 s", "999 s", "1 ks", "1 ks", "1.25 ms", "25.2 Ms", "85.9 Gs", "1 ns"]
    assert got == [*expected, "0.05 ps", "30000 Es"]
    powers = [1000.0**at for at in range(-4, 7)]
    got = json.loads(in_javascript("costs.js", "m.prefixed(c, '')", powers))
    assert got == [f"1 {prefix}" for prefix in [*"pnµm", "", *"kMGTPE"]]


# --- controls -------------------------------------------------------------------------------------


def expect_setting(page, cards, costs, said, sends):
    """The machines with their heads, the table, the sentence."""
    found = page.locator(".hydra-machines > div")
    expect(found).to_have_count(len(cards))
    for card, heads in zip(found.all(), cards, strict=True):
        expect(card.locator(".hydra-strip span")).to_have_text(heads)
    expect_table(page, "One forward pass, for each rank", [[text] for text in costs])
    expect(page.locator(".hydra-summary")).to_have_text(said)
    expect(page.locator(".hydra-spent").nth(1)).to_be_visible(visible=len(cards) > 1)
    expect(page.locator(".hydra-sum")).to_have_text(sends)


def small(**setting):
    """8 tokens, 64 wide: 8·8·64² + 4·8²·64 = 278,528 FLOPs, 8·64·2 = 1024 bytes."""
    return DevicesWidget(
        **{"d_model": 64, "n_heads": 4, "T": 8, "ranks": 2, "rate": 0.001, "bandwidth": 0.01}
        | setting
    )


TWO = {
    "cards": [["0", "1"], ["2", "3"]],
    "costs": ["139 kFLOP", "1.02 kB", "139 µs", "102 µs", "42.4 %"],
    "said": "2 ranks, 2 heads each: 242 µs predicted, 42.4 % of it for sending; "
    "1.15 times as fast as one.",
    "sends": "Σ one all-reduce: each sends 1.02 kB",
}
ONE = {
    "cards": [["0", "1", "2", "3"]],
    "costs": ["279 kFLOP", "0 B", "279 µs", "0 s", "0 %"],
    "said": "1 rank, 4 heads each: 279 µs predicted, 0 % of it for sending; the one to compare "
    "others with.",
    "sends": "the sum over heads; nothing to send",
}
FOUR = {
    "cards": [["0"], ["1"], ["2"], ["3"]],
    "costs": ["69.6 kFLOP", "1.54 kB", "69.6 µs", "154 µs", "68.8 %"],
    "said": "4 ranks, 1 head each: 223 µs predicted, 68.8 % of it for sending; "
    "1.25 times as fast as one.",
    "sends": "Σ one all-reduce: each sends 1.54 kB",
}


@browser
def test_what_makes_it_slower_is_said_so(widget_page):
    # One rank 278.5 µs; of four each a quarter of it, and 1536 bytes at 1 MB/s.
    page = widget_page(small(ranks=4, bandwidth=0.001))
    expect(page.locator(".hydra-summary")).to_contain_text("5.76 times as slow as one.")


@browser
def test_controls_by_keyboard_and_pointer(widget_page):
    page = widget_page(small())
    expect_setting(page, **TWO)
    page.get_by_label("Ranks").focus()
    press(page, "Home")
    expect_setting(page, **ONE)
    press(page, "ArrowRight", "ArrowRight")
    expect_setting(page, **FOUR)
    page.wait_for_url("**#devices.ranks=4")
    drag(page, "Ranks", 0)
    expect_setting(page, **ONE)
    before = page.locator(".hydra-dot").get_attribute("cx")
    drag(page, "Ranks", 1)
    assert page.locator(".hydra-dot").get_attribute("cx") != before
    page.get_by_label("Tokens T").focus()
    press(page, "ArrowRight")
    expect(page.get_by_label("T", exact=True)).to_have_value("16")
    link = page.get_by_label("Link, GB/s")
    expect(link).to_have_attribute("aria-valuetext", "0.01")
    link.focus()
    press(page, "ArrowRight")
    expect(page.get_by_label("GB/s", exact=True)).to_have_value("0.015")
    press(page, "End")
    expect(link).to_have_attribute("aria-valuetext", "10,000")
    expect(page.get_by_label("GB/s", exact=True)).to_have_value("10000")
    page.wait_for_url("**#devices.T=16&devices.bandwidth=10000&devices.ranks=4")
    page.reload()
    page.wait_for_selector("[data-ready=devices]")
    expect(page.get_by_label("Ranks")).to_have_attribute("aria-valuetext", "4")


@browser
def test_heads_keep_their_colours_when_they_move(widget_page):
    """The circle of colours, cut in as many pieces as there are heads."""

    def hues():
        strips = page.locator(".hydra-strip span").evaluate_all(
            "all => all.map((one) => [one.textContent, one.style.getPropertyValue('--hue')])"
        )
        return {int(head): int(hue) for head, hue in strips}

    page = widget_page(small())
    assert hues() == {0: 200, 1: 290, 2: 20, 3: 110}
    drag(page, "Ranks", 1)
    assert hues() == {0: 200, 1: 290, 2: 20, 3: 110}


@browser
def test_the_dot_is_dragged_from_rank_to_rank(widget_page):
    page = widget_page(small(), width=360)
    handle = page.locator(".hydra-handle")
    second = middle(handle)[0]
    pull(page, handle, 500)
    expect_setting(page, **FOUR)
    apart = middle(handle)[0] - second
    pull(page, handle, -0.4 * apart)
    expect_setting(page, **FOUR)
    pull(page, handle, -0.6 * apart)
    expect_setting(page, **TWO)
    pull(page, handle, 0.4 * apart)
    expect_setting(page, **TWO)
    pull(page, handle, -500)
    expect_setting(page, **ONE)
    x, y = middle(handle)
    assert swipe(page, (x, y), (x + 130, y - 30)) == 0
    expect_setting(page, **TWO)


@browser
def test_own_numbers(widget_page):
    page = widget_page(small(d_model=60, n_heads=2, T=3, rate=7, bandwidth=0.5))
    for label, text in {"n_heads": "4", "d_model": "64", "T": "8"}.items():
        page.get_by_label(label, exact=True).fill(text)
        press(page, "Enter")
    page.get_by_label("TFLOP/s").fill("0.001")
    press(page, "Enter")
    page.get_by_label("GB/s", exact=True).fill("0.01")
    press(page, "Enter")
    expect_setting(page, **TWO)
    page.get_by_label("T", exact=True).fill("1.5")
    press(page, "Enter")
    told = "expected an integer from 1 to 1,000,000, got 1.5"
    expect(page.locator(".hydra-control .hydra-problem", has_text=told)).to_be_visible()
    expect_setting(page, **TWO)


@browser
def test_a_picture_drawn_meanwhile_takes_no_letter_from_under_the_hand(widget_page):
    page = widget_page(small())
    heads = page.get_by_label("n_heads")

    def type_while_drawing(text, heads_by_link):
        """The letters and what changes the picture in one task: the picture comes after both."""
        heads.focus()
        page.evaluate(
            """async ([text, link]) => {
            const field = document.activeElement;
            location.hash = link;
            await new Promise((done) => addEventListener("hashchange", done, { once: true }));
            field.value = text;
            field.dispatchEvent(new Event("input", { bubbles: true }));
            for (let i = 0; i < 3; i += 1) await new Promise(requestAnimationFrame);
            }""",
            [text, f"#devices.ranks=1&devices.n_heads={heads_by_link}"],
        )

    type_while_drawing("1", 8)
    expect(page.locator(".hydra-summary")).to_contain_text("1 rank, 8 heads each")
    expect(heads).to_have_value("1")
    page.keyboard.type("6")
    press(page, "Enter")
    expect(page.locator(".hydra-summary")).to_contain_text("1 rank, 16 heads each")
    type_while_drawing("1", 4)
    expect(heads).to_have_value("1")
    heads.evaluate("(field) => field.blur()")  # no change event: no letter came from a keyboard
    expect(heads).to_have_value("4")


@browser
def test_what_does_not_divide_is_told_and_can_be_undone(widget_page):
    page = widget_page(small(ranks=3))
    problem = page.locator("[data-ready=devices] > .hydra-problem").first
    expect(problem).to_have_text(
        "ranks must divide n_heads: got n_heads=4 on 3 ranks; these do: 1, 2, 4"
    )
    expect(page.locator(".hydra-machines")).to_be_hidden()
    page.get_by_label("Ranks").focus()
    press(page, "Home")
    expect(problem).to_have_text("")
    expect_setting(page, **ONE)
    drawn = page.locator(".hydra-stale")
    expect(drawn).to_have_count(0)
    page.get_by_label("Ranks").press("End")
    page.get_by_label("n_heads").fill("1")
    press(page, "Enter")  # the slider leads away from what does not divide, whatever divides
    expect(problem).to_have_text("ranks must divide n_heads: got n_heads=1 on 4 ranks; these do: 1")
    page.get_by_label("Ranks").focus()
    press(page, "ArrowLeft")
    expect(problem).to_have_text("")
    expect(page.locator(".hydra-summary")).to_contain_text("1 rank, 1 head each")
    page.get_by_label("n_heads").fill("6")
    press(page, "Enter")  # what was drawn stays, in grey
    expect(problem).to_have_text(re.compile("^n_heads must divide d_model"))
    expect(drawn).to_be_visible()
    expect(page.locator(".hydra-machines")).to_be_visible()


@browser
@pytest.mark.parametrize(
    ("setting", "bars", "share"),
    [
        # As in ONE and FOUR: one rank takes 279 µs, four compute for 69.6 and send for 154.
        (
            {"ranks": 4},
            [("1 rank", 100, 100, "279 µs"), ("4 ranks", 25, 80.15, "223 µs")],
            "68.8 %",
        ),
        # A link so slow that sending is nearly all: what one rank takes is not to be seen.
        (
            {"ranks": 4, "bandwidth": 0.001, "rate": 1000},
            [("1 rank", 0, 0, "279 ps"), ("4 ranks", 0, 100, "1.54 ms")],
            "> 99.9 %",  # all but a little is not all
        ),
        ({"ranks": 1}, [("1 rank", 100, 100, "279 µs")] * 2, "0 %"),
    ],
)
def test_the_bars_are_as_long_as_the_times(widget_page, setting, bars, share):
    page = widget_page(small(**setting))
    found = page.locator(".hydra-times > *")
    assert found.count() == 6
    for at, (name, computing, whole, time) in enumerate(bars):
        expect(found.nth(3 * at)).to_have_text(name)
        expect(found.nth(3 * at + 2)).to_have_text(time)
        for part, percent in (("computing", computing), ("whole", whole)):
            length = found.nth(3 * at + 1).evaluate(f"e => e.style.getPropertyValue('--{part}')")
            assert float(length.rstrip("%")) == pytest.approx(percent, abs=0.05)
    expect(page.locator(".hydra-summary")).to_contain_text(f"{share} of it for sending")
    labels = page.locator(".hydra-plot text").all_text_contents()
    assert labels[-3:] == ["1", "2", "4"]  # each number of ranks that divides the heads
    assert "0" not in labels  # an axis of logarithms has none


@browser
def test_only_several_ranks_send_what_they_have(widget_page):
    page = widget_page(small(ranks=1))
    expect(page.get_by_text(re.compile(r"^\d+ heads on 1 rank$"))).to_have_count(1)
    down = page.locator(".hydra-down")
    expect(down).to_have_text(["Wₒ"])
    page.get_by_label("Ranks").focus()
    press(page, "ArrowRight")
    expect(down).to_have_text(["Wₒ ↓", "Wₒ ↓"])
    machines = page.locator("figcaption, .hydra-note").filter(has_text="ranks, apart until Wₒ")
    expect(machines).to_have_count(1)
    expect(page.locator(".hydra-times + .hydra-note")).to_have_text(" computing  sending")


@browser
def test_without_sending_the_curve_is_the_dashed_line(widget_page):
    page = widget_page(small(T=65536, bandwidth=10_000))
    ends = page.locator(".hydra-plot .hydra-rule").evaluate(
        "e => ['x1', 'y1', 'x2', 'y2'].map((name) => Number(e.getAttribute(name)))"
    )
    points = page.locator(".hydra-plot .hydra-line").get_attribute("points").split()
    curve = [[float(x) for x in point.split(",")] for point in points]
    assert [*curve[0], *curve[-1]] == pytest.approx(ends, abs=1.5)
    assert ends[0] < ends[2]
    assert ends[1] > ends[3]


@browser
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_thirty_two_heads_are_drawn_on_few_machines(widget_page, ranks):
    page = widget_page(small(d_model=4096, n_heads=32, ranks=ranks))
    heads = page.locator(".hydra-machines .hydra-strip span")
    expect(heads).to_have_text([str(head) for head in range(32)])


@browser
def test_more_machines_and_heads_than_can_be_drawn(widget_page):
    page = widget_page(small(d_model=1920, n_heads=192, ranks=12), width=360)
    cards = page.locator(".hydra-machines > div")
    expect(cards).to_have_count(4)
    expect(cards.nth(1).locator("span")).to_have_text([*map(str, range(16, 23)), "+9"])
    expect(cards.last).to_contain_text("and 9 more")
    expect(cards.last.locator("i")).to_have_count(9)
    # What is not drawn one by one has the colour of its rank's first head: 12 ranks, 30° apart.
    of_rest = cards.locator("span:last-child, i").evaluate_all(
        "all => all.map((one) => Number(one.style.getPropertyValue('--hue')))"
    )
    assert of_rest == [(30 * rank + 200) % 360 for rank in range(12)]
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@browser
@pytest.mark.parametrize("width", [320, 360, 1280])
def test_nothing_moves_while_heads_are_dealt(widget_page, width):
    page = widget_page(DevicesWidget(), width=width)
    heights = set()
    page.get_by_label("Ranks").focus()
    press(page, "Home")
    for ranks in (1, 2, 4, 8, 16, 32):
        expect(page.get_by_label("Ranks")).to_have_attribute("aria-valuetext", str(ranks))
        heights.add(page.locator(".hydra").bounding_box()["height"])
        press(page, "ArrowRight")
    assert len(heights) == 1


@browser
def test_a_link_that_makes_no_sense_is_told_so(widget_page):
    page = widget_page(small())
    for asked in ["ranks=0", "T=1.5", "rate=-1", "bandwidth=1e5", "name=x"]:
        follow(page, f"#devices.{asked}")
        expect_refused(page, "devices", asked)
        expect_setting(page, **TWO)
        assert re.search("hydra", page.locator("[data-ready=devices]").get_attribute("class"))
