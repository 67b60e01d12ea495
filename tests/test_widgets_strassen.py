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
from tests.conftest import follow, in_javascript, numbers

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


@pytest.mark.parametrize("setting", [{"algorithm": "laderman"}, {"levels": -1}, {"levels": 13}])
def test_bad_settings(setting):
    (name,) = setting
    with pytest.raises(traitlets.TraitError, match=name):
        StrassenWidget(**setting)


def test_settings_stay_checked():
    widget = StrassenWidget(algorithm="naive", product=7, levels=12)
    with pytest.raises(ValueError, match="for strassen, got 7"):
        widget.algorithm = "strassen"
    widget = StrassenWidget()
    assert (widget.algorithm, widget.product, widget.levels) == ("strassen", 0, 3)
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
    written = numbers(in_javascript("bilinear.js", "m.writtenAdditions(...c)", ones))
    assert [tuple(w) for w in written] == [a.additions(share=False) for a in ALGORITHMS.values()]


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


# --- controls -------------------------------------------------------------------------------------


def expect_setting(page, name, product, levels=3):
    """The page shows what the tensors say of this product, and the library of this depth."""
    algorithm = ALGORITHMS[name]
    rank = algorithm.rank
    expect(page.get_by_label("Algorithm")).to_have_value(name)
    slider = page.get_by_role("slider", name="Product")
    expect(slider).to_have_value(str(product + 1))
    expect(slider).to_have_attribute("max", str(rank))
    expect(slider).to_have_attribute("aria-valuetext", f"{product + 1} of {rank}")
    for button, end in (("previous", 0), ("next", rank - 1)):
        expect(page.get_by_role("button", name=button)).to_have_attribute(
            "aria-disabled", str(product == end).lower()
        )

    expect(page.locator(".hydra-summary").first).to_have_text(
        f"Product {product + 1} of {rank} enters {landing(algorithm.W[product])}."
    )

    n = 2**levels
    expect(page.get_by_role("slider", name="Depth L")).to_have_attribute(
        "aria-valuetext", str(levels)
    )
    power = "".join(RAISED[int(digit)] for digit in str(levels))
    tally = page.locator(".hydra-tally")
    expect(tally.locator("caption")).to_have_text(f"Operations on numbers, n = 2{power} = {n:,}")
    expect(tally.locator("thead th")).to_have_text([AUTHORS[name], "triple loop"])
    own, loop = algorithm.counts(levels), (n**3, n**3 - n**2)
    rows = [*zip(own, loop, strict=True), (sum(own), sum(loop))]
    expect(tally.locator("tbody td")).to_have_text([f"{x:,}" for row in rows for x in row])
    a, b, c = algorithm.additions()
    written = sum(algorithm.additions(share=False))
    expect(page.locator(".hydra-note")).to_have_text(
        f"Halved L times, down to 1 × 1. Each level takes {rank} products of blocks and "
        f"{a} additions in A, {b} in B and {c} in C, {a + b + c} in all"
        + (
            f", because a sum that comes up again is taken once; as written they are {written}."
            if written != a + b + c
            else "."
        )
    )
    saving = page.locator(".hydra-saving")
    expect(saving).to_contain_text(
        f"Multiplications: {own[0]:,} of the triple loop's {n**3:,}, a share of ({rank}/8){power} ="
    )
    share = float(saving.text_content().rpartition("= ")[2].rstrip("."))
    assert share == pytest.approx((rank / 8) ** levels, rel=5e-4)

    # All of this has been waited for above.
    formula = plain(page.locator(".hydra-formula").text_content())
    assert formula.startswith(f"p{product + 1} = ")
    entering = {letter: np.zeros((2, 2), dtype=int) for letter in "ab"}
    for minus, letter, i, j in re.findall(r"(-?) ?([ab])(\d)(\d)", formula):
        entering[letter][int(i) - 1, int(j) - 1] = -1 if minus else 1
    assert np.array_equal(entering["a"], algorithm.U[product])
    assert np.array_equal(entering["b"], algorithm.V[product])

    cells = iter(
        page.evaluate(
            """[..."ABC"].flatMap((grid) => [...document.querySelectorAll(
                `[data-grid=${grid}] td`)].map((cell) => [cell.className,
                ...[...cell.querySelectorAll(".hydra-mark, .hydra-mark + span")].map(
                    (part) => part.textContent),
                [...cell.querySelectorAll("strong")].map((strong) => strong.textContent)]))"""
        )
    )
    for letter, factor in zip("abc", (algorithm.U, algorithm.V, algorithm.W), strict=True):
        for i, j in PLACES:
            kind, mark, text, strong = next(cells)
            sign = factor[product, i, j]
            assert kind == {1: "hydra-plus", 0: "", -1: "hydra-minus"}[sign]
            assert mark == {1: "+", 0: "", -1: "−"}[sign]
            place, _, total = plain(text).partition(" = ")
            assert place == f"{letter}{i + 1}{j + 1}"
            if letter != "c":
                assert (total, strong) == ("", [])
                continue
            signs = dict.fromkeys(range(1, rank + 1), 0)
            for minus, r in re.findall(r"(-?) ?p(\d)", total):
                signs[int(r)] = -1 if minus else 1
            assert list(signs.values()) == algorithm.W[:, i, j].tolist()
            terms = [plain(term) for term in strong]
            assert [term.lstrip("+- ") for term in terms] == [f"p{product + 1}"] * abs(sign)
            assert all(term.startswith("-") == (sign < 0) for term in terms)
    assert next(cells, None) is None


@browser
def test_every_product_by_buttons(widget_page):
    page = widget_page(StrassenWidget())
    select = page.get_by_label("Algorithm")
    for name, algorithm in ALGORITHMS.items():
        select.select_option(name)
        page.get_by_role("slider", name="Product").focus()
        page.keyboard.press("Home")
        expect_setting(page, name, 0)
        for r in range(1, algorithm.rank):
            page.get_by_role("button", name="next").click()
            expect_setting(page, name, r)
        for _ in range(2):  # at the end there is nowhere to go
            page.get_by_role("button", name="next").dispatch_event("click")
        expect_setting(page, name, algorithm.rank - 1)
        page.get_by_role("button", name="previous").click()
        expect_setting(page, name, algorithm.rank - 2)


@browser
def test_controls_by_keyboard(widget_page):
    page = widget_page(StrassenWidget())
    expect_setting(page, "strassen", 0)
    select = page.get_by_label("Algorithm")
    select.focus()
    page.keyboard.press("ArrowUp")
    expect_setting(page, "naive", 0)
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    expect_setting(page, "naive", 7)
    page.keyboard.press("ArrowLeft")
    expect_setting(page, "naive", 6)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect_setting(page, "naive", 5)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Space")
    expect_setting(page, "naive", 7)
    page.keyboard.press("Enter")  # the end, and the focus stays
    expect(page.get_by_role("button", name="next")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    expect_setting(page, "naive", 7, 12)
    select.focus()
    page.keyboard.press("End")
    expect_setting(page, "winograd", 6, 12)  # which has no eighth product
    page.get_by_role("slider", name="Depth L").focus()
    page.keyboard.press("Home")
    expect_setting(page, "winograd", 6, 0)


@browser
def test_sliders_by_pointer_and_the_link_they_leave(widget_page):
    page = widget_page(StrassenWidget(algorithm="winograd", product=2, levels=5))
    expect_setting(page, "winograd", 2, 5)
    for label, share, setting in (
        ("Product", 1, (6, 5)),
        ("Depth L", 1, (6, 12)),
        ("Product", 0, (0, 12)),
        ("Depth L", 0, (0, 0)),
        ("Product", 0.5, (3, 0)),
        ("Depth L", 0.5, (3, 6)),
    ):
        box = page.get_by_role("slider", name=label).bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] / 3, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + share * box["width"], middle, steps=4)
        page.mouse.up()
        expect_setting(page, "winograd", *setting)
    page.get_by_label("Algorithm").select_option("strassen")
    expect_setting(page, "strassen", 3, 6)
    page.wait_for_url("**#strassen.algorithm=strassen&strassen.levels=6&strassen.product=3")
    page.reload()
    page.wait_for_selector("[data-ready=strassen]")
    expect_setting(page, "strassen", 3, 6)


@browser
def test_every_depth(widget_page):
    page = widget_page(StrassenWidget(levels=0))
    page.get_by_role("slider", name="Depth L").focus()
    for levels in range(13):
        expect_setting(page, "strassen", 0, levels)
        page.keyboard.press("ArrowRight")


@browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_signs_have_colours_of_their_own_and_the_page_is_narrow(widget_page, scheme):
    setting = {"algorithm": "winograd", "product": 5, "levels": 12}
    page = widget_page(StrassenWidget(**setting), width=360, scheme=scheme)
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", scheme)
    colours = {
        kind: page.locator(f"[data-grid=A] td[class='{kind}']").first.evaluate(
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
    expect(page.locator(".hydra-summary").first).to_have_text(
        f"There is no product 8 in Strassen 1969. Product 7 of 7 enters {landing(STRASSEN.W[6])}."
    )
    page.get_by_role("button", name="previous").click()
    expect_setting(page, "strassen", 5)  # a link leaves nothing of the one before


@browser
@pytest.mark.parametrize(
    "asked",
    [
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
        "algorithms=1",
        "name=x",
    ],
)
def test_a_link_that_makes_no_sense_is_told_so(widget_page, asked):
    page = widget_page(StrassenWidget(), fragment=f"#strassen.{asked}")
    trait, value = asked.split("=")
    expect(page.locator("[data-ready=strassen] > .hydra-problem")).to_have_text(
        f"The link asks for {trait} = {value}, which this widget cannot show."
    )
    expect_setting(page, "strassen", 0)
