"""The Strassen stepper: labels and counts against the library's tensors, every control, links."""

import json
import random
import re
from types import SimpleNamespace

import numpy as np
import pytest
import traitlets
from playwright.sync_api import expect

from hydra_lib.matmul.bilinear import BilinearAlgorithm
from hydra_lib.matmul.schemes import LADERMAN, STRASSEN, WINOGRAD, naive
from hydra_lib.widgets import StrassenWidget
from tests.conftest import drawn, expect_refused, follow, in_javascript, middle, press, swipe

browser = pytest.mark.browser

ALGORITHMS = {"naive": naive(2, 2, 2), "strassen": STRASSEN, "winograd": WINOGRAD}
AUTHORS = {"naive": "naive", "strassen": "Strassen 1969", "winograd": "Winograd's form"}
PLACES = [(i, j) for i in range(2) for j in range(2)]
LOWERED, RAISED = "₀₁₂₃₄₅₆₇₈₉", "⁰¹²³⁴⁵⁶⁷⁸⁹"


def sent(algorithm):
    """An algorithm as JavaScript has it."""
    factors = {name: getattr(algorithm, name).tolist() for name in "UVW"}
    return {**factors, "additions": algorithm.additions()}


# --- the trait ------------------------------------------------------------------------------------


def test_the_factors_are_the_library_s():
    widget = StrassenWidget()
    assert widget.keys.count("algorithms") == 1  # synced
    assert list(widget.algorithms) == list(ALGORITHMS)
    for name, algorithm in ALGORITHMS.items():
        factors = SimpleNamespace(**widget.algorithms[name])
        for letter in "UVW":
            assert np.array_equal(getattr(factors, letter), getattr(algorithm, letter))
            assert set(np.ravel(getattr(factors, letter))) <= {-1, 0, 1}
        assert tuple(factors.additions) == algorithm.additions()
        assert not algorithm.defect().any()
    with pytest.raises(traitlets.TraitError, match="read-only"):
        widget.algorithms = {}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"product": 7}, "product must lie in 0 … 6 for strassen, got 7"),
        ({"product": -1}, "product must be an integer from 0 to 7, got -1"),
        (
            {"algorithm": "winograd", "product": 7},
            "product must lie in 0 … 6 for winograd, got 7",
        ),
        ({"algorithm": "naive", "product": 8}, "product must be an integer from 0 to 7, got 8"),
    ],
)
def test_bad_products(setting, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        StrassenWidget(**setting)


def test_bad_algorithm():
    with pytest.raises(
        traitlets.TraitError,
        match="algorithm must be naive or strassen or winograd",
    ):
        StrassenWidget(algorithm="laderman")


def test_settings_stay_checked():
    widget = StrassenWidget(algorithm="naive", product=7)
    with pytest.raises(ValueError, match="for strassen, got 7"):
        widget.algorithm = "strassen"
    widget = StrassenWidget()
    assert (widget.algorithm, widget.product) == ("strassen", 0)
    widget.set_state({"algorithm": "naive", "product": 7})  # as a front end sends them, together
    assert widget.product == 7


# --- labels and counts ----------------------------------------------------------------------------


def invent(draw):
    """Random factors in which every product has factors and every C_ij a term."""
    while True:
        factors = [
            np.array([draw.choice((-1, 0, 0, 1)) for _ in range(5 * 4)]).reshape(5, 2, 2)
            for _ in "UVW"
        ]
        # The reader of labels takes the last row and column that it meets for the last there is.
        whole = all(f[:, 1].any() and f[:, :, 1].any() for f in factors)
        if whole and all(f.any(axis=(1, 2)).all() for f in factors) and factors[2].any(0).all():
            return BilinearAlgorithm(*factors)


def plain(text):
    """A label in the letters of papers: ``M₁ = A₁₁ (B₁₂ − B₂₂)`` is ``p1 = a11 (b12 - b22)``."""
    text = text.replace("−", "-").replace("M", "p").lower()
    return "".join(str(LOWERED.index(x)) if x in LOWERED else x for x in text)


def test_labels_spell_the_tensors():
    draw = random.Random(11)
    cases = [*ALGORITHMS.values(), LADERMAN, *(invent(draw) for _ in range(300))]
    expression = """({
        products: c.U.map((_, r) => m.productText(c, r)),
        results: m.entries(c.W[0]).map(([i, j]) =>
            `${m.blockName("C", i, j)} = ${m.sumText(m.productTerms(c, i, j))}`),
        landings: c.W.map((_, r) => m.landingText(c, r)),
    })"""
    got = json.loads(in_javascript("bilinear.js", expression, [sent(c) for c in cases]))
    for algorithm, labels in zip(cases, got, strict=True):
        products, results = (
            "\n".join(map(plain, labels[kind])) for kind in ("products", "results")
        )
        assert "*" not in products
        # The library reads the labels back, and finds its own factors.
        read = BilinearAlgorithm.parse(products, results)
        for letter in "UVW":
            assert np.array_equal(getattr(read, letter), getattr(algorithm, letter))
        assert labels["landings"] == [landing(w) for w in algorithm.W]
        # A sum starts with a minus only when it has no plus.
        for text in [*labels["products"], *labels["results"]]:
            for total in re.findall(r"[ABM][^()=]+|−[^()=]+", text.partition(" = ")[2]):
                assert not total.startswith("−") or "+" not in total


def landing(w):
    words = [
        f"C{LOWERED[i + 1]}{LOWERED[j + 1]} with\xa0{'+' if w[i, j] > 0 else '−'}"
        for i, j in np.ndindex(*w.shape)
        if w[i, j]
    ]
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def test_labels_by_hand():
    cases = [
        ["productText", "strassen", [0], "M₁ = (A₁₁ + A₂₂)(B₁₁ + B₂₂)"],
        ["productText", "strassen", [1], "M₂ = (A₂₁ + A₂₂) B₁₁"],
        ["productText", "strassen", [3], "M₄ = A₂₂ (B₂₁ − B₁₁)"],
        ["productText", "winograd", [5], "M₆ = (A₂₁ − A₁₁ + A₂₂)(B₁₁ − B₁₂ + B₂₂)"],
        ["productText", "naive", [7], "M₈ = A₂₂ B₂₂"],
        ["landingText", "strassen", [0], "C₁₁ with\xa0+ and C₂₂ with\xa0+"],
        ["landingText", "strassen", [4], "C₁₁ with\xa0− and C₁₂ with\xa0+"],
        ["landingText", "winograd", [3], "C₂₁ with\xa0+"],
    ]
    asked = [[name, sent(ALGORITHMS[key]), place] for name, key, place, _ in cases]
    got = json.loads(in_javascript("bilinear.js", "m[c[0]](c[1], ...c[2])", asked))
    assert got == [text for *_, text in cases]
    # Signs where nothing is positive, and two digits.
    negative = {"U": [[[-1, -1]]], "V": [[[-1], [0]]], "W": [[[-1]]]}
    result = "m.sumText(m.productTerms(c, 0, 0))"
    expression = f"[m.productText(c, 0), {result}, m.lowered(10), m.raised(12)]"
    cases = [negative, sent(ALGORITHMS["strassen"])]
    got, strassen = json.loads(in_javascript("bilinear.js", expression, cases))
    assert got == ["M₁ = (−A₁₁ − A₁₂)(−B₁₁)", "−M₁", "₁₀", "¹²"]
    assert strassen[1] == "M₁ + M₄ − M₅ + M₇"


@pytest.mark.parametrize("algorithm", [*ALGORITHMS.values(), LADERMAN, naive(2, 3, 5)])
def test_what_is_painted_is_the_tensors_product(algorithm):
    (m, k, n), rank = algorithm.shape, algorithm.rank
    expression = """c.upTo.map((r) => c.places.map(([i, j]) =>
        [m.painted(c.algorithm, r, i, j), m.wanted(c.algorithm, i, j)]))"""
    places = [(i, j) for i in range(m) for j in range(n)]
    case = {"algorithm": sent(algorithm), "upTo": list(range(rank)), "places": places}
    (got,) = json.loads(in_javascript("bilinear.js", expression, [case]))
    for r, after in enumerate(got):
        U, V, W = algorithm.U[: r + 1], algorithm.V[: r + 1], algorithm.W[: r + 1]
        sums = np.einsum("rip,rqj,rxy->xyipqj", U, V, W).reshape(m, n, m * k, k * n)
        for (i, j), (painted, wanted) in zip(places, after, strict=True):
            assert np.array_equal(painted, sums[i, j])
            a, b = np.ones((m, k), dtype=object), np.ones((k, n), dtype=object)
            goal = [[int(x == i and p == q and y == j) for q, y in np.ndindex(*b.shape)]
                    for x, p in np.ndindex(*a.shape)]  # fmt: skip
            assert wanted == goal
            assert np.sum(wanted) == k
            if r == rank - 1:
                assert painted == wanted  # which is what an algorithm is
    first = got[0]
    assert any(painted != wanted for painted, wanted in first)


# --- controls -------------------------------------------------------------------------------------


def expect_setting(page, name, product):
    """The page shows what the tensors say of this product."""
    drawn(page)  # a button is pressed at once, and the rest is drawn in the next frame
    algorithm = ALGORITHMS[name]
    rank = algorithm.rank
    expect(page.get_by_role("radio", name=AUTHORS[name])).to_be_checked()
    products = page.get_by_role("radio", name=re.compile("^M"))
    expect(products).to_have_count(rank)  # only those there are
    expect(products.nth(product)).to_be_checked()

    formula = plain(page.locator(".hydra-formula").text_content())
    assert formula.startswith(f"p{product + 1} = ")
    entering = {letter: np.zeros((2, 2), dtype=int) for letter in "ab"}
    for minus, letter, i, j in re.findall(r"(-?) ?([ab])(\d)(\d)", formula):
        entering[letter][int(i) - 1, int(j) - 1] = -1 if minus else 1
    assert np.array_equal(entering["a"], algorithm.U[product])
    assert np.array_equal(entering["b"], algorithm.V[product])
    expect_boards(page, algorithm, product)


def expect_boards(page, algorithm, product):
    """The quarters, the four boards and the sentence, against the tensors' products."""
    boards = page.evaluate(
        """[...document.querySelectorAll(".hydra-board")].map((table) => ({
            caption: table.caption.textContent,
            strong: [...table.caption.querySelectorAll("strong")].map((s) => s.textContent),
            heads: [...table.querySelectorAll("th")].map((head) => head.textContent),
            cells: [...table.querySelectorAll("tbody td")].map((cell) =>
                [cell.textContent, ...cell.classList]),
            labels: [...table.querySelectorAll("button")].map((one) => one.ariaLabel),
        }))"""
    )
    quarters = page.evaluate(
        """[...document.querySelectorAll(".hydra-quarters")].map((one) => [one.caption.textContent,
            ...[...one.querySelectorAll("td")].map((td) => [td.textContent, td.className])])"""
    )
    expected = (("A", "from A", "U"), ("B", "× from B", "V"), ("C", "→ into C", "W"))
    for (letter, caption, factor), (title, *cells) in zip(expected, quarters, strict=True):
        assert title == caption
        signs = getattr(algorithm, factor)[product].ravel()
        for (i, j), sign, cell in zip(PLACES, signs, cells, strict=True):
            name = letter + LOWERED[i + 1] + LOWERED[j + 1]
            mark, kind = {1: ("+", "hydra-plus"), -1: ("−", "hydra-minus"), 0: ("", "")}[sign]
            assert cell == [mark + name, kind]
    heads = [f"{letter}{i + 1}{j + 1}" for letter in "ba" for i, j in PLACES]
    right = strays = gone = 0
    for (i, j), board in zip(PLACES, boards, strict=True):
        place, _, total = plain(board["caption"]).partition(" = ")
        assert place == f"c{i + 1}{j + 1}"
        signs = dict.fromkeys(range(1, algorithm.rank + 1), 0)
        for minus, r in re.findall(r"(-?) ?p(\d)", total):
            signs[int(r)] = -1 if minus else 1
        assert list(signs.values()) == algorithm.W[:, i, j].tolist()
        bold = {int(plain(term)[-1]) for term in board["strong"]}
        assert bold == {r for r, sign in signs.items() if sign and r <= product + 1}
        named = heads[:4] + heads[4:] * (j == 0)  # over every board, at the left
        assert [plain(head) for head in board["heads"]] == named
        sums, before = (
            np.einsum(
                "ra,rb,r->ab",
                algorithm.U[:done].reshape(-1, 4), algorithm.V[:done].reshape(-1, 4),
                algorithm.W[:done, i, j],
            )
            for done in (product + 1, product)
        )  # fmt: skip
        framed = np.zeros((4, 4), dtype=int)
        for p in range(2):
            framed[2 * i + p, 2 * p + j] = 1
        assert board["cells"] == [
            painted(now, then) + ["hydra-wanted"] * int(f) + ["hydra-fresh"] * int(now != then)
            for now, then, f in zip(sums.ravel(), before.ravel(), framed.ravel(), strict=True)
        ]
        assert [plain(label) for label in board["labels"]] == [
            f"{heads[4 + a]} {heads[b]} in c{i + 1}{j + 1}{', framed' if framed[a, b] else ''}: "
            + plain(board["cells"][4 * a + b][0] or "0")
            for a, b in np.ndindex(4, 4)
        ]
        right += int(((sums == 1) & (framed == 1)).sum())
        strays += int(((sums != 0) & (sums != framed)).sum())
        gone += int(((sums == 0) & (before != 0)).sum())
    is_are = "is" if right == 1 else "are"
    have = "stray has" if strays == 1 else "strays have"
    expect(page.locator(".hydra-summary").first).to_have_text(
        f"Product {product + 1} of {algorithm.rank} enters {landing(algorithm.W[product])}"
        + (f", where {gone} {'cell cancels' if gone == 1 else 'cells cancel'}. " if gone else ". ")
        + (
            "All 8 framed cells hold a +, and nothing else is left: C = AB."
            if product == algorithm.rank - 1
            else f"So far {right} of the 8 framed cells {is_are} right, "
            f"and {strays} {have} to cancel."
        )
    )
    assert (right == 8 and strays == 0) == (product == algorithm.rank - 1)


def painted(times, before):
    """A cell: its text and its class."""
    if times == 0:
        return ["0" if before else ""]
    sign, kind = ("+", "hydra-plus") if times > 0 else ("−", "hydra-minus")
    return [sign + (str(abs(times)) if abs(times) > 1 else ""), kind]


@browser
def test_the_button_paints_the_next(widget_page):
    page = widget_page(StrassenWidget(product=4))
    button = page.get_by_role("button", name=re.compile("^(next product|begin again)$"))
    for product in (5, 6, 0, 1):
        expect(button).to_have_text("begin again" if product == 0 else "next product")
        button.click()
        expect_setting(page, "strassen", product)
    page.get_by_role("radio", name="naive").click()
    for product in (2, 3, 4, 5, 6, 7, 0):
        expect(button).to_have_text("begin again" if product == 0 else "next product")
        button.click()
        expect_setting(page, "naive", product)


@browser
def test_controls_by_keyboard(widget_page):
    page = widget_page(StrassenWidget())
    expect_setting(page, "strassen", 0)
    page.get_by_role("radio", name="Strassen 1969").focus()
    page.keyboard.press("ArrowLeft")
    expect_setting(page, "naive", 0)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")  # from the first to the last
    expect_setting(page, "naive", 7)
    page.keyboard.press("ArrowLeft")
    expect_setting(page, "naive", 6)
    page.keyboard.press("ArrowRight")
    expect_setting(page, "naive", 7)
    page.get_by_role("radio", name="naive").focus()
    page.keyboard.press("ArrowLeft")
    expect_setting(page, "winograd", 6)  # which has no eighth product
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect_setting(page, "winograd", 0)


# --- a cell and what entered it -------------------------------------------------------------------


def story(algorithm, product, at, a, b):
    """What the page says of a cell, from the tensors."""
    (i, j), (x, p), (q, y) = PLACES[at], PLACES[a], PLACES[b]
    signs = algorithm.U[:, x, p] * algorithm.V[:, q, y] * algorithm.W[:, i, j]
    low = [LOWERED[n + 1] for n in range(8)]
    entry, quarter = f"A{low[x]}{low[p]}\xa0B{low[q]}{low[y]}", f"C{low[i]}{low[j]}"
    if not signs.any():
        return f"{entry} is in none of the products that make {quarter}.", []
    terms = [
        (r, f"{'+' if sign > 0 else '−'}\xa0from\xa0M{low[r]}")
        for r, sign in enumerate(signs)
        if sign
    ]
    end = "one +, as the frame asks" if (x, p, y) == (i, q, j) else "nothing is left"
    assert signs.sum() == ((x, p, y) == (i, q, j))
    told = f"{entry} in {quarter}: {', '.join(term for _, term in terms)}; in the end {end}."
    return told, [term for r, term in terms if r <= product]


def cell(page, at, a, b):
    return page.locator(".hydra-board").nth(at).locator("button").nth(4 * a + b)


def expect_told(page, name, product, at, a, b):
    told, done = story(ALGORITHMS[name], product, at, a, b)
    line = page.locator(".hydra-summary").last
    expect(line).to_have_text(told)
    expect(line.locator("strong")).to_have_text(done)
    entered = [int(plain(term)[-1]) for term in re.findall("from\xa0M.", told)]
    lit = page.locator(".hydra-enters").all_inner_texts()
    assert [int(plain(pill)[-1]) for pill in lit] == entered
    expect(page.locator(".hydra-asked")).to_have_count(1)
    assert cell(page, at, a, b).evaluate("button => button.classList.contains('hydra-asked')")


@browser
@pytest.mark.parametrize(("name", "product"), [("strassen", 4), ("winograd", 6), ("naive", 0)])
def test_every_cell_says_what_entered_it(widget_page, name, product):
    page = widget_page(StrassenWidget(algorithm=name, product=product))
    found = page.evaluate(
        """() => {
            const texts = (all) => [...all].map((one) => one.textContent);
            const line = [...document.querySelectorAll(".hydra-summary")].at(-1);
            return [...document.querySelectorAll(".hydra-board button")].map((button) => {
                button.focus();
                return [line.textContent, texts(line.querySelectorAll("strong")),
                    texts(document.querySelectorAll(".hydra-enters")),
                    [...document.querySelectorAll(".hydra-asked")].map((one) => one === button)];
            });
        }"""
    )
    for place, (told, bold, pills, asked) in zip(np.ndindex(4, 4, 4), found, strict=True):
        assert [told, bold] == list(story(ALGORITHMS[name], product, *place))
        assert pills == re.findall("from\xa0(M.)", told)
        assert asked == [True]


def test_a_cell_s_story_by_hand():
    assert story(STRASSEN, 0, 0, 0, 3) == (
        "A₁₁\xa0B₂₂ in C₁₁: +\xa0from\xa0M₁, −\xa0from\xa0M₅; in the end nothing is left.",
        ["+\xa0from\xa0M₁"],
    )
    expression = "m.history(c[0], ...c[1])"
    asked = [[sent(STRASSEN), [0, 0, 0, 3]], [sent(STRASSEN), [1, 1, 3, 3]]]
    first, second = json.loads(in_javascript("bilinear.js", expression, asked))
    assert first == [{"product": 0, "sign": "+"}, {"product": 4, "sign": "−"}]
    assert second == [{"product": 0, "sign": "+"}]


@browser
def test_a_cell_by_mouse_finger_and_key(widget_page):
    page = widget_page(StrassenWidget(product=4))
    line = page.locator(".hydra-summary").last
    asks = "Point at a cell, or press it: which products enter it?"
    expect(line).to_have_text(asks)
    cell(page, 0, 0, 3).hover()
    expect_told(page, "strassen", 4, 0, 0, 3)
    page.mouse.move(0, 0)
    expect(line).to_have_text(asks)  # what is only passed on the way is not chosen
    expect(page.locator(".hydra-asked")).to_have_count(0)
    cell(page, 0, 3, 3).click()
    cell(page, 2, 1, 1).hover()
    expect_told(page, "strassen", 4, 2, 1, 1)
    page.mouse.move(0, 0)
    expect_told(page, "strassen", 4, 0, 3, 3)
    # The cells are one square of eight by eight for the keys.
    page.keyboard.press("ArrowRight")
    expect_told(page, "strassen", 4, 1, 3, 0)
    page.keyboard.press("ArrowDown")
    expect_told(page, "strassen", 4, 3, 0, 0)
    page.keyboard.press("ArrowLeft")
    expect_told(page, "strassen", 4, 2, 0, 3)
    for row in (3, 2, 1, 0):
        page.keyboard.press("ArrowUp")
        expect_told(page, "strassen", 4, 0, row, 3)
    page.keyboard.press("End")
    expect_told(page, "strassen", 4, 1, 0, 3)
    x, y = middle(cell(page, 0, 0, 0))
    swipe(page, (x, y), (x, y))
    expect_told(page, "strassen", 4, 0, 0, 0)
    page.get_by_role("radio", name="M₁", exact=True).click()
    expect_told(page, "strassen", 0, 0, 0, 0)


@browser
def test_a_cell_that_is_pressed_again_is_let_go(widget_page):
    page = widget_page(StrassenWidget(product=4))
    line = page.locator(".hydra-summary").last
    asks = "Point at a cell, or press it: which products enter it?"
    for button in (cell(page, 0, 0, 3), cell(page, 3, 1, 2)):
        x, y = middle(button)
        for told in (True, False, True):
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.up()
            page.mouse.move(0, 0)
            if told:
                expect(line).not_to_have_text(asks)
            else:
                expect(line).to_have_text(asks)
                expect(page.locator(".hydra-asked, .hydra-enters")).to_have_count(0)
    for key in ("Enter", "Space"):
        press(page, key)
        expect_told(page, "strassen", 4, 3, 1, 2)
    press(page, "ArrowLeft")
    expect_told(page, "strassen", 4, 3, 1, 1)


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_boards_stay_where_they_are(widget_page, width):
    page = widget_page(StrassenWidget(algorithm="winograd"), width=width)
    page.add_style_tag(content="body { font-family: 'DejaVu Sans', Verdana }")  # wide letters
    places = """() => [...document.querySelectorAll(".hydra-board tbody, .hydra-summary + button")]
        .map((one) => one.getBoundingClientRect()).map(({ x, y }) => [x, y].map(Math.round))"""
    before = page.evaluate(places)
    for name, algorithm in ALGORITHMS.items():
        page.get_by_role("radio", name=AUTHORS[name]).click()
        for r in range(algorithm.rank):
            page.get_by_role("radio", name=f"M{LOWERED[r + 1]}").click()
            drawn(page)
            assert page.evaluate(places) == before


@browser
def test_every_product_by_mouse(widget_page):
    page = widget_page(StrassenWidget())
    for name, algorithm in ALGORITHMS.items():
        page.get_by_role("radio", name=AUTHORS[name]).click()
        for r in range(algorithm.rank):
            page.get_by_role("radio", name=f"M{LOWERED[r + 1]}").click()
            expect_setting(page, name, r)


@browser
def test_what_is_painted_to_its_end_stays_so(widget_page):
    page = widget_page(StrassenWidget(product=6))
    for name, last in (("naive", 7), ("winograd", 6), ("strassen", 6)):
        page.get_by_role("radio", name=AUTHORS[name]).click()
        expect_setting(page, name, last)


@browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_signs_have_colours_of_their_own_and_the_page_is_narrow(widget_page, scheme):
    setting = {"algorithm": "winograd", "product": 5}
    page = widget_page(StrassenWidget(**setting), width=360, scheme=scheme)
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", scheme)
    colours = {
        kind: page.locator(f".hydra-quarters td[class='{kind}']").first.evaluate(
            "cell => getComputedStyle(cell).backgroundColor"
        )
        for kind in ("hydra-plus", "hydra-minus", "")
    }
    assert len(set(colours.values())) == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    inside = page.evaluate(
        """[...document.querySelectorAll(".hydra *")].every((node) =>
            node.getBoundingClientRect().right <= innerWidth - 8)"""
    )
    assert inside


@browser
def test_links(widget_page):
    asked = "#strassen.algorithm=naive&strassen.product=7"
    page = widget_page(StrassenWidget(), fragment=asked)
    expect_setting(page, "naive", 7)
    expect(page.locator("[data-ready=strassen] > .hydra-problem")).to_have_text("")
    follow(page, "#strassen.product=7")
    expect(page.locator(".hydra-summary").first).to_contain_text(
        f"There is no product 8 in Strassen 1969. Product 7 of 7 enters {landing(STRASSEN.W[6])}, "
    )
    page.get_by_role("radio", name="M₆").click()
    expect_setting(page, "strassen", 5)  # a link leaves nothing of the one before


@browser
def test_a_link_that_makes_no_sense_is_told_so(widget_page):
    page = widget_page(StrassenWidget())
    for asked in [
        "algorithm=laderman",
        "algorithm=toString",
        "algorithm=1",
        "product=8",
        "product=-1",
        "product=0.5",
        "product=x",
        "levels=1",
        "algorithms=1",
        "name=x",
    ]:
        follow(page, f"#strassen.{asked}")
        expect_refused(page, "strassen", asked)
        expect_setting(page, "strassen", 0)
