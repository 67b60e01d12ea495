"""The widget of temperature: its arithmetic against the library, every control, links."""

import json
import math
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import boltzmann
from hydra_lib.widgets import TemperatureWidget
from hydra_lib.widgets._base import SettingError
from hydra_lib.widgets._bundle import STATIC
from tests.conftest import (
    drag,
    drawn,
    expect_refused,
    extended,
    follow,
    in_javascript,
    in_node,
    press,
    swipe,
    written,
    written_weight,
)

browser = pytest.mark.browser
SCORES = [3, 1, 0.5, 0, -1]
QUANTITIES = {
    "U": boltzmann.mean_energy,
    "F": boltzmann.free_energy,
    "S": boltzmann.entropy,
    "C": boltzmann.heat_capacity,
}


# --- settings -------------------------------------------------------------------------------------

ROW = "scores must be a row of at most 32, each a number from -1,000,000 to 1,000,000 or -inf, got "


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TemperatureWidget([]), ROW + "[]"),
        (lambda: TemperatureWidget([math.nan]), ROW + "[nan]"),
        (lambda: TemperatureWidget([math.inf]), ROW + "[inf]"),
        (lambda: TemperatureWidget([1e308, -1e308]), ROW + "[1e+308, -1e+308]"),
        (lambda: TemperatureWidget(3), ROW + "3"),
        (lambda: TemperatureWidget([True]), ROW + "[True]"),
        (
            lambda: TemperatureWidget([-math.inf]),
            "at least one of the scores must be finite, got only -inf",
        ),
        *(
            (
                lambda tau=tau: TemperatureWidget([1], tau=tau),
                f"tau must be a number from 0 to 1,000,000 or inf, got {tau!r}",
            )
            for tau in (-1, math.nan, -math.inf, "inf", None, 1e7)
        ),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(SettingError, match=f"^{re.escape(message)}$"):
        make()


def test_infinities_travel_as_json():
    widget = TemperatureWidget([1, -math.inf], tau=math.inf)
    state = json.loads(json.dumps(widget.get_state(), allow_nan=False))
    assert (state["tau"], state["scores"]) == ("inf", [1.0, "-inf"])
    assert state["given"] == [1.0, "-inf"]
    widget.set_state({"tau": 0.5})
    assert widget.tau == 0.5
    widget.set_state({"tau": "inf", "scores": ["-inf", 2]})
    assert (widget.tau, widget.scores) == (math.inf, [-math.inf, 2.0])


# --- arithmetic -----------------------------------------------------------------------------------


def test_arithmetic_agrees_with_the_library():
    generator = torch.Generator().manual_seed(0)
    cases = []
    for index in range(1200):
        n = 1 + index % 7
        scores = (10 * torch.randn(n, generator=generator, dtype=torch.float64)).tolist()
        if index % 5 == 0:  # ties, forbidden states, now and then nothing at all
            scores = [round(s / 5) if j % 3 else "-inf" for j, s in enumerate(scores)]
        u = torch.rand((), generator=generator, dtype=torch.float64).item()
        # Each kind of row meets both ends.
        tau = [10 ** (6 * u - 3), 0, "inf"][0 if index % 13 < 9 else index % 13 % 2 + 1]
        cases.append({"scores": scores, "tau": tau})
    cases += [
        {"scores": scores, "tau": tau}
        for scores in ([2, 2, -1], ["-inf", 1, "-inf", 1], ["-inf", 3], ["-inf"], [0], [0, 0])
        for tau in (0, "inf", 5e-324, 1, 1e6)
    ]
    got = json.loads(
        in_javascript("boltzmann.js", "m.boltzmann(c.scores.map(real), real(c.tau))", cases)
    )
    quantities = {
        "p": boltzmann.probabilities,
        "F": boltzmann.free_energy,
        "U": boltzmann.mean_energy,
        "S": boltzmann.entropy,
        "C": boltzmann.heat_capacity,
    }
    seen = 0
    for n in range(1, 8):
        rows = [i for i, case in enumerate(cases) if len(case["scores"]) == n]
        seen += len(rows)
        scores = torch.tensor([extended(cases[i]["scores"]) for i in rows], dtype=torch.float64)
        tau = torch.tensor([[float(cases[i]["tau"])] for i in rows], dtype=torch.float64)
        scale = scores.where(scores.isfinite(), 0).abs().amax(dim=1, keepdim=True)
        sizes = {"F": scale + tau, "U": scale}
        for name, quantity in quantities.items():
            expected = quantity(scores, tau).reshape(len(rows), -1)
            found = torch.tensor([extended(got[i][name]) for i in rows], dtype=torch.float64)
            found = found.reshape(expected.shape)
            # Sums that cancel are compared against the size of their terms.
            terms = sizes.get(name, torch.zeros_like(tau))
            tolerance = (1e-14 * terms.where(terms.isfinite(), 0)).clamp(min=1e-15)
            near = (found - expected).abs() <= 1e-9 * expected.abs() + tolerance
            wrong = ~((found == expected) | near & expected.isfinite()).all(dim=1)
            assert not wrong.any(), (name, cases[rows[wrong.nonzero()[0]]])
    assert seen == len(cases)


def test_melting_points_are_where_the_library_s_heat_capacity_peaks():
    cases = [
        [1, 0],
        [2, 0],
        [3, 1, 0.5, 0, -1],
        [0, -0.1, -8],
        [3, -0.8, 2.2, 0, -1],  # two peaks, and a valley not 4 % from one
        [0, -0.002, -10],
        [0, -400],
        [0, -0.0264],  # a peak two and a half steps from either end of the slider
        [0, -218],
        [0, 0, 0],
        [5],
        ["-inf", 1, 0],
    ]
    expression = "m.meltingPoints(c.map(real))"
    got = json.loads(in_javascript("boltzmann.js", expression, cases))
    tau = torch.logspace(-2, 2, 40_001, dtype=torch.float64)[:, None]
    for case, points in zip(cases, got, strict=True):
        C = boltzmann.heat_capacity(torch.tensor(extended(case), dtype=torch.float64), tau)
        inner = (C[1:-1] > C[:-2]) & (C[1:-1] >= C[2:]) & (C[1:-1] > 1e-6)
        assert points == pytest.approx(tau[1:-1, 0][inner].tolist(), rel=5e-4)
    assert [len(points) for points in got] == [1, 1, 1, 2, 2, 1, 0, 1, 1, 0, 0, 1]
    # The first peak of [0, −0.002, −10] lies below the slider, that of [0, −400] above it; two
    # levels scale with their gap.
    assert got[1][0] == pytest.approx(2 * got[0][0])


def test_slider_reaches_both_ends_and_inverts():
    taus = [0, 0.0105, 0.3, 1, 2.5, 95, "inf", 1e-9, 1e9]
    positions, back, steps = zip(
        *json.loads(
            in_javascript(
                "boltzmann.js",
                "[m.positionOf(real(c)), m.temperatureAt(m.positionOf(real(c))), m.STEPS]",
                taus,
            )
        ),
        strict=True,
    )
    assert positions[0] == 0
    assert back[0] == 0
    assert positions[6] == steps[0]
    assert back[6] == "inf"
    assert all(math.isclose(a, b) for a, b in zip(taus[1:6], back[1:6], strict=True))
    assert positions[7] == 1  # a positive τ is never shown as frozen …
    assert positions[8] == steps[0] - 1  # … nor a finite one as melted
    assert back[7:] == pytest.approx((tau_at(1), tau_at(239)))


# --- controls -------------------------------------------------------------------------------------


def tau_at(position):
    return {0: 0.0, 240: math.inf}.get(position, 10 ** ((position - 120) / 60))


EVERY_TAU = torch.tensor([[tau_at(x)] for x in range(241)], dtype=torch.float64)


def position_of(tau):
    return {0: 0, math.inf: 240}.get(tau) or min(239, max(1, 120 + 60 * math.log10(tau or 1e-9)))


# Read at once: to ask for each by itself takes seconds.
SHOWN = """(root) => {
    const texts = (selector) => [...root.querySelectorAll(selector)].map((one) => one.textContent);
    const slider = root.querySelector(".hydra-control input[type=range]");
    const quantities = [...root.querySelectorAll("output[data-quantity]")].map((output) => {
        const at = (kind, name) => Number(output.closest("figure")
            .querySelector(`svg .hydra-${kind}`).getAttribute(name));
        const marks = [at("solid", "x1"), at("solid", "x2"), at("dot", "cx"), at("dot", "cy")];
        return [output.dataset.quantity, [output.textContent, marks]];
    });
    const said = slider.getAttribute("aria-valuetext");
    return {
        slider: [slider.value, said, slider.nextSibling.textContent],
        lines: ["thead th", "tbody tr:nth-child(1) td", "tbody tr:nth-child(2) td"].map(texts),
        quantities: Object.fromEntries(quantities),
    };
}"""
CUT = "all => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)"


def expect_setting(page, tau, scores=SCORES, example="", room=None):
    """Every number, mark and word on the page is the library's at this τ, to the digits shown."""
    row = torch.tensor(scores, dtype=torch.float64)
    p = boltzmann.probabilities(row, tau).tolist()
    now = {name: quantity(row, tau).item() for name, quantity in QUANTITIES.items()}
    expect(page.get_by_label("or type τ")).to_have_value(written(tau))
    expect(page.get_by_label("Example")).to_have_value(example)
    finite = sum(math.isfinite(s) for s in scores)
    phase = {
        0: "Frozen, all mass on the lowest energy:",
        math.inf: "Melted, energies no longer matter:",
    }
    sentence = f"{phase.get(tau, f'At τ = {written(tau)}:')} effectively "
    sentence += (
        f"{written(math.exp(now['S']))} of {finite} {'state' if finite == 1 else 'states'} in use."
    )
    if tau < math.inf:
        sentence += f" F = U − τS: {written(now['F'])} ≈ {written(now['U'])} − {written(tau)} × "
        sentence += f"{written(round(now['S'], 4))}."
    expect(page.locator(".hydra-summary")).to_have_text(sentence)
    shown = page.locator("[data-ready=temperature]").evaluate(SHOWN)
    position = 0 if tau == 0 else position_of(tau)
    assert shown["slider"] == [str(round(position)), written(tau), written(tau)]
    assert shown["lines"] == [
        ["state", *(str(n + 1) for n in range(len(scores)))],
        [written(float(f"{-s:.3g}")) for s in scores],
        [written_weight(x) for x in p],
    ]
    assert shown["quantities"].keys() == now.keys()
    for name, value in now.items():
        text, marks = shown["quantities"][name]
        here, lowest = across(name, position), CHARTS[name][1] - 4
        assert text == written(value)
        assert marks[:3] == pytest.approx([here] * 3)
        assert marks[3] == pytest.approx(min(lowest, height(name, value, row)), abs=1e-6)
    assert page.locator(".hydra-states :is(td, th)").evaluate_all(CUT) == []
    expect_levels(page, scores, p)
    standing = particles(page)
    assert sum(standing) == 100
    # A sample is off by the root of its variance; five of them and a few are never seen.
    for count, x in zip(standing, p, strict=True):
        assert abs(count - 100 * x) <= 50 * math.sqrt(x * (1 - x)) + 4


def particles(page):
    """How many of the hundred stand on each level, as counted in the table; drawn are as many."""
    told, piles = page.evaluate(
        """() => [
            [...document.querySelectorAll("tbody tr:nth-of-type(3) td")].map((e) => e.textContent),
            [...document.querySelectorAll(".hydra-particles")].map((e) => e.getAttribute("d")),
        ]"""
    )
    assert [pile.count("M") for pile in piles] == [int(count) for count in told]
    return [int(count) for count in told]


LEVELS = """() => [
    [...document.querySelectorAll(".hydra-shelves input")].map((one) => [one.ariaLabel, one.min,
        one.max, one.getAttribute("aria-valuetext"), one.disabled, one.value]),
    [...document.querySelectorAll(".hydra-exact")].map((one) =>
        ["x", "y", "height"].map((name) => Number(one.getAttribute(name)))),
    [...document.querySelectorAll(".hydra-particles")].map((pile) =>
        [...(pile.getAttribute("d") ?? "").matchAll(/M(\\S+) (\\S+)h/g)].map((dot) =>
            [Number(dot[1]), Number(dot[2])])),
]"""


def expect_levels(page, scores, p):
    """Levels stand where their energies are, and on each a block as high as its probability, and
    the particles, none on another, in rows of ten."""
    energies = [-s for s in scores if s > -math.inf]
    low, high = math.floor(min(-4, *energies)), math.ceil(max(2, *energies))
    shelves, blocks, piles = page.evaluate(LEVELS)
    for i, (score, x, shelf, block, pile) in enumerate(
        zip(scores, p, shelves, blocks, piles, strict=True)
    ):
        banned = score == -math.inf
        about = f"energy of state {i + 1}", str(low), str(high), written(-score), banned
        assert tuple(shelf[:5]) == about
        assert banned or float(shelf[5]) == pytest.approx(-score, abs=0.051)
        top = 106 if banned else 254 - 148 * (-score - low) / (high - low)
        assert block == pytest.approx([100 * i + 8, top - 2 - 90 * x, 90 * x])
        places = [((a - 8 - 100 * i) / 8.4, (top - 2 - b) / 9) for a, b in pile]
        stack = [(math.ceil(column), math.ceil(row)) for column, row in places]
        assert stack == [(at % 10 + 1, at // 10 + 1) for at in range(len(pile))]


CHARTS = {"U": (240, 96), "F": (240, 96), "S": (500, 96), "C": (500, 140)}  # width and height


def across(name, position):
    """Where a step of the slider, of 240, stands in the chart of a quantity."""
    return CHARTS[name][0] * (0.025 + position / 240 * 0.95)


def height(name, value, scores):
    """Where a value stands there, from 6 (its most) to 6 above the foot (its least)."""
    curve = QUANTITIES[name](scores, EVERY_TAU).tolist()
    finite = [x for x in curve if math.isfinite(x)]
    low, high = min(finite), max(finite)
    if name == "F":
        energies = [-s for s in scores.tolist() if math.isfinite(s)]
        low = high - 2 * (max(energies) - min(energies) + 1)
    if high - low < 1e-12:
        low, high = low - 1, high + 1
    tall = CHARTS[name][1]
    return tall - 6 - (tall - 12) * min(1, max(-1, (value - low) / (high - low)))


@browser
def test_what_stands_there(widget_page):
    page = widget_page(TemperatureWidget(SCORES))
    expect(page.locator(".hydra-control > span:first-child")).to_have_text(
        ["Temperature τ", "or type τ", "Example"]
    )
    expect(page.get_by_label("Example").locator("option")).to_have_text(
        ["as given", "A tie of two", "A row of the running mean", "your own"]
    )
    expect(page.locator("caption")).to_have_text(
        "Each state (key): its energy E, its probability p, "
        "and how many of 100 particles stand there"
    )
    expect(page.locator("tbody th")).to_have_text(["E = −s", "p", "of 100"])
    expect(page.locator(".hydra-note").first).to_contain_text("Drag a level up or down.")
    names = ["mean energy U", "free energy F", "entropy S, in nats"]
    names += ["heat capacity C, the slope of S against ln τ"]
    for figure, name in zip(page.locator("figure").all(), names, strict=True):
        expect(figure.locator("figcaption")).to_contain_text(name)
        expect(figure.locator(".hydra-axis span")).to_have_text(["0", "0.1", "τ = 1", "10", "∞"])
    expect_setting(page, 1)


@browser
@pytest.mark.parametrize("scores", [SCORES, [2.0], [0.0, 0.0, -math.inf], [-3.0, 1.5, 1.5]])
def test_curves_are_the_library_s(widget_page, scores):
    page = widget_page(TemperatureWidget(scores))
    row = torch.tensor(scores, dtype=torch.float64)
    for name, quantity in QUANTITIES.items():
        figure = page.locator("figure", has=page.locator(f"output[data-quantity={name}]"))
        line = figure.locator("polyline").get_attribute("points").split(" ")
        points = [[float(x) for x in point.split(",")] for point in line]
        assert [x for x, _ in points] == pytest.approx(
            [across(name, x) for x in range(241)], abs=0.051
        )
        expected = [height(name, quantity(row, tau_at(x)).item(), row) for x in range(0, 241, 40)]
        assert [y for _, y in points[::40]] == pytest.approx(expected, abs=0.051)
        wide, tall = CHARTS[name]
        expect(figure.locator("svg")).to_have_attribute("viewBox", f"0 0 {wide} {tall}")
        expect(figure.locator(".hydra-solid")).to_have_attribute("y1", "0")
        expect(figure.locator(".hydra-solid")).to_have_attribute("y2", str(tall))
    # A dotted line at each peak of C.
    C = boltzmann.heat_capacity(row, EVERY_TAU)
    tops = [x for x in range(2, 239) if C[x - 1] < C[x] >= C[x + 1] and C[x] > 1e-6]
    marks = page.locator(".hydra-gap")
    expect(marks).to_have_count(len(tops))
    for x, mark in zip(tops, marks.all(), strict=True):
        assert float(mark.get_attribute("x1")) == pytest.approx(across("C", x), abs=2)
    note = page.locator(".hydra-charts .hydra-note").inner_text()
    said = "Dotted: C peaks at τ = " if tops else "No peak of C between τ = 0.01 and 100."
    assert note.startswith(said)
    if tops:
        assert float(note.removeprefix(said)[:-1]) == pytest.approx(tau_at(tops[0]), rel=0.05)
    expect_setting(page, 1, scores)


@browser
def test_slider_by_keyboard_and_pointer(widget_page):
    page = widget_page(TemperatureWidget(SCORES))
    page.get_by_label("Temperature τ").focus()
    for key, position in (
        ("ArrowRight", 121),
        ("ArrowLeft", 120),
        ("Home", 0),
        ("ArrowRight", 1),
        ("End", 240),
        ("ArrowLeft", 239),
    ):
        press(page, key)
        expect_setting(page, tau_at(position))
    drag(page, "Temperature τ", 0)
    expect_setting(page, 0)
    drag(page, "Temperature τ", 1)
    expect_setting(page, math.inf)


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_a_dot_is_dragged_along_its_curve(widget_page, width):
    page = widget_page(TemperatureWidget(SCORES), width=width)
    for name, position in (("U", 150), ("F", 90), ("S", 200), ("C", 31), ("U", -20), ("C", 300)):
        figure = page.locator("figure", has=page.locator(f"output[data-quantity={name}]"))
        figure.scroll_into_view_if_needed()
        box, dot = (figure.locator(one).bounding_box() for one in ("svg", ".hydra-dot"))
        page.mouse.move(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
        page.mouse.down()
        share = across(name, position) / CHARTS[name][0]
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 10)
        page.mouse.up()
        expect_setting(page, tau_at(min(240, max(0, position))))


@browser
def test_field_takes_a_typed_value(widget_page):
    page = widget_page(TemperatureWidget(SCORES))
    field = page.get_by_label("or type τ")
    cases = (("0.37", 0.37), ("inf", math.inf), ("0", 0.0), (" Infinity", math.inf), ("0,5", 0.5))
    cases += ("0,125", 0.125), ("1,000,000", 1e6), ("1,000", 1e3)  # as the limit is written
    for typed, tau in (*cases, ("∞", math.inf), ("1e6", 1e6), ("1e4", 1e4)):
        field.fill(typed)
        field.press("Enter")
        expect_setting(page, tau)
    problem = page.locator("label .hydra-problem")
    for typed in ("-1", "warm", "", "1000001", "NaN"):
        field.fill(typed)
        field.press("Enter")
        expect(problem).to_have_text(f"τ must be a number from 0 to 1,000,000, or ∞, got “{typed}”")
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(page.locator(".hydra-summary")).to_contain_text("At τ = 10000:")
    for typed, shown in (("0.0005", "5.00e−4"), ("7e−4", "7.00e−4"), ("123456", "1.23e+5")):
        field.fill(typed)
        field.press("Enter")
        expect(field).to_have_value(shown)
        field.press("Enter")  # of what was not typed
        expect(problem).to_have_text("")
        expect(field).to_have_value(shown)
    page.wait_for_url("**=123456")
    field.fill("2")
    field.press("Enter")
    expect(problem).to_have_text("")
    expect(field).to_have_attribute("aria-invalid", "false")
    expect_setting(page, 2)
    field.select_text()
    field.press_sequentially("-3")
    drawn(page)
    assert problem.text_content() == ""  # nothing is said of what is still being typed
    field.press("Tab")
    expect(problem).to_contain_text("got “-3”")


@browser
def test_examples(widget_page):
    page = widget_page(TemperatureWidget([1, 0], tau=0.0))
    example = page.get_by_label("Example")
    expect_setting(page, 0, [1, 0])
    example.select_option("A tie of two")
    expect_setting(page, 0, [2, 2, 0, -1, -2], "A tie of two")
    example.focus()
    press(page, "ArrowDown")
    mean = [0, 0, 0, -math.inf, -math.inf]
    expect_setting(page, 0, mean, "A row of the running mean")
    example.select_option("as given")
    expect_setting(page, 0, [1, 0])


def level(page, state):
    """Where a level can be held: its middle, in the units of the page."""
    shelf = page.get_by_label(f"energy of state {state}")
    box = shelf.bounding_box()
    low, high = (float(shelf.get_attribute(name)) for name in ("min", "max"))
    down = (high - float(shelf.input_value())) / (high - low)
    return box["x"] + box["width"] / 2, box["y"] + 16 + down * (box["height"] - 32)


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_a_level_is_dragged(widget_page, width):
    page = widget_page(TemperatureWidget(SCORES), width=width)
    box = page.locator(".hydra-shelves").bounding_box()
    assert box["x"] + box["width"] <= width
    x, y = level(page, 2)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 37, steps=5)  # of 148, a quarter of the six units of energy
    page.mouse.up()
    drawn(page)
    expect_setting(page, 1, [3, 2.5, 0.5, 0, -1], "own")
    assert level(page, 2) == pytest.approx((x, y + 37), abs=1)
    page.mouse.click(x, y - 40)  # beside a level nothing is to be held
    drawn(page)
    expect_setting(page, 1, [3, 2.5, 0.5, 0, -1], "own")
    # A pile is held as well, wherever it is taken, and goes no further than its level.
    x, y = level(page, 1)
    page.mouse.move(x, y - 30)
    page.mouse.down()
    page.mouse.move(x, y - 30 - 37, steps=5)
    drawn(page)
    expect_setting(page, 1, [1.5, 2.5, 0.5, 0, -1], "own")
    page.mouse.move(x, y + 300, steps=5)
    page.mouse.up()
    drawn(page)
    expect_setting(page, 1, [4, 2.5, 0.5, 0, -1], "own")
    page.evaluate("document.body.style.minHeight = '3000px'")
    x, y = level(page, 1)
    assert swipe(page, (x, y - 30), (x, y - 67)) == 0  # a finger too, and the page stays
    drawn(page)
    expect_setting(page, 1, [2.5, 2.5, 0.5, 0, -1], "own")
    page.get_by_label("energy of state 1").press("Home")
    page.get_by_label("energy of state 1").focus()
    for key, energy in (("ArrowUp", -3.9), ("Home", -4), ("End", 2), ("ArrowDown", 1.9)):
        press(page, key)
        expect_setting(page, 1, [-energy, 2.5, 0.5, 0, -1], "own")
    page.get_by_label("energy of state 1").fill("0")
    drawn(page)
    expect_setting(page, 1, [0, 2.5, 0.5, 0, -1], "own")
    page.get_by_label("Example").select_option("as given")
    expect_setting(page, 1)


@browser
def test_levels_reach_as_far_as_the_scores(widget_page):
    scores = [7.25, -3.5, -math.inf]
    page = widget_page(TemperatureWidget(scores))
    p = boltzmann.probabilities(torch.tensor(scores, dtype=torch.float64), 1).tolist()
    expect_levels(page, scores, p)
    expect(page.get_by_label("energy of state 1")).to_have_attribute("min", "-8")


@browser
def test_a_level_beyond_the_others_does_not_run_away(widget_page):
    page = widget_page(TemperatureWidget([1, 0]), fragment="#temperature.scores=[10,0]")
    expect(page.get_by_label("energy of state 1")).to_have_attribute("min", "-10")
    x, y = level(page, 1)
    page.mouse.move(x, y)
    page.mouse.down()
    for lifted in (25, 49, 74):  # of 148: a third of the twelve units of energy and more
        page.mouse.move(x, y - lifted)
        drawn(page)
        assert level(page, 1) == pytest.approx((x, y - lifted), abs=1)
    page.mouse.up()
    expect(page.locator("tbody td").first).to_have_text("−4")
    expect(page.get_by_label("energy of state 1")).to_have_attribute("min", "-10")
    follow(page, "#temperature.scores=[2,0]")  # what comes from elsewhere is drawn to its measure
    expect(page.get_by_label("energy of state 1")).to_have_attribute("min", "-4")


@browser
def test_thirty_two_states_scroll_and_pile_up(widget_page):
    page = widget_page(TemperatureWidget([i / 8 for i in range(32)]), width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert sum(particles(page)) == 100


@browser
def test_particles_hop_by_the_reader_s_hand_and_come_to_rest(widget_page):
    page = widget_page(TemperatureWidget(SCORES))
    settled = particles(page)
    page.get_by_role("button", name="hop again").click()
    assert particles(page) != settled  # at once, with reduced motion
    page.emulate_media(reduced_motion="no-preference")
    page.wait_for_timeout(300)
    before = particles(page)
    page.wait_for_timeout(300)
    assert particles(page) == before  # nothing moves by itself
    page.evaluate("""() => {
        window.moved = 0;
        new MutationObserver(() => { moved += 1; })
            .observe(document.querySelector(".hydra-shelves"), {attributes: true, subtree: true});
    }""")
    page.get_by_label("Temperature τ").fill("240")
    page.wait_for_function("moved > 20")
    page.wait_for_function("""() => new Promise((done) => {
        const was = moved;
        setTimeout(() => done(moved === was), 500);
    })""")
    expect_setting(page, math.inf)


@pytest.mark.long
def test_particles_settle_onto_softmax():
    """From all of them on one state; 20,000, so that no count is off by five deviations."""
    cases = [
        {"scores": scores, "tau": tau}
        for scores in (SCORES, [2, 2, 0, "-inf", -2], ["-inf", 1], [0.0])
        for tau in (0, 0.3, 1, 5, "inf")
    ]
    source = (STATIC / "random.js").read_text() + (STATIC / "particles.js").read_text()
    expression = """(() => {
        const places = Array(20000).fill(0);
        const scores = c.scores.map(real);
        m.hop(places, 20 * scores.length * places.length, scores, real(c.tau), m.uniforms(7));
        return m.counts(places, scores.length);
    })()"""
    for case, got in zip(cases, json.loads(in_node(source, expression, cases)), strict=True):
        row = torch.tensor(extended(case["scores"]), dtype=torch.float64)
        p = boltzmann.probabilities(row, float(case["tau"])).tolist()
        assert sum(got) == 20000
        for count, x in zip(got, p, strict=True):
            assert abs(count - 20000 * x) <= 5 * math.sqrt(20000 * x * (1 - x))


def test_each_try_draws_a_particle_a_state_and_where_it_rises_a_chance():
    draws = [0.5, 0.2, 0.9, 0.5, 0.4, 0, 0.7, 0, 0]
    #        the second of two to the first of three, which lies lower: it goes
    #                  the second to the second, exp(-2) < 0.4: it stays
    #                                 the first to the third, as high: it goes
    expression = """(() => {
        const places = [1, 2], left = [...c.draws];
        m.hop(places, c.tries, [3, 1, 1], 1, () => left.shift());
        return [places, left.length];
    })()"""
    cases = [{"draws": draws, "tries": tries} for tries in range(4)]
    found = json.loads(in_javascript("particles.js", expression, cases))
    assert found == [[[1, 2], 9], [[1, 0], 7], [[1, 0], 4], [[2, 0], 2]]


@browser
def test_links(widget_page):
    link = "#temperature.tau=inf&temperature.scores=" + json.dumps([2, 2, 0, "-inf", -2])
    page = widget_page(TemperatureWidget(SCORES), fragment=link.replace(" ", ""))
    page.wait_for_selector("[data-ready=temperature]")
    expect_setting(page, math.inf, [2, 2, 0, -math.inf, -2], "own")
    follow(page, "#temperature.tau=5e-324")
    expect_setting(page, 5e-324)
    for asked in (
        "tau=-1",
        "tau=warm",
        "tau=null",
        "tau=-inf",
        "tau=1000001",
        "scores=[]",
        "scores=[null]",
        'scores=["inf"]',
        'scores=["-inf","-inf"]',
        "scores=[1e308,-1e308]",
        "scores=[[1]]",
        "scores=5",
        "given=[1]",
        "name=x",
        "constructor=1",
    ):
        follow(page, f"#temperature.{asked}")
        expect_refused(page, "temperature", asked)
        expect_setting(page, 1)


@browser
def test_on_a_phone_a_fine_slider_is_as_long_as_its_line(widget_page):
    page = widget_page(TemperatureWidget(SCORES), width=360)
    slider = page.get_by_role("slider", name="Temperature")
    assert slider.bounding_box()["width"] > 280
    page.set_viewport_size({"width": 1280, "height": 900})
    label = page.locator(".hydra-fine > span").first
    assert abs(slider.bounding_box()["y"] - label.bounding_box()["y"]) < 20  # beside its name


@browser
def test_without_curves_there_are_levels_and_what_is_in_use(widget_page):
    page = widget_page(TemperatureWidget([3, 1, 0.5, 0, -1], curves=False))
    told = page.locator(".hydra-summary")
    expect(told).to_have_text("At τ = 1: effectively 2.213 of 5 states in use.")
    expect(page.locator("figure")).to_have_count(page.locator(".hydra-ladder figure").count())
    page.get_by_label("Temperature").focus()
    press(page, "End")
    expect(told).to_have_text(
        "Melted, energies no longer matter: effectively 5 of 5 states in use."
    )
    with pytest.raises(TypeError, match=r"^curves must be True or False, got 1$"):
        TemperatureWidget([1], curves=1)
