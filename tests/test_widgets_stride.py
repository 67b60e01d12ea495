"""The stride microscope: its arithmetic against torch's strides and addresses, controls, links."""

import json
import re

import pytest
import torch
import traitlets
from playwright.sync_api import expect

from hydra_lib.widgets import StrideWidget
from tests.conftest import drag, drawn, expect_refused, follow, in_javascript

browser = pytest.mark.browser


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"T": 7, "n_heads": 7}, "T · n_heads · head_dim must be at most 96, got 98"),
        ({"head": 3}, "head must lie in 0 … 2, got 3"),
        ({"head": -1}, "head must be an integer from 0 to 95, got -1"),
        ({"T": 2, "position": 2}, "position must lie in 0 … 1, got 2"),
        ({"component": 2}, "component must lie in 0 … 1, got 2"),
    ],
)
def test_bad_settings(setting, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        StrideWidget(**setting)


def test_settings_stay_checked():
    with pytest.raises(traitlets.TraitError, match="head_dim"):
        StrideWidget(head_dim=0)
    widget = StrideWidget()
    with pytest.raises(ValueError, match="got 102"):
        widget.T = 17
    assert StrideWidget(T=8, n_heads=6, head=5, position=7).head == 5  # 96 numbers


# --- arithmetic -----------------------------------------------------------------------------------


def layouts(T, h, d):
    """The stages as torch makes them, x counting its own addresses."""
    x = torch.arange(T * h * d).view(T, h * d)
    view = x.view(T, h, d)
    transpose = view.transpose(0, 1)
    return {
        "view": view,
        "transpose": transpose,
        "contiguous": transpose.contiguous(),
        "wrong": x.view(h, T, d),
    }


def memory(tensor):
    return torch.as_strided(tensor, (tensor.numel(),), (1,), 0).tolist()


def address(tensor, index):
    """Where an element really lies, in numbers from the start of the memory."""
    element = tensor[tuple(index)]
    step = element.data_ptr() - tensor.untyped_storage().data_ptr()
    assert element.storage_offset() * element.element_size() == step
    return element.storage_offset()


@pytest.mark.long
def test_stages_agree_with_torch():
    generator = torch.Generator().manual_seed(10)
    cases = []
    for _ in range(1000):
        T, h, d = sizes = torch.randint(1, 8, (3,), generator=generator).tolist()
        t, i, c = (torch.randint(n, (), generator=generator).item() for n in sizes)
        cases.append({"T": T, "h": h, "d": d, "t": t, "i": i, "c": c})
    expression = """(() => {
        const all = m.stages(c.T, c.h, c.d);
        return Object.entries(all).map(([name, layout]) => {
            const index = name === "view" ? [c.t, c.i, c.c] : [c.i, c.t, c.c];
            const offset = m.offset(index, layout.strides);
            return {name, ...layout, index, offset,
                    packed: m.isPacked(layout.shape, layout.strides),
                    own: m.slice(layout, name === "view" ? 1 : 0, c.i),
                    element: m.elementAt(layout.memory[offset], c.h, c.d)};
        });
    })()"""
    got = json.loads(in_javascript("strides.js", expression, cases))
    uncopied = 0
    for case, stages in zip(cases, got, strict=True):
        T, h, d = case["T"], case["h"], case["d"]
        tensors = layouts(T, h, d)
        assert [stage["name"] for stage in stages] == list(tensors)
        for stage in stages:
            tensor = tensors[stage["name"]]
            assert stage["shape"] == list(tensor.shape)
            assert stage["strides"] == list(tensor.stride())
            assert tensor.storage_offset() == 0
            assert stage["offset"] == address(tensor, stage["index"])
            assert stage["memory"] == memory(tensor)
            assert stage["packed"] == tensor.is_contiguous()
            # The number in x at (t, i, c), found by division.
            element = stage["element"]
            where = (element["position"], element["head"], element["component"])
            assert tensor[tuple(stage["index"])] == tensors["view"][where]
            own = tensor.select(1 if stage["name"] == "view" else 0, case["i"])
            assert [stage["memory"][a] for a in stage["own"]] == own.flatten().tolist()
        uncopied += tensors["contiguous"].data_ptr() == tensors["view"].data_ptr()
    assert 0 < uncopied < 1000  # an axis of length 1 makes the copy needless


# --- controls -------------------------------------------------------------------------------------


def expect_element(page, i, t, c, wrong=False, T=4, h=3, d=2):
    """Every stage on the page is torch's, with this element framed."""
    tensors = layouts(T, h, d)
    order = {name: ("t", "i", "c") if name == "view" else ("i", "t", "c") for name in tensors}
    index = {"i": i, "t": t, "c": c}
    places = {}
    for name, tensor in tensors.items():
        stage = page.locator(f"[data-stage={name}]")
        if name == ("contiguous" if wrong else "wrong"):
            expect(stage).to_be_hidden()
            continue
        places[name] = address(tensor, [index[axis] for axis in order[name]])
        facts, formula = stage.locator(".hydra-facts").all()
        expect(facts).to_have_text(f"shape {tuple(tensor.shape)}, strides {tensor.stride()}")
        terms = list(zip(order[name], tensor.stride(), strict=True))
        expect(formula).to_have_text(
            f"offset = {' + '.join(f'{axis}·{s}' for axis, s in terms)} = "
            f"{' + '.join(f'{index[axis]}·{s}' for axis, s in terms)} = {places[name]}"
        )
        cells = stage.locator(".hydra-strip span")
        expect(cells).to_have_text([str(n) for n in memory(tensor)])
        expect(stage.locator(".hydra-framed")).to_have_text(str(memory(tensor)[places[name]]))
        own = set(tensor.select(order[name].index("i"), i).flatten().tolist())
        underlined = [str(n) for n in memory(tensor) if n in own]
        expect(stage.locator(".hydra-own")).to_have_text(underlined)
        hues = cells.evaluate_all("all => all.map(s => s.style.getPropertyValue('--hue'))")
        owners = [n % (h * d) // d for n in memory(tensor)]
        assert len(set(zip(owners, hues, strict=True))) == len(set(owners)) == len(set(hues))
    summary = page.locator(".hydra-summary")
    expect(summary).to_contain_text(
        f"Head {i} of token {t}, component {c}, lies at address {places['view']} before and after"
    )
    assert places["view"] == places["transpose"]
    if wrong:
        real = (tensors["view"] == tensors["wrong"][i, t, c]).nonzero()[0].tolist()
        found = (
            "the same number"
            if real == [t, i, c]
            else f"head {real[1]} of token {real[0]}, component {real[2]}"
        )
        expect(summary).to_contain_text(f"At [{i}, {t}, {c}] the wrong view has {found}; ")
        tokens = (tensors["wrong"][i] // (h * d)).unique().tolist()
        mixes = (
            f"is made of token {tokens[0]} alone."
            if len(tokens) == 1
            else f"is made of tokens {', '.join(map(str, tokens[:-1]))} and {tokens[-1]} alone."
        )
        expect(summary).to_contain_text(f"what it calls head {i} {mixes}")
    elif tensors["contiguous"].data_ptr() == tensors["view"].data_ptr():
        expect(summary).to_contain_text("contiguous moves nothing either.")
    else:
        expect(summary).to_contain_text(f"a copy, where it lies at {places['contiguous']}.")


@browser
def test_controls_by_keyboard(widget_page):
    page = widget_page(StrideWidget())
    expect_element(page, 0, 0, 0)
    page.get_by_label("Head i").focus()
    page.keyboard.press("ArrowRight")
    expect_element(page, 1, 0, 0)
    page.get_by_label("Position t").focus()
    page.keyboard.press("End")
    expect_element(page, 1, 3, 0)
    page.keyboard.press("ArrowLeft")
    expect_element(page, 1, 2, 0)
    page.get_by_label("Component c").focus()
    page.keyboard.press("End")
    expect_element(page, 1, 2, 1)
    page.get_by_label("wrong reshape").focus()
    page.keyboard.press("Space")
    expect_element(page, 1, 2, 1, wrong=True)
    page.keyboard.press("Space")
    expect_element(page, 1, 2, 1)


@browser
def test_a_number_that_is_pressed_is_followed(widget_page):
    page = widget_page(StrideWidget(T=5, n_heads=2, head_dim=3))
    sizes = {"T": 5, "h": 2, "d": 3}
    for stage, place, index in (
        ("view", 9, (1, 1, 0)),
        ("transpose", 22, (1, 3, 1)),
        ("contiguous", 7, (0, 2, 1)),  # there lies number 13
    ):
        page.locator(f"[data-stage={stage}] .hydra-strip span").nth(place).click()
        drawn(page)
        expect_element(page, *index, **sizes)
    page.get_by_label("wrong reshape").click()
    wrong = page.locator("[data-stage=wrong] .hydra-strip")
    wrong.locator("span").nth(7).click()  # 0 · 15 + 2 · 3 + 1
    drawn(page)
    expect_element(page, 0, 2, 1, wrong=True, **sizes)
    wrong.locator("span").nth(22).click()  # 1 · 15 + 2 · 3 + 1
    drawn(page)
    expect_element(page, 1, 2, 1, wrong=True, **sizes)
    wrong.click(
        position={"x": wrong.bounding_box()["width"] - 2, "y": 3}
    )  # beside them is nothing to follow
    expect_element(page, 1, 2, 1, wrong=True, **sizes)


@browser
def test_controls_by_pointer(widget_page):
    page = widget_page(StrideWidget(T=5, n_heads=2, head_dim=3, position=2))
    sizes = {"T": 5, "h": 2, "d": 3}
    expect_element(page, 0, 2, 0, **sizes)
    page.get_by_label("wrong reshape").click()
    for label, share, index in (
        ("Head i", 1, (1, 2, 0)),
        ("Position t", 1, (1, 4, 0)),
        ("Component c", 1, (1, 4, 2)),
        ("Position t", 0, (1, 0, 2)),
        ("Head i", 0, (0, 0, 2)),
    ):
        drag(page, label, share)
        expect_element(page, *index, wrong=True, **sizes)
    page.wait_for_url("**#stride.component=2&stride.position=0&stride.wrong=true")
    page.reload()  # the setting stands in the URL
    page.wait_for_selector("[data-ready=stride]")
    expect_element(page, 0, 0, 2, wrong=True, **sizes)


@browser
@pytest.mark.parametrize("sizes", [(1, 3, 2), (4, 1, 2), (3, 3, 1), (8, 6, 2)])
def test_other_sizes(widget_page, sizes):
    T, h, d = sizes
    last = {"head": h - 1, "position": T - 1, "component": d - 1}
    page = widget_page(StrideWidget(T=T, n_heads=h, head_dim=d, wrong=True, **last))
    expect_element(page, h - 1, T - 1, d - 1, wrong=True, T=T, h=h, d=d)


@browser
def test_a_link_that_makes_no_sense_is_told_so(widget_page):
    page = widget_page(StrideWidget())
    for asked in ["head=3", "head=-1", "position=1.5", "component=2", "wrong=1", "T=5", "name=x"]:
        follow(page, f"#stride.{asked}")
        expect_refused(page, "stride", asked)
        expect_element(page, 0, 0, 0)
