"""The widget of words that become queries and keys: sums of arrows, the table, planes, links."""

import json
import re
from functools import partial

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
    press,
    swipe,
    written_weight,
)

browser = pytest.mark.browser
SIZE = ("width", "height")
X, W_Q, W_K, WORDS = sentence.X, sentence.W_Q, sentence.W_K, sentence.WORDS
UNIT = 0.85  # of a plane that reaches 4.4 to each side
IT, TIRED = WORDS.index("it"), WORDS.index("tired")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"x": [[0.5] * 4] * 6}, "x must be a matrix of 7 × 4, each a number from 0 to 1"),
        ({"w_q": [[1, 2, 3]] * 4}, "w_q must be a matrix of 4 × 2, each a number from "),
        ({"w_k": [[1, 2]] * 3}, "w_k must be a matrix of 4 × 2, each a number from "),
        ({"w_k": [[1]] * 4}, "w_k must be a matrix of 4 × 2, each a number from "),
        ({"x": [[1.5] * 4] * 7}, "x must be a matrix of 7 × 4, each a number from 0 to 1"),
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
    found = json.loads(in_javascript("projection_plane.js", "m.way(...c)", cases))
    assert found == [[[0, 0], [1, -2], [1.25, -1.875]], [[0, 0]]]


@pytest.mark.parametrize("half", [0.3, 1.7])
def test_names_stand_inside_the_plane_and_clear_of_their_tips(half):
    tips = [[x / 2, y / 2] for x in range(-8, 9) for y in range(-8, 9)]
    cases = [[tip, half] for tip in tips]
    for (tip, _), spots in zip(
        cases, json.loads(in_javascript("arrow_names.js", "m.around(...c)", cases)), strict=True
    ):
        assert spots
        for x, y in spots:
            assert abs(x) <= 4.4 - half
            assert abs(y) <= 4.4 - 0.3
            assert abs(x - tip[0]) >= half or abs(y - tip[1]) >= 0.5


def test_clearance_by_hand():
    taken = [{"at": [1, 0], "wide": 0.5, "tall": 0.25}, {"at": [0, 3], "wide": 0, "tall": 0.5}]
    cases = [[[3, 0], 0.5, taken], [[1, 2], 0.5, taken], [[1, 0.125], 0.5, taken]]
    found = json.loads(in_javascript("arrow_names.js", "m.clearance(...c)", cases))
    assert found == [1, 0.5, -0.125]


# --- the page ---------------------------------------------------------------------------------


def written(x):
    return f"{x:.3g}".replace("-", "−")


def pair(arrow):
    return f"({', '.join(written(x) for x in arrow.tolist())})"


shown = partial(written_weight, drawn=True)


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
        expect(told(page)).to_contain_text(f"“{WORDS[best]}” is found by")
        expect(told(page)).to_contain_text(
            f"Their score: {written(score)}, over √2: {written(score / 2**0.5)}."
        )
        chains = page.locator(".hydra-plane polyline")
        for at, (shown_word, w) in enumerate(((word, W_Q), (best, W_K))):
            corners = chains.nth(at).get_attribute("points").split()
            assert len(corners) == 1 + int((X[shown_word] > 0).sum())
            a, b = map(float, corners[-1].split(","))
            assert (a, -b) == pytest.approx((UNIT * (X[shown_word] @ w)).tolist(), abs=1e-6)


def points(plane, kind, x, y):
    """Where shapes of a kind stand, in the units of arrows, upwards."""
    read = "(all, names) => all.map((one) => names.map((name) => Number(one.getAttribute(name))))"
    found = torch.tensor(plane.locator(kind).evaluate_all(read, [x, y]))
    return found * torch.tensor([1, -1]) / UNIT


@browser
def test_where_everything_stands(widget_page):
    page = widget_page(ProjectionWidget())
    for at, w in enumerate((W_Q, W_K)):
        plane = page.locator(".hydra-plane").nth(at)
        torch.testing.assert_close(points(plane, ".hydra-keys", "cx", "cy"), X @ w)
        torch.testing.assert_close(points(plane, ".hydra-key", "x2", "y2"), w)
        corners, sides = (points(plane, ".hydra-square", *names) for names in ("xy", SIZE))
        torch.testing.assert_close(corners + sides / 2, w)
        handles = points(plane, ".hydra-handle", "cx", "cy").tolist()
        torch.testing.assert_close(torch.tensor(sorted(handles)), torch.tensor(sorted(w.tolist())))
        torch.testing.assert_close(points(plane, ".hydra-ask", "x2", "y2")[0], X[IT] @ W_Q)
        names = plane.locator("text:not(.hydra-away)").all_text_contents()
        assert {"the, because", *WORDS[1:3], *WORDS[4:], *sentence.FEATURES} <= set(names)
        assert plane.locator(".hydra-keys.hydra-on").count() == 1
        expect(plane.locator(".hydra-square.hydra-on")).to_have_count(1 - at)
    expect(page.locator(".hydra-hollow")).to_have_count(0)
    assert page.evaluate(f"({UNREADABLE})(document.body)") == []


@browser
def test_a_word_beyond_the_plane_stands_hollow_at_its_edge(widget_page):
    w_q = [[3.2, -3.2], [3.2, -3.2], *W_Q[2:].tolist()]
    page = widget_page(ProjectionWidget(w_q=w_q, word=TIRED))  # (4.8, −4.8)
    asks = page.locator(".hydra-plane").first
    expect(told(page)).to_contain_text("= (4.8, −4.8).")
    expect(asks.locator(".hydra-hollow")).to_have_count(0)  # so far the given features reach
    page.get_by_role("button", name="tired, thing: ").click()
    expect(told(page)).to_contain_text("= (6.4, −6.4).")
    expect(asks.locator(".hydra-hollow")).to_have_count(1)
    place = points(asks, ".hydra-hollow", "cx", "cy")[0] * UNIT
    torch.testing.assert_close(place, torch.tensor([4.1, -4.1]))
    expect(asks.locator("text:not(.hydra-away)", has_text="tired")).to_have_count(1)


@browser
@pytest.mark.parametrize("tip", [(0, 0), (3.2, 3.2), (-3.2, 3.2), (3.2, -2.4), (-0.6, 1.9)])
def test_the_name_of_what_is_turned_is_never_left_out(widget_page, tip):
    w_q = [*W_Q[:2].tolist(), tip, W_Q[3].tolist()]
    page = widget_page(ProjectionWidget(w_q=w_q))
    names = page.locator(".hydra-plane").first.locator("text:not(.hydra-away)")
    expect(names.filter(has_text="stand-in")).to_have_count(1)
    expect(names.filter(has_text=re.compile("^it$"))).to_have_count(1)
    page.get_by_role("combobox").select_option("small word asks")
    expect(names.filter(has_text="small word")).to_have_count(1)


@browser
def test_a_name_stays_where_it_is_beside_its_arrow_while_it_can(widget_page):
    def at(right):
        return ProjectionWidget(w_q=[*W_Q[:2].tolist(), [right, 1], W_Q[3].tolist()])

    def offset(page):
        plane = page.locator(".hydra-plane").first
        tip = (points(plane, ".hydra-square", "x", "y")[2] * UNIT).tolist()
        name = plane.locator("text", has_text="stand-in")
        return [float(name.get_attribute("x")) - tip[0], -float(name.get_attribute("y")) - tip[1]]

    page = widget_page(at(-0.9))
    before = offset(page)
    page.get_by_role("slider", name="right").focus()
    press(page, "ArrowRight", "ArrowRight")
    assert offset(page) == pytest.approx(before, abs=0.02)
    # Who finds the arrow there finds its name elsewhere.
    assert offset(widget_page(at(-0.7))) != pytest.approx(before, abs=0.2)


@browser
def test_of_arrows_on_each_other_a_hand_takes_the_chosen_one(widget_page):
    page = widget_page(ProjectionWidget(w_q=[[1, 1]] * 4))
    page.get_by_role("combobox").select_option("deed asks")
    picture = page.locator(".hydra-plane").first
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    at = [0.5 + UNIT / 8.8, 0.5 - UNIT / 8.8]
    page.mouse.move(*(box[c] + box[size] * x for c, size, x in zip("xy", SIZE, at, strict=True)))
    page.mouse.down()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.5 * box["height"], steps=4)
    page.mouse.up()
    page.mouse.move(2, 2)
    expect_row(page, IT, w_q=torch.tensor([[1, 1], [-3.0, 0], [1, 1], [1, 1]]))


@browser
@pytest.mark.parametrize("width", [320, 360, 700, 1024, 1280])
def test_nothing_that_is_told_moves_the_table(widget_page, width):
    x = X.tolist()
    x[2] = x[IT] = [0.35, 0.55, 0.75, 0.95]  # it takes more to say than there are lines for
    page = widget_page(ProjectionWidget(x=x), width=width)
    row = page.locator(".hydra-is tbody tr").nth(2)
    row.scroll_into_view_if_needed()
    before = row.bounding_box()
    row.hover()
    drawn(page)
    page.get_by_role("button", name="slept, thing").click()
    drawn(page)
    assert row.bounding_box() == before


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
    expect(told(page)).to_have_text(
        "“it” asks with ½ × thing (0.4, −0.8) + stand-in (3.1, −1.6) = (3.3, −2). "
        f"“tired” is found by ½ × thing {pair(W_K[0])} + deed {pair(W_K[1])} = "
        f"{pair(X[TIRED] @ W_K)}. Their score: {written(score)}, over √2: "
        f"{written(score / 2**0.5)}; but the key comes later."
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
        across, down = 0.5 + UNIT * x / 8.8, 0.5 - UNIT * y / 8.8
        return box["x"] + across * box["width"], box["y"] + down * box["height"]

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
    for axis, value in (("right", "1"), ("up", "3")):
        expect(page.get_by_role("slider", name=axis, exact=True)).to_have_value(value)
    page.get_by_role("combobox").select_option("thing is found")
    page.get_by_role("slider", name="up").focus()
    press(page, "Home")
    w_k = W_K.clone()
    w_k[0, 1] = -3.2
    expect_row(page, TIRED, w_q=w_q, w_k=w_k)
    page.get_by_role("slider", name="right").focus()
    press(page, "End")
    w_k[0, 0] = 3.2
    expect_row(page, TIRED, w_q=w_q, w_k=w_k)
    page.wait_for_url("**projection.w_k=*")
    page.mouse.move(*place(1, 3))
    page.mouse.down()
    page.mouse.move(box["x"] - 40, box["y"] - 40, steps=4)  # no further than the plane's limits
    page.mouse.up()
    w_q[1] = torch.tensor([-3.2, 3.2])
    expect_row(page, TIRED, w_q=w_q, w_k=w_k)
    page.get_by_role("button", name="reset arrows and table").click()
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
    handle = page.locator(".hydra-plane").nth(1).locator(".hydra-handle").first  # of “thing”
    handle.scroll_into_view_if_needed()
    start = middle(handle)
    assert swipe(page, start, (start[0], start[1] - 40)) == 0
    expect(page.get_by_role("combobox")).to_have_value("w_k.0")
    expect(page.get_by_role("slider", name="up")).not_to_have_value("0.3")
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
    refused = ["word=7", "x=[[1,0,0,0]]", "w_q=[[3.3,0],[0,0],[0,0],[0,0]]", "values=1"]
    refused += ["w_k=[[1],[1],[1],[1]]", "w_k=[[1,1],[1,1],[1,1]]"]
    for asked in refused:
        follow(page, f"#projection.{asked}")
        expect_refused(page, "projection", asked)
