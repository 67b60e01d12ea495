"""Figures take the colour of the text around them and say what they show; so does code."""

import re

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from hydra_lib import masking
from hydra_lib._checks import shown
from hydra_lib.figures import COLORS, figure, graph, ink, matrices, shades, themed
from hydra_lib.notebook import shader, source
from hydra_lib.parallel import RankFailedError
from tests.refusal import refuses

LAMBDA = lambda x: x  # noqa: E731


def draw():
    fig, ax = figure()
    ax.plot([0, 1], [0, 1])
    ax.set_title("title")
    return themed(fig, 'a "line" & more')


def test_ink_follows_the_page():
    svg = draw().svg
    assert "#000000" not in svg
    assert "currentColor" in svg
    assert "#ffffff" not in svg  # no paper of its own


def test_text_stays_text_and_has_an_alternative():
    picture = draw()
    assert ">title</text>" in picture.svg
    assert 'role="img" aria-label="a &quot;line&quot; &amp; more"' in picture.svg
    assert repr(picture) == 'Picture: a "line" & more'
    assert picture.svg in picture._repr_html_()


def test_a_figure_is_the_same_at_every_build():
    assert draw().svg == draw().svg


def test_places_have_two_digits_and_what_is_written_keeps_all(monkeypatch):
    fig, ax = figure()
    ax.plot([0, 1 / 3], [0, 2 / 3])
    ax.text(1 / 7, 1 / 9, "0.12345")
    svg = themed(fig, "0.98765 is said").svg
    assert ">0.12345</text>" in svg
    assert 'aria-label="0.98765 is said"' in svg
    monkeypatch.setattr(ink, "_hundredths", lambda number: number[0])
    exact = themed(fig, "0.98765 is said").svg
    paths, places = (
        [
            [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?", d)]
            for d in re.findall(r' d="(M[^"]*)"', text)
        ]
        for text in (exact, svg)
    )
    assert places == [[pytest.approx(x, abs=0.0051) for x in path] for path in paths]
    assert any(x != round(x, 2) for path in paths for x in path)
    assert all(x == round(x, 2) for path in places for x in path)


def test_ids_that_remain_are_used():
    svg = draw().svg
    for name in re.findall(r' id="([^"]+)"', svg):
        assert f"#{name}" in svg


def test_a_family_is_named_once_and_powers_inherit_it():
    fig, ax = figure()
    ax.set_yscale("log")
    ax.text(1, 1, "code", family="monospace")
    svg = themed(fig, "Axes.").svg
    assert "10" in svg
    assert "code" in svg
    families = re.findall(r"font-family[=:] ?\"?([^;\">]+)", svg)
    assert families[0] == "'DejaVu Sans', Verdana, sans-serif"
    assert len(families) == 2
    assert "Mono" in families[1]  # one that was asked for stays


@pytest.mark.parametrize(
    "draw",
    [
        lambda: themed(figure()[0], " "),
        lambda: matrices(("x", torch.ones(2)), alt=""),  # before anything is drawn
        lambda: graph({}, [], alt=""),
    ],
)
def test_no_alternative_is_an_error(draw):
    with pytest.raises(
        ValueError, match=r"^alt must say what the figure shows, got an empty text$"
    ):
        draw()


def test_cells_are_of_one_size_and_rows_lie_beside_each_other():
    """Whatever the lengths of the titles and the shapes of the matrices."""
    two, three = torch.ones(2, 3), torch.ones(3, 1)
    svg = matrices(
        ("a long title over two rows", two), "@", ("v", three), "=", ("w", two[:, :1]), alt="w"
    ).svg
    corner = r'<path d="M ([\d.]+) ([\d.]+) L ([\d.]+) [\d.]+ L [\d.]+ ([\d.]+) '
    pieces = [re.findall(corner, piece)[1:] for piece in svg.split("<svg")[1:]]  # first the paper
    assert [len(piece) for piece in pieces] == [6, 3, 2]
    cells = [tuple(map(float, found)) for piece in pieces for found in piece]
    sizes = {(round(right - left, 2), round(low - top, 2)) for left, top, right, low in cells}
    assert len(sizes) == 1
    assert sizes.pop() == pytest.approx((31.68, 31.68), abs=0.02)
    lines = sorted({round(low, 2) for *_, low in cells})
    assert len(lines) == 3


def test_a_matrix_of_few_rows_leaves_no_room_below_it_and_its_sign_stands_in_its_middle():
    """On a phone it has a line of its own."""
    svg = matrices(("tall", torch.ones(5, 1)), "=", ("flat", torch.ones(1, 1)), alt="two").svg
    tall, flat = svg.split("<svg")[1:]
    heights = [float(re.search(r'viewBox="0 0 \S+ (\S+)"', piece)[1]) for piece in (tall, flat)]
    assert heights[0] - heights[1] == pytest.approx(4 * 31.68, abs=0.02)
    found = re.findall(r'<text [^>]* y="(\S+)"[^>]*>([^<]+)</text>', flat)
    places = {text: float(y) for y, text in found}
    assert places["="] == pytest.approx(places["1"], abs=2)


def test_matrices_print_every_entry():
    svg = matrices(
        ("left", torch.tensor([[1.0, -0.5], [-torch.inf, 0.0]])),
        "=",
        ("right", torch.tensor([[0.333]])),
        alt="two matrices",
        highlight=0,
    ).svg
    for text in ("left", "=", "right", ">1<", ">−0.5<", ">−∞<", ">0<", ">0.33<"):
        assert text in svg, text


def test_a_sign_stays_with_the_matrix_after_it():
    a, b = (("a", torch.ones(1, 2)), ("b", torch.ones(1, 3)))
    svg = matrices(a, "@", "√", b, b, "+", alt="two signs, none, and one at the end").svg
    pieces = svg.split("<svg")[1:]
    texts = [re.findall(r">([^<0-9\s])</text>", piece) for piece in pieces]
    assert texts == [["a"], ["@", "√", "b"], ["b"], ["+"]]


def test_matrices_with_what_is_not_finite():
    svg = matrices(("odd", np.array([[np.nan, np.inf], [-2.0, 1e300]])), alt="odd").svg
    for text in (">NaN<", ">∞<", ">−2<"):
        assert text in svg, text
    blank = matrices(("nothing", torch.full((2, 2), torch.nan)), alt="nothing").svg
    assert blank.count(">NaN<") == 4


def test_matrices_shade_by_share_of_the_largest():
    svg = matrices(("two", torch.tensor([[4.0, -1.0, torch.inf]])), alt="two").svg
    assert re.findall(r"fill: (#\w+); opacity: ([\d.]+)", svg) == [
        (COLORS[1], "0.6"),
        (COLORS[0], "0.15"),
    ]  # and what is not shaded is not drawn


def test_a_long_title_widens_its_matrix():
    """It was cut at the edge of the picture."""

    def wide(title):
        svg = matrices((title, torch.eye(2)), alt="the identity").svg
        return float(re.search(r'viewBox="0 0 ([\d.]+) ', svg)[1])

    assert wide("x" * 40) > 40 * 4  # points: a letter of 10 is four wide at least
    assert wide("x") == wide("xx") < 100


def test_shades_are_the_share_of_the_largest():
    matrix = torch.tensor([[0.0, 1.0, -2.0]])
    image = shades(matrix)
    assert image.shape == (1, 3, 4)
    assert image[0, :, 3].tolist() == [0.0, 0.3, 0.6]
    assert [to_hex(x) for x in image[0, 1:, :3]] == [COLORS[1], COLORS[0]]
    assert shades(matrix, 4)[0, :, 3].tolist() == [0.0, 0.15, 0.3]
    assert shades(matrix, 1)[0, :, 3].tolist() == [0.0, 0.6, 0.6]  # no more than all of it
    assert not shades(torch.zeros(2, 2))[..., 3].any()


def test_matrices_colour_by_owner():
    owners = torch.tensor([[-1], [len(COLORS) + 1]])  # a column: each row has one owner
    svg = matrices(("two", torch.tensor([[4.0, -1.0], [0.0, torch.inf]]), owners), alt="two").svg
    assert re.findall(r"fill: (#\w+); opacity: ([\d.]+)", svg) == [(COLORS[1], "0.6")] * 2
    assert svg.count(">4<") == svg.count(">∞<") == 1


PLACES = {"x": (0, 0), "y": (3, 0)}


def test_a_graph_draws_each_arrow_from_its_start_to_its_end():
    # The heads of its arrows, by where the line of each ends; two for one that comes back.
    there = graph(PLACES, [("x", "y", "f")], alt="y is f of x").svg
    both = graph(PLACES, [("x", "y", "f", "df")], alt="y is f of x, and back").svg
    for text in (">x<", ">y<", ">f<"):
        assert there.count(text) == both.count(text) == 1
    assert ">df<" in both
    assert COLORS[1] not in there
    shafts = re.findall(
        r'<path d="M ([\d.]+) [\d.]+ Q [\d. ]+ ([\d.]+) [\d.]+ " [^>]*stroke: (\S+);', both
    )
    assert [color for *_, color in shafts] == ["currentColor", COLORS[1]]
    forward, back = ([float(x) for x in ends] for *ends, _ in shafts)
    assert forward[0] < forward[1]
    assert back == [pytest.approx(x, abs=2) for x in reversed(forward)]


GOOD = ("x", torch.ones(2, 3))
PAIRS = (
    "items must be signs, (title, matrix) and (title, matrix, owners), the matrix a tensor or "
    "array, got "
)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: shades([[1.0]]), TypeError, "matrix must be a torch tensor, got list"),
        (
            lambda: shades(torch.zeros(3)),
            ValueError,
            "matrix must have two axes and an entry, got shape (3,)",
        ),
        (
            lambda: shades(torch.zeros(2, 2).cfloat()),
            TypeError,
            "matrix must hold real numbers, got torch.complex64",
        ),
        (
            lambda: shades(torch.zeros(2, 2, device="meta")),
            ValueError,
            "matrix must hold numbers, got a meta tensor",
        ),
        (
            lambda: shades(torch.tensor([[1.0, float("nan")]])),
            ValueError,
            "matrix must be finite, got nan",
        ),
        (lambda: shades(torch.ones(2, 2), 0), ValueError, "largest must be positive, got 0"),
        (lambda: shades(torch.ones(2, 2), -1.0), ValueError, "largest must be positive, got -1.0"),
        (
            lambda: matrices(alt="x"),
            ValueError,
            "items must hold a matrix to draw, (title, matrix), got none",
        ),
        (
            lambda: matrices("=", alt="x"),
            ValueError,
            "items must hold a matrix to draw, (title, matrix), got none",
        ),
        (lambda: matrices(3, alt="x"), TypeError, PAIRS + "3"),
        (lambda: matrices(torch.ones(1), alt="x"), TypeError, PAIRS + "tensor([1.])"),
        (
            lambda: matrices(("x", np.ma.masked_array([[1.0]], [[True]])), alt="x"),
            TypeError,
            "items, 'x': must have no mask, got a masked array: fill what it hides",
        ),
        (lambda: matrices(("x", [[1.0]]), alt="x"), TypeError, PAIRS + "('x', [[1.0]])"),
        (
            lambda: matrices((*GOOD, torch.zeros(3), 1), alt="x"),
            TypeError,
            PAIRS + "('x', tensor([[1., 1., 1.], [1., 1., 1.]]), tensor([0., 0., 0.]), 1)",
        ),
        (
            lambda: matrices((*GOOD, [0, 0, 0]), alt="x"),
            TypeError,
            "items, 'x': owners must be a torch tensor, got list",
        ),
        (
            lambda: matrices((*GOOD, torch.zeros(3)), alt="x"),
            TypeError,
            "items, 'x': owners must be integers, got torch.float32",
        ),
        (
            lambda: matrices((*GOOD, torch.zeros(2).long()), alt="x"),
            ValueError,
            "items, 'x': owners must broadcast to (2, 3), got shape (2,)",
        ),
        (
            lambda: matrices(("x", torch.ones(2, 1), torch.zeros(3).long()), alt="x"),
            ValueError,
            "items, 'x': owners must broadcast to (2, 1), got shape (3,)",
        ),
        (
            lambda: matrices(("x", torch.ones(2)), alt="x"),
            ValueError,
            "items, 'x': must have two axes and an entry, got shape (2,)",
        ),
        (
            lambda: matrices(("x", torch.ones(0, 2)), alt="x"),
            ValueError,
            "items, 'x': must have two axes and an entry, got shape (0, 2)",
        ),
        (
            lambda: matrices(("x", torch.ones(2, 2) * 1j), alt="x"),
            TypeError,
            "items, 'x': must hold real numbers, got torch.complex64",
        ),
        (
            lambda: matrices(("x", torch.ones(7, 351)), ("y", torch.ones(11, 5)), alt="x"),
            ValueError,
            "items must have at most 2,500 entries, got 2,512: a larger matrix is an image, "
            "imshow(shades(matrix))",
        ),
        (
            lambda: matrices(GOOD, alt="x", digits=-1),
            ValueError,
            "digits must be an integer from 0 to 17, got -1",
        ),
        (
            lambda: matrices(GOOD, ("y", torch.ones(1, 3)), alt="x", highlight=1),
            ValueError,
            "highlight must be an integer from 0 to 0, got 1",
        ),
        (
            lambda: graph(PLACES, [("x", "z", "f")], alt="x"),
            ValueError,
            "arrows must join x, y, got 'z'",
        ),
        (
            lambda: graph(PLACES, [("x", "y")], alt="x"),
            TypeError,
            "arrows must be (start, end, text) or (start, end, text, text), got ('x', 'y')",
        ),
        (
            lambda: graph(PLACES, [("x", "x", "f")], alt="x"),
            ValueError,
            "arrows must join two places, got 'x' and 'x'",
        ),
        (
            lambda: graph({"x": 1}, [], alt="x"),
            TypeError,
            "places must map names to (x, y), got 'x': 1",
        ),
        (
            lambda: graph({}, [], alt="x"),
            ValueError,
            "places must hold a name to draw, {name: (x, y)}, got none",
        ),
        (lambda: figure(0), ValueError, "rows must be an integer from 1 to 100, got 0"),
        (lambda: figure(1, "2"), ValueError, "columns must be an integer from 1 to 100, got '2'"),
        (lambda: figure(width=-1), ValueError, "width must be from 0.1 to 100 inches, got -1"),
        (
            lambda: figure(height=10**30),
            ValueError,
            "height must be from 0.1 to 100 inches, got 1" + "0" * 30,
        ),
        (
            lambda: figure(height=torch.inf),
            ValueError,
            "height must be from 0.1 to 100 inches, got inf",
        ),
        (
            lambda: figure(figsize=(3, 3)),
            TypeError,
            "figure has no option 'figsize', only columns, gridspec_kw, height, height_ratios, "
            "rows, sharex, sharey, squeeze, subplot_kw, width, width_ratios",
        ),
        (
            lambda: themed(figure(), "x"),
            TypeError,
            "fig must be a matplotlib Figure, the first of the two that figure() returns, "
            "got tuple",
        ),
        (lambda: themed(figure()[0], None), TypeError, "alt must be a str, got NoneType"),
        (
            lambda: source(len),
            TypeError,
            "things must be functions or classes written in Python, got "
            "builtin_function_or_method <built-in function len>",
        ),
        (
            lambda: shader("../ui"),
            ValueError,
            "name must be one of attention_fused, attention_mix, attention_scores, "
            "attention_softmax, copy, matmul_blocked, matmul_naive, matmul_tiled, got '../ui'",
        ),
        (
            lambda: source(masking),
            TypeError,
            f"things must be functions or classes written in Python, got module {shown(masking)}",
        ),
        (
            lambda: source(3),
            TypeError,
            "things must be functions or classes written in Python, got int 3",
        ),
        (
            lambda: source(LAMBDA),
            TypeError,
            f"things must be functions or classes written in Python, got function {shown(LAMBDA)}",
        ),
    ],
)
def test_bad_input(call, error, message):
    with refuses(error, message):
        call()


def test_cells_are_as_wide_as_their_longest_number_and_titles_no_formulas():
    widths = [
        float(re.search(r'viewBox="0 0 ([\d.]+) ', matrices(("a $ and $", m), alt="x").svg)[1])
        for m in (torch.tensor([[0.25, -0.5]]), torch.tensor([[1000.25, -0.5]]))
    ]
    gap = 72 * 0.16
    assert (widths[1] - gap) / (widths[0] - gap) == pytest.approx(7 / 5, rel=1e-3)
    assert "a $ and $" in matrices(("a $ and $", torch.eye(2)), alt="x").svg


def test_options_go_to_the_axes():
    _, axes = figure(2, 3, sharex=True, squeeze=False)
    assert axes.shape == (2, 3)


# fmt: off
def on_one_line(x): "Twice."; return 2 * x  # noqa: E702
# fmt: on


def test_source_is_code_without_docstrings():
    assert 'def on_one_line(x): "Twice."; return 2 * x' in source(on_one_line).data
    text = source(masking.causal_mask, masking.apply_mask).data
    assert text.startswith("```python\ndef causal_mask(")
    assert "return window_mask(length, length)" in text
    assert "def apply_mask(" in text
    assert '"""' not in text
    assert "class RankFailedError(RuntimeError):\n    pass" in source(RankFailedError).data
    compile(text.removeprefix("```python\n").removesuffix("```"), "source", "exec")


def test_source_keeps_what_stands_below_a_function_in_a_function():
    class Two:
        def first(self):
            def inner():
                """Said within."""
                return 1

            return inner

        def second(self):
            """Said later."""
            return 2

    text = source(Two).data
    assert '"""' not in text
    assert "return 1" in text
    assert text.endswith("def second(self):\n        return 2\n```")


def test_source_has_no_notes_to_the_formatter():
    def marked(x):
        return [x,
                x]  # fmt: skip

    text = source(marked).data
    assert text == "```python\ndef marked(x):\n    return [x,\n            x]\n```"


def test_a_shader_is_shown_as_it_is():
    text = shader("copy").data
    assert text.startswith("```wgsl\n// y = x")
    assert text.endswith("}\n```")


@pytest.mark.parametrize(
    ("inches", "least"), [(5.0, (288, 259)), (7.2, (415, 373)), (12.0, (691, 622))]
)
def test_five_inches_fit_on_a_phone(inches, least):
    """A page 360 px wide leaves 328 for what it shows; what is wider than 26 rem keeps half."""
    fig, _ = figure(width=inches)
    smallest = "min({}px,max(26rem,{}px))".format(*least)
    shown = f"width:{1.2 * 96 * inches:.0f}px;height:auto;max-width:max(100%,{smallest})"
    assert shown in themed(fig, "Axes without a curve.").svg


def row_of_charts(columns=2, width=7.0, **options):
    fig, axes = figure(1, columns, width=width, **options)
    for at, ax in enumerate(axes):
        ax.plot([0, 1], [0, at + 1])
        ax.set(title=f"chart {at}", ylabel=f"y of {at}")
    return fig, axes


@pytest.mark.long
def test_charts_of_a_row_are_pieces_that_make_the_whole():
    fig, axes = row_of_charts(3)
    picture = themed(fig, "Three lines & more.")
    head = '<div role="img" aria-label="Three lines &amp; more." style="display:flex;'
    assert picture.svg.startswith(head)
    pieces = picture.svg.split("<svg")[1:]
    assert len(pieces) == 3
    assert 'role="img"' not in "".join(pieces)  # they are read as one
    boxes = [re.search(r'viewBox="0 0 (\S+) (\S+)"', piece).groups() for piece in pieces]
    widths, heights = zip(*[(float(w), float(h)) for w, h in boxes], strict=True)
    assert sum(widths) == pytest.approx(7 * 72, abs=0.01)
    assert heights == pytest.approx([3 * 72] * 3, abs=0.01)
    for at, piece in enumerate(pieces):
        shown = [n for n in range(3) if f">chart {n}</text>" in piece]
        assert shown == [at] == [n for n in range(3) if f">y of {n}</text>" in piece]
    assert all(ax.get_visible() for ax in axes)


def one_legend(fig, axes):
    fig.legend(["line"])


def one_title(fig, axes):
    fig.suptitle("both")


def spanned():
    fig, axes = figure(2, 2, width=7.0)
    grid = axes[0, 0].get_gridspec()
    for ax in axes[0]:
        ax.remove()
    fig.add_subplot(grid[0, :])
    return fig, fig.axes


def one_chart():
    fig, ax = figure(width=7.0)
    return fig, [ax]


@pytest.mark.parametrize(
    ("draw", "change"),
    [
        (one_chart, None),
        (lambda: row_of_charts(width=5.0), None),  # fits as it is
        (lambda: row_of_charts(sharey=True), None),  # the second has no numbers of its own
        (lambda: figure(2, 1, width=7.0), None),
        (spanned, None),  # a chart as wide as the two below it
        (row_of_charts, one_legend),
        (row_of_charts, one_title),
    ],
)
def test_what_charts_share_keeps_them_in_one_piece(draw, change):
    fig, axes = draw()
    if change:
        change(fig, axes)
    picture = themed(fig, "Lines.")
    assert picture.svg.count("<svg") == 1
    assert picture.svg.startswith('<svg fill="currentColor" role="img" aria-label="Lines."')


@pytest.mark.long
def test_shared_numbers_that_every_chart_shows_cut_nothing_off():
    fig, axes = row_of_charts(sharey=True)
    for ax in axes:
        ax.tick_params(labelleft=True)
    assert themed(fig, "Lines.").svg.count("<svg") == 2


def alone(shown):
    head = "<meta name=viewport content='width=device-width'><link rel=icon href='data:,'>"
    return f"<!doctype html><title>a figure</title>{head}<body style='margin:0'>{shown}"


@pytest.mark.browser
@pytest.mark.parametrize(("width", "lines"), [(320, 2), (360, 2), (544, 2), (560, 1), (900, 1)])
def test_charts_stand_below_each_other_where_there_is_no_room(open_page, address_of, width, lines):
    fig, _ = row_of_charts(width_ratios=(2, 3))
    shown = themed(fig, "Two lines.")._repr_html_()
    page = open_page(address_of(alone(shown)), width=width)
    charts = page.locator("svg")
    first, second = (charts.nth(n).bounding_box() for n in range(2))
    assert len({first["y"], second["y"]}) == lines
    row = page.locator(".themed").evaluate("e => [e.scrollWidth, e.clientWidth]")
    assert row == [width, width]  # nothing scrolls
    if width > 320:  # where the wider one has room
        assert first["height"] == pytest.approx(second["height"], rel=0.01)  # at one scale
    if lines == 1:  # and no larger than a fifth more than their inches
        scales = [box["width"] / box["height"] * 3 for box in (first, second)]
        assert sum(scales) == pytest.approx(7, rel=0.01)
        assert first["width"] + second["width"] < 1.2 * 7 * 96 + 2


@pytest.mark.long
def test_a_column_of_charts_stays_together():
    fig, axes = figure(2, 3, width=7.0)
    for at, ax in enumerate(axes.flat):
        ax.set_title(f"chart {at}")
    pieces = themed(fig, "Six charts.").svg.split("<svg")[1:]
    assert [re.findall(r">chart (\d)</text>", piece) for piece in pieces] == [
        ["0", "3"],
        ["1", "4"],
        ["2", "5"],
    ]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("width", "lines", "letter"),
    [(328, [0, 0, 1], 9.8), (390, [0, 0, 1], 9.8), (688, [0, 0, 0], 14)],
)
def test_a_line_of_matrices_is_broken_before_its_letters_are_small(
    open_page, address_of, width, lines, letter
):
    square = torch.ones(5, 5)
    shown = matrices(
        ("weights", square), "@", ("x", square[:, :2]), "=", ("y", square[:, :2]), alt="a product"
    )._repr_html_()
    page = open_page(address_of(alone(shown)), width=width)
    pieces = page.locator("svg").all()
    boxes = [piece.bounding_box() for piece in pieces]
    tops = sorted({box["y"] for box in boxes})
    assert [tops.index(box["y"]) for box in boxes] == lines
    heights = [box["height"] for box in boxes]
    assert heights == pytest.approx([heights[0]] * 3, rel=0.01)
    scale = "e => e.getScreenCTM().a * parseFloat(getComputedStyle(e).fontSize)"
    drawn = page.locator("text", has_text="1").first.evaluate(scale)
    assert letter <= drawn < letter + 1
    assert page.locator(".themed").evaluate("e => e.scrollWidth <= e.clientWidth")


@pytest.mark.browser
def test_a_matrix_that_is_too_wide_scrolls_from_its_first_column(open_page, address_of):
    wide = matrices(("wide", torch.ones(1, 20)), alt="twenty ones")._repr_html_()
    page = open_page(address_of(alone(wide)), width=360)
    assert page.locator(".themed").evaluate("e => e.scrollWidth > 1.4 * e.clientWidth")
    assert page.locator("svg").bounding_box()["x"] == 0
