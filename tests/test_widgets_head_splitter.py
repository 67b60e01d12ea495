"""The head splitter: its arithmetic and refusals against the library, every control, links."""

import itertools
import json
import random

import pytest
import torch
import traitlets
from playwright.sync_api import expect

from hydra_lib import heads
from hydra_lib.multihead import MultiHeadAttention
from hydra_lib.widgets import HeadSplitterWidget
from tests.conftest import drag, expect_refused, follow, in_javascript

browser = pytest.mark.browser


def refusal(d_model, n_heads):
    """The library's message; empty when it takes the numbers."""
    try:
        heads.HeadConfig(d_model, n_heads)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("setting", [{"d_model": 0}, {"n_heads": 0}, {"d_model": 65537}])
def test_bad_settings(setting):
    (name,) = setting
    with pytest.raises(traitlets.TraitError, match=name):
        HeadSplitterWidget(**setting)


def test_numbers_that_do_not_divide_are_a_setting():
    assert HeadSplitterWidget(d_model=768, n_heads=7).n_heads == 7


# --- arithmetic -----------------------------------------------------------------------------------


def test_refusals_are_the_library_s_word_for_word():
    draw = random.Random(7)
    cases = [[draw.randint(1, 4096), draw.randint(1, 96)] for _ in range(700)]
    cases += [[draw.randint(-2, 40), draw.randint(-2, 60)] for _ in range(500)]
    # Further away than the search goes: 65,521 is prime, so below 40,000 only 1 divides it.
    cases += [[65_521, 40_000], [65_521, 9_999], [65_521, 10_000], [65_521, 10_001], [10, 65_536]]
    got = json.loads(in_javascript("heads.js", "m.refusal(c[0], c[1])", cases))
    assert got == [refusal(*case) for case in cases]
    assert 50 < got.count("") < 1150  # both kinds occur


@pytest.mark.long
def test_shapes_and_parameters_agree_with_the_library():
    cases = [
        [n_heads * width, n_heads, batch, T]
        for n_heads, width in itertools.product(range(1, 8), range(1, 6))
        for batch, T in itertools.product(range(1, 4), range(1, 5))
    ]
    expression = "{...m.shapes(...c), count: m.parameters(c[0])}"
    got = json.loads(in_javascript("heads.js", f"({expression})", cases))
    generator = torch.Generator().manual_seed(9)
    layers = {}
    for (d_model, n_heads, batch, T), result in zip(cases, got, strict=True):
        config = heads.HeadConfig(d_model, n_heads)
        if config not in layers:
            layers[config] = MultiHeadAttention(config, generator=generator)
        layer = layers[config]
        x = torch.randn(batch, T, d_model, generator=generator)
        with torch.no_grad():
            steps = layer.trace(x, x, x)._asdict()
        count = result.pop("count")
        assert count == config.parameters() == sum(w.numel() for w in layer.parameters())
        assert result == {name: list(steps[name].shape) for name in result}
        assert list(result) == ["q", "q_heads", "weights", "heads", "merged", "output"]


# --- controls -------------------------------------------------------------------------------------


def expect_config(page, d_model, n_heads):
    """The page shows what the library says about these numbers, or its message and nothing else."""
    for name, value in (("d_model", d_model), ("n_heads", n_heads)):
        slider = page.get_by_role("slider", name=name)
        expect(slider.locator("xpath=../output")).to_have_text(str(value))
        expect(page.get_by_label(f"or type {name}")).to_have_value(str(value))
    numbers = "1 number" if d_model == 1 else f"{d_model} numbers"
    expect(page.locator("figcaption")).to_contain_text(f"d_model = {numbers} per position, ")
    message = refusal(d_model, n_heads)
    expect(page.locator(".hydra-summary > p[role=alert]")).to_have_text(message)
    table, summary = page.locator("table"), page.locator(".hydra-summary > p:last-child")
    if message:
        expect(table).to_be_hidden()
        expect(summary).to_be_hidden()
        each, over = divmod(d_model, n_heads)  # the bar is cut as far as it goes
        left = f"{n_heads} × {each}, and {over} left over"
        expect(page.locator("figcaption")).to_contain_text(left)
        hatched = page.locator(".hydra-heads").evaluate(
            "e => parseFloat(getComputedStyle(e, '::after').width) / e.clientWidth"
        )
        assert hatched == pytest.approx(over / d_model, abs=2e-3)
        return
    config = heads.HeadConfig(d_model, n_heads)
    d_k = config.head_dim
    expect(table.locator("td:nth-of-type(2)")).to_have_text(
        [
            f"(2, 5, {d_model})",
            f"(2, {n_heads}, 5, {d_k})",
            f"(2, {n_heads}, 5, {d_k})",
            f"(2, 5, {d_model})",
            f"(2, 5, {d_model})",
        ]
    )
    expect(table).to_contain_text(f"weights (2, {n_heads}, 5, 5) @ v")
    expect(page.locator("figcaption")).to_contain_text(f"{n_heads} × head_dim = {d_k}")
    expect(summary).to_have_text(
        f"head_dim = {d_model} / {n_heads} = {d_k}. W_Q, W_K, W_V and W_O hold 4 × {d_model}² = "
        f"{config.parameters():,} parameters, however many heads share them."
    )
    share = page.locator(".hydra-heads").evaluate("bar => bar.style.getPropertyValue('--share')")
    assert float(share.rstrip("%")) == pytest.approx(100 / n_heads if n_heads <= 128 else 100)


@browser
def test_sliders_by_keyboard_and_pointer(widget_page):
    page = widget_page(HeadSplitterWidget())
    expect_config(page, 768, 12)
    page.get_by_role("slider", name="n_heads").focus()
    page.keyboard.press("ArrowRight")
    expect_config(page, 768, 13)
    page.keyboard.press("Home")
    expect_config(page, 768, 1)
    page.get_by_role("slider", name="d_model").focus()
    page.keyboard.press("ArrowLeft")
    expect_config(page, 760, 1)
    page.keyboard.press("End")
    expect_config(page, 2048, 1)
    for name, share, numbers_after in (("n_heads", 1, (2048, 64)), ("d_model", 0, (8, 64))):
        drag(page, name, share)
        expect_config(page, *numbers_after)


@browser
def test_fields_and_presets(widget_page):
    page = widget_page(HeadSplitterWidget(d_model=10, n_heads=3))
    expect_config(page, 10, 3)
    field = page.get_by_label("or type n_heads")
    for typed in ("5", " 10 ", "11", "65536", "1", "2"):
        field.click()
        field.fill(typed)
        field.press("Enter")
        expect_config(page, 10, int(typed))
    for typed in ("1", "10"):
        page.get_by_label("or type d_model").fill(typed)
        page.keyboard.press("Enter")
        expect_config(page, int(typed), 2)
    for typed, message in (
        ("0", "n_heads must be a positive integer, got 0"),
        ("-3", "n_heads must be a positive integer, got -3"),
        ("2.5", "n_heads must be a positive integer, got 2.5"),
        ("many", "n_heads must be a positive integer, got many"),
        ("", "n_heads must be a positive integer, got nothing"),
        ("65537", "n_heads is at most 65536 here, got 65537"),
    ):
        field.fill(typed)
        field.press("Enter")
        expect(field.locator("xpath=../span[@role='alert']")).to_have_text(message)
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(page.locator(".hydra-summary")).to_contain_text("head_dim = 10 / 2 = 5.")
    page.get_by_label("or type d_model").fill("4096")
    page.keyboard.press("Tab")
    # What was refused stays where it was typed, with the reason, until it is mended.
    expect(field).to_have_value("65537")
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("2")
    field.press("Enter")
    expect_config(page, 4096, 2)
    expect(field).to_have_attribute("aria-invalid", "false")

    preset = page.get_by_label("Preset")
    expect(preset).to_have_value("")
    for name, config in (
        ("base Transformer", (512, 8)),
        ("GPT-2 small", (768, 12)),
        ("GPT-2 XL", (1600, 25)),
    ):
        preset.select_option(name)
        expect_config(page, *config)
    preset.focus()
    page.keyboard.press("ArrowUp")
    expect_config(page, 768, 12)
    preset.select_option("GPT-2 XL")
    page.wait_for_url("**#head_splitter.d_model=1600&head_splitter.n_heads=25")
    page.reload()
    page.wait_for_selector("[data-ready=head_splitter]")
    expect_config(page, 1600, 25)
    expect(preset).to_have_value("GPT-2 XL")


@browser
def test_a_link_may_ask_for_numbers_that_do_not_divide(widget_page):
    page = widget_page(HeadSplitterWidget(), fragment="#head_splitter.n_heads=7")
    expect_config(page, 768, 7)


@browser
def test_a_link_that_makes_no_sense_is_told_so(widget_page):
    page = widget_page(HeadSplitterWidget())
    for asked in ["d_model=0", "n_heads=65537", "n_heads=2.5", "n_heads=x", "h=1"]:
        follow(page, f"#head_splitter.{asked}")
        expect_refused(page, "head_splitter", asked)
        expect_config(page, 768, 12)
