"""Widgets: their arithmetic against the library, every control, links, and two on one page."""

import json
import math
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import aggregation, boltzmann, masking
from hydra_lib.widgets import AggregationWidget, MaskWidget, TemperatureWidget
from hydra_lib.widgets._bundle import STATIC, bundle
from tests.conftest import extended, in_browser, numbers

browser = pytest.mark.browser


# --- traits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AggregationWidget([]), "values must be a matrix with at least one row and column"),
        (lambda: AggregationWidget([[1], [2, 3]]), "values must be a matrix"),
        (lambda: MaskWidget([[1, 2]]), "scores must be square, got 1 × 2"),
        (lambda: MaskWidget([[1, 2], [3, 4]], [[True]]), "mask must be 2 × 2, got 1 × 1"),
        (
            lambda: MaskWidget([[1]]).set_trait("scores", [[1, 2], [3, 4]]),
            "scores must be 1 × 1, got 2 × 2",
        ),
        (lambda: AggregationWidget([[1]]).set_trait("values", []), "values must be a matrix"),
        (lambda: TemperatureWidget([]), "scores must be at least one number, finite or −∞, got []"),
        (lambda: TemperatureWidget([math.nan]), "scores must be at least one number"),
        (lambda: TemperatureWidget([1], tau=-1), "tau must lie in [0, ∞], got -1.0"),
        (lambda: TemperatureWidget([1], tau=math.nan), "tau must lie in [0, ∞], got nan"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_infinities_travel_as_json():
    widget = TemperatureWidget([1, -math.inf], tau=math.inf)
    state = json.loads(json.dumps(widget.get_state(["tau", "scores"]), allow_nan=False))
    assert state == {"tau": "inf", "scores": [1.0, "-inf"]}
    widget.set_state({"tau": 0.5})
    assert widget.tau == 0.5
    widget.set_state({"tau": "inf"})
    assert widget.tau == math.inf


@pytest.mark.parametrize("name", sorted(p.name for p in STATIC.glob("*_widget.js")))
def test_a_bundle_is_one_module(name):
    text = bundle(name)
    assert not re.search(r"^import ", text, re.MULTILINE)
    assert len(re.findall(r"^export ", text, re.MULTILINE)) == 1


# --- arithmetic -------------------------------------------------------------------------------


@browser
def test_temperature_arithmetic_agrees_with_the_library(chromium):
    generator = torch.Generator().manual_seed(0)
    cases = []
    for index in range(1200):
        n = 1 + index % 7
        scores = (10 * torch.randn(n, generator=generator, dtype=torch.float64)).tolist()
        if index % 5 == 0:  # ties, forbidden states, now and then nothing at all
            scores = [round(s / 5) if j % 3 else "-inf" for j, s in enumerate(scores)]
        u = torch.rand((), generator=generator, dtype=torch.float64).item()
        tau = [10 ** (6 * u - 3), 0, "inf"][0 if index % 10 < 8 else index % 10 - 7]
        cases.append({"scores": scores, "tau": tau})
    got = numbers(
        in_browser(chromium, "boltzmann.js", "m.boltzmann(c.scores.map(real), real(c.tau))", cases)
    )
    quantities = {
        "p": boltzmann.probabilities,
        "logZ": boltzmann.log_partition,
        "F": boltzmann.free_energy,
        "U": boltzmann.mean_energy,
        "S": boltzmann.entropy,
        "C": boltzmann.heat_capacity,
    }
    for case, result in zip(cases, got, strict=True):
        scores = torch.tensor(extended(case["scores"]), dtype=torch.float64)
        tau = float(case["tau"])
        scale = scores[scores.isfinite()].abs().max().item() if scores.isfinite().any() else 0
        for name, quantity in quantities.items():
            # Sums that cancel are compared against the size of their terms.
            terms = {"F": scale + tau, "U": scale, "logZ": scale / tau if tau else 0}.get(name, 0)
            tolerance = 1e-14 * terms if math.isfinite(terms) else 0
            torch.testing.assert_close(
                torch.tensor(extended(result[name]), dtype=torch.float64),
                quantity(scores, tau),
                rtol=1e-9,
                atol=max(tolerance, 1e-15),
                msg=lambda m, n=name, c=case: f"{n} of {c}: {m}",
            )


@browser
def test_slider_reaches_both_ends_and_inverts(chromium):
    taus = [0, 0.0105, 0.3, 1, 2.5, 95, "inf", 1e-9, 1e9]
    positions, back, steps = zip(
        *numbers(
            in_browser(
                chromium,
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


@browser
def test_aggregation_arithmetic_agrees_with_the_library(chromium):
    rules = {
        "sum": lambda T, c: aggregation.running_sum(T),
        "mean": lambda T, c: aggregation.running_mean(T),
        "window": lambda T, c: aggregation.window_mean(T, c["width"]),
        "decay": lambda T, c: aggregation.decay(T, c["rate"]),
    }
    generator = torch.Generator().manual_seed(1)
    torch.set_default_dtype(torch.float64)
    try:
        cases = []
        for index in range(1000):
            T, d = 1 + index % 11, 1 + index % 3
            cases.append(
                {
                    "rule": list(rules)[index % 4],
                    "width": 1 + index % 13,
                    "rate": round(torch.rand((), generator=generator).item(), 3),
                    "values": torch.randn(T, d, generator=generator).tolist(),
                }
            )
        expression = "m.product(m.weightMatrix(c, c.values.length), c.values)"
        got = numbers(in_browser(chromium, "aggregation.js", expression, cases))
        for case, output in zip(cases, got, strict=True):
            values = torch.tensor(case["values"])
            expected = rules[case["rule"]](len(values), case) @ values
            torch.testing.assert_close(torch.tensor(output), expected, rtol=1e-9, atol=1e-14)
    finally:
        torch.set_default_dtype(torch.float32)


@browser
def test_mask_arithmetic_agrees_with_the_library(chromium):
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
    got = numbers(in_browser(chromium, "masking.js", expression, cases))
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


@browser
def test_mask_presets_are_the_library_s(chromium):
    names = ["causal", "window", "padding", "everything"]
    got = numbers(in_browser(chromium, "masking.js", "m.masks[c](5)", names))
    expected = [
        masking.causal_mask(5),
        masking.window_mask(5, 2),
        masking.padding_mask(torch.tensor([3]), 5)[0].expand(5, 5),
        torch.ones(5, 5, dtype=torch.bool),
    ]
    assert got == [mask.tolist() for mask in expected]


# --- controls on the built pages ----------------------------------------------------------------

AGGREGATION, MASK, TEMPERATURE = (
    "book/01_aggregation.html",
    "book/02_masking.html",
    "book/03_softmax.html",
)


def value_of(page, quantity):
    text = page.locator(f"output[data-quantity={quantity}]").inner_text()
    return float(text.replace("−", "-").replace("∞", "inf"))


def expect_temperature(page, tau):
    """The numbers on the page are the library's at this τ, to the digits shown."""
    scores = torch.tensor([3, 1, 0.5, 0, -1], dtype=torch.float64)
    label = "∞" if tau == math.inf else f"{float(f'{tau:.4g}'):g}"
    expect(page.get_by_label("Temperature τ").locator("xpath=../output")).to_have_text(label)
    for name, quantity in (
        ("U", boltzmann.mean_energy),
        ("F", boltzmann.free_energy),
        ("S", boltzmann.entropy),
        ("C", boltzmann.heat_capacity),
    ):
        expected = quantity(scores, tau).item()
        # Four digits are shown, three of very small numbers.
        assert value_of(page, name) == pytest.approx(expected, rel=5e-3, abs=1e-12), name
    shown = page.locator("[data-ready=temperature] tbody tr td:nth-of-type(2)").all_inner_texts()
    expected = boltzmann.probabilities(scores, tau).tolist()
    got = [float(p.replace("−", "-")) for p in shown]
    assert got == pytest.approx(expected, rel=1e-2, abs=1e-300)


def tau_at(position):
    return {0: 0.0, 240: math.inf}.get(position, 10 ** ((position - 120) / 60))


@browser
def test_temperature_slider_by_keyboard(open_page, site):
    page = open_page(site["http"] + TEMPERATURE)
    slider = page.get_by_label("Temperature τ")
    slider.focus()
    for key, position in (
        ("ArrowRight", 121),
        ("ArrowLeft", 120),
        ("Home", 0),
        ("ArrowRight", 1),
        ("End", 240),
        ("ArrowLeft", 239),
    ):
        page.keyboard.press(key)
        page.wait_for_timeout(50)
        expect_temperature(page, tau_at(position))


@browser
@pytest.mark.parametrize("kind", ["http", "file"])
def test_temperature_slider_by_pointer(open_page, site, kind):
    page = open_page(site[kind] + TEMPERATURE)
    slider = page.get_by_label("Temperature τ")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    for share, position in ((0.0, 0), (1.0, 240)):
        page.mouse.move(box["x"] + share * box["width"], middle, steps=5)
        page.wait_for_timeout(50)
        expect_temperature(page, tau_at(position))
    page.mouse.up()


@browser
def test_temperature_field_takes_a_typed_value(open_page, site):
    page = open_page(site["http"] + TEMPERATURE)
    field = page.get_by_label("or type τ")
    for typed, tau in (
        ("0.37", 0.37),
        ("inf", math.inf),
        ("∞", math.inf),
        ("0", 0.0),
        ("1e4", 1e4),
    ):
        field.fill(typed)
        field.press("Enter")
        page.wait_for_timeout(50)
        expect_temperature(page, tau)
    for typed in ("-1", "warm", ""):
        field.fill(typed)
        field.press("Enter")
        problem = page.locator("[data-ready=temperature] .hydra-problem").first
        expect(problem).to_have_text(f"τ must be a number from 0 to ∞, got “{typed}”")
        expect(field).to_have_attribute("aria-invalid", "true")
        expect_temperature(page, 1e4)  # nothing else changed
    field.fill("2")
    field.press("Enter")
    expect(problem).to_have_text("")


@browser
def test_temperature_examples(open_page, site):
    page = open_page(site["http"] + TEMPERATURE)
    energies = page.locator("[data-ready=temperature] tbody tr td:nth-of-type(1)")
    probabilities = page.locator("[data-ready=temperature] tbody tr td:nth-of-type(2)")
    example = page.get_by_label("Example")
    example.select_option("Two ties")
    expect(energies).to_have_text(["−2", "−2", "0", "1", "2"])
    page.get_by_label("Temperature τ").focus()
    page.keyboard.press("Home")
    expect(probabilities).to_have_text(["0.5", "0.5", "0", "0", "0"])
    example.focus()
    page.keyboard.press("ArrowDown")
    expect(energies).to_have_text(["0", "0", "0", "∞", "∞"])
    expect(probabilities).to_have_text(["0.3333"] * 3 + ["0", "0"])


@browser
def test_temperature_links(open_page, site):
    """A setting in the URL is restored, a changed one is written, a link in the prose acts."""
    page = open_page(site["http"] + TEMPERATURE + "#temperature.tau=0.25")
    expect_temperature(page, 0.25)
    page.get_by_role("link", name="melted").click()
    page.wait_for_timeout(100)
    expect_temperature(page, math.inf)
    page.evaluate("location.hash = '#exercises'")  # an ordinary anchor changes nothing
    page.wait_for_timeout(100)
    expect_temperature(page, math.inf)
    page.get_by_label("Temperature τ").focus()
    page.keyboard.press("Home")
    page.wait_for_url("**#temperature.tau=0")
    page.reload()
    page.wait_for_selector("[data-ready=temperature]")
    page.wait_for_timeout(100)
    expect_temperature(page, 0)
    page.get_by_label("or type τ").fill("1")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("html$"))  # the page's own setting needs no fragment


@browser
@pytest.mark.parametrize("asked", ["tau=-1", "tau=warm", "tau=null", "scores=[]", "name=x"])
def test_a_link_that_makes_no_sense_is_told_so(open_page, site, asked):
    page = open_page(site["http"] + TEMPERATURE + f"#temperature.{asked}")
    trait, value = asked.split("=")
    problem = page.locator("[data-ready=temperature] > .hydra-problem")
    shown = "" if value == "[]" else value
    expect(problem).to_have_text(
        f"The link asks for {trait} = {shown}, which this widget cannot show."
    )
    expect_temperature(page, 1.0)


def matrix_of(page, caption):
    table = page.locator("table", has=page.locator(f"caption:text-is('{caption}')"))
    return [
        [float(t.replace("−", "-")) for t in row.locator("td").all_inner_texts()]
        for row in table.locator("tbody tr").all()
    ]


@browser
def test_aggregation_controls(open_page, site):
    page = open_page(site["http"] + AGGREGATION)
    sentence = page.locator("[data-ready=aggregation] .hydra-summary")
    expect(sentence).to_have_text("Output row 4 = 0.25 × 2 + 0.25 × 4 + 0.25 × 6 + 0.25 × 8 = 5")
    values = torch.tensor([[2.0], [4.0], [6.0], [8.0], [10.0]])

    def expect_rule(weights):
        page.wait_for_timeout(60)
        for caption, matrix in (("weights", weights), ("output", weights @ values)):
            shown = torch.tensor(matrix_of(page, caption))
            torch.testing.assert_close(shown, matrix, rtol=1e-3, atol=1e-4)

    rule = page.get_by_label("Rule")
    rule.select_option("running sum")
    expect_rule(aggregation.running_sum(5))
    rule.select_option("window")
    expect_rule(aggregation.window_mean(5, 2))
    page.get_by_label("Window width").focus()
    page.keyboard.press("ArrowRight")
    expect_rule(aggregation.window_mean(5, 3))
    page.keyboard.press("Home")
    expect_rule(torch.eye(5))
    rule.focus()
    page.keyboard.press("ArrowDown")
    expect_rule(aggregation.decay(5, 0.5))
    page.get_by_label("Decay rate").focus()
    page.keyboard.press("End")
    expect_rule(aggregation.running_mean(5))
    page.keyboard.press("ArrowLeft")
    expect_rule(aggregation.decay(5, 0.95))

    row = page.get_by_label("Output row")
    row.focus()
    page.keyboard.press("Home")
    expect(sentence).to_have_text("Output row 1 = 1 × 2 = 2")
    page.locator(".hydra-product table").nth(2).locator("tr").nth(1).click()
    expect(row).to_have_value("2")
    box = row.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
    expect(row).to_have_value("5")

    page.get_by_label("Values").select_option("Three columns")
    rule.select_option("running mean")
    page.wait_for_timeout(60)
    assert matrix_of(page, "output") == [[2, 8, 14], [3, 9, 15], [4, 10, 16]]
    expect(row).to_have_attribute("max", "3")


@browser
def test_mask_controls(open_page, site):
    page = open_page(site["http"] + MASK)
    scores = torch.tensor(
        [
            [1.0, 0.2, -0.5, 0.8, 0.1],
            [0.3, 1.2, 0.4, -0.2, 0.9],
            [-0.6, 0.5, 0.7, 1.1, 0.0],
            [0.9, -0.1, 0.3, 0.6, 1.4],
            [0.2, 0.8, -0.3, 0.5, 1.0],
        ]
    )

    def expect_mask(mask, scores=scores):
        page.wait_for_timeout(60)
        for caption, fill in (("softmax with −∞", -torch.inf), ("softmax with 0 (wrong)", 0.0)):
            weights = boltzmann.probabilities(scores.masked_fill(~mask, fill))
            leak = (weights * ~mask).sum(-1, keepdim=True)
            shown = torch.tensor(matrix_of(page, caption))
            expected = torch.cat([weights, leak], dim=-1)
            torch.testing.assert_close(shown, expected, rtol=0, atol=0.0051)

    mask = masking.causal_mask(5)
    expect_mask(mask)
    toggles = page.locator(".hydra-toggle")
    toggles.nth(4).click()  # row 1, column 5
    mask[0, 4] = True
    expect_mask(mask)
    preset = page.locator("[data-ready=mask] select").first
    expect(preset).to_have_value("")

    toggles.nth(4).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")  # row 2, column 4
    mask[1, 3] = True
    expect_mask(mask)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")  # back to row 1, column 5
    mask[0, 4] = False
    expect_mask(mask)
    expect(page.locator(".hydra-toggle[tabindex='0']")).to_have_count(1)
    expect(page.locator(".hydra-toggle[tabindex='0']")).to_be_focused()

    preset.select_option("window")
    expect_mask(masking.window_mask(5, 2))
    preset.focus()
    page.keyboard.press("ArrowDown")
    padding = masking.padding_mask(torch.tensor([3]), 5)[0].expand(5, 5)
    expect_mask(padding)
    page.locator("[data-ready=mask] select").nth(1).select_option("all zero")
    expect_mask(padding, torch.zeros(5, 5))
    preset.select_option("an empty row")
    expect(page.locator("[data-ready=mask] .hydra-summary")).to_contain_text(
        "Rows with nothing to attend to: 1; they give zeros."
    )
    page.wait_for_url("**#mask.mask=*")
    page.wait_for_timeout(300)
    page.reload()  # the mask stands in the URL
    page.wait_for_selector("[data-ready=mask]")
    expect(preset).to_have_value("an empty row")


# --- two of one class on one page ---------------------------------------------------------------


@browser
def test_two_widgets_of_one_class_do_not_disturb_each_other(widget_page):
    first = TemperatureWidget([1, 0], name="first")
    second = TemperatureWidget([2, 0], name="second", tau=3.0)
    page = widget_page(first, second)
    sliders = page.get_by_label("Temperature τ")
    expect(sliders).to_have_count(2)
    one, two = page.locator("[data-ready=first]"), page.locator("[data-ready=second]")
    before = two.inner_text()
    sliders.nth(0).focus()
    page.keyboard.press("Home")
    expect(one.locator(".hydra-summary")).to_contain_text("Frozen")
    assert two.inner_text() == before
    sliders.nth(1).focus()
    page.keyboard.press("End")
    expect(two.locator(".hydra-summary")).to_contain_text("Melted")
    expect(one.locator(".hydra-summary")).to_contain_text("Frozen")
    page.wait_for_url("**#first.tau=0&second.tau=inf")
    page.reload()
    expect(one.locator(".hydra-summary")).to_contain_text("Frozen")
    expect(two.locator(".hydra-summary")).to_contain_text("Melted")
