"""The widget of words that become queries and keys: sums of arrows, the table, planes, links."""

import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import causal_mask, sentence, trace
from hydra_lib.widgets import ProjectionWidget
from hydra_lib.widgets._base import SettingError
from tests.conftest import (
    UNREADABLE,
    drawn,
    expect_refused,
    follow,
    in_javascript,
    middle,
    numbers,
    press,
    swipe,
)

browser = pytest.mark.browser
X, W_Q, W_K, WORDS = sentence.X, sentence.W_Q, sentence.W_K, sentence.WORDS
IT, TIRED = WORDS.index("it"), WORDS.index("tired")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"x": [[0.5] * 4] * 6}, "x must be 7 × 4, got 6 × 4"),
        ({"w_q": [[1, 2, 3]] * 4}, "w_q must be a matrix of at most 4 × 2, each a number from "),
        ({"w_k": [[1, 2]] * 3}, "w_k must be 4 × 2, got 3 × 2"),
        ({"w_k": [[1]] * 4}, "w_k must be 4 × 2, got 4 × 1"),
        ({"x": [[1.5] * 4] * 7}, "x must be a matrix of at most 7 × 4, each a number from 0 to 1"),
        ({"word": 7}, "word must be an integer from 0 to 6, got 7"),
    ],
)
def test_bad_settings(setting, message):
    with pytest.raises(SettingError, match=f"^{re.escape(message)}"):
        ProjectionWidget(**setting)


def steps_of(x=X, w_q=W_Q, w_k=W_K):
    return trace(x @ w_q, x @ w_k, sentence.VALUES, mask=causal_mask(7))


def test_the_sums_of_features_weigh_nearly_as_the_arrows_of_the_sentence():
    arrows = trace(sentence.QUERIES, sentence.KEYS, sentence.VALUES, mask=causal_mask(7))
    assert (steps_of().weights - arrows.weights).abs().max() < 0.1
    assert len(sentence.FEATURES) == X.shape[1]


def test_a_way_by_hand():
    arrows = [[1, -2], [4, 4], [0.5, 0.25]]
    cases = [[[1, 0, 0.5], arrows], [[0, 0, 0], arrows]]
    found = numbers(in_javascript("projection_plane.js", "m.way(...c)", cases))
    assert found == [[[0, 0], [1, -2], [1.25, -1.875]], [[0, 0]]]


@pytest.mark.parametrize("half", [0.3, 1.7])
def test_names_stand_inside_the_plane_and_clear_of_their_tips(half):
    tips = [[x / 2, y / 2] for x in range(-8, 9) for y in range(-8, 9)]
    cases = [[tip, half] for tip in tips]
    for (tip, _), spots in zip(
        cases, numbers(in_javascript("arrow_names.js", "m.around(...c)", cases)), strict=True
    ):
        assert spots
        for x, y in spots:
            assert abs(x) <= 4.4 - half
            assert abs(y) <= 4.4 - 0.3
            assert abs(x - tip[0]) >= half or abs(y - tip[1]) >= 0.5


def test_clearance_by_hand():
    taken = [{"at": [1, 0], "wide": 0.5, "tall": 0.25}, {"at": [0, 3], "wide": 0, "tall": 0.5}]
    cases = [[[3, 0], 0.5, taken], [[1, 2], 0.5, taken], [[1, 0.125], 0.5, taken]]
    found = numbers(in_javascript("arrow_names.js", "m.clearance(...c)", cases))
    assert found == [1, 0.5, -0.125]


# --- the page ---------------------------------------------------------------------------------


def written(x):
    return f"{x:.3g}".replace("-", "−")


def pair(arrow):
    return f"({', '.join(written(x) for x in arrow.tolist())})"


def shown(weight):
    return "0" if weight == 0 else "<.001" if weight < 5e-4 else f"{weight:.3f}"


def expect_row(page, word, x=X, w_q=W_Q, w_k=W_K):
    """The drawing and its sentence are those of these matrices; returns what it says."""
    steps = steps_of(x, w_q, w_k)
    row = steps.weights[word]
    expect(page.locator(".hydra-words .hydra-share")).to_have_text([shown(w) for w in row.tolist()])
    expect(page.locator(".hydra-words button[aria-pressed=true]")).to_have_text(WORDS[word])
    return steps


def told(page):
    return page.locator(".hydra-summary")


@browser
def test_what_it_says_at_first(widget_page):
    page = widget_page(ProjectionWidget())
    expect_row(page, IT)
    # ½ × 0.4 + 3.1, ½ × (−0.8) − 1.6; 3.3 × 1.9 − 2 × 0.3; and that over √2.
    expect(told(page)).to_have_text(
        "“it” asks with ½ × thing (0.4, −0.8) + stand-in (3.1, −1.6) = (3.3, −2). “cat” is found "
        "by thing (1.9, 0.3). Their score: 5.67, over √2: 4.01."
    )
    expect(page.get_by_role("combobox")).to_have_value("w_q.2")


@browser
def test_every_word_asks_with_its_features(widget_page):
    page = widget_page(ProjectionWidget())
    for word, name in enumerate(WORDS):
        page.locator(".hydra-words button").nth(word).click()
        steps = expect_row(page, word)
        expect(told(page)).to_contain_text(f"“{name}” asks with ")
        best = int(steps.weights[word].argmax())
        score = float(steps.scores[word, best])
        expect(told(page)).to_contain_text(f"“{WORDS[best]}” is found by", use_inner_text=True)
        expect(told(page)).to_contain_text(
            f"Their score: {written(score)}, over √2: {written(score / 2**0.5)}."
        )
        chains = page.locator(".hydra-plane polyline")
        for at, (shown_word, w) in enumerate(((word, W_Q), (best, W_K))):
            points = chains.nth(at).get_attribute("points").split()
            assert len(points) == 1 + int((X[shown_word] > 0).sum())
            a, b = map(float, points[-1].split(","))
            assert (a, -b) == pytest.approx((X[shown_word] @ w).tolist(), abs=1e-6)


@browser
def test_where_everything_stands(widget_page):
    page = widget_page(ProjectionWidget())
    for at, w in enumerate((W_Q, W_K)):
        plane = page.locator(".hydra-plane").nth(at)
        dots = plane.locator(".hydra-keys").evaluate_all(
            "all => all.map((one) => [one.getAttribute('cx'), -one.getAttribute('cy')].map(Number))"
        )
        assert torch.allclose(torch.tensor(dots), X @ w, atol=1e-6)
        tips = plane.locator(".hydra-handle").evaluate_all(
            "all => all.map((one) => [one.getAttribute('cx'), -one.getAttribute('cy')].map(Number))"
        )
        assert torch.allclose(torch.tensor(tips), w)
        squares = plane.locator(".hydra-square").evaluate_all(
            "all => all.map((one) => ['x', 'y', 'width'].map((n) => +one.getAttribute(n)))"
            ".map(([x, y, side]) => [x + side / 2, -(y + side / 2)])"
        )
        assert torch.allclose(torch.tensor(squares), w, atol=1e-6)
        lines = plane.locator(".hydra-key").evaluate_all(
            "all => all.map((one) => [one.getAttribute('x2'), -one.getAttribute('y2')].map(Number))"
        )
        assert torch.allclose(torch.tensor(lines), w)
        asked = plane.locator(".hydra-ask")
        ends = [float(asked.get_attribute("x2")), -float(asked.get_attribute("y2"))]
        assert ends == pytest.approx((X[IT] @ W_Q).tolist(), abs=1e-6)
        names = plane.locator("text:not(.hydra-away)").all_text_contents()
        assert {"the, because", "it", "cat"} <= set(names)
        assert plane.locator(".hydra-keys.hydra-on").count() == 1
        expect(plane.locator(".hydra-square.hydra-on")).to_have_count(1 - at)
    assert page.evaluate(f"({UNREADABLE})(document.body)") == []


@browser
def test_a_press_gives_a_word_a_feature_and_takes_it_away(widget_page):
    page = widget_page(ProjectionWidget(word=TIRED))
    x = X.clone()
    cell = page.get_by_role("button", name="because, deed: ")
    for amount, said in ((0.5, "½"), (1.0, "1"), (0.0, "")):
        cell.click()
        page.mouse.move(2, 2)
        expect(cell).to_have_text(said)
        expect(cell).to_have_accessible_name(f"because, deed: {said or 0}")
        x[WORDS.index("because"), 1] = amount
        expect_row(page, TIRED, x=x)
    # From what no press makes, a press goes on to the next amount.
    follow(page, "#projection.x=" + str([[0.3, 0, 0, 0]] * 7).replace(" ", ""))
    first = page.get_by_role("button", name="the, thing: ")
    expect(first).to_have_text("0.3")
    first.click()
    expect(first).to_have_text("½")


@browser
def test_a_word_of_no_feature_asks_for_nothing(widget_page):
    x = X.clone()
    x[IT] = 0
    page = widget_page(ProjectionWidget(x=x))
    steps = expect_row(page, IT, x=x)
    assert steps.weights[IT, :5].tolist() == pytest.approx([0.2] * 5)
    expect(told(page)).to_contain_text("“it” asks with nothing, (0, 0). “the” is found by")


@browser
def test_a_row_of_the_table_is_pointed_at(widget_page):
    page = widget_page(ProjectionWidget())
    row = page.locator(".hydra-is tbody tr").nth(TIRED)
    row.hover()
    score = float((X[IT] @ W_Q) @ (X[TIRED] @ W_K))
    expect(told(page)).to_contain_text(
        f"“tired” is found by ½ × thing {pair(W_K[0])} + deed {pair(W_K[1])} = "
        f"{pair(X[TIRED] @ W_K)}. Their score: {written(score)}, over √2: "
        f"{written(score / 2**0.5)}; but it comes later."
    )
    on = page.locator(".hydra-plane").nth(1).locator(".hydra-keys")
    expect(on.nth(TIRED)).to_have_class(re.compile("hydra-on"))
    page.mouse.move(2, 2)
    expect(told(page)).to_contain_text("“cat” is found by")
    cell = page.get_by_role("button", name="slept, deed: ")
    cell.focus()
    drawn(page)
    expect(told(page)).to_contain_text("“slept” is found by deed")
    press(page, "ArrowUp")  # keys go from cell to cell
    expect(told(page)).to_contain_text("“cat” is found by")
    page.locator("select").focus()
    drawn(page)
    expect(told(page)).to_contain_text("“cat” is found by")


@browser
def test_arrows_turn_by_hand_and_by_slider(widget_page):
    page = widget_page(ProjectionWidget())
    picture = page.locator(".hydra-plane").first
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()

    def place(x, y):
        return box["x"] + (x + 4.4) / 8.8 * box["width"], box["y"] + (4.4 - y) / 8.8 * box["height"]

    page.mouse.move(*place(*W_Q[1].tolist()))
    page.mouse.down()
    page.mouse.move(*place(1.02, 3.04), steps=4)
    page.mouse.up()
    page.mouse.move(2, 2)
    drawn(page)
    w_q = W_Q.clone()
    w_q[1] = torch.tensor([1.0, 3.0])  # at tenths
    for word in (2, TIRED):  # one arrow, and every word that has something of it
        page.locator(".hydra-words button").nth(word).click()
        expect_row(page, word, w_q=w_q)
    expect(page.get_by_role("combobox")).to_have_value("w_q.1")
    for axis, value in (("x", "1"), ("y", "3")):
        expect(page.get_by_role("slider", name=axis, exact=True)).to_have_value(value)
    page.get_by_role("combobox").select_option("thing is found")
    page.get_by_role("slider", name="y", exact=True).focus()
    press(page, "Home")
    w_k = W_K.clone()
    w_k[0, 1] = -4.0
    expect_row(page, TIRED, w_q=w_q, w_k=w_k)
    page.get_by_role("slider", name="x", exact=True).focus()
    press(page, "End")
    w_k[0, 0] = 4.0
    expect_row(page, TIRED, w_q=w_q, w_k=w_k)
    page.wait_for_url("**projection.w_k=*")
    page.mouse.move(*place(1, 3))
    page.mouse.down()
    page.mouse.move(box["x"] - 40, box["y"] - 40, steps=4)  # no further than the plane's limits
    page.mouse.up()
    w_q[1] = torch.tensor([-4.0, 4.0])
    expect_row(page, TIRED, w_q=w_q, w_k=w_k)
    page.get_by_role("button", name="reset").click()
    expect_row(page, TIRED)


@browser
def test_a_phone_shows_one_plane_at_a_time(widget_page):
    page = widget_page(ProjectionWidget(), width=360)
    asks, found = (page.locator(".hydra-plane").nth(at) for at in (0, 1))
    expect(asks).to_be_visible()
    expect(found).to_be_hidden()
    page.get_by_role("radio", name="keys").check()
    expect(found).to_be_visible()
    expect(asks).to_be_hidden()
    expect(page.get_by_role("combobox")).to_have_value("w_k.2")
    handle = page.locator(".hydra-plane").nth(1).locator(".hydra-handle").first
    handle.scroll_into_view_if_needed()
    start = middle(handle)
    assert swipe(page, start, (start[0], start[1] - 40)) == 0
    expect(page.get_by_role("combobox")).to_have_value("w_k.0")
    expect(page.get_by_role("slider", name="y", exact=True)).not_to_have_value("0.3")
    page.get_by_role("combobox").select_option("w_q.3")
    expect(asks).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@browser
def test_with_room_both_planes_are_seen(widget_page):
    page = widget_page(ProjectionWidget())
    expect(page.locator(".hydra-plane:visible")).to_have_count(2)
    expect(page.get_by_role("radio")).to_have_count(0)


@browser
def test_links(widget_page):
    page = widget_page(ProjectionWidget(), fragment="#projection.word=2")
    expect_row(page, 2)
    turned = [[1, 0], [0, 1], [-1, 0], [0, -1]]
    follow(page, "#projection.w_q=" + str(turned).replace(" ", ""))
    expect_row(page, IT, w_q=torch.tensor(turned, dtype=torch.float32))
    refused = ["word=7", "x=[[1,0,0,0]]", "w_q=[[5,0],[0,0],[0,0],[0,0]]", "values=1"]
    refused += ["w_k=[[1],[1],[1],[1]]", "w_k=[[1,1],[1,1],[1,1]]"]
    for asked in refused:
        follow(page, f"#projection.{asked}")
        expect_refused(page, "projection", asked)
