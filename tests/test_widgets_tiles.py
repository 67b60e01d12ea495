"""The widget of attention tile by tile: its arithmetic against the library, controls, links."""

import json
import math
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import scaled_dot_product_attention, sentence, trace
from hydra_lib.widgets import TilesWidget
from hydra_lib.widgets._base import SettingError
from tests.conftest import (
    brief,
    drawn,
    expect_refused,
    extended,
    follow,
    in_javascript,
    press,
)

browser = pytest.mark.browser


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TilesWidget(block=8), "block must be an integer from 1 to 7, got 8"),
        (lambda: TilesWidget(step=29), "step must be an integer from 0 to 28, got 29"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(SettingError, match=f"^{re.escape(message)}$"):
        make()


def test_tiles_cover_what_may_be_seen_once():
    cases = [[n, block] for n in range(1, 12) for block in range(1, n + 1)]
    for (n, _), tiles in zip(
        cases, json.loads(in_javascript("tiles.js", "m.tilesOf(...c)", cases)), strict=True
    ):
        pairs = [(i, j) for tile in tiles for i in tile["rows"] for j in tile["columns"]]
        assert len(pairs) == len(set(pairs))
        assert {(i, j) for i in range(n) for j in range(i + 1)} <= set(pairs)
        assert all(min(tile["columns"]) <= max(tile["rows"]) for tile in tiles)


def test_every_row_is_the_attention_of_what_it_has_seen():
    generator = torch.Generator().manual_seed(8)
    cases = []
    for index in range(300):
        n = 1 + index % 7
        scores = (1, 40)[index % 2] * torch.randn(n, n, generator=generator, dtype=torch.float64)
        values = torch.rand(n, 3, generator=generator, dtype=torch.float64)
        cases.append([scores.tolist(), values.tolist(), 1 + index % n, index % 9])
    run = "((t) => [t.slice(0, c[3]), m.sweep(c[0], c[1], t, c[3])])(m.tilesOf(c[0].length, c[2]))"
    for (scores, values, _, _), (done, rows) in zip(
        cases, json.loads(in_javascript("tiles.js", run, cases)), strict=True
    ):
        for i, row in enumerate(rows):
            seen = [j for t in done if i in t["rows"] for j in t["columns"] if j <= i]
            if not seen:
                assert extended(row["m"]) == -math.inf
                assert (row["l"], row["scale"]) == (0, 1)  # nothing is there to be scaled
                continue
            *before, last = [[j for j in t["columns"] if j <= i] for t in done if i in t["rows"]]
            old = max((scores[i][j] for columns in before for j in columns), default=None)
            new = max([scores[i][j] for j in last] + ([] if old is None else [old]), default=None)
            assert row["scale"] == (1 if old is None else pytest.approx(math.exp(old - new)))
            s = torch.tensor([scores[i][j] for j in seen], dtype=torch.float64)
            v = torch.tensor([values[j] for j in seen], dtype=torch.float64)
            assert row["m"] == s.max()
            assert math.isclose(row["l"], (s - s.max()).exp().sum().item(), rel_tol=1e-12)
            mix = torch.tensor(row["o"], dtype=torch.float64) / row["l"]
            torch.testing.assert_close(mix, torch.softmax(s, 0) @ v, rtol=1e-9, atol=1e-12)


@browser
@pytest.mark.parametrize("block", [1, 2, 3, 7])
def test_the_last_tile_leaves_the_output(widget_page, block):
    page = widget_page(TilesWidget(block=block, step=0))
    button = page.get_by_role("button")
    steps = int(page.get_by_label("Tiles done").get_attribute("max"))
    for _ in range(steps):
        expect(button).to_have_text("next tile")
        button.click()
        drawn(page)
    expect(button).to_have_text("from the start")
    output = scaled_dot_product_attention(
        sentence.QUERIES, sentence.KEYS, sentence.VALUES, causal=True
    )
    paints = page.locator(".hydra-tiles tbody .hydra-swatch").evaluate_all(
        "all => all.map(x => getComputedStyle(x).backgroundColor)"
    )
    wanted = [[round(255 * x) for x in row] for row in output.double().tolist()]
    assert paints == [f"rgb({r}, {g}, {b})" for r, g, b in wanted]
    last = trace(sentence.QUERIES, sentence.KEYS, sentence.VALUES).scaled[-1].double()
    total = (last - last.max()).exp().sum()
    found = page.locator(".hydra-tiles tbody tr").last.locator("td").all_inner_texts()
    assert found[7:9] == [f"{last.max():.1f}", f"{total:.2f}"]
    button.click()
    expect(page.get_by_label("Tiles done")).to_have_value("0")


@browser
@pytest.mark.parametrize("block", [1, 2, 3])
def test_what_a_tile_did_to_its_last_row_is_told(widget_page, block):
    page = widget_page(TilesWidget(block=block, step=0))
    [tiles] = json.loads(in_javascript("tiles.js", "m.tilesOf(7, c)", [block]))
    scores = trace(sentence.QUERIES, sentence.KEYS, sentence.VALUES).scaled.double()
    parts = set()
    for step, tile in enumerate(tiles, 1):
        page.get_by_role("button", name="next tile").click()
        expect(page.get_by_label("Tiles done")).to_have_value(str(step))
        i, first = tile["rows"][-1], tile["columns"][0]
        new = scores[i, : min(i, tile["columns"][-1]) + 1]
        top, rise = new.max(), (scores[i, :first].max() - new.max()).exp() if first else None
        if first == 0:
            part = "its first tile"
        elif rise >= 1:
            part = "the maximum stayed, so nothing is rescaled"
        else:
            part = f"the maximum rose to {top:.1f}, so the older l and o are multiplied by "
            part += brief(rise.item())
        parts.add(part[:20])
        told = f"Row “{sentence.WORDS[i]}”: {part}. Its mixture is o / l, with l at "
        expect(page.locator(".hydra-summary")).to_contain_text(
            f"{told}{brief((new - top).exp().sum().item())}. "
        )
    assert len(parts) > 1


@browser
def test_tiles_of_another_side_are_as_far_as_they_go(widget_page):
    page = widget_page(TilesWidget(block=2, step=2))
    side, done = page.get_by_label("Tile side"), page.get_by_label("Tiles done")
    side.press("ArrowRight")
    expect(done).to_have_attribute("aria-valuetext", "2 of 6")
    done.press("End")
    side.press("ArrowLeft")
    expect(done).to_have_attribute("aria-valuetext", "6 of 10")
    done.press("End")
    side.press("ArrowRight")
    expect(done).to_have_attribute("aria-valuetext", "6 of 6")


@browser
def test_keyboard_links_and_room(widget_page):
    page = widget_page(TilesWidget(), width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator(".hydra-panels")
    assert box.evaluate("x => x.scrollWidth <= x.clientWidth + 1")
    summary = page.locator(".hydra-summary")
    expect(summary).to_contain_text("because”: the maximum rose to 3.1")
    expect(summary).to_contain_text(
        "4 scores in memory at once where the whole matrix has 49; "
        "of 16 tiles the 6 in the future are never computed."
    )
    page.get_by_label("Tile side").focus()
    press(page, "End")
    expect(page.get_by_label("Tiles done")).to_have_attribute("max", "1")
    expect(summary).to_contain_text("49 scores in memory at once where the whole matrix has 49.")
    follow(page, "#tiles.block=3&tiles.step=2")
    expect(page.locator(".hydra-now")).to_have_count(9)
    for asked in ("block=0", "step=1.5", "scores=[[1]]"):
        follow(page, f"#tiles.{asked}")
        expect_refused(page, "tiles", asked)
