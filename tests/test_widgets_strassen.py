"""The Strassen stepper: labels and counts against the library's tensors, every control, links."""

import random
import re
from types import SimpleNamespace

import numpy as np
import pytest
import traitlets
from playwright.sync_api import expect

from hydra_lib.matmul.bilinear import BilinearAlgorithm
from hydra_lib.matmul.counting import Tally, counted, triple_loop
from hydra_lib.matmul.schemes import LADERMAN, STRASSEN, WINOGRAD, naive
from hydra_lib.widgets import StrassenWidget
from tests.conftest import (
    drawn,
    expect_refused,
    follow,
    in_javascript,
    middle,
    numbers,
    pull,
    swipe,
)

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


@pytest.mark.parametrize(
    "setting",
    [
        {"algorithm": "laderman"},
        {"levels": -1},
        {"levels": 13},
        {"addition": 4.5},
        {"addition": -1},
    ],
)
def test_bad_settings(setting):
    (name,) = setting
    with pytest.raises(traitlets.TraitError, match=name):
        StrassenWidget(**setting)


def test_settings_stay_checked():
    widget = StrassenWidget(algorithm="naive", product=7, levels=12)
    with pytest.raises(ValueError, match="for strassen, got 7"):
        widget.algorithm = "strassen"
    widget = StrassenWidget()
    assert (widget.algorithm, widget.product, widget.levels) == ("strassen", 0, 1)
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
        results: c.W[0].map((row, i) => row.map((_, j) => m.resultText(c, i, j))).flat(),
        landings: c.W.map((_, r) => m.landingText(c, r)),
    })"""
    got = numbers(in_javascript("bilinear.js", expression, [sent(c) for c in cases]))
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
        ["resultText", "strassen", [0, 0], "C₁₁ = M₁ + M₄ − M₅ + M₇"],
        ["resultText", "strassen", [1, 1], "C₂₂ = M₁ − M₂ + M₃ + M₆"],
        ["resultText", "naive", [0, 1], "C₁₂ = M₂ + M₄"],
        ["landingText", "strassen", [0], "C₁₁ with\xa0+ and C₂₂ with\xa0+"],
        ["landingText", "strassen", [4], "C₁₁ with\xa0− and C₁₂ with\xa0+"],
        ["landingText", "winograd", [3], "C₂₁ with\xa0+"],
    ]
    asked = [[name, sent(ALGORITHMS[key]), place] for name, key, place, _ in cases]
    got = numbers(in_javascript("bilinear.js", "m[c[0]](c[1], ...c[2])", asked))
    assert got == [text for *_, text in cases]
    # Signs where nothing is positive, and two digits.
    negative = {"U": [[[-1, -1]]], "V": [[[-1], [0]]], "W": [[[-1]]]}
    expression = "[m.productText(c, 0), m.resultText(c, 0, 0), m.lowered(10), m.raised(12)]"
    got = numbers(in_javascript("bilinear.js", expression, [negative]))
    assert got == [["M₁ = (−A₁₁ − A₁₂)(−B₁₁)", "C₁₁ = −M₁", "₁₀", "¹²"]]


def test_counts_are_the_library_s():
    leaves = (1, 2, 3, 5)
    cases = [(a, L, leaf) for a in ALGORITHMS.values() for L in range(13) for leaf in leaves]
    cases += [(a, L, 3) for a in (LADERMAN, naive(2, 3, 5), naive(5, 1, 3)) for L in range(9)]
    asked = [[sent(a), L, leaf] for a, L, leaf in cases]
    got = numbers(in_javascript("bilinear.js", "m.operationCounts(...c)", asked))
    for (algorithm, levels, leaf), counts in zip(cases, got, strict=True):
        assert tuple(counts) == algorithm.counts(levels, leaf)
        assert sum(counts) < 2**53
    ones = [[sent(a)] for a in ALGORITHMS.values()]
    got = numbers(in_javascript("bilinear.js", "m.operationCounts(...c, 12)", ones))
    assert [tuple(counts) for counts in got] == [a.counts(12) for a in ALGORITHMS.values()]
    others = [*ALGORITHMS.values(), LADERMAN, invent(random.Random(12))]
    asked = [[sent(a)] for a in others]
    written = numbers(in_javascript("bilinear.js", "m.writtenAdditions(...c)", asked))
    assert [tuple(w) for w in written] == [a.additions(share=False) for a in others]
    assert len({sum(map(abs, np.ravel(f))) for f in (others[-1].U, others[-1].V)}) == 2


def test_triple_loop_counts():
    levels = list(range(13))
    got = numbers(in_javascript("bilinear.js", "m.tripleLoopCounts(c)", levels))
    for L, result in zip(levels, got, strict=True):
        n = 2**L
        assert result == {"n": n, "counts": [n**3, n**3 - n**2]}
        assert tuple(result["counts"]) == ALGORITHMS["naive"].counts(L)
    for L, result in zip(range(4), got, strict=False):
        a, tally = np.ones((2**L, 2**L), dtype=int), Tally()
        triple_loop(counted(a, tally).tolist(), counted(a, tally).tolist())
        assert result["counts"] == [tally.multiplications, tally.additions]


@pytest.mark.parametrize("algorithm", [*ALGORITHMS.values(), LADERMAN, naive(2, 3, 5)])
def test_what_is_painted_is_the_tensors_product(algorithm):
    (m, k, n), rank = algorithm.shape, algorithm.rank
    expression = """c.upTo.map((r) => c.places.map(([i, j]) =>
        [m.painted(c.algorithm, r, i, j), m.wanted(c.algorithm, i, j)]))"""
    places = [(i, j) for i in range(m) for j in range(n)]
    case = {"algorithm": sent(algorithm), "upTo": list(range(rank)), "places": places}
    (got,) = numbers(in_javascript("bilinear.js", expression, [case]))
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


def test_the_area_that_is_kept_is_the_share_of_the_work():
    cases = [(rank, levels) for rank in (7, 8) for levels in range(5)]
    got = numbers(in_javascript("bilinear.js", "m.kept(...c)", cases))
    side = 64  # every edge is a multiple of this part of the square
    for (rank, levels), parts in zip(cases, got, strict=True):
        assert len(parts) == rank**levels
        board = np.zeros((side, side), dtype=int)
        for part in parts:
            x, y, width, height = (round(side * edge) for edge in part)
            assert [x / side, y / side, width / side, height / side] == part
            board[y : y + height, x : x + width] += 1
        assert board.max() == 1  # none lies on another
        assert board.mean() == (rank / 8) ** levels
    assert got[cases.index((7, 1))][0] == [0, 0, 0.5, 0.25]
    assert len({(w, h) for _, _, w, h in got[cases.index((7, 2))]} - {(1 / 8, 1 / 8)}) == 0


def test_cost_ratios():
    cases = [(a, L, c) for a in ALGORITHMS.values() for L in range(13) for c in (0, 0.25, 1, 4)]
    asked = [[sent(a), L, c] for a, L, c in cases]
    got = numbers(in_javascript("bilinear.js", "m.costRatio(...c)", asked))
    for (algorithm, L, c), ratio in zip(cases, got, strict=True):
        products, sums = algorithm.counts(L)
        n = 2**L
        assert ratio == pytest.approx((products + c * sums) / (n**3 + c * (n**3 - n**2)), rel=1e-12)
    # By hand, Strassen once: 7 + 18 additions over 8 + 4.
    by_hand = numbers(in_javascript("bilinear.js", "m.costRatio(...c)", [[sent(STRASSEN), 1, 1]]))
    assert by_hand == [25 / 12]


# --- controls -------------------------------------------------------------------------------------


def expect_setting(page, name, product, levels=1, addition=1):
    """The page shows what the tensors say of this product, and the library of this depth."""
    drawn(page)  # a button is pressed at once, and the rest is drawn in the next frame
    algorithm = ALGORITHMS[name]
    rank = algorithm.rank
    expect(page.get_by_role("radio", name=AUTHORS[name])).to_be_checked()
    products = page.get_by_role("radio", name=re.compile("^M"))
    expect(products).to_have_count(rank)  # only those there are
    expect(products.nth(product)).to_be_checked()

    n = 2**levels
    expect(page.get_by_role("slider", name="Depth L")).to_have_attribute(
        "aria-valuetext", str(levels)
    )
    expect(page.get_by_role("slider", name="An addition costs")).to_have_attribute(
        "aria-valuetext", f"{addition:g} mult."
    )
    power = "".join(RAISED[int(digit)] for digit in str(levels))
    tally = page.locator(".hydra-tally")
    expect(tally.locator("caption")).to_have_text(
        f"Operations on numbers, n = 2{power} = {n:,}; in the cost an addition counts {addition:g}"
    )
    expect(tally.locator("thead th")).to_have_text([AUTHORS[name], "triple loop"])
    own, loop = algorithm.counts(levels), (n**3, n**3 - n**2)
    costs = [products + addition * additions for products, additions in (own, loop)]
    rows = [*zip(own, loop, strict=True), costs]
    expect(tally.locator("tbody td")).to_have_text(
        [f"{x:,.2f}".rstrip("0").rstrip(".") for row in rows for x in row]
    )
    a, b, c = algorithm.additions()
    written = sum(algorithm.additions(share=False))
    expect(page.locator(".hydra-note")).to_have_text(
        f"The matrices are halved L times, down to numbers. A level takes {rank} products of "
        f"blocks and {a + b + c} additions, {a} in A, {b} in B and {c} in C"
        + (
            f"; as written {written}, but a sum that comes up again is taken once."
            if written != a + b + c
            else "."
        )
    )
    saving = page.locator(".hydra-saving")
    expect(saving).to_contain_text(
        f"Multiplications: {own[0]:,} of the triple loop's {n**3:,}, a share of (7/8){power} ="
        if rank == 7
        else f"Multiplications: {own[0]:,} of the triple loop's {n**3:,}, a share of (8/8){power} ="
    )
    share, ratio = (
        float(re.search(rf"{before}(\d+(?:\.\d+)?)", saving.text_content())[1])
        for before in (" = ", "Cost: ")
    )
    assert share == pytest.approx((rank / 8) ** levels, rel=5e-4)
    assert ratio == pytest.approx(costs[0] / costs[1], rel=5e-4)
    cheaper = [depth for depth in range(13) if costs_less(algorithm, depth, addition)]
    end = f"less from L = {cheaper[0]} on." if cheaper else "at no depth up to 12 is it less."
    expect(saving).to_contain_text(end)
    left = 100 * (rank / 8) ** levels
    expect(page.locator(".hydra-eighths figcaption")).to_have_text(
        re.compile(rf"left: {re.escape(f'{left:.3g}')}\s% of the square")
    )

    # All of this has been waited for above.
    formula = plain(page.locator(".hydra-formula").text_content())
    assert formula.startswith(f"p{product + 1} = ")
    entering = {letter: np.zeros((2, 2), dtype=int) for letter in "ab"}
    for minus, letter, i, j in re.findall(r"(-?) ?([ab])(\d)(\d)", formula):
        entering[letter][int(i) - 1, int(j) - 1] = -1 if minus else 1
    assert np.array_equal(entering["a"], algorithm.U[product])
    assert np.array_equal(entering["b"], algorithm.V[product])
    expect_boards(page, algorithm, product)


def costs_less(algorithm, levels, addition):
    products, sums = algorithm.counts(levels)
    n = 2**levels
    return products + addition * sums < n**3 + addition * (n**3 - n**2)


def expect_boards(page, algorithm, product):
    """The quarters, the four boards and the sentence, against the tensors' products."""
    boards = page.evaluate(
        """[...document.querySelectorAll(".hydra-board")].map((table) => ({
            caption: table.caption.textContent,
            strong: [...table.caption.querySelectorAll("strong")].map((s) => s.textContent),
            heads: [...table.querySelectorAll("th")].map((head) => head.textContent),
            cells: [...table.querySelectorAll("tbody td")].map((cell) =>
                [cell.textContent, ...cell.classList]),
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
        assert [plain(head) for head in board["heads"]] == heads
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
def test_a_touch_of_the_boards_paints_the_next(widget_page):
    page = widget_page(StrassenWidget(product=4))
    boards = page.locator(".hydra-boards")
    for product in (5, 6, 0, 1):
        boards.click()
        expect_setting(page, "strassen", product)


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
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    expect_setting(page, "naive", 7, 12)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect_setting(page, "naive", 7, 12, 1.25)
    page.get_by_role("radio", name="naive").focus()
    page.keyboard.press("ArrowLeft")
    expect_setting(page, "winograd", 6, 12, 1.25)  # which has no eighth product
    page.get_by_role("slider", name="Depth L").focus()
    page.keyboard.press("Home")
    expect_setting(page, "winograd", 6, 0, 1.25)


@browser
def test_sliders_by_mouse_and_the_link_they_make(widget_page):
    page = widget_page(StrassenWidget(algorithm="winograd", product=2, levels=5))
    expect_setting(page, "winograd", 2, 5)
    for label, share, setting in (
        ("Depth L", 1, (12, 1)),
        ("An addition costs", 1, (12, 4)),
        ("Depth L", 0, (0, 4)),
        ("An addition costs", 0, (0, 0)),
        ("Depth L", 0.5, (6, 0)),
        ("An addition costs", 0.5, (6, 2)),
    ):
        box = page.get_by_role("slider", name=label).bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] / 3, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + share * box["width"], middle, steps=4)
        page.mouse.up()
        expect_setting(page, "winograd", 2, *setting)
    page.get_by_role("radio", name="Strassen 1969").click()
    expect_setting(page, "strassen", 2, 6, 2)
    page.wait_for_url("**#strassen.addition=2&strassen.algorithm=strassen&strassen.levels=6")
    page.reload()
    page.wait_for_selector("[data-ready=strassen]")
    expect_setting(page, "strassen", 2, 6, 2)


@browser
def test_every_depth(widget_page):
    page = widget_page(StrassenWidget(levels=0))
    page.get_by_role("slider", name="Depth L").focus()
    for levels in range(13):
        expect_setting(page, "strassen", 0, levels)
        # The square's ink is the share, drawn as far as it can be seen, and shaded beyond.
        drawn, faint = page.evaluate(
            """(() => {
                const path = document.querySelector(".hydra-work");
                return [path.getAttribute("d").split("M").length - 1, Number(path.style.opacity)];
            })()"""
        )
        assert drawn == 7 ** min(levels, 4)
        assert faint == pytest.approx((7 / 8) ** max(0, levels - 4), abs=1e-4)
        page.keyboard.press("ArrowRight")


@browser
def test_the_curve_is_the_costs_and_the_dot_stands_on_it(widget_page):
    page = widget_page(StrassenWidget(levels=7, addition=2))
    read = """(() => {
        const heights = (kind) => document.querySelector(`.hydra-plot ${kind}`)
            .getAttribute("points").split(" ").map((point) => Number(point.split(",")[1]));
        const dot = document.querySelector(".hydra-plot circle");
        const grid = [...document.querySelectorAll(".hydra-plot :is(.hydra-grid, .hydra-base)")]
            .map((line) => Number(line.getAttribute("y1")));
        const marks = [...document.querySelectorAll(".hydra-plot text[text-anchor=end]")]
            .map((text) => Number(text.textContent));
        return {cost: heights(".hydra-line"), products: heights(".hydra-rule"),
                dot: ["cx", "cy"].map((at) => Number(dot.getAttribute(at))), grid, marks};
    })()"""
    seen = page.evaluate(read)
    # Two marks of the axis give the scale.
    low, high = seen["marks"].index(0.2), seen["marks"].index(2)
    slope = (np.log(2) - np.log(0.2)) / (seen["grid"][high] - seen["grid"][low])
    value = {
        kind: [float(np.exp(np.log(0.2) + slope * (y - seen["grid"][low]))) for y in seen[kind]]
        for kind in ("cost", "products")
    }
    for levels in range(13):
        n = 2**levels
        products, sums = STRASSEN.counts(levels)
        exact = (products + 2 * sums) / (n**3 + 2 * (n**3 - n**2))
        assert value["cost"][levels] == pytest.approx(exact, rel=5e-3)
        assert value["products"][levels] == pytest.approx((7 / 8) ** levels, rel=5e-3)
    assert seen["dot"][1] == pytest.approx(seen["cost"][7], abs=0.1)


@browser
def test_the_dot_is_dragged_from_depth_to_depth(widget_page):
    page = widget_page(StrassenWidget(levels=5))
    handle = page.locator(".hydra-plot .hydra-handle")
    before = middle(handle)[0]
    pull(page, handle, 1000)
    expect_setting(page, "strassen", 0, 12)
    level = (middle(handle)[0] - before) / 7
    pull(page, handle, -0.4 * level)
    expect_setting(page, "strassen", 0, 12)
    pull(page, handle, -2.6 * level)
    expect_setting(page, "strassen", 0, 9)
    pull(page, handle, -1000)
    expect_setting(page, "strassen", 0, 0)
    x, y = middle(handle)
    assert swipe(page, (x, y), (x + 3.2 * level, y)) == 0
    expect_setting(page, "strassen", 0, 3)


@browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_signs_have_colours_of_their_own_and_the_page_is_narrow(widget_page, scheme):
    setting = {"algorithm": "winograd", "product": 5, "levels": 12}
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
    asked = "#strassen.algorithm=naive&strassen.product=7&strassen.levels=0"
    page = widget_page(StrassenWidget(), fragment=asked)
    expect_setting(page, "naive", 7, 0)
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
        "levels=13",
        "levels=-1",
        "levels=1.5",
        "addition=4.5",
        "addition=-1",
        "algorithms=1",
        "name=x",
    ]:
        follow(page, f"#strassen.{asked}")
        expect_refused(page, "strassen", asked)
        expect_setting(page, "strassen", 0)
