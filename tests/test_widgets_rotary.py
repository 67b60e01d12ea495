"""The widget of positions: turned arrows against the library, weights, dials, distances, links."""

import cmath
import json
import math
import re
from functools import partial

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import sentence
from hydra_lib.boltzmann import probabilities
from hydra_lib.rotary import rotate
from hydra_lib.widgets import RotaryWidget
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
WORDS = sentence.WORDS
THE, CAT, SLEPT, BECAUSE, IT, WAS, TIRED = range(7)
RADIAN = 180 / math.pi


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"rates": [30]}, "rates must be a row of 2, each a number from 0 to 180"),
        ({"rates": [30, 181]}, "rates must be a row of 2, each a number from 0 to 180"),
        ({"rates": [30, -1]}, "rates must be a row of 2, each a number from 0 to 180"),
        ({"back": 7}, "back must be an integer from 0 to 6, got 7"),
        ({"start": 0.5}, "start must be an integer from 0 to 100, got 0.5"),
        ({"word": 7}, "word must be an integer from 0 to 6, got 7"),
    ],
)
def test_bad_settings(setting, message):
    with pytest.raises(SettingError, match=f"^{re.escape(message)}"):
        RotaryWidget(**setting)


def turned(cases):
    found = json.loads(in_javascript("rotary.js", "m.turned(...c)", cases))
    return torch.tensor(found, dtype=torch.float64)


def test_turned_by_hand():
    found = turned([[1, [90, 0]], [-2, [45, 180]], [3, [60, 30]]])
    expected = [[0, 5, 5, 0], [0, -5, 5, 0], [-5, 0, 0, 5]]
    torch.testing.assert_close(found, torch.tensor(expected).double(), rtol=0, atol=1e-12)


def test_turned_as_the_library_turns():
    """Of four numbers, one pair turns by a radian for each position, the other by a hundredth."""
    alike = torch.tensor([5.0, 0, 5, 0], dtype=torch.float64).expand(101, 4)
    found = turned([[position, [RADIAN, RADIAN / 100]] for position in range(101)])
    torch.testing.assert_close(found, rotate(alike), rtol=0, atol=1e-12)


# --- the page ---------------------------------------------------------------------------------


def arrow(position, rate):
    return 5 * cmath.exp(1j * math.radians(position * rate))


def weights_of(word, rates=(30, 0), back=1, start=0):
    """The row of a word, one pair of numbers at a time."""
    scores = []
    for j in range(word + 1):
        pairs = [(arrow(start + word - back, r), arrow(start + j, r)) for r in rates]
        scores.append(sum((q.conjugate() * k).real for q, k in pairs) / 2)
    seen = probabilities(torch.tensor(scores, dtype=torch.float64), 1).tolist()
    return seen + [0.0] * (6 - word)


shown = partial(written_weight, drawn=True)


def expect_row(page, word, **setting):
    row = weights_of(word, **setting)
    expect(page.locator(".hydra-words .hydra-share")).to_have_text([shown(w) for w in row])
    expect(page.locator(".hydra-words button[aria-pressed=true]")).to_have_text(WORDS[word])
    start = setting.get("start", 0)
    positions = [str(start + j) for j in range(7)]
    expect(page.locator(".hydra-words .hydra-score")).to_have_text(positions)


def told(page):
    return page.locator(".hydra-summary")


@browser
def test_what_it_says_at_first(widget_page):
    page = widget_page(RotaryWidget())
    expect_row(page, TIRED)
    # One pair is 30° further, or less far, than the other's: 12.5 (1 − cos 30°) = 1.675 below.
    beside = math.exp(-12.5 * (1 - math.cos(math.radians(30))))
    seen = 1 / (1 + 2 * beside)
    assert weights_of(TIRED)[WAS] == pytest.approx(seen, abs=2e-3)  # the rest is further away
    expect(told(page)).to_have_text(
        "“tired” looks 1 word back, at “was”, which gets 0.726 of its weight. Of the others “it” "
        "and “tired” get most, 0.136 each."
    )
    expect(page.get_by_role("status").filter(has_text="“tired” looks")).to_have_count(1)
    label = page.locator("figcaption")
    expect(label).to_have_text(
        "scaled score of a key, by how far back it stands; filled: a word is there"
    )
    assert page.evaluate(f"({UNREADABLE})(document.body)") == []


@browser
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            {"rates": [90, 0]},
            "“tired” looks 1 word back, at “was”, which gets 0.500 of its weight. Of the others "
            "“cat” gets most, 0.500.",
        ),
        ({"word": 0}, "“the” is the first word: it sees only itself, and gets all weight."),
        ({"rates": [0, 0]}, "“tired” scores all words alike, and each gets 0.143."),
        (
            {"word": 2, "back": 0, "rates": [180, 0]},
            "“slept” looks at itself, which gets 0.500 of its weight. Of the others “the” gets "
            "most, 0.500.",
        ),
        (
            {"word": 5, "back": 2, "rates": [90, 0]},
            "“was” looks 2 words back, at “because”, which gets 1.000 of its weight. Of the others "
            "“the”, “slept” and “it” get most, <.001 each.",
        ),
        (
            {"word": 1, "back": 1, "rates": [90, 0]},
            "“cat” looks 1 word back, at “the”, which gets 1.000 of its weight. The rest, <.001, "
            "goes to “cat”.",
        ),
        (
            {"word": 2, "back": 6},
            "“slept” looks 6 words back, where there is none: “the” gets most, 0.988.",
        ),
    ],
)
def test_what_it_says(widget_page, setting, said):
    expect(told(widget_page(RotaryWidget(**setting)))).to_have_text(said)


@browser
def test_only_the_difference_counts(widget_page):
    """Wherever the text begins, every word has the row that it had, and nothing else is said."""
    page = widget_page(RotaryWidget(rates=[30, 11], back=2))
    said = {}
    start = page.get_by_role("slider", name="Text begins at")
    for place, key in [(0, "Home"), *((at, "ArrowRight") for at in range(1, 6)), (100, "End")]:
        start.focus()
        press(page, key)
        assert start.input_value() == str(place)
        for word in range(7):
            page.locator(".hydra-words button").nth(word).click()
            expect_row(page, word, rates=(30, 11), back=2, start=place)
            assert told(page).text_content() == said.setdefault(word, told(page).text_content())


@browser
def test_each_slider_changes_its_own(widget_page):
    page = widget_page(RotaryWidget())
    for name, key, setting in (
        ("First pair turns", "End", {"rates": (180, 0)}),
        ("Second pair turns", "ArrowRight", {"rates": (180, 1)}),
        ("Looks back", "End", {"rates": (180, 1), "back": 6}),
        ("Text begins at", "ArrowRight", {"rates": (180, 1), "back": 6, "start": 1}),
    ):
        page.get_by_role("slider", name=name).focus()
        press(page, key)
        expect_row(page, TIRED, **setting)
    outputs = page.locator(".hydra-controls output")
    expect(outputs).to_have_text(["180°", "1°", "6", "1"])
    sliders = page.get_by_role("slider").all()
    assert [one.input_value() for one in sliders] == ["180", "1", "6", "1"]


@pytest.mark.parametrize(
    ("angle", "position", "rate", "expected"),
    [
        (90, 1, 30, 90),
        (90, 2, 30, 45),
        (-90, 3, 80, 90),  # from 240° on to 270°
        (10, 5, 70, 74),  # from 350° over a full turn
        (350, 5, 74, 70),  # and back over it
        (100, 7, 0, 14.3),  # to the tenth
    ],
)
def test_rate_by_hand(angle, position, rate, expected):
    assert json.loads(in_javascript("rotary.js", "m.rateFor(...c)", [[angle, position, rate]])) == [
        expected
    ]


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_a_dial_is_turned_by_its_dot(widget_page, width):
    page = widget_page(RotaryWidget(rates=[60, 20]), width=width)
    for at, angle, rates in ((3, 90, (30, 20)), (7 + 2, 120, (30, 60)), (1, 200, (180, 60))):
        dial = page.locator(".hydra-dial").nth(at)
        dial.scroll_into_view_if_needed()
        box = dial.bounding_box()
        x, y, reach = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, box["width"] / 3
        from_hand = complex(
            *(float(dial.locator(".hydra-key").get_attribute(c)) for c in ("x2", "y2"))
        )
        page.mouse.move(x + reach * from_hand.real / 5, y + reach * from_hand.imag / 5)
        page.mouse.down()
        to = reach * cmath.exp(-1j * math.radians(angle))  # up is less on a screen
        page.mouse.move(x + to.real, y + to.imag)
        page.mouse.up()
        expect(page.locator(".hydra-controls output").nth(0)).to_have_text(f"{rates[0]}°")
        expect(page.locator(".hydra-controls output").nth(1)).to_have_text(f"{rates[1]}°")
        expect_row(page, TIRED, rates=rates)  # to turn a dial is not to choose its word


@browser
def test_no_hand_turns_what_stands_at_position_0(widget_page):
    page = widget_page(RotaryWidget())
    hands = page.locator(".hydra-dial .hydra-handle")
    radii = "(all) => all.map((one) => Number(one.getAttribute('r')))"
    assert hands.evaluate_all(radii) == 2 * [0, *[3.5] * 6]
    page.get_by_role("slider", name="Text begins at").focus()
    press(page, "ArrowRight")
    expect(hands.first).to_have_attribute("r", "3.5")


PAINT = "(all) => all.map((one) => one.style.getPropertyValue('--paint'))"


def paints(page, kind):
    """Colours from 0 to 1, a row for each."""
    found = page.locator(kind).evaluate_all(PAINT)
    return torch.tensor([[int(x) / 255 for x in re.findall(r"\d+", one)] for one in found])


@browser
def test_the_colours_are_those_of_the_words_and_of_their_mixtures(widget_page):
    page = widget_page(RotaryWidget(rates=[40, 7], word=WAS))
    discs = paints(page, ".hydra-words > .hydra-swatch")
    mixed = torch.tensor([weights_of(i, (40, 7)) for i in range(7)]) @ sentence.VALUES
    for found, expected in (
        (discs[:7], mixed),
        (discs[7:], sentence.VALUES),
        (paints(page, ".hydra-dial .hydra-keys"), torch.cat([sentence.VALUES] * 2)),
        (paints(page, ".hydra-spot:not(.hydra-hollow)"), sentence.VALUES[:6].flip(0)),
    ):
        torch.testing.assert_close(found, expected, rtol=0, atol=0.51 / 255)


@browser
def test_a_reader_of_the_screen_hears_places_and_weights(widget_page):
    page = widget_page(RotaryWidget(word=IT, start=9))
    for j, name in enumerate(WORDS):
        got = f"gets {shown(weights_of(IT)[j])}" if j <= IT else "later"
        button = page.locator(".hydra-words button").nth(j)
        expect(button).to_have_accessible_name(f"{name}, position {9 + j}, {got}")
    page = widget_page(RotaryWidget(word=0))
    expect(page.locator(".hydra-words button").first).to_have_accessible_name(
        "the, position 0, gets 1"
    )


def hands(page, kind):
    """Where the hands of all dials end, as complex numbers, a row for each pair."""
    read = "(all) => all.map((one) => ['x2', 'y2'].map((name) => Number(one.getAttribute(name))))"
    ends = page.locator(f".hydra-dial .{kind}").evaluate_all(read)
    found = [complex(x, -y) for x, y in ends]
    return found[:7], found[7:]


@browser
def test_dials_show_the_key_of_each_word_and_the_query_of_one(widget_page):
    rates, back, start = (50, 9), 2, 3
    page = widget_page(RotaryWidget(rates=list(rates), back=back, start=start, word=IT))
    for rate, keys, queries in zip(
        rates, hands(page, "hydra-key"), hands(page, "hydra-ask"), strict=True
    ):
        for j in range(7):
            assert abs(keys[j] - arrow(start + j, rate)) < 1e-3
            asked = arrow(start + IT - back, rate) if j <= IT else 0
            assert abs(queries[j] - asked) < 1e-3
    expect(page.locator(".hydra-dial.hydra-unasked")).to_have_count(4)
    assert page.locator(".hydra-dial.hydra-on").count() == 2
    labels = page.locator(".hydra-words .hydra-label").all_text_contents()
    assert labels == [
        "output", "value, word, weight for “it”", "first pair (wide: the query; thin: a key)",
        "second pair (wide: the query; thin: a key)", "position",
    ]  # fmt: skip
    marked = "(all) => all.flatMap((one, at) => one.matches('.hydra-on') ? [at] : [])"
    for at, word in ((CAT, CAT), (7 + SLEPT, SLEPT)):  # in either row
        page.locator(".hydra-dial").nth(at).click()
        expect_row(page, word, rates=rates, back=back, start=start)
        assert page.locator(".hydra-dial").evaluate_all(marked) == [word, 7 + word]
    expect(page.locator(".hydra-dial.hydra-unasked")).to_have_count(8)


def spots(page):
    """The scores at the spots of the picture, from its own grid; and which of them are hollow."""
    low, high = (
        float(page.locator(".hydra-plot .hydra-grid").nth(at).get_attribute("y1")) for at in (0, 2)
    )
    read = (
        "(all) => all.map((one) => [Number(one.getAttribute('cy')), one.matches('.hydra-hollow')])"
    )
    found = page.locator(".hydra-spot").evaluate_all(read)
    return [-25 + 50 * (low - y) / (low - high) for y, _ in found], [h for _, h in found]


@browser
def test_the_score_of_each_distance(widget_page):
    rates, back = (80, 21), 2
    page = widget_page(RotaryWidget(rates=list(rates), back=back, word=IT))
    scores, hollow = spots(page)
    expected = [
        sum(12.5 * math.cos(math.radians(rate * (d - back))) for rate in rates) for d in range(25)
    ]
    assert scores == pytest.approx(expected, abs=0.05)
    assert max(scores) == scores[back]
    assert hollow == [d > IT for d in range(25)]
    x = page.locator(".hydra-spot").nth(back).get_attribute("cx")
    aim = page.locator(".hydra-aimed")
    for end in ("x1", "x2"):
        assert float(aim.get_attribute(end)) == pytest.approx(float(x), abs=0.06)
    # The curve runs through every spot, twenty steps to a word.
    corners = page.locator(".hydra-plot polyline").get_attribute("points").split()
    assert len(corners) == 20 * 24 + 1
    for at, spot in enumerate(page.locator(".hydra-spot").all()):
        x, y = map(float, corners[20 * at].split(","))
        assert float(spot.get_attribute("cx")) == pytest.approx(x, abs=0.06)
        assert float(spot.get_attribute("cy")) == pytest.approx(y, abs=0.06)
    read = "(all) => all.map((one) => [Number(one.getAttribute('x')), one.textContent])"
    texts = page.locator(".hydra-plot text").evaluate_all(read)
    assert [said for _, said in texts[:3]] == ["−25", "0", "25"]
    for x, said in texts[3:-1]:  # words further back stand further to the left
        spot = page.locator(".hydra-spot").nth(int(said))
        assert float(spot.get_attribute("cx")) == pytest.approx(x, abs=0.06)
    assert [said for _, said in texts[3:]] == ["0", "6", "12", "18", "24", "← words back"]
    assert texts[3][0] > texts[-2][0]


@browser
def test_a_phone(widget_page):
    page = widget_page(RotaryWidget(), width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    dial = page.locator(".hydra-dial").nth(BECAUSE)
    dial.scroll_into_view_if_needed()
    dial.click()
    expect_row(page, BECAUSE)
    slider = page.get_by_role("slider", name="First pair turns")
    slider.scroll_into_view_if_needed()
    start = middle(slider)
    before = page.locator(".hydra-controls output").first.text_content()
    assert swipe(page, start, (start[0], start[1] - 120)) > 0  # a finger scrolls over it
    expect(page.locator(".hydra-controls output").first).to_have_text(before)


@browser
@pytest.mark.parametrize("width", [320, 700, 1280])
def test_nothing_that_is_told_moves_the_page(widget_page, width):
    page = widget_page(RotaryWidget(), width=width)
    root = page.locator(".hydra")
    before = root.bounding_box()
    meeting = """(all) => all.map((one) => one.getBoundingClientRect()).some((one, at, boxes) =>
        one.height > 24 || (at && boxes[at - 1].right > one.left))"""
    for setting in ("rates=[90,0]", "word=0", "back=6", "word=3", "rates=[0.5,179.5]"):
        follow(page, f"#rotary.{setting}")
        drawn(page)
        assert root.bounding_box()["height"] == before["height"], setting
        # Each number stands in one line, and beside the next.
        assert not page.locator(".hydra-words > .hydra-share").evaluate_all(meeting), setting


@browser
def test_links(widget_page):
    page = widget_page(RotaryWidget(), fragment="#rotary.rates=[90,22.5]&rotary.word=5")
    expect_row(page, WAS, rates=(90, 22.5))
    expect(page.locator(".hydra-controls output").nth(1)).to_have_text("22.5°")
    for asked in ("rates=[90]", "rates=[90,200]", "rates=90", "word=7", "back=0.5", "start=101"):
        follow(page, f"#rotary.{asked}")
        expect_refused(page, "rotary", asked)
