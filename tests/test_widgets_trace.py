"""The trace widget: its arithmetic against the library, every cell's sentence, links."""

import json
import math
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import attention, sentence
from hydra_lib.masking import causal_mask
from hydra_lib.widgets import TraceWidget
from tests.conftest import drawn, expect_refused, extended, follow, in_javascript, middle, press
from tests.refusal import unhooked

browser = pytest.mark.browser

Q = [[1.0, 0.0], [0.5, 1.0], [-1.0, 2.0]]
K = [[1.0, 1.0], [0.0, 1.0], [2.0, -1.0]]
V = [[2.0, 0.0], [0.0, 1.0], [1.0, 3.0]]
MASK = [[True, False, False], [True, True, False], [False, False, False]]
ORDER = ("q", "kT", "scores", "scaled", "masked", "weights", "v", "output")
MATRIX = "{} must be a matrix of at most 16 × 16, each a number from -1,000,000 to 1,000,000, got "
NAMES = {"q": "Q", "kT": "Kᵀ", "v": "V"}


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: TraceWidget([], K, V), ValueError, MATRIX.format("q") + "[]"),
        (
            lambda: TraceWidget(Q, [[1], [2, 3]], V),
            ValueError,
            MATRIX.format("k") + "[[1], [2, 3]]",
        ),
        (lambda: TraceWidget([[1.0]], K, V), ValueError, "expected q (…, Tq, d_k)"),
        (lambda: TraceWidget([[math.nan, 0]], K, V), ValueError, MATRIX.format("q") + "[[nan, 0]]"),
        (
            lambda: TraceWidget(Q, K, V, [[1, 0, 0]] * 3),
            ValueError,
            "mask must be a matrix of at most",
        ),
        (
            lambda: TraceWidget(Q, K, V, [[True] * 2]),
            ValueError,
            "mask must broadcast to scores (3, 3), got shape (1, 2)",
        ),
        (
            lambda: TraceWidget(Q, K, V, temperature=0),
            ValueError,
            "temperature must be a number from 1e-06 to 1,000,000 or None or inf, got 0",
        ),
        (
            lambda: TraceWidget(Q, K, V, temperature=-1),
            ValueError,
            "temperature must be a number from 1e-06 to 1,000,000 or None or inf, got -1",
        ),
        *(
            (
                lambda cell=cell: TraceWidget(Q, K, V, cell=cell),
                ValueError,
                f"cell must be table.row.column of a cell there is, counted from 1, got {cell!r}",
            )
            for cell in ("weights", "weights.0.1", "weights.1.4", "masked.1.1", "k.1.1", "q.01.1")
        ),
    ],
)
def test_bad_settings(make, error, message):
    with unhooked(), pytest.raises(error, match=re.escape(message)):
        make()


def test_settings_travel_as_json():
    widget = TraceWidget(torch.tensor(Q), K, V, mask=[[True, True, False]], temperature=math.inf)
    state = json.loads(json.dumps(widget.get_state(), allow_nan=False))
    assert (state["q"], state["mask"]) == (Q, [[True, True, False]] * 3)
    assert state["temperature"] == "inf"
    state = TraceWidget(Q, K, V, cell="output.3.2").get_state()
    assert (state["temperature"], state["mask"], state["cell"]) == (None, None, "output.3.2")
    with pytest.raises(ValueError, match="got 'masked"):
        widget.cell = "masked.4.1"
    with pytest.raises(ValueError, match="step must be an integer from 1 to 5, got 6"):
        widget.step = 6


# --- arithmetic -----------------------------------------------------------------------------------


@pytest.mark.long
def test_trace_agrees_with_the_library():
    generator = torch.Generator().manual_seed(6)

    def draw(*shape):
        return 2 * torch.randn(*shape, generator=generator, dtype=torch.float64)

    cases = []
    for index in range(1000):
        queries, keys, d_k, d_v = 1 + index % 3, 1 + index % 5, 1 + index % 7, 1 + index % 2
        mask = torch.rand(queries, keys, generator=generator) < 0.6
        u = torch.rand((), generator=generator).item()
        cases.append(
            {
                "q": draw(queries, d_k).tolist(),
                "k": draw(keys, d_k).tolist(),
                "v": draw(keys, d_v).tolist(),
                "mask": mask.tolist() if index % 4 else None,
                "tau": "inf" if index % 11 == 0 else 10 ** (2 * u - 1),
            }
        )
    expression = "m.trace(c.q, c.k, c.v, c.mask, real(c.tau))"
    got = json.loads(in_javascript("attention.js", expression, cases))
    for case, steps in zip(cases, got, strict=True):
        q, k, v = (torch.tensor(case[name], dtype=torch.float64) for name in "qkv")
        mask = None if case["mask"] is None else torch.tensor(case["mask"])
        expected = attention.trace(q, k, v, mask, temperature=float(case["tau"]))
        assert steps["q"] == case["q"]
        assert steps["v"] == case["v"]
        assert steps["kT"] == k.mT.tolist()
        for name, tensor in expected._asdict().items():
            shown = torch.tensor(extended(steps[name]), dtype=torch.float64)
            torch.testing.assert_close(shown, tensor, rtol=1e-9, atol=1e-13)


# --- controls -------------------------------------------------------------------------------------


def text(x):
    """As the page writes numbers."""
    if not math.isfinite(x):
        return "−∞"
    x += 0.0  # a page has no negative zero
    digits = f"{x:.2e}" if x and abs(x) < 1e-3 else f"{float(f'{x:.4g}'):g}"
    return digits.replace("-", "−").replace("e−0", "e−")


def products(row, column):
    def inside(x):
        return f"({text(x)})" if x < 0 else text(x)

    return " + ".join(f"{inside(a)} × {inside(b)}" for a, b in zip(row, column, strict=True))


def table_of(page, name):
    captions = {
        "q": "Q: queries",
        "kT": "Kᵀ: keys",
        "scores": "scores = Q Kᵀ",
        "scaled": re.compile("^scaled = scores / "),
        "masked": "masked",
        "weights": re.compile("^weights = softmax"),
        "v": "V: values",
        "output": "output = weights V",
    }
    caption = page.locator("caption").filter(has_text=captions[name])
    if name == "masked":
        caption = page.locator("caption:text-is('masked')")
    return page.locator("table", has=caption)


def expect_tables(page, mask, tau, root, q=Q, k=K):
    q, k, v = (torch.tensor(x, dtype=torch.float64) for x in (q, k, V))
    allowed = None if mask is None else torch.tensor(mask)
    steps = attention.trace(q, k, v, allowed, temperature=tau)._asdict()
    steps |= {"q": q, "kT": k.mT, "v": v}
    order = [name for name in ORDER if mask or name != "masked"]
    steps = {name: steps[name].tolist() for name in order}
    expect(page.locator("table")).to_have_count(len(steps))
    for name, matrix in steps.items():
        shown = [text(float(f"{x:.3g}")) for row in matrix for x in row]
        expect(table_of(page, name).locator("button")).to_have_text(shown)
    expect(page.locator("caption").filter(has_text="scaled =")).to_have_text(
        f"scaled = scores / {root}"
    )
    return steps


def explained(steps, name, i, j, root, mask):
    """The sentence about a cell, and the cells it names, in words of this test."""
    here = text(steps[name][i][j])
    before = "masked" if mask else "scaled"

    def row_of(table, r):
        return {(table, r, n) for n in range(len(steps[table][r]))}

    def column_of(table, c):
        return {(table, n, c) for n in range(len(steps[table]))}

    def product(left, right):
        made = row_of(left, i) | column_of(right, j)
        return f"= {products(steps[left][i], [r[j] for r in steps[right]])} = {here}", made

    if name == "q":
        into = f"every score of row {i + 1}."
        return f"= {here}, given; it enters {into}", row_of("scores", i)
    if name == "kT":
        into = f"every score of column {j + 1}."
        return f"= {here}, given; it enters {into}", column_of("scores", j)
    if name == "v":
        return (
            f"= {here}, given; times a weight, it goes into column {j + 1} of every output.",
            column_of("output", j),
        )
    if name == "scores":
        return product("q", "kT")
    if name == "scaled":
        return f"= {text(steps['scores'][i][j])} / {root} = {here}", {("scores", i, j)}
    if name == "masked":
        who = f"query {i + 1} may attend to key {j + 1}."
        if mask[i][j]:
            return f"= scaled (row {i + 1}, column {j + 1}) = {here}: {who}", {("scaled", i, j)}
        return f"= −∞: {who.replace('may', 'may not')}", {("scaled", i, j)}
    if name == "weights":
        powers = [f"exp({text(s)})" for s in steps[before][i]]
        if not any(math.isfinite(s) for s in steps[before][i]):
            return "= 0: this query may attend to nothing, and gets zeros.", row_of(before, i)
        return f"= {powers[j]} / ({' + '.join(powers)}) = {here}", row_of(before, i)
    return product("weights", "v")


def expect_explained(page, steps, name, i, j, root="√2", mask=MASK):
    sentence, made = explained(steps, name, i, j, root, mask)
    expect(page.locator(".hydra-summary")).to_have_text(
        f"{NAMES.get(name, name)} (row {i + 1}, column {j + 1}) {sentence}"
    )
    flags = page.locator("table").evaluate_all(
        """tables => tables.map((table) => [...table.querySelectorAll("tbody td")]
            .map((cell) => cell.classList.contains("hydra-source")))"""
    )
    marked = {
        (table, *divmod(n, len(rows[0])))
        for (table, rows), cells in zip(steps.items(), flags, strict=True)
        for n, flag in enumerate(cells)
        if flag
    }
    assert marked == made
    current = page.locator("button[aria-current=true]")
    expect(current).to_have_count(1)
    label = f"{NAMES.get(name, name)} (row {i + 1}, column {j + 1}) = {text(steps[name][i][j])}"
    expect(current).to_have_attribute("aria-label", label)


@browser
@pytest.mark.parametrize("mask", [MASK, None])
def test_every_cell_by_click_and_hover(widget_page, mask):
    page = widget_page(TraceWidget(Q, K, V, mask))
    steps = expect_tables(page, mask, None, "√2")
    summary = page.locator(".hydra-summary")
    expect(summary).to_have_text("Point at a number to see what made it.")
    for name, matrix in steps.items():
        buttons = table_of(page, name).locator("button")
        for n in range(buttons.count()):
            i, j = divmod(n, len(matrix[0]))
            if n % 2:
                buttons.nth(n).click()
            else:
                buttons.nth(n).hover()
            expect_explained(page, steps, name, i, j, mask=mask)
    page.mouse.move(1, 1)  # away from the tables: back to the cell clicked last
    expect_explained(page, steps, "output", 2, 1, mask=mask)


@browser
def test_cells_by_keyboard(widget_page):
    page = widget_page(TraceWidget(Q, K, V, MASK))
    steps = expect_tables(page, MASK, None, "√2")
    page.keyboard.press("Tab")  # the steps
    page.keyboard.press("Tab")  # the next one
    for name in steps:  # one tab stop a table
        page.keyboard.press("Tab")
        expect_explained(page, steps, name, 0, 0)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect_explained(page, steps, "output", 1, 1)
    page.keyboard.press("ArrowRight")  # the edge holds
    expect_explained(page, steps, "output", 1, 1)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    expect_explained(page, steps, "output", 1, 0)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    expect_explained(page, steps, "weights", 0, 0)
    assert page.locator("button[tabindex='0']").count() == 8
    page.wait_for_url("**#trace.cell=weights.1.1")
    # A pointer that rests on a table does not hold the sentence against the keyboard.
    table_of(page, "q").locator("button").first.hover()
    page.keyboard.press("ArrowRight")
    expect_explained(page, steps, "weights", 0, 1)


VERBS = {
    "scores": "1 compare",
    "scaled": "2 scale",
    "masked": "3 mask",
    "weights": "4 normalize",
    "output": "5 mix",
}


def expect_done(page, step, mask):
    """The tables up to this step show their numbers, the later ones only their places."""
    made = [name for name in VERBS if mask or name != "masked"]
    radios = page.get_by_role("radio")
    expect(radios).to_have_count(len(made))
    expect(page.get_by_role("radio", name=VERBS[step])).to_be_checked()
    for name in ["q", "kT", "v", *made]:
        numbers = table_of(page, name).locator("button")
        later = name in made and made.index(name) > made.index(step)
        (expect(numbers.first).to_be_hidden if later else expect(numbers.first).to_be_visible)()
        expect(table_of(page, name)).to_have_class(
            re.compile("hydra-latest" if name == step else "^(?!.*hydra-latest)")
        )


@browser
@pytest.mark.parametrize("mask", [MASK, None])
def test_a_number_is_carried_through_the_steps(widget_page, mask):
    page = widget_page(TraceWidget(Q, K, V, mask, step=1, cell="scores.2.3"))
    steps = expect_tables(page, mask, None, "√2")
    expect_explained(page, steps, "scores", 1, 2, mask=mask)
    expect_done(page, "scores", mask)
    for name, verb in VERBS.items():
        if name not in steps:
            expect(page.get_by_role("radio", name=verb)).to_have_count(0)
            continue
        page.get_by_role("radio", name=verb).click()
        column = min(2, len(steps[name][0]) - 1)  # V has fewer columns than there are keys
        expect_explained(page, steps, name, 1, column, mask=mask)
        expect_done(page, name, mask)
    page.keyboard.press("ArrowLeft")  # back, by one
    expect_explained(page, steps, "weights", 1, 1, mask=mask)
    expect_done(page, "weights", mask)


@browser
def test_a_given_number_takes_no_step_and_a_later_one_does(widget_page):
    page = widget_page(TraceWidget(Q, K, V, MASK, step=2))
    steps = expect_tables(page, MASK, None, "√2")
    table_of(page, "v").locator("button").first.click()
    expect_explained(page, steps, "v", 0, 0)
    expect_done(page, "scaled", MASK)
    page.get_by_role("radio", name="3 mask").click()
    expect_explained(page, steps, "masked", 0, 0)
    follow(page, "#trace.cell=weights.2.1&trace.step=1")
    expect_explained(page, steps, "weights", 1, 0)
    expect_done(page, "weights", MASK)


@browser
def test_without_a_mask_there_is_no_third_step(widget_page):
    page = widget_page(TraceWidget(Q, K, V, step=3))
    expect_done(page, "scaled", None)


@browser
@pytest.mark.parametrize("mask", [None, ((1, 0), (1, 1))])
def test_next_goes_through_the_steps_and_begins_again(widget_page, mask):
    given = None if mask is None else torch.tensor(mask).bool()
    page = widget_page(TraceWidget(*(torch.eye(2) for _ in "qkv"), mask=given, step=1))
    steps = [verb for verb in VERBS.values() if mask or verb != "3 mask"]
    for verb in (*steps, *steps[:2]):
        expect(page.get_by_role("radio", name=verb)).to_be_checked()
        last = verb == steps[-1]
        page.get_by_role("button", name="begin again" if last else "next step").click()


@browser
def test_a_step_by_key_wins_over_the_pointer(widget_page):
    page = widget_page(TraceWidget(Q, K, V, MASK, step=1, cell="scores.1.1"))
    steps = expect_tables(page, MASK, None, "√2")
    page.get_by_role("radio", name="1 compare").focus()
    table_of(page, "q").locator("button").first.hover()
    expect_explained(page, steps, "q", 0, 0)
    page.keyboard.press("ArrowRight")
    expect_explained(page, steps, "scaled", 0, 0)


@browser
def test_links(widget_page):
    page = widget_page(TraceWidget(Q, K, V, MASK), fragment="#trace.cell=weights.2.1")
    steps = expect_tables(page, MASK, None, "√2")
    expect_explained(page, steps, "weights", 1, 0)
    expect(table_of(page, "weights").locator("button[tabindex='0']")).to_have_attribute(
        "aria-label", "weights (row 2, column 1) = 0.5875"
    )
    follow(page, "#trace.cell=scaled.3.2&trace.temperature=0.5")
    expect(page.locator("caption").filter(has_text="scaled")).to_have_text("scaled = scores / 0.5")
    steps = expect_tables(page, MASK, 0.5, "0.5")
    expect_explained(page, steps, "scaled", 2, 1, root="0.5")
    follow(page, "#trace.cell=scaled.3.2&trace.temperature=inf")
    steps = expect_tables(page, MASK, math.inf, "∞")
    expect_explained(page, steps, "scaled", 2, 1, root="∞")


@browser
def test_a_number_of_q_and_k_is_changed_and_all_of_it_taken_back(widget_page):
    page = widget_page(TraceWidget(Q, K, V, mask=MASK, cell="scores.1.1"))
    less, more, reset = (
        page.get_by_role("button", name=name, exact=True) for name in ("−1", "+1", "reset")
    )
    for button in (less, more, reset):
        expect(button).to_be_hidden()  # of what is computed nothing can be changed
    q, k = [list(row) for row in Q], [list(row) for row in K]
    table_of(page, "q").locator("button").nth(2).click()  # row 2, column 1
    page.mouse.move(0, 0)
    expect(page.get_by_role("group", name="change Q (row 2, column 1)")).to_be_visible()
    expect(reset).to_be_hidden()
    more.click()
    q[1][0] += 1
    expect_tables(page, MASK, None, "√2", q)
    less.click()
    less.click()
    q[1][0] -= 2
    steps = expect_tables(page, MASK, None, "√2", q)
    expect_explained(page, steps, "q", 1, 0)
    table_of(page, "kT").locator("button").nth(3).click()  # of K row 1, column 2
    page.mouse.move(0, 0)
    expect(page.get_by_role("group", name="change Kᵀ (row 2, column 1)")).to_be_visible()
    more.focus()
    press(page, "Enter", "Enter")
    k[0][1] += 2
    expect_tables(page, MASK, None, "√2", q, k)
    page.wait_for_url(lambda url: "trace.q=" in url and "trace.k=" in url)
    page.reload()
    page.wait_for_selector("[data-ready=trace]")
    expect_tables(page, MASK, None, "√2", q, k)
    more.focus()
    while more.is_enabled():
        press(page, "Enter")
        k[0][1] = min(9, k[0][1] + 1)
    assert k[0][1] == 9
    press(page, "Enter")  # there is no more, and the key still stands on it
    expect(more).to_be_focused()
    expect_tables(page, MASK, None, "√2", q, k)
    while less.is_enabled():
        less.click()
        k[0][1] = max(-9, k[0][1] - 1)
        drawn(page)
    assert k[0][1] == -9
    expect_tables(page, MASK, None, "√2", q, k)
    table_of(page, "output").locator("button").first.click()
    expect(more).to_be_hidden()
    reset.press("Enter")
    expect_tables(page, MASK, None, "√2")
    expect(reset).to_be_hidden()
    expect(page.get_by_role("button", name="begin again")).to_be_focused()
    table_of(page, "q").locator("button").nth(2).focus()
    press(page, "+", "+", "-", "a", "Control++", "Meta+-", "Alt+ArrowRight")  # on the number itself
    q, k = [list(row) for row in Q], [list(row) for row in K]
    q[1][0] += 1
    expect_tables(page, MASK, None, "√2", q, k)
    table_of(page, "output").locator("button").first.focus()
    press(page, "+")
    expect_tables(page, MASK, None, "√2", q, k)


@browser
def test_a_link_that_makes_no_sense_is_told_so(widget_page):
    page = widget_page(TraceWidget(Q, K, V))
    for asked in [
        *(f"cell={c}" for c in ("masked.1.1", "weights.0.1", "weights.1.4", "weights.1", "x.1.1")),
        *(f"cell={c}" for c in ("q.1.1.1", "q.01.1", "constructor.1.1", "7")),
        *(f"temperature={t}" for t in ("0", "-1", "hot", "5e-324", "1000001")),
        *(f"step={s}" for s in ("0", "6", "1.5", "mix")),
        *(f"{name}=[[1,2]]" for name in "qkv"),
        "q=[[1],[2],[3]]",
        "k=[[1,2],[3,4],[5,1000001]]",
        "mask=null",
        "name=x",
    ]:
        follow(page, f"#trace.{asked}")
        expect_refused(page, "trace", asked)
        expect_tables(page, None, None, "√2")
        expect(page.locator(".hydra-summary")).to_have_text(
            "Point at a number to see what made it."
        )


# --- words and colours ----------------------------------------------------------------------------

WORDS = ["a", "b", "c"]
PAINT = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["a", "b"], ValueError, "words must be one for each position, got 2 for 3 queries and 3"),
        (["a", "b", 3], TypeError, "words must be a list of str, got ['a', 'b', 3]"),
        ([10**5000], TypeError, "words must be a list of str, got list"),
    ],
)
def test_words_that_do_not_fit(words, error, message):
    with unhooked(), pytest.raises(error, match=re.escape(message)):
        TraceWidget(Q, K, V, words=words)


@browser
def test_words_stand_at_their_rows_and_columns(widget_page):
    page = widget_page(TraceWidget(Q, K, V, MASK, words=WORDS))

    def heads(caption, scope):
        table = page.locator(f"table:has(caption:text-matches('^{caption}'))")
        return table.locator(f"th[scope={scope}]").all_text_contents()

    assert heads("Q:", "row") == heads("scores", "row") == heads("output", "row") == WORDS
    assert heads("K", "col") == heads("weights", "col") == heads("masked", "col") == WORDS
    assert heads("Q:", "col") == heads("K", "row") == heads("V", "col") == ["1", "2"]
    expect(page.locator(".hydra-swatch")).to_have_count(0)  # V is no colours
    summary = page.locator(".hydra-summary")
    for name, n, said in (
        ("q", 2, "Q (b, 1) = 0.5, given; it enters every score of the query “b”."),
        ("kT", 2, "Kᵀ (1, c) = 2, given; it enters every score of the key “c”."),
        ("v", 3, "V (b, 2) = 1, given; times a weight, it goes into column 2 of every output."),
        ("masked", 1, "masked (a, b) = −∞: “a” may not attend to “b”."),
        ("masked", 3, "masked (b, a) = scaled (b, a) = 1.061: “b” may attend to “a”."),
    ):
        table_of(page, name).locator("button").nth(n).click()
        expect(summary).to_have_text(said)


@browser
@pytest.mark.parametrize("mask", [None, MASK, causal_mask(3)])
@pytest.mark.parametrize("temperature", [None, 2, math.inf])
def test_the_line_of_code_makes_the_table(widget_page, mask, temperature):
    """It is Python, and run with these q, k, v and mask it gives what the tables show."""
    page = widget_page(TraceWidget(Q, K, V, mask, temperature=temperature))
    code = page.locator(".hydra-python")
    place = {"q": torch.tensor(Q), "k": torch.tensor(K), "v": torch.tensor(V)}
    place |= {"sqrt": math.sqrt, "inf": math.inf}
    place["mask"] = None if mask is None else torch.as_tensor(mask)
    steps = attention.trace(*(place[x] for x in "qkv"), place["mask"], temperature=temperature)
    for name in ORDER:
        if name == "masked" and mask is None:
            continue
        table_of(page, name).locator("button").first.click()
        line = code.text_content()
        makes = {"q": "scores", "kT": "scores", "v": "output"}.get(name, name)
        assert line.startswith(f"{makes} = ")
        exec(line, place)
        torch.testing.assert_close(place[makes], getattr(steps, makes))


@browser
def test_signs_stand_between_the_tables(widget_page):
    page = widget_page(TraceWidget(Q, K, V, MASK), width=1280)
    signs = page.locator(".hydra-trace").evaluate_all(
        "all => all.map((one) => getComputedStyle(one, '::before').content.split(' ')[0])"
    )
    wanted = ["none", "@", "=", "→", "→", "→", "@", "="]
    assert signs == [sign if sign == "none" else f'"{sign}"' for sign in wanted]
    page.set_viewport_size({"width": 360, "height": 900})  # where no table has one beside it
    signs = page.locator(".hydra-trace").evaluate_all(
        "all => all.map((one) => getComputedStyle(one, '::before').content)"
    )
    assert set(signs) == {"none"}


@browser
def test_values_that_are_colours_mix(widget_page):
    page = widget_page(TraceWidget([[0.0]] * 3, [[0.0]] * 3, PAINT, [[True, True, False]] * 3))
    paints = page.locator(".hydra-swatch").evaluate_all(
        "dots => dots.map((dot) => getComputedStyle(dot).backgroundColor)"
    )
    values = ["rgb(255, 0, 0)", "rgb(0, 0, 255)", "rgb(0, 255, 0)"]
    assert paints == values + ["rgb(128, 0, 128)"] * 3  # half red, half blue


@browser
def test_the_row_is_drawn_after_each_step(widget_page):
    """Dashed to each key that is compared and allowed; then as wide as its weight, in its paint."""
    page = widget_page(TraceWidget(Q, K, PAINT, MASK, words=WORDS, cell="scores.2.2", step=1))
    drawing = page.get_by_role("group", name="The words")
    steps = attention.trace(*(torch.tensor(x).double() for x in (Q, K, PAINT)), torch.tensor(MASK))
    steps = {name: matrix.tolist() for name, matrix in steps._asdict().items()}
    colours = ["rgb(255, 0, 0)", "rgb(0, 0, 255)", "rgb(0, 255, 0)"]

    def expect_drawn(row, step, name, arcs, lit=None):
        drawn(page)
        numbers = [text(float(f"{x:.3g}")) for x in steps[name][row]]
        expect(drawing.locator(".hydra-share")).to_have_text(numbers)
        for kind in ("unweighed", "paint"):
            count = len(arcs) if (kind == "paint") == (step > 3) else 0
            expect(drawing.locator(f".hydra-{kind}")).to_have_count(count)
        strokes = drawing.locator(".hydra-unweighed, .hydra-paint").evaluate_all(
            """all => all.map((p) => [p.getAttribute("stroke-width"),
                p.getAttribute("stroke-opacity"), getComputedStyle(p).stroke])"""
        )
        for (width, opacity, stroke), j in zip(strokes, arcs, strict=True):
            assert float(opacity) == (1 if lit in (None, j) else 0.3)
            if step > 3:
                wide = max(0.6, 34 * steps[name][row][j])
                assert float(width) == pytest.approx(wide, abs=0.01)
                assert stroke == colours[j]
        pressed = drawing.get_by_role("button", pressed=True)
        expect(pressed).to_have_text(WORDS[row])
        expect(pressed).to_have_attribute("tabindex", "0")
        called = ["score", "scaled score", "masked score", "weight", "weight"][step - 1]
        told = f"value, word, {called} for “{WORDS[row]}”"
        expect(drawing.locator(".hydra-label").last).to_have_text(told)
        bold = drawing.locator(".hydra-share").evaluate_all(
            "all => all.map((one) => one.classList.contains('hydra-on'))"
        )
        assert bold == [j == lit for j in range(3)]
        ringed = drawing.locator(".hydra-swatch").evaluate_all(
            "all => all.map((dot) => dot.classList.contains('hydra-on'))"
        )
        assert ringed == [j == row for j in range(3)] + [j == lit for j in range(3)]
        outputs = drawing.locator(".hydra-swatch").evaluate_all(
            "all => all.slice(0, 3).map((dot) => getComputedStyle(dot).backgroundColor)"
        )
        paint = [f"rgb({', '.join(str(round(255 * x)) for x in c)})" for c in steps["output"]]
        assert outputs == (paint if step == 5 else ["rgb(255, 255, 255)"] * 3)

    def go(verb):
        page.get_by_role("radio", name=verb).check()

    expect_drawn(1, 1, "scores", [0, 1, 2], lit=1)
    go("2 scale")
    expect_drawn(1, 2, "scaled", [0, 1, 2], lit=1)
    go("3 mask")
    expect_drawn(1, 3, "masked", [0, 1], lit=1)
    go("4 normalize")
    expect_drawn(1, 4, "weights", [0, 1], lit=1)
    go("5 mix")
    expect_drawn(1, 5, "weights", [0, 1])
    for row, arcs in ((0, [0]), (2, [])):
        drawing.get_by_role("button", name=WORDS[row], exact=True).click()
        expect(page.locator(".hydra-summary")).to_contain_text(f"output ({WORDS[row]}, green)")
        expect_drawn(row, 5, "weights", arcs)
    table_of(page, "v").locator("button").nth(3).hover()  # a key of no row: the row stays
    expect_drawn(2, 5, "weights", [], lit=1)
    table_of(page, "weights").locator("button").nth(4).hover()
    expect_drawn(1, 5, "weights", [0, 1], lit=1)
    page.keyboard.press("ArrowLeft")  # from word to word, by key
    expect(drawing.get_by_role("button", name=WORDS[1])).to_be_focused()
    expect_drawn(1, 5, "weights", [0, 1])


def on_a_phone(widget_page):
    """The page's own margins leave a widget 328 of 360 pixels."""
    widget = TraceWidget(
        [[2, 0, 0, 0], [2, 2, 0, 0], [0, 2, 0, 2]],
        [[1, 0, 1, 0], [0, 2, 0, 0], [1, 1, 0, 0]],
        sentence.VALUES[:3],
        mask=causal_mask(3),
        words=sentence.WORDS[:3],
        cell="weights.3.2",
        step=4,
    )
    page = widget_page(widget, width=360)
    page.evaluate("document.querySelector('[data-ready]').style.width = '328px'")
    drawn(page)
    return page


@browser
@pytest.mark.parametrize("step", ["2 scale", "5 mix"])
def test_on_a_phone_every_number_takes_a_press_and_no_table_leaves(widget_page, step):
    page = on_a_phone(widget_page)
    page.get_by_role("radio", name=step).check()
    drawn(page)
    shown = [name for name in ORDER if table_of(page, name).is_visible()]
    for name in shown:
        for button in table_of(page, name).get_by_role("button").all():
            button.scroll_into_view_if_needed()
            before = button.evaluate("button => getComputedStyle(button).fontWeight")
            page.mouse.click(*middle(button))  # where it stood before the pointer came
            drawn(page)
            expect(button).to_have_attribute("aria-current", "true")
            assert [one for one in ORDER if table_of(page, one).is_visible()] == shown
            # A bold number is wider, and moves the next table.
            assert button.evaluate("button => getComputedStyle(button).fontWeight") == before


@browser
def test_on_a_phone_a_number_and_what_changes_it_are_on_one_screen(widget_page):
    page = on_a_phone(widget_page)
    page.set_viewport_size({"width": 360, "height": 500})
    page.get_by_role("radio", name="1 compare").check()
    widget = page.locator("[data-ready=trace]")
    before = widget.bounding_box()["height"]
    number = table_of(page, "q").locator("button").first
    number.scroll_into_view_if_needed()
    number.click()
    summary = page.locator(".hydra-summary")
    expect(summary).to_contain_text("given; it enters every score of the query “the”.")
    assert widget.bounding_box()["height"] == before  # the sentence has its room beside them
    spoken, tables = summary.bounding_box(), page.locator(".hydra-traced > .hydra-panels")
    assert spoken["y"] + spoken["height"] <= tables.bounding_box()["y"]  # and lies on none
    for button in ("−1", "+1"):
        expect(page.get_by_role("button", name=button, exact=True)).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="+1", exact=True).click()
    expect(number).to_have_text("3")


@browser
def test_an_output_of_the_drawing_chooses_its_word(widget_page):
    page = on_a_phone(widget_page)
    page.get_by_role("radio", name="5 mix").check()
    for at, word in ((0, "the"), (2, "slept"), (1, "cat")):
        page.locator(".hydra-words > .hydra-swatch").nth(at).click()  # the outputs stand first
        chosen = table_of(page, "output").locator("[aria-current=true]")
        expect(chosen).to_have_attribute("aria-label", re.compile(rf"^output \({word}, "))


@browser
def test_on_a_phone_the_way_back_covers_nothing(widget_page):
    page = on_a_phone(widget_page)
    above = page.locator(".hydra-traced .hydra-words").bounding_box()["y"]
    page.get_by_role("radio", name="1 compare").check()
    table_of(page, "q").locator("button").first.click()
    page.get_by_role("button", name="+1", exact=True).click()
    reset = page.get_by_role("button", name="reset")
    box = reset.bounding_box()
    for disc in page.locator(".hydra-words > .hydra-swatch").all():
        assert box["y"] + box["height"] <= disc.bounding_box()["y"]
    assert page.locator(".hydra-traced .hydra-words").bounding_box()["y"] == above
    reset.click()
    expect(reset).to_be_hidden()


@browser
def test_on_a_phone_the_steps_stand_together(widget_page):
    """Of each what it takes and makes, with the sum; what is tapped has 24 pixels a side."""
    page = on_a_phone(widget_page)
    steps = {
        "1 compare": ["q", "kT", "scores"],
        "2 scale": ["scores", "scaled"],
        "3 mask": ["scaled", "masked"],
        "4 normalize": ["masked", "weights"],
        "5 mix": ["weights", "v", "output"],
    }
    heights = set()
    for step, shown in steps.items():
        page.get_by_role("radio", name=step).check()
        drawn(page)
        assert [name for name in ORDER if table_of(page, name).is_visible()] == shown
        boxes = [table_of(page, name).bounding_box() for name in shown]
        assert round(boxes[0]["y"] + boxes[0]["height"]) == round(
            boxes[1]["y"] + boxes[1]["height"]
        )
        assert boxes[0]["x"] + boxes[0]["width"] < boxes[1]["x"]
        signs = [
            table_of(page, name).evaluate("one => getComputedStyle(one, '::before').content")
            for name in shown
        ]
        assert signs[0] == "none"
        assert "none" not in signs[1:]
        heads = table_of(page, shown[0]).locator("tbody th")  # the first says whose rows they are
        expect(heads).to_have_text(list(sentence.WORDS[:3]))
        assert float(heads.first.evaluate("one => parseFloat(getComputedStyle(one).fontSize)")) > 9
        for name in shown:
            for button in table_of(page, name).get_by_role("button").all():
                box = button.bounding_box()
                assert min(box["width"], box["height"]) >= 24, name
        heights.add(page.locator("[data-ready=trace]").bounding_box()["height"])
    assert len(heights) == 1
    assert heights.pop() < 820
    for name in ("v", "output"):  # of colours
        heads = table_of(page, name).locator("thead th")
        expect(heads).to_have_text(["red", "green", "blue"])
    page.get_by_role("radio", name="5 mix").check()
    expect(page.locator(".hydra-summary")).to_contain_text("output (slept, green) = ")
    for name in ("scaled", "masked", "v"):  # the names are still read aloud
        heads = table_of(page, name).locator("tbody th")
        assert [head.strip() for head in heads.all_text_contents()] == list(sentence.WORDS[:3])


@browser
def test_in_high_contrast_what_lies_over_the_tables_has_the_systems_paper(widget_page):
    page = widget_page(TraceWidget(Q, K, V))
    # As where the site is set to another theme than the system.
    page.evaluate("document.documentElement.style.setProperty('--pst-color-background', 'red')")
    paper = "(one) => getComputedStyle(one).backgroundColor"
    above = page.locator(".hydra-sticky")
    assert above.evaluate(paper) == "rgb(255, 0, 0)"
    page.emulate_media(forced_colors="active")
    assert above.evaluate(paper) == page.locator(".hydra").evaluate(paper) != "rgb(255, 0, 0)"
