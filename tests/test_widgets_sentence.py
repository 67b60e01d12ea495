"""The widget of the book's sentence: its arithmetic against the library, every control, links."""

import json
import math
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import (
    aggregation,
    apply_mask,
    probabilities,
    scaled_dot_product_attention,
    sentence,
)
from hydra_lib.masking import causal_mask
from hydra_lib.widgets import SentenceWidget
from hydra_lib.widgets._base import SettingError
from tests.conftest import (
    drawn,
    expect_refused,
    follow,
    in_javascript,
    middle,
    press,
    swipe,
    table_of,
)

browser = pytest.mark.browser
HEADS = {
    "q": sentence.HEAD_QUERIES.reshape(21, 2),
    "k": sentence.HEAD_KEYS.reshape(21, 2),
}
ARROWS = "must be a matrix of at most 21 × 2, each a number from -4 to 4, got "


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: SentenceWidget(rule="sum"),
            "rule must be mean or window or decay or own or attention",
        ),
        (lambda: SentenceWidget(word=7), "word must be an integer from 0 to 6, got 7"),
        (lambda: SentenceWidget(head=1), "head must lie in 0 … 0, got 1"),
        (lambda: SentenceWidget(tau=-1), "tau must be a number from 0 to 1,000,000 or inf, got -1"),
        (lambda: SentenceWidget(q=[[5, 0]] * 7), f"q {ARROWS}[[5, 0], [5, 0]"),
        (
            lambda: SentenceWidget(q=[[1, 0]] * 6),
            "q and k must both have 7 or both 21 rows, got [6, 7]",
        ),
        (
            lambda: SentenceWidget(**HEADS | {"k": sentence.KEYS}),
            "q and k must both have 7 or both 21 rows, got [21, 7]",
        ),
        (lambda: SentenceWidget(k=[[1]] * 7), "q and k must have 2 columns, got [2, 1]"),
        (
            lambda: SentenceWidget(controls=["colour"]),
            "controls must be a row of at most 6, each rule or parts or future or tau or arrows or",
        ),
        (
            lambda: SentenceWidget(parts=[4] * 6),
            "parts must be a row of 7, each an integer from 1 to 9, got",
        ),
        (
            lambda: SentenceWidget(parts=[0] * 7),
            "parts must be a row of 7, each an integer from 1 to 9, got [0, 0, 0, 0, 0, 0",
        ),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(SettingError, match=f"^{re.escape(message)}"):
        make()


def test_three_heads_at_once():
    w = SentenceWidget(**HEADS, head=2)
    assert (len(w.q), len(w.k), w.head) == (21, 21, 2)


# --- the sentence ---------------------------------------------------------------------------------


def test_it_finds_the_cat():
    """What the book says of its sentence: “it” takes most from “cat”, and nearly its colour."""
    output = scaled_dot_product_attention(
        sentence.QUERIES, sentence.KEYS, sentence.VALUES, causal=True
    )
    weights = torch.softmax(sentence.QUERIES[4] @ sentence.KEYS[:5].mT / math.sqrt(2), dim=-1)
    assert sentence.WORDS[weights.argmax()] == "cat"
    assert weights.max() > 0.9
    assert (output[4] - sentence.VALUES[1]).abs().max() < 0.1


def test_what_the_three_heads_look_at():
    for head, wanted in ((0, {4: 1}), (1, {i: i - 1 for i in range(1, 7)})):
        q, k = sentence.HEAD_QUERIES[head], sentence.HEAD_KEYS[head]
        scores = (q @ k.mT).masked_fill(~causal_mask(7), -math.inf)
        for i, j in wanted.items():
            assert scores[i].argmax() == j
    q, k = sentence.HEAD_QUERIES[2], sentence.HEAD_KEYS[2]
    weights = torch.softmax(q @ k.mT / math.sqrt(2), dim=-1)
    content = [sentence.WORDS.index(word) for word in ("cat", "slept", "tired")]
    assert weights[:, content].sum(dim=-1).min() > 0.97


def by_parts(parts):
    """The weights of words that take so many parts of each value up to their own."""
    ones = aggregation.running_sum(len(parts)).double()
    return (ones * parts) / (ones @ parts.double())[:, None]


def test_parts_by_hand():
    (got,) = json.loads(
        in_javascript("sentence.js", "m.weightsOf(c, 3)", [{"rule": "own", "parts": [1, 3, 4]}])
    )
    assert got == [[[1, 0, 0], [0.25, 0.75, 0], [0.125, 0.375, 0.5]]]
    torch.testing.assert_close(by_parts(torch.tensor([1, 3, 4])), torch.tensor(got[0]).double())


# --- arithmetic -----------------------------------------------------------------------------------


@pytest.mark.long
def test_arithmetic_agrees_with_the_library():
    generator = torch.Generator().manual_seed(3)
    rules = {
        "mean": aggregation.running_mean,
        "window": lambda n: aggregation.window_mean(n, 2),
        "decay": lambda n: aggregation.decay(n, 0.5),
    }
    torch.set_default_dtype(torch.float64)
    try:
        cases, expected = [], []
        for index in range(1000):
            n, h = 1 + index % 7, (1, 3)[index % 2]
            rule = [*rules, "attention", "attention", "own"][index % 6]
            parts = torch.randint(1, 10, (n,), generator=generator)
            tau = [0.1, 1.0, 7.0][index % 3]
            q, k = (4 * torch.rand(h, n, 2, generator=generator) - 2 for _ in "qk")
            values = torch.rand(n, 3, generator=generator)
            future = ["seen", "masked", "zero", "masked"][index % 4]
            case = {"rule": rule, "parts": parts.tolist(), "future": future, "tau": tau}
            case |= {"n": n, "values": values.tolist()}
            cases.append(case | {"q": q.flatten(0, 1).tolist(), "k": k.flatten(0, 1).tolist()})
            if rule == "attention":
                v = values.reshape(n, h, 3 // h).transpose(0, 1)
                weights = attention(future, tau, q, k)
                expected.append((weights @ v).transpose(0, 1).reshape(n, 3))
            elif rule == "own":
                expected.append(by_parts(parts) @ values)
            else:
                expected.append(rules[rule](n) @ values)
        got = json.loads(
            in_javascript("sentence.js", "m.mixed(m.weightsOf(c, c.n), c.values)", cases)
        )
        for output, wanted in zip(got, expected, strict=True):
            torch.testing.assert_close(torch.tensor(output), wanted, rtol=1e-9, atol=1e-12)
    finally:
        torch.set_default_dtype(torch.float32)


def test_between_two_sets_of_weights():
    way = "m.between([[[1, 0], [0.5, 0.5]]], [[[0, 1], [0.25, 0.75]]], c)"
    start, middle, end = json.loads(in_javascript("sentence.js", way, [0, 0.5, 1]))
    assert start == [[[1, 0], [0.5, 0.5]]]
    assert middle == [[[0.5, 0.5], [0.375, 0.625]]]
    assert end == [[[0, 1], [0.25, 0.75]]]
    # From one head to three: each of them leaves from where the one was.
    way = "m.between([[[1]], [[0]]].slice(0, c), [[[0]], [[1]], [[1]]], 0.25)"
    one, two = json.loads(in_javascript("sentence.js", way, [1, 2]))
    assert one == [[[0.75]], [[1]], [[1]]]
    assert two == [[[0.75]], [[0.25]], [[1]]]


def test_dot_product():
    assert json.loads(in_javascript("sentence.js", "m.dot(...c)", [[[2, 3], [5, -7]]])) == [-11]


def test_heads_of_several_columns_are_merged_side_by_side():
    values = [[1, 2, 3, 4], [5, 6, 7, 8]]
    weights = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]  # the second head takes from the other row
    [merged] = json.loads(in_javascript("sentence.js", "m.mixed(...c)", [[weights, values]]))
    assert merged == [[1, 2, 7, 8], [5, 6, 3, 4]]


def test_the_arcs_of_a_row_enter_side_by_side_as_wide_as_their_weights():
    cases = [[[0.25, 0.5, 0.25]], [[0.25, 0.5, 0.25], 1, 2], [[0, 0.01, 0.99]]]
    placed = json.loads(in_javascript("sentence.js", "m.ribbons(...c)", cases))
    one, second, thin = ([[r[k] for k in ("into", "paint", "edge")] for r in row] for row in placed)
    assert one == [[-12.75, 8.5, 9.5], [0, 17, 18], [12.75, 8.5, 9.5]]  # of 34 pixels
    assert second == [[2.125, 4.25, 5.25], [8.5, 8.5, 9.5], [14.875, 4.25, 5.25]]  # right half
    assert thin[0] == [-17, 0.6, 1.2]  # the thinnest that is seen
    assert thin[1:] == [pytest.approx([-16.83, 0.6, 1.2]), pytest.approx([0.17, 33.66, 34.66])]


def test_an_arc_rises_from_its_value_into_its_output():
    cases = [
        [i, j, height, into, aside]
        for i in range(7)
        for j in range(7)
        for height in (76, 120)
        for into, aside in ((0, 0), (-37, 24), (37, -24))
    ]
    paths = json.loads(in_javascript("sentence.js", "m.arc(...c)", cases))
    for (i, j, height, into, aside), path in zip(cases, paths, strict=True):
        *points, top = [float(x) for x in re.findall(r"-?[\d.]+", path)]
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = zip(points[::2], points[1::2], strict=True)
        assert (x0, y0, x1) == (100 * j + 50 + aside, height, x0)  # straight up from the value
        assert (x2, x3) == (100 * i + 50 + into,) * 2  # and straight into the output
        assert y3 > 0 > top == -20  # under its disc
        t = torch.linspace(0, 1, 51).double()
        up = (1 - t) ** 3 * y0 + 3 * t * (1 - t) * ((1 - t) * y1 + t * y2) + t**3 * y3
        assert (up.diff() < 0).all()  # never down again
    near, far = json.loads(in_javascript("sentence.js", "m.arc(4, c, 120, 7)", [1, 6]))
    assert near == "M150 120C150 55.0 457 97.0 457 8.4V-20"  # from its left 7 lower than the middle
    assert far == "M650 120C650 41.0 457 83.0 457 8.4V-20"
    plain, longer = json.loads(in_javascript("sentence.js", "m.arc(3, 1, 120, 0, 0, c)", [0, 24]))
    assert longer == plain.replace("M150 120", "M150 144V120")


def test_arcs_without_a_weight_enter_abreast():
    cases = [[3, 0], [3, 3], [3, 5]]
    assert json.loads(in_javascript("sentence.js", "m.abreast(...c)", cases)) == [-7.5, 0, 5]


# --- controls -------------------------------------------------------------------------------------


def shown(page, caption="weights: a row for each output"):
    """The weights of the table beside the drawing."""
    rows = table_of(page, caption).locator("tbody tr")
    return [row.locator("td").all_inner_texts()[:-1] for row in rows.all()]


def expected_texts(weights):
    def text(w):
        return "" if w < 0.005 else "1" if w >= 0.995 else f"{w:.2f}".removeprefix("0")

    return [[text(w) for w in row] for row in weights.tolist()]


def attention(future="masked", tau=1.0, q=sentence.QUERIES, k=sentence.KEYS):
    scores, causal = q.double() @ k.double().mT / math.sqrt(2), causal_mask(q.shape[-2])
    if future == "masked":
        return probabilities(apply_mask(scores, causal), tau)
    return probabilities(scores if future == "seen" else scores * causal, tau)


@browser
def test_what_stands_there(widget_page):
    page = widget_page(SentenceWidget())
    expect(page.locator(".hydra-words button")).to_have_text(list(sentence.WORDS))
    assert shown(page) == expected_texts(attention())
    it = page.get_by_role("button", name="it: takes .91 of cat, .08 of it, .01 of slept")
    expect(it).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".hydra-equation")).to_have_text(
        "it ≈ .91 × cat (.93, .52, .16) + .08 × it (.88, .88, .86) "
        "+ .01 × slept (.20, .45, .78) ≈ (.92, .55, .22)"
    )
    shares = page.locator(".hydra-share")
    expect(shares).to_have_text(
        [".00", ".91", ".01", ".00", ".08", "", ""]
    )  # small is not forbidden
    expect(page.locator(".hydra-label").last).to_have_text("value, word, weight for “it”")
    widths = page.locator(".hydra-paint").evaluate_all(
        "all => all.map(x => Number(x.getAttribute('stroke-width')))"
    )
    row = attention()[4]
    assert widths == pytest.approx(
        [max(0.6, 34 * w) for w in sorted(row[row > 0.004].tolist())[::-1]], abs=0.006
    )
    discs = page.locator(".hydra-words > .hydra-swatch")
    paints = discs.evaluate_all(PAINTS)
    hollow = discs.evaluate_all(
        "all => all.map(x => getComputedStyle(x).backgroundColor === 'rgba(0, 0, 0, 0)')"
    )
    assert hollow == [False] * 7 + (row < 0.005).tolist()  # what is not used
    values = [[round(255 * x) for x in value] for value in sentence.VALUES.tolist()]
    assert paints[7:] == [f"rgb({r}, {g}, {b})" for r, g, b in values]
    output = (attention() @ sentence.VALUES.double())[4].tolist()
    assert paints[4] == "rgb({}, {}, {})".format(*(round(255 * x) for x in output))


@browser
def test_rules(widget_page):
    page = widget_page(SentenceWidget())
    page.get_by_label("running mean").check()
    drawn(page)
    assert shown(page) == expected_texts(aggregation.running_mean(7))
    press(page, "ArrowRight")
    assert shown(page) == expected_texts(aggregation.window_mean(7, 2))
    press(page, "ArrowRight")
    assert shown(page) == expected_texts(aggregation.decay(7, 0.5))
    page.wait_for_url("**#sentence.rule=decay")


YOURS = {"rule": "mean", "controls": ["rule", "parts"]}


def pot(page, word):
    return page.get_by_role("slider", name=f"parts of {word}", exact=True)


def scale(page, word):
    return pot(page, word).evaluate("pot => new DOMMatrix(getComputedStyle(pot).transform).a")


def expect_parts(page, *parts):
    drawn(page)
    expect(page.get_by_label("yours: drag a value")).to_be_checked()
    assert shown(page) == expected_texts(by_parts(torch.tensor(parts)))
    for word, part in zip(sentence.WORDS, parts, strict=True):
        expect(pot(page, word)).to_have_attribute("aria-valuenow", str(part))
        # As large in area as it has parts; four are as large as a value that has none.
        assert scale(page, word) ** 2 == pytest.approx(part / 4, abs=5e-3)


@browser
def test_parts_by_keyboard(widget_page):
    page = widget_page(SentenceWidget(**YOURS))
    assert (
        pot(page, "cat").evaluate("pot => getComputedStyle(pot).transform")
        == "matrix(1, 0, 0, 1, 0, 0)"
    )
    page.set_viewport_size({"width": 1280, "height": 300})  # keys that scroll would
    pot(page, "cat").focus()
    scrolled = page.evaluate("scrollY")
    # JupyterLab hears keys further up, and would go to another cell.
    page.evaluate("window.heard = 0, addEventListener('keydown', () => { window.heard += 1; })")
    press(page, "ArrowUp")
    assert page.evaluate("heard") == 0
    expect_parts(page, 4, 5, 4, 4, 4, 4, 4)
    label = page.locator(".hydra-label").last
    expect(label).to_have_text("parts (1–9), word, weight for “it”")
    press(page, "ArrowRight")
    expect_parts(page, 4, 6, 4, 4, 4, 4, 4)
    press(page, "End")
    press(page, "ArrowUp")
    expect_parts(page, 4, 9, 4, 4, 4, 4, 4)
    for key, parts in (("PageDown", 7), ("ArrowLeft", 6), ("ArrowRight", 7), ("PageUp", 9)):
        press(page, key)
        expect_parts(page, 4, parts, 4, 4, 4, 4, 4)
    assert page.evaluate("scrollY") == scrolled
    press(page, "Tab")
    press(page, "Home")
    press(page, "ArrowLeft")
    expect_parts(page, 4, 9, 1, 4, 4, 4, 4)
    press(page, "ArrowUp")
    press(page, "ArrowUp")
    press(page, "ArrowDown")
    press(page, "x")
    expect_parts(page, 4, 9, 2, 4, 4, 4, 4)
    page.wait_for_url("**#sentence.parts=%5B4%2C9%2C2%2C4%2C4%2C4%2C4%5D&sentence.rule=own")
    page.get_by_label("decay ½").check()
    drawn(page)
    assert shown(page) == expected_texts(aggregation.decay(7, 0.5))
    assert (
        pot(page, "cat").evaluate("pot => getComputedStyle(pot).transform")
        == "matrix(1, 0, 0, 1, 0, 0)"
    )
    page.get_by_label("yours: drag a value").check()
    expect_parts(page, 4, 9, 2, 4, 4, 4, 4)  # they were kept
    expect(pot(page, "cat")).to_have_attribute("aria-valuetext", "9")
    page.get_by_label("running mean").check()
    expect(pot(page, "cat")).to_have_attribute("aria-valuetext", "9, not in use")


@browser
def test_a_pot_follows_mouse_and_finger(widget_page):
    page = widget_page(SentenceWidget(**YOURS))
    size = pot(page, "cat").evaluate("pot => pot.offsetHeight")
    foot = pot(page, "cat").bounding_box()
    x, y = middle(pot(page, "cat"))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - size / 4, steps=4)
    expect_parts(page, 4, 6, 4, 4, 4, 4, 4)  # a quarter as high again, and as wide: 25/16 of four
    page.mouse.move(x, y - size / 2, steps=4)
    expect_parts(page, 4, 9, 4, 4, 4, 4, 4)  # half as high again, and as wide
    grown = pot(page, "cat").bounding_box()
    assert grown["y"] == pytest.approx(foot["y"] - size / 2, abs=1)  # its edge went with the hand
    assert grown["y"] + grown["height"] == pytest.approx(foot["y"] + foot["height"], abs=1)
    # A pot that is small hides the end of its arc too.
    start = """() => document.querySelector(".hydra-paint").getBoundingClientRect().bottom"""
    pot(page, "cat").press("Home")
    expect_parts(page, 4, 1, 4, 4, 4, 4, 4)
    small = pot(page, "cat").bounding_box()
    assert page.evaluate(start) == pytest.approx(small["y"] + small["height"] / 2, abs=1)
    pot(page, "cat").press("End")
    expect_parts(page, 4, 9, 4, 4, 4, 4, 4)
    page.mouse.move(x, y - 500)
    expect_parts(page, 4, 9, 4, 4, 4, 4, 4)
    page.mouse.move(x, y + 500)
    expect_parts(page, 4, 1, 4, 4, 4, 4, 4)
    page.mouse.up()
    page.mouse.move(x, y - 100)
    expect_parts(page, 4, 1, 4, 4, 4, 4, 4)
    expect(pot(page, "cat")).to_be_focused()
    x, y = middle(pot(page, "slept"))
    assert swipe(page, (x, y), (x, y - size / 2)) == 0
    expect_parts(page, 4, 1, 9, 4, 4, 4, 4)
    lit = page.locator(".hydra-term.hydra-on")
    expect(lit).to_contain_text("slept")
    touch(page, pot(page, "it"))  # after a finger has let go, another is lit
    expect(lit).to_contain_text("it (")
    pot(page, "it").press("PageDown")
    expect_parts(page, 4, 1, 9, 4, 2, 4, 4)


@browser
def test_a_hand_that_trembles_keeps_the_rule(widget_page):
    page = widget_page(SentenceWidget(**YOURS | {"rule": "attention"}))
    before = shown(page)
    x, y = middle(pot(page, "cat"))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 9, y - 2, steps=3)
    drawn(page)
    assert shown(page) == before
    expect(page.get_by_label("attention")).to_be_checked()
    page.mouse.move(x + 9, y - 3)
    expect_parts(page, 4, 5, 4, 4, 4, 4, 4)
    page.mouse.move(x, y - 30)
    page.mouse.move(x, y)  # back where it began, the parts are what they were
    expect_parts(page, 4, 4, 4, 4, 4, 4, 4)


@browser
def test_what_later_words_get_is_marked_beside_their_scores(widget_page):
    page = widget_page(SentenceWidget(future="seen", word=1, controls=["future"]))
    scores, shares = page.locator(".hydra-score"), page.locator(".hydra-share")
    by_hand = (sentence.QUERIES[1] @ sentence.KEYS.T / 2**0.5).tolist()
    expect(scores).to_have_text([f"{s:.1f}".replace("-", "−") for s in by_hand])
    marked = "all => all.map((one) => one.classList.contains('hydra-leak'))"
    assert shares.evaluate_all(marked) == [False] * 2 + [True] * 5
    cells = table_of(page, "weights: a row for each output").locator("tbody td:not(:last-child)")
    weights = attention("seen")
    leaks = (weights >= 0.005) & torch.ones(7, 7).triu(1).bool()
    assert cells.evaluate_all(marked) == leaks.flatten().tolist()
    page.get_by_label("−∞").check()
    drawn(page)
    expect(scores).to_have_text([f"{s:.1f}".replace("-", "−") for s in by_hand[:2]] + ["−∞"] * 5)
    assert not any(shares.evaluate_all(marked) + cells.evaluate_all(marked))


@browser
def test_a_word_stays_on_the_way_to_its_sum(widget_page):
    page = widget_page(SentenceWidget(word=4), width=1280)
    sum_ = page.locator(".hydra-equation")
    (x, y), box = middle(page.get_by_role("button", name="was:")), sum_.bounding_box()
    page.mouse.move(x, y)
    expect(sum_).to_contain_text("was ≈")
    page.mouse.move(x, box["y"] - 5)  # between the two
    page.mouse.move(box["x"] + 30, box["y"] + 10)
    drawn(page)
    expect(sum_).to_contain_text("was ≈")
    page.get_by_label("running mean").hover()
    expect(sum_).to_contain_text("it ≈")


@browser
def test_where_an_arrow_is_let_go_nothing_is_pointed_at(widget_page):
    page = widget_page(SentenceWidget(controls=["arrows"]), width=1280)
    handle = page.locator(".hydra-handle").last  # the query's
    page.mouse.move(*middle(handle))
    page.mouse.down()
    to = middle(page.get_by_role("button", name="slept:"))
    page.mouse.move(*to, steps=4)
    page.mouse.up()
    drawn(page)
    expect(page.locator(".hydra-equation strong")).to_have_text("it")
    page.mouse.move(to[0] + 2, to[1])
    page.mouse.move(*middle(page.get_by_role("button", name="was:")))
    expect(page.locator(".hydra-equation strong")).to_have_text("was")


@browser
def test_parts_are_written_as_parts_of_all(widget_page):
    parts = [4, 9, 4, 4, 4, 4, 4]
    page = widget_page(SentenceWidget(rule="own", parts=parts, controls=["rule", "parts"]))
    shares = page.locator(".hydra-share")
    expect(shares).to_have_text(["4/25", "9/25", "4/25", "4/25", "4/25", "", ""])
    page.get_by_label("running mean").check()
    expect(shares).to_have_text([".20"] * 5 + ["", ""])


@browser
def test_where_a_pot_is_let_go_nothing_is_pointed_at(widget_page):
    page = widget_page(SentenceWidget(**YOURS))
    total = page.locator(".hydra-equation strong")
    expect(total).to_have_text("it")
    x, y = middle(pot(page, "cat"))
    page.mouse.move(x, y)
    page.mouse.down()
    to = middle(page.locator(".hydra-words > .hydra-swatch").nth(2))  # the output of "slept"
    page.mouse.move(*to, steps=5)
    page.mouse.up()
    drawn(page)
    expect(total).to_have_text("it")
    expect(page.locator(".hydra-term.hydra-on")).to_have_count(0)
    page.mouse.move(to[0] + 1, to[1])
    middle_of_next = middle(page.locator(".hydra-words > .hydra-swatch").nth(3))
    page.mouse.move(*middle_of_next)
    expect(total).to_have_text("because")


@browser
def test_terms_keep_their_places_while_a_hand_changes_them(widget_page):
    page = widget_page(
        SentenceWidget(rule="own", parts=[2, 3, 9, 1, 5, 4, 4], controls=["rule", "parts"])
    )
    said = page.locator(".hydra-equation .hydra-term:not(.hydra-total)").all_inner_texts()
    assert [text.split()[2] for text in said] == ["the", "cat", "slept", "because", "it"]
    page.get_by_label("attention").check()  # of what no hand changes, the largest comes first
    expect(page.locator(".hydra-term").first).to_contain_text("cat")


@browser
def test_only_where_the_reader_may_mix(widget_page):
    page = widget_page(SentenceWidget(rule="own", parts=[1, 2, 3, 4, 5, 6, 7]))
    assert shown(page) == expected_texts(by_parts(torch.arange(1, 8)))
    expect(page.get_by_role("slider")).to_have_count(0)
    expect(page.get_by_label("yours: drag a value")).to_have_count(0)
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)


@browser
def test_words_by_pointer_and_keyboard(widget_page):
    page = widget_page(SentenceWidget())
    total = page.locator(".hydra-equation strong")
    words = page.locator(".hydra-words button")
    words.nth(6).hover()
    expect(total).to_have_text("tired")
    page.mouse.move(2, 2)  # pointing alone changes nothing for good
    expect(total).to_have_text("it")
    words.nth(2).click()
    page.mouse.move(2, 2)
    expect(total).to_have_text("slept")
    press(page, "ArrowLeft")
    expect(total).to_have_text("cat")
    page.wait_for_url("**#sentence.word=1")
    words.nth(5).hover()
    expect(total).to_have_text("was")
    press(page, "ArrowRight")  # keys lead, wherever the mouse was left
    expect(total).to_have_text("slept")
    page.mouse.move(2, 2)
    press(page, "ArrowLeft")
    expect(total).to_have_text("cat")
    row = table_of(page, "weights: a row for each output").locator("tbody tr").nth(3)
    row.locator("td").nth(2).hover()
    expect(total).to_have_text("because")
    expect(row.locator("td").nth(2)).to_contain_class("hydra-source")
    expect(page.locator(".hydra-term.hydra-on")).to_contain_text("slept")
    expect(page.locator(".hydra-share.hydra-on")).to_have_text(".76")
    expect(page.locator(".hydra-paint[stroke-opacity='1']")).to_have_count(1)
    row.locator("td").nth(6).hover()  # of what is not taken no arc is lit, and none goes out
    expect(page.locator(".hydra-paint[stroke-opacity='1']")).to_have_count(4)
    row.locator("th").hover()
    expect(total).to_have_text("because")
    page.locator("thead .hydra-swatch").nth(1).hover()
    expect(page.locator(".hydra-term.hydra-on")).to_contain_text("cat")
    page.locator("caption").hover()  # beside what can be pointed at nothing is lit,
    expect(page.locator(".hydra-on:not(.hydra-words > *)")).to_have_count(0)
    expect(total).to_have_text("because")  # and the row stays, so that its parts can be reached,
    page.locator(".hydra-controls").hover(position={"x": 2, "y": 2})  # until they are left
    expect(total).to_have_text("cat")
    row.locator("td").nth(2).click()
    expect(row.locator("td").nth(2)).to_contain_class("hydra-source")  # it stays pointed at
    press(page, "ArrowLeft")  # and from the row that was chosen the keys go on
    page.wait_for_url("**#sentence.word=2")
    row.hover()
    line = page.locator(".hydra-words .hydra-label").last
    line.hover()  # a row that was passed on the way is none that was chosen
    expect(total).to_have_text("slept")
    words.nth(1).focus()
    press(page, "End")
    expect(total).to_have_text("tired")
    press(page, "Home")
    expect(total).to_have_text("the")


def touch(page, what):
    swipe(page, middle(what), middle(what))


@browser
def test_what_a_finger_touched_stays_lit(widget_page):
    page = widget_page(SentenceWidget(), width=360)
    lit = page.locator(".hydra-term.hydra-on")
    touch(page, page.locator(".hydra-words > .hydra-swatch").nth(8))
    expect(lit).to_contain_text("cat (.93, .52, .16)")
    expect(page.locator(".hydra-term small:visible")).to_have_count(2)  # its value, and the mixture
    touch(page, page.locator(".hydra-term").nth(1))
    expect(lit).to_contain_text("it (.88, .88, .86)")
    touch(page, page.locator(".hydra-words button").nth(6))
    expect(page.locator(".hydra-equation strong")).to_have_text("tired")
    expect(lit).to_have_count(0)
    follow(page, "#sentence.word=1")
    expect(page.locator(".hydra-equation strong")).to_have_text("cat")


@browser
def test_an_arc_under_the_pointer_is_lit_at_once_and_for_good(widget_page):
    """Each time it is drawn it is drawn anew, below a pointer that rests."""
    page = widget_page(SentenceWidget())
    page.evaluate(
        """() => {
            window.draws = 0;
            const arcs = document.querySelector(".hydra-arcs");
            new MutationObserver(() => window.draws += 1).observe(arcs, { childList: true });
        }"""
    )
    x, y = middle(page.locator(".hydra-words > .hydra-swatch").nth(8))
    page.mouse.move(x, y - 30)
    lit = page.locator(".hydra-term.hydra-on")
    expect(lit).to_contain_text("cat")
    for _ in range(30):
        drawn(page)
    assert page.evaluate("draws") == 1
    expect(lit).to_contain_text("cat")
    page.mouse.move(x + 30, y - 30)
    expect(lit).to_have_count(0)


@browser
def test_numbers_do_not_pass_through_weights_of_nobody(widget_page):
    page = widget_page(SentenceWidget())
    page.emulate_media(reduced_motion="no-preference")
    sums = page.evaluate(
        """() => new Promise((done) => {
            const sum = document.querySelector(".hydra-equation"), said = new Set();
            const widths = new Set();
            const look = () => {
                said.add(sum.textContent);
                widths.add(document.querySelector(".hydra-paint").getAttribute("stroke-width"));
            };
            const until = performance.now() + 700;
            const frame = () => (look(), performance.now() < until ? requestAnimationFrame(frame)
                : done([said.size, widths.size]));
            document.querySelector("input[type=radio]").click();
            requestAnimationFrame(() => requestAnimationFrame(frame));
        })"""
    )
    assert sums[0] == 1
    assert sums[1] > 3  # while what is drawn is on its way


@browser
def test_rules_pressed_in_haste_are_drawn_once_a_frame(widget_page):
    """Each way from rule to rule once had frames of its own: ten presses, ten drawings a frame."""
    page = widget_page(SentenceWidget())
    page.emulate_media(reduced_motion="no-preference")
    drawings = page.evaluate(
        """async () => {
            const next = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            const rules = document.querySelectorAll("input[type=radio]");
            for (let i = 0; i < 10; i++) { rules[i % rules.length].click(); await next(); }
            const arcs = document.querySelector(".hydra-arcs"), draw = arcs.replaceChildren;
            let count = 0;
            arcs.replaceChildren = (...all) => { count += 1; draw.apply(arcs, all); };
            await next();
            await next();
            return count;
        }"""
    )
    assert 1 <= drawings <= 2


@browser
def test_scores_stand_beside_the_weights_that_they_make(widget_page):
    page = widget_page(SentenceWidget(controls=["tau"]))
    scores = page.locator(".hydra-score")
    own = (sentence.QUERIES[4] @ sentence.KEYS[:5].mT / math.sqrt(2)).tolist()
    own = [f"{s:.1f}".replace("-", "−") for s in own] + ["", ""]
    expect(scores).to_have_text(own)
    expect(page.locator(".hydra-label").last).to_have_text("value, word, score, weight for “it”")
    page.get_by_label("Temperature").focus()
    press(page, "End")
    expect(page.locator(".hydra-share").first).to_have_text(".20")
    expect(scores).to_have_text(own)  # it acts on them, and does not change them
    ends = page.locator(".hydra-ends span").evaluate_all(
        "all => all.map(x => x.getBoundingClientRect().x + x.getBoundingClientRect().width / 2)"
    )
    track = page.get_by_label("Temperature").bounding_box()
    # The slider begins at step 70 of 240, and 1 is at 120; its thumb is 16 pixels wide.
    assert abs(ends[1] - track["x"] - 8 - (track["width"] - 16) * 50 / 170) < 2
    page.get_by_label("Temperature").focus()
    press(page, "Home")
    assert shown(page) == expected_texts(attention(tau=1e-9))
    press(page, "ArrowRight")
    page.wait_for_url("**#sentence.tau=0.15*")


@browser
def test_later_words_and_temperature(widget_page):
    page = widget_page(SentenceWidget(controls=["future", "tau"], future="seen"))
    skipped = page.locator(".hydra-skipped")
    expect(skipped).to_have_count(0)
    assert shown(page) == expected_texts(attention("seen"))
    assert attention("seen")[1].min() > 0.05  # "cat" takes its paint from all, says chapter 2
    told = page.locator(".hydra-equation")
    leak = f"{attention('seen')[4, 5:].sum():.2f}"[1:]
    expect(told).to_contain_text(f"Later words get {leak} of the weight.")
    page.get_by_role("radio", name="0", exact=True).check()
    drawn(page)
    expect(skipped).to_have_count(0)
    assert shown(page) == expected_texts(attention("zero"))
    leak = f"{attention('zero')[4, 5:].sum():.2f}"[1:]
    expect(told).to_contain_text(f"Later words still get {leak} of the weight.")
    page.get_by_role("radio", name="−∞").check()
    drawn(page)
    expect(skipped).to_have_count(21)  # what is forbidden, not what is small
    expect(skipped).to_have_text([""] * 21)
    assert shown(page) == expected_texts(attention())
    row = attention("seen")[4]  # what is cut stays dashed, and is counted
    expect(page.locator("path.hydra-unweighed")).to_have_count(int((row[5:] >= 0.005).sum()))
    lost = f"{row[5:].sum():.2f}"[1:], f"{1 - row[5:].sum():.2f}"[1:]
    expect(page.locator(".hydra-equation")).to_contain_text(
        f"Unmasked, {lost[0]} would go to later words. The {lost[1]} that stays is scaled up to 1."
    )
    page.locator(".hydra-words button").last.hover()  # the last word has no later ones
    expect(page.locator(".hydra-unweighed")).to_have_count(0)
    expect(page.locator(".hydra-equation")).to_contain_text(
        "“tired” is the last word: there are no later ones."
    )
    expect(page.locator(".hydra-equation")).not_to_contain_text("Unmasked")
    page.mouse.move(2, 2)
    page.get_by_label("Temperature").focus()
    press(page, "End")
    assert shown(page) == expected_texts(aggregation.running_mean(7))
    press(page, "Home")
    assert shown(page) == expected_texts(attention(tau=1e-9))
    page.wait_for_url("**#sentence.future=masked&sentence.tau=0")


@browser
def test_a_mouse_chooses_a_word_by_its_value_too(widget_page):
    page = widget_page(SentenceWidget(controls=["future"]))
    values = page.locator(".hydra-words > .hydra-swatch")
    values.nth(7 + 2).click()
    word = page.locator(".hydra-words button").nth(2)
    expect(word).to_have_attribute("aria-pressed", "true")
    expect(word).to_be_focused()


@browser
def test_arrows_by_hand_and_by_slider(widget_page):
    page = widget_page(SentenceWidget(controls=["arrows"]))
    picture = page.locator(".hydra-plane")
    score = page.locator(".hydra-arrows .hydra-held")
    expect(score).to_have_text("Score of it · cat: 3.2 × 2.1 + (−0.4) × 0.3 = 6.6; over √2: 4.67.")
    # From the key straight to the query's line: 6.6 / (3.2² + 0.4²) of the query's own way.
    shadow = page.locator(".hydra-shadow").evaluate(
        "one => ['x1', 'y1', 'x2', 'y2'].map((name) => Number(one.getAttribute(name)))"
    )
    along = 6.6 / 10.4
    assert shadow == pytest.approx([2.1, -0.3, along * 3.2, along * 0.4])
    reach = page.locator(".hydra-plane line.hydra-faint").first  # to the foot, beyond the tip too
    foot = page.locator(".hydra-shadow")
    for at in ("x2", "y2"):
        assert reach.get_attribute(at) == foot.get_attribute(at)
    page.locator("select").select_option("0")  # “the” points against the query of “it”
    for at in ("x2", "y2"):
        assert reach.get_attribute(at) == foot.get_attribute(at) != "0"
    page.locator("select").select_option("query")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    page.locator(".hydra-words button").nth(1).hover()
    expect(page.locator(".hydra-plane text").last).to_have_text(
        "cat asks"
    )  # no part tells of another
    expect(score).to_contain_text("Score of cat · ")
    picture.hover(position={"x": 3, "y": 3})  # but what is turned is of “it”
    expect(page.locator(".hydra-plane text").last).to_have_text("it asks")

    def place(x, y):
        return box["x"] + (x + 4.4) / 8.8 * box["width"], box["y"] + (4.4 - y) / 8.8 * box["height"]

    page.mouse.move(*place(3.2, -0.4))
    page.mouse.down()
    page.mouse.move(*place(0, 3), steps=4)
    page.mouse.up()
    drawn(page)
    expect(page.locator(".hydra-equation strong")).to_have_text("it")
    expect(score).to_have_text("Score of it · slept: 0 × 0.1 + 3 × 2.2 = 6.6; over √2: 4.67.")
    for axis, value in (("x", "0"), ("y", "3")):
        expect(page.get_by_role("slider", name=axis, exact=True)).to_have_value(value)
    q = sentence.QUERIES.clone()
    q[4] = torch.tensor([0.0, 3.0])
    page.mouse.move(2, 2)
    drawn(page)
    assert shown(page) == expected_texts(attention(q=q))
    expect(page.locator(".hydra-equation strong")).to_have_text("it")
    page.get_by_role("combobox").select_option("key of cat")
    page.get_by_role("slider").nth(1).focus()
    press(page, "End")
    k = sentence.KEYS.clone()
    k[1, 1] = 4.0
    assert shown(page) == expected_texts(attention(q=q, k=k))
    page.get_by_role("button", name="reset").click()
    drawn(page)
    assert shown(page) == expected_texts(attention())


@browser
def test_arrows_of_one_of_three_heads(widget_page):
    page = widget_page(SentenceWidget(controls=["arrows", "head"], **HEADS, head=1))
    q, k = sentence.HEAD_QUERIES.clone(), sentence.HEAD_KEYS.clone()
    page.get_by_role("slider", name="x", exact=True).focus()
    press(page, "End")
    q[1, 4] = torch.tensor([4.0, 1.6])  # an arrow that is moved stands at tenths
    page.get_by_role("combobox").select_option("key of cat")
    page.get_by_role("slider", name="y", exact=True).focus()
    press(page, "Home")
    k[1, 1] = torch.tensor([2.2, -4.0])
    for head in (1, 0, 2):
        page.get_by_label(("0: red", "1: green", "2: blue")[head]).check()
        drawn(page)
        caption = f"weights of head {head}: a row for each output"
        assert shown(page, caption) == expected_texts(attention(q=q[head], k=k[head]))


@browser
def test_a_finger_turns_an_arrow_and_scrolls_the_page_beside_it(widget_page):
    page = widget_page(SentenceWidget(controls=["arrows"]), width=360)
    page.evaluate("document.body.style.paddingBottom = '900px'")
    picture = page.locator(".hydra-plane")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    score = page.locator(".hydra-arrows .hydra-held")
    before = score.text_content()
    tip = middle(page.locator(".hydra-plane .hydra-asks"))
    assert swipe(page, tip, (tip[0], tip[1] - 60)) == 0
    expect(score).not_to_have_text(before)
    empty = box["x"] + 12, box["y"] + box["height"] - 12
    assert swipe(page, empty, (empty[0], empty[1] - 150)) > 50


@browser
def test_a_key_and_its_weight_point_at_each_other(widget_page):
    page = widget_page(SentenceWidget(controls=["arrows"]))
    score = page.locator(".hydra-arrows .hydra-held")
    best = score.text_content()
    slept = page.locator(".hydra-plane .hydra-handle").nth(2)
    slept.hover()
    expect(score).to_contain_text("Score of it · slept: ")
    expect(page.locator(".hydra-source")).to_have_text(".01")
    expect(page.locator(".hydra-term.hydra-on")).to_contain_text("slept")
    page.locator(".hydra-plane .hydra-handle").last.hover()  # the query's own
    expect(score).to_have_text(best)
    expect(page.locator(".hydra-source")).to_have_count(0)
    page.locator(".hydra-mixing tbody tr").nth(3).locator("td").nth(0).hover()
    expect(score).to_contain_text("Score of because · the: ")


@browser
def test_a_key_that_may_not_be_seen_is_faint_and_never_called_the_best(widget_page):
    q = sentence.QUERIES.clone()
    q[4] = torch.tensor([2.6, 2.2])  # straight to “tired”
    page = widget_page(SentenceWidget(controls=["arrows", "future"], q=q.tolist()))
    scores = sentence.KEYS @ q[4]
    assert scores.argmax() == 6
    best = int(scores[:5].argmax())
    score = page.locator(".hydra-arrows .hydra-held")
    expect(score).to_contain_text(f"Score of it · {sentence.WORDS[best]}: ")
    names = page.locator(".hydra-plane text.hydra-faint")
    expect(names).to_have_text(list(sentence.WORDS[5:]))
    page.get_by_role("combobox").select_option("key of tired")
    expect(score).to_contain_text("“tired” is a later word, which “it” may not see.")
    page.get_by_role("radio", name="as they are").check()
    expect(names).to_have_count(0)
    expect(score).not_to_contain_text("later")
    page.get_by_role("button", name="reset").click()
    expect(page.get_by_role("combobox")).to_have_value("query")


HUES = ("205, 45, 45", "35, 145, 70", "50, 100, 215")


# Of a disc that is not used, which is hollow, its ring.
PAINTS = """all => all.map((one) => {
    const { backgroundColor, boxShadow } = getComputedStyle(one);
    return one.matches(".hydra-none") ? boxShadow.match(/^rgba?\\([^)]*\\)/)[0] : backgroundColor;
})"""


def shade(paint):
    """Red, green, blue and how much of it, to a hundredth."""
    return [round(float(x), 2) for x in re.findall(r"[\d.]+", paint)]


@browser
def test_three_heads(widget_page):
    page = widget_page(SentenceWidget(controls=["head"], **HEADS))
    for head in range(3):
        page.get_by_label(("0: red", "1: green", "2: blue")[head]).check()
        drawn(page)
        q, k = sentence.HEAD_QUERIES[head], sentence.HEAD_KEYS[head]
        caption = f"weights of head {head}: a row for each output"
        assert shown(page, caption) == expected_texts(attention(q=q, k=k))
        # A head mixes one channel: over its matrix stands what it sees of each colour.
        over = table_of(page, caption).locator("thead .hydra-swatch")
        paints = over.evaluate_all(PAINTS)
        wanted = [f"rgba({HUES[head]}, {x:.3f})" for x in sentence.VALUES[:, head].tolist()]
        assert [shade(paint) for paint in paints] == [shade(paint) for paint in wanted]
        under = page.locator(".hydra-words > .hydra-swatch").evaluate_all(PAINTS)
        assert under[7:] == paints
    expect(page.locator(".hydra-equation")).to_contain_text("it, blue ≈ ")
    expect(page.locator(".hydra-equation")).to_contain_text(
        "side by side: .92, .79, .47 → (.92, .79, .47)"
    )
    page.emulate_media(reduced_motion="no-preference")
    faint = page.locator(".hydra-paint.hydra-faint")
    expect(faint).not_to_have_count(0)
    faint.first.dispatch_event("click")  # an arc of another head shows that head
    expect(page.get_by_label("0: red")).to_be_checked()
    page.get_by_label("2: blue").check()
    follow(
        page, "#sentence.head=2&sentence.rule=mean"
    )  # a rule has one head: it mixes the whole colour
    expect(page.locator(".hydra-equation")).to_contain_text("it ≈ .20 × the (.80, .80, .78)")


@browser
def test_links(widget_page):
    page = widget_page(SentenceWidget(), fragment="#sentence.rule=mean&sentence.word=2")
    assert shown(page) == expected_texts(aggregation.running_mean(7))
    expect(page.locator(".hydra-equation strong")).to_have_text("slept")
    follow(page, "#sentence.tau=inf")
    assert shown(page) == expected_texts(aggregation.running_mean(7))
    for asked in ("rule=sum", "word=7", "head=1", "tau=-1", "q=[[1,2]]", "future=2", "words=[]",
                  "parts=[1,1]", "parts=[0,1,1,1,1,1,1]", "parts=[1,1,1,1,1,1,10]"):  # fmt: skip
        follow(page, f"#sentence.{asked}")
        expect_refused(page, "sentence", asked)
    assert shown(page) == expected_texts(attention())


@browser
@pytest.mark.parametrize("width", [320, 360, 1280])
def test_nothing_moves_and_nothing_is_cut(widget_page, width):
    page = widget_page(SentenceWidget(controls=["rule", "parts", "future", "tau"]), width=width)
    root = page.locator("[data-ready=sentence]")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # In the page, since hundreds of clicks from outside take long.
    met = root.evaluate("""async (root) => {
        const heights = new Set(), rules = root.querySelectorAll("input[type=radio]");
        for (const rule of rules) {
            rule.click();
            for (const word of root.querySelectorAll(".hydra-words button")) {
                word.click();
                await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
                heights.add(root.getBoundingClientRect().height);
            }
        }
        return [rules.length, ...heights];
    }""")
    assert met[0] == 8
    assert len(met) == 2


@browser
def test_a_finger_that_slides_points_at_each_word(widget_page):
    page = widget_page(SentenceWidget(), width=360)
    page.evaluate(
        """() => {
            window.met = new Set();
            const sum = document.querySelector(".hydra-equation");
            const note = () => met.add(sum.querySelector("strong").textContent);
            new MutationObserver(note).observe(sum, {childList: true});
        }"""
    )
    words = page.locator(".hydra-words button")
    swipe(page, middle(words.nth(0)), middle(words.nth(6)))
    assert set(page.evaluate("[...met]")) >= set(sentence.WORDS[1:6])
    page.wait_for_url("**#sentence.word=6")  # where it is lifted it has chosen
    page.get_by_label("decay ½").check()
    expect(page.locator(".hydra-equation strong")).to_have_text("tired")


@browser
def test_a_finger_that_scrolls_points_at_nothing(widget_page):
    page = widget_page(SentenceWidget(), width=360)
    page.evaluate("document.body.style.paddingBottom = '900px'")
    lit = page.locator("[aria-pressed=true], .hydra-on, .hydra-chosen, .hydra-source, strong")
    before = lit.all_text_contents()
    word, cell = page.locator(".hydra-words button").nth(1), page.locator("tbody tr").nth(5)
    for touched in (word, cell):
        x, y = middle(touched)
        assert swipe(page, (x, y), (x, y - 60)) > 0
        assert lit.all_text_contents() == before
        page.evaluate("scrollTo(0, 0)")


@browser
def test_a_name_stands_inside_the_plane_and_beside_its_arrow(widget_page):
    page = widget_page(SentenceWidget(controls=["arrows"]))
    plane, name = (
        page.locator(".hydra-plane"),
        page.locator(".hydra-plane text", has_text="it asks"),
    )
    frame = plane.bounding_box()
    for x, y in ((3.2, -0.4), (0.1, 4), (-4, -4), (4, 4), (4, 0), (0, -4), (2, 2)):
        for axis, value in (("x", x), ("y", y)):
            page.get_by_role("slider", name=axis, exact=True).fill(str(value))
        drawn(page)
        box = name.bounding_box()
        assert frame["x"] <= box["x"] + 1
        assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
        assert frame["y"] <= box["y"] + 1
        assert box["y"] + box["height"] <= frame["y"] + frame["height"] + 1
        unit = frame["width"] / 8.8
        tip = frame["x"] + unit * (4.4 + x), frame["y"] + unit * (4.4 - y)
        beside = tip[0] < box["x"] or tip[0] > box["x"] + box["width"]
        above = tip[1] < box["y"] or tip[1] > box["y"] + box["height"]
        assert beside or above


@browser
def test_the_name_of_the_query_covers_no_other(widget_page):
    page = widget_page(SentenceWidget(controls=["arrows"]))
    names = page.locator(".hydra-plane text")
    for key in [*sentence.KEYS.tolist(), [0, 0]]:
        for axis, value in zip("xy", key, strict=True):
            page.get_by_role("slider", name=axis, exact=True).fill(f"{value:.1f}")
        drawn(page)
        boxes = [name.bounding_box() for name in names.all()]
        own = boxes.pop()
        for box, name in zip(boxes, sentence.WORDS, strict=True):
            over = [
                min(own[side] + own[size], box[side] + box[size]) - max(own[side], box[side])
                for side, size in (("x", "width"), ("y", "height"))
            ]
            assert min(over) < 4, (key, name)  # pixels, of what surrounds the letters


@browser
def test_a_name_steps_aside_for_the_query(widget_page):
    """Its knob is put where each key's name stands, a little beyond the tip."""
    page = widget_page(SentenceWidget(controls=["arrows"]))
    knob, names = page.locator(".hydra-asks"), page.locator(".hydra-plane text")
    for j, word in enumerate(sentence.WORDS):
        for axis in "xy":  # out of the way, to see where the name stands then
            page.get_by_role("slider", name=axis, exact=True).fill("-4")
        drawn(page)
        place = [float(names.nth(j).get_attribute(axis)) for axis in "xy"]
        for axis, value, sign in zip("xy", place, (1, -1), strict=True):
            page.get_by_role("slider", name=axis, exact=True).fill(f"{sign * value:.1f}")
        drawn(page)
        expect(names.nth(j)).to_have_text(word)
        own, box = knob.bounding_box(), names.nth(j).bounding_box()
        over = [
            min(own[side] + own[size], box[side] + box[size]) - max(own[side], box[side])
            for side, size in (("x", "width"), ("y", "height"))
        ]
        assert min(over) < 4, word  # pixels, of what surrounds the letters


SHADES = """() => {
    const style = (selector) => getComputedStyle(document.querySelector(selector));
    return [style(".hydra-swatch").backgroundColor, style("td.hydra-heat").backgroundColor,
        style(".hydra-pills :checked + span").borderColor];
}"""


@browser
def test_a_system_of_high_contrast_leaves_what_colours_say(widget_page):
    page = widget_page(SentenceWidget())
    *shades, _ = page.evaluate(SHADES)
    page.emulate_media(forced_colors="active")
    *left, accent = page.evaluate(SHADES)
    assert left == shades
    assert accent == page.evaluate(
        "() => getComputedStyle(Object.assign(document.body.appendChild("
        "document.createElement('i')), {style: 'color: LinkText'})).color"
    )
    assert page.evaluate("() => getComputedStyle(document.querySelector('.hydra')).color") == (
        page.evaluate("() => getComputedStyle(document.body).color")
    )


@browser
def test_who_asks_for_more_contrast_gets_no_grey(widget_page):
    page = widget_page(SentenceWidget(controls=["arrows"]))
    colour = "(one) => getComputedStyle(one).color"
    note, ink = page.locator(".hydra-note").first, page.locator(".hydra")
    assert note.evaluate(colour) != ink.evaluate(colour)
    page.emulate_media(contrast="more")
    assert note.evaluate(colour) == ink.evaluate(colour)


def test_arrows_travel_as_they_are_written():
    """A link repeats them, and float32 has no 0.2."""
    state = SentenceWidget().get_state(["q", "k"])
    for name, arrows in (("q", sentence.QUERIES), ("k", sentence.KEYS)):
        assert max(len(str(x)) for row in state[name] for x in row) <= 4  # -0.4
        torch.testing.assert_close(torch.tensor(state[name]), arrows)


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_columns_are_headed_by_their_words_above_their_colours(widget_page, width):
    page = widget_page(SentenceWidget(), width=width)
    heads = page.locator(".hydra-mixing thead th")
    cells = page.locator(".hydra-mixing tbody tr").first.locator("td")
    for j, word in enumerate(sentence.WORDS):
        name, dot = (heads.nth(j).locator(f".hydra-{kind}") for kind in ("aside", "swatch"))
        expect(name).to_have_text(word)
        over, under, cell = (part.bounding_box() for part in (name, dot, cells.nth(j)))
        assert over["height"] > over["width"] or len(word) < 3  # from below to above
        assert over["y"] + over["height"] <= under["y"] <= cell["y"] - under["height"]
        for part in (over, under):
            assert cell["x"] <= part["x"]
            assert part["x"] + part["width"] <= cell["x"] + cell["width"]


@browser
def test_what_is_said_where_one_word_has_all(widget_page):
    """At τ = 0: next to none of it goes to later words, or nearly all would."""
    page = widget_page(SentenceWidget(tau=0, future="seen", controls=["future"]))
    told = page.locator(".hydra-equation")
    expect(told).to_contain_text("Later words get next to none of the weight.")
    follow(page, "#sentence.word=1&sentence.future=masked&sentence.tau=0")
    expect(told).to_contain_text(
        "Unmasked, nearly all would go to later words. The rest is scaled up to 1."
    )
