"""The widget of fixed weights: its arithmetic against the library, every control, links."""

import json
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import aggregation
from hydra_lib.widgets import AggregationWidget
from hydra_lib.widgets._base import SettingError
from tests.conftest import (
    brief,
    drag,
    drawn,
    expect_refused,
    expect_table,
    follow,
    heat,
    in_javascript,
    press,
    table_of,
    written,
)

browser = pytest.mark.browser
EVEN = [[2.0], [4.0], [6.0], [8.0], [10.0]]
COLUMNS = [[2.0, 8.0, 14.0], [4.0, 10.0, 16.0], [6.0, 12.0, 18.0]]
SPIKE = [[0.0], [0.0], [1.0], [0.0], [0.0], [0.0]]


# --- settings -------------------------------------------------------------------------------------

MATRIX = (
    "values must be a matrix of at most 16 × 8, each a number from -1,000,000 to 1,000,000, got "
)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AggregationWidget([]), MATRIX + "[]"),
        (lambda: AggregationWidget([[]]), MATRIX + "[[]]"),
        (lambda: AggregationWidget([[1], [2, 3]]), MATRIX + "[[1], [2, 3]]"),
        (lambda: AggregationWidget("bogus"), MATRIX + "'bogus'"),
        (lambda: AggregationWidget([[float("nan")]]), MATRIX + "[[nan]]"),
        (lambda: AggregationWidget([[1]] * 17), MATRIX + f"{[[1]] * 17}"[:79] + "…"),
        (lambda: AggregationWidget([[1000001]]), MATRIX + "[[1000001]]"),
        (lambda: setattr(AggregationWidget(EVEN), "values", "bogus"), MATRIX + "'bogus'"),
        (lambda: AggregationWidget(EVEN, row=5), "row must lie in 0 … 4, got 5"),
        (lambda: AggregationWidget(EVEN, row=-1), "row must be an integer from 0 to 15, got -1"),
        (
            lambda: setattr(AggregationWidget(EVEN, row=4), "values", EVEN[:4]),
            "row must lie in 0 … 3, got 4",
        ),
        (
            lambda: AggregationWidget(EVEN, rule="max"),
            "rule must be sum or mean or window or decay, got 'max'",
        ),
        (
            lambda: AggregationWidget(EVEN, width=0),
            "width must be an integer from 1 to 16, got 0",
        ),
        (lambda: AggregationWidget(EVEN, rate=1.5), "rate must be a number from 0 to 1, got 1.5"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(SettingError, match=f"^{re.escape(message)}$"):
        make()


# --- arithmetic -----------------------------------------------------------------------------------


def test_arithmetic_agrees_with_the_library():
    rules = {
        "sum": lambda T, c: aggregation.running_sum(T),
        "mean": lambda T, c: aggregation.running_mean(T),
        "window": lambda T, c: aggregation.window_mean(T, c["width"]),
        "decay": lambda T, c: aggregation.decay(T, c["rate"]),
    }
    assert list(rules) == AggregationWidget(EVEN).limits["rule"]["options"]
    generator = torch.Generator().manual_seed(1)
    torch.set_default_dtype(torch.float64)
    try:
        cases = []
        for index in range(1000):
            T, d = 1 + index % 11, 1 + index % 3
            cases.append(
                {
                    "rule": list(rules)[index % len(rules)],
                    "width": 1 + index % 13,
                    "rate": [0.0, 1.0, round(torch.rand((), generator=generator).item(), 3)][
                        min(index % 29, 2)
                    ],
                    "values": torch.randn(T, d, generator=generator).tolist(),
                }
            )
        expression = "m.product(m.weightMatrix(c, c.values.length), c.values)"
        got = json.loads(in_javascript("aggregation.js", expression, cases))
        for case, output in zip(cases, got, strict=True):
            values = torch.tensor(case["values"])
            expected = rules[case["rule"]](len(values), case) @ values
            torch.testing.assert_close(torch.tensor(output), expected, rtol=1e-9, atol=1e-14)
    finally:
        torch.set_default_dtype(torch.float32)


# --- controls -------------------------------------------------------------------------------------


def opened(widget_page, fragment="", **setting):
    return widget_page(AggregationWidget(EVEN, **{"row": 3} | setting), fragment=fragment)


def expect_setting(page, values, weights, row, rule):
    """Every number, shade and word of the page is the library's."""
    data = torch.tensor(values)
    output = (weights @ data).tolist()
    matrices = (("weights", weights.tolist()), ("values", values), ("output", output))
    for caption, matrix in matrices:
        show = brief if caption == "weights" else written
        expect_table(page, caption, [[show(x) for x in line] for line in matrix])
    tables = page.locator(".hydra-product > *")
    expect(tables.locator("caption")).to_have_text(["weights", "values", "output"])
    expect(page.locator(".hydra-sign")).to_have_text(["@", "="])
    for i, line in enumerate(weights.tolist()):
        for j, weight in enumerate(line):
            cell = table_of(page, "weights").locator("tr").nth(i).locator("td").nth(j)
            expect(cell).to_have_attribute("style", heat(weight))
    for weight, line in zip(weights[row].tolist(), range(len(values)), strict=True):
        for cell in table_of(page, "values").locator("tr").nth(line).locator("td").all():
            expect(cell).to_have_attribute("style", heat(weight))
    for caption, chosen in (("weights", [row]), ("values", []), ("output", [row])):
        kinds = (
            table_of(page, caption).locator("tr").evaluate_all("rows => rows.map(r => r.className)")
        )
        assert [i for i, kind in enumerate(kinds) if kind == "hydra-chosen"] == chosen
    shown = [
        written(x[0]) if len(x) == 1 else f"({', '.join(map(written, x))})"
        for x in [*values, output[row]]
    ]
    terms = [f"{written(w)} × {x}" for w, x in zip(weights[row].tolist(), shown, strict=False) if w]
    expect(page.locator(".hydra-summary")).to_have_text(
        f"Output row {row + 1} = {' + '.join(terms)} = {shown[-1]}"
    )
    expect(page.get_by_label("Rule")).to_have_value(rule)
    expect(page.get_by_label("Window width")).to_be_visible(visible=rule == "window")
    expect(page.get_by_label("Decay factor r")).to_be_visible(visible=rule == "decay")
    slider = page.get_by_label("Output row")
    expect(slider).to_have_value(str(row + 1))
    expect(slider).to_have_attribute("max", str(len(values)))
    names = {str(EVEN): "", str(COLUMNS): "Three columns", str(SPIKE): "A single spike"}
    expect(page.get_by_label("Values")).to_have_value(names.get(str(values), "own"))


@browser
def test_what_stands_there(widget_page):
    page = opened(widget_page)
    labels = page.locator(".hydra-control > span")
    expect(labels).to_have_text(["Rule", "Values", "Output row", "Window width", "Decay factor r"])
    expect(page.get_by_label("Rule").locator("option")).to_have_text(
        ["running sum", "running mean", "window", "decay"]
    )
    expect(page.get_by_label("Values").locator("option")).to_have_text(
        ["as given", "Three columns", "A single spike", "your own"]
    )
    expect_setting(page, EVEN, aggregation.running_mean(5), 3, "mean")


@browser
def test_rules_and_their_sliders(widget_page):
    page = opened(widget_page)
    rule = page.get_by_label("Rule")
    rule.select_option("running sum")
    expect_setting(page, EVEN, aggregation.running_sum(5), 3, "sum")
    rule.select_option("window")
    expect_setting(page, EVEN, aggregation.window_mean(5, 2), 3, "window")
    width = page.get_by_label("Window width")
    expect(width).to_have_attribute("max", "5")
    width.focus()
    press(page, "ArrowRight")
    expect_setting(page, EVEN, aggregation.window_mean(5, 3), 3, "window")
    press(page, "Home")
    expect(width).to_have_attribute("aria-valuetext", "1")
    expect_setting(page, EVEN, torch.eye(5), 3, "window")
    rule.focus()
    press(page, "ArrowDown")
    expect_setting(page, EVEN, aggregation.decay(5, 0.5), 3, "decay")
    rate = page.get_by_label("Decay factor r")
    rate.focus()
    press(page, "End")
    expect_setting(page, EVEN, aggregation.running_mean(5), 3, "decay")
    press(page, "ArrowLeft")
    expect(rate).to_have_attribute("aria-valuetext", "0.95")
    expect_setting(page, EVEN, aggregation.decay(5, 0.95), 3, "decay")
    press(page, "Home")
    expect_setting(page, EVEN, torch.eye(5), 3, "decay")
    page.wait_for_url("**#aggregation.rate=0&aggregation.rule=decay&aggregation.width=1")


@browser
def test_rows_by_slider_and_by_hand(widget_page):
    page = opened(widget_page)
    row = page.get_by_label("Output row")
    row.focus()
    press(page, "Home")
    expect_setting(page, EVEN, aggregation.running_mean(5), 0, "mean")
    table_of(page, "output").locator("tr").nth(1).click()
    expect_setting(page, EVEN, aggregation.running_mean(5), 1, "mean")
    table_of(page, "weights").locator("tr").nth(2).click()
    expect_setting(page, EVEN, aggregation.running_mean(5), 2, "mean")
    table_of(page, "values").locator("tr").nth(0).click()
    drawn(page)
    expect(row).to_have_value("3")
    drag(page, "Output row", 1)
    expect_setting(page, EVEN, aggregation.running_mean(5), 4, "mean")
    page.get_by_label("Values").select_option("Three columns")
    expect_setting(page, COLUMNS, aggregation.running_mean(3), 2, "mean")
    page.wait_for_url("**#aggregation.row=2&*")  # the row goes with the matrix
    page.get_by_label("Values").select_option("A single spike")
    expect_setting(page, SPIKE, aggregation.running_mean(6), 2, "mean")
    expect(page.get_by_label("Window width")).to_have_attribute("max", "6")
    page.get_by_label("Values").focus()
    press(page, "Home")
    expect_setting(page, EVEN, aggregation.running_mean(5), 2, "mean")


@browser
def test_links(widget_page):
    link = "#aggregation.values=[[2,8,14],[4,10,16],[6,12,18]]&aggregation.rule=window"
    page = opened(widget_page, link + "&aggregation.width=16")
    expect_setting(page, COLUMNS, aggregation.running_mean(3), 2, "window")  # 3 of the 16 there are
    expect(page.get_by_label("Window width")).to_have_value("3")
    follow(page, "#aggregation.rule=decay&aggregation.rate=0&aggregation.row=0")
    expect_setting(page, EVEN, torch.eye(5), 0, "decay")
    follow(page, "#aggregation.row=5&aggregation.values=[[0],[0],[1],[0],[0],[0]]")
    expect_setting(page, SPIKE, aggregation.running_mean(6), 5, "mean")
    follow(page, "#aggregation.values=[[1],[2]]&aggregation.row=1")
    expect_setting(page, [[1.0], [2.0]], aggregation.running_mean(2), 1, "mean")
    for asked in (
        "rule=max",
        "width=0",
        "width=17",
        "width=1.5",
        "rate=-0.1",
        "rate=1.1",
        "row=-1",
        "row=5",
        "row=16",
        "values=[]",
        "values=[[]]",
        "values=[[1],[2,3]]",
        "values=[1]",
        "values=[[null]]",
        "values=[[1000001]]",
        "given=[[1]]",
        "limits={}",
    ):
        follow(page, f"#aggregation.{asked}")
        expect_refused(page, "aggregation", asked)
    expect_setting(page, EVEN, aggregation.running_mean(5), 3, "mean")


@browser
@pytest.mark.parametrize("width", [700, 1280])  # of a notebook, and of a page
def test_other_values_and_rules_move_nothing(widget_page, width):
    page = widget_page(AggregationWidget(EVEN), width=width)
    seen = set()
    for values in ("as given", "Three columns", "A single spike"):
        page.get_by_label("Values").select_option(values)
        for rule in ("running mean", "window", "decay"):
            page.get_by_label("Rule").select_option(rule)
            drawn(page)
            places = [
                page.get_by_label(name).bounding_box()["x"] for name in ("Values", "Output row")
            ]
            seen.add((page.locator(".hydra").bounding_box()["height"], *places))
    assert len(seen) == 1
