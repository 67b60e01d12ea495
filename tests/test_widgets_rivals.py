"""Distributions of one mean energy: arithmetic against the library, every control, links."""

import json
import math
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import entropy, mean_energy, probabilities
from hydra_lib.widgets import RivalsWidget
from hydra_lib.widgets._base import SettingError
from tests.conftest import drag, drawn, expect_refused, follow, in_javascript, middle, press, swipe

browser = pytest.mark.browser
SCORES = torch.tensor([2.0, 1.0, 0.0], dtype=torch.float64)
ENERGIES = [0.01 * step - 2 for step in range(201)]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"U": -2.1}, "U must be a number from -2 to 0, got -2.1"),
        ({"U": math.nan}, "U must be a number from -2 to 0, got nan"),
        ({"along": 1.5}, "along must be a number from 0 to 1, got 1.5"),
        ({"measure": "variance"}, "measure must be entropy or gini, got 'variance'"),
    ],
)
def test_bad_settings(setting, message):
    with pytest.raises(SettingError, match=f"^{re.escape(message)}$"):
        RivalsWidget(**setting)


def test_softmax_of_a_mean_energy_is_the_library_s():
    taus = [0.0, 0.05, 0.2, 1.0, 1.7, 30.0, math.inf]
    energies = [mean_energy(SCORES, tau).item() for tau in taus]
    got = json.loads(in_javascript("rivals.js", "[m.softmaxOf(c), m.temperatureOf(c)]", energies))
    for tau, (p, found) in zip(taus, got, strict=True):
        torch.testing.assert_close(
            torch.tensor(p, dtype=torch.float64), probabilities(SCORES, tau), rtol=1e-9, atol=1e-15
        )
        assert float(found) == pytest.approx(tau, rel=1e-7)
    # Above the plain average: the same with the scores turned round.
    turned = json.loads(in_javascript("rivals.js", "[m.softmaxOf(-2 - c), m.temperatureOf(-2 - c)]",
                                   energies[:5]))  # fmt: skip
    for (p, tau), (q, found) in zip(got, turned, strict=False):
        assert (q, float(found)) == (pytest.approx(p[::-1]), pytest.approx(float(tau)))


def sparsemax(scores):
    top = scores.sort(descending=True).values
    thresholds = (top.cumsum(0) - 1) / torch.arange(1, len(top) + 1)
    return (scores - thresholds[top > thresholds][-1]).clamp(min=0)


def test_sparsemax_of_a_mean_energy_is_sparsemax():
    expected = [sparsemax(SCORES / tau) for tau in (0.3, 0.9, 1.1, 2.9, 3.1, 7.0)]
    energies = [-(p @ SCORES).item() for p in expected]
    got = json.loads(in_javascript("rivals.js", "m.sparsemaxOf(c)", energies))
    for p, q in zip(expected, got, strict=True):
        assert q == pytest.approx(p.tolist(), abs=1e-9)
    assert [min(q) == 0 for q in got] == [True, True, True, True, False, False]


def test_a_line_holds_the_distributions_of_its_mean_energy():
    cases = [[U, step / 20] for U in ENERGIES for step in range(21)]
    expression = "(p => [p, m.alongOf(c[0], p[1])])(m.weightsAt(...c))"
    got = json.loads(in_javascript("rivals.js", expression, cases))
    for (U, along), (p, found) in zip(cases, got, strict=True):
        assert min(p) >= 0
        assert sum(p) == pytest.approx(1, abs=1e-12)
        assert -2 * p[0] - p[1] == pytest.approx(U, abs=1e-12)
        corner = U in (ENERGIES[0], ENERGIES[-1])
        assert found == (0 if corner else pytest.approx(along, abs=1e-9))
    ends = json.loads(in_javascript("rivals.js", "m.alongOf(...c)", [[-1.5, -1], [-1.5, 0.7]]))
    assert ends == [0, 1]  # a pointer outside the triangle


def test_no_rival_is_better():
    generator = torch.Generator().manual_seed(1)
    cases = torch.rand(1000, 2, generator=generator, dtype=torch.float64)
    U, along = -2 * cases[:, 0], cases[:, 1]
    cases = torch.stack([U, along], dim=1).tolist()
    middle = along * (1 - (U + 1).abs())
    q = torch.stack([(-U - middle) / 2, middle, (2 + U - middle) / 2], dim=1)
    expression = """['entropy', 'gini'].map((k) =>
        [m.weightsAt(...c), m.MEASURES[k].best(c[0])].map(m.MEASURES[k].of))"""
    got = torch.tensor(
        json.loads(in_javascript("rivals.js", expression, cases)), dtype=torch.float64
    )
    own, best = got.unbind(dim=2)
    torch.testing.assert_close(own[:, 0], torch.special.entr(q).sum(dim=1), rtol=0, atol=1e-9)
    torch.testing.assert_close(own[:, 1], (1 - q.square().sum(dim=1)) / 2, rtol=0, atol=1e-9)
    assert (best >= own - 1e-12).all()
    assert (best > own + 1e-3).float().mean() > 0.9


def test_a_weight_of_nothing_adds_nothing():
    cases = [[1, 0, 0], [0, 0.5, 0.5]]
    expression = "['entropy', 'gini'].map((k) => m.MEASURES[k].of(c))"
    (corner, edge) = json.loads(in_javascript("rivals.js", expression, cases))
    assert corner == [0, 0]
    assert edge == pytest.approx([math.log(2), 0.25])


def test_contours_are_where_a_measure_has_one_value():
    most = {"entropy": entropy(torch.zeros(3)).item(), "gini": 1 / 3}
    cases = [[name, share * most[name], 60] for name in most for share in (0.2, 0.5, 0.9)]
    got = json.loads(in_javascript("rivals.js", "m.contour(...c)", cases))
    tops = json.loads(in_javascript("rivals.js", "m.MEASURES[c].most", list(most)))
    assert tops == pytest.approx(list(most.values()))
    for (name, level, count), points in zip(cases, got, strict=True):
        p = torch.tensor(points, dtype=torch.float64)
        assert p.shape == (count, 3)
        torch.testing.assert_close(p.sum(dim=1), torch.ones(count, dtype=torch.float64))
        values = (
            torch.special.entr(p).sum(dim=1)
            if name == "entropy"
            else (1 - p.square().sum(dim=1)) / 2
        )
        corners = 2 * torch.pi * torch.arange(3, dtype=torch.float64) / 3
        turned = torch.atan2(p @ corners.sin(), p @ corners.cos())  # all around the middle, evenly
        wanted = 2 * torch.pi * torch.arange(count, dtype=torch.float64) / count
        torch.testing.assert_close(
            torch.exp(1j * turned), torch.exp(1j * wanted), rtol=0, atol=1e-9
        )
        inner = p.min(dim=1).values > 1e-9
        torch.testing.assert_close(values[inner], torch.full_like(values[inner], level))
        # Where the edge of the triangle is met first, more is left there.
        assert (values[~inner] >= level - 1e-9).all()
        assert inner.any()
    assert (torch.tensor(got[2]).min(dim=1).values > 0).all()


# --- the page ---------------------------------------------------------------------------------

TALL = 204 * math.sqrt(3) / 2


def shown(page):
    """Where the two marks stand in the triangle, as (U, middle weight), and beside it."""
    marks = page.evaluate("""["hydra-ring", "hydra-dot"].flatMap((kind) =>
        [...document.querySelectorAll(`.hydra-simplex .${kind}`)].map((mark) =>
            ["cx", "cy"].map((name) => Number(mark.getAttribute(name)))))""")
    ring, ring_beside, dot, dot_beside = [
        [(x - 12) / 102 - 2, (TALL + 26 - y) / TALL, (x - 236) / 78] for x, y in marks
    ]
    for here, beside in ((ring, ring_beside), (dot, dot_beside)):
        assert here[1] == pytest.approx(beside[1])
    return {"best": (*ring[:2], ring_beside[2]), "own": (*dot[:2], dot_beside[2])}


def expect_rows(page, own, best):
    expect(page.locator(".hydra-rivals tbody td")).to_have_text(
        [f"{x:.3f}" for row in (own, best) for x in row]
    )


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_what_is_drawn_is_what_is_said(widget_page, width):
    page = widget_page(RivalsWidget(U=-1.5, along=0.9), width=width)
    # U = −1.5: x = (√3.25 − 0.5) / 3, and softmax is (1, x, x²) over its sum.
    x = (math.sqrt(3.25) - 0.5) / 3
    p = [w / (1 + x + x * x) for w in (1, x, x * x)]
    S = -sum(w * math.log(w) for w in p)
    own = [0.525, 0.45, 0.025]
    own_S = -sum(w * math.log(w) for w in own)
    expect_rows(page, [*own, own_S], [*p, S])
    expect(page.locator(".hydra-summary")).to_have_text(
        f"softmax at τ = {-1 / math.log(x):.3g} has S = {S:.3f}, yours {own_S:.3f}, "
        f"{S - own_S:.3f} less.".capitalize().replace(" s =", " S =")
    )
    expect(page.locator(".hydra-rivals th")).to_have_text(
        ["weights", "key 1", "key 2", "key 3", "S", "yours", "softmax"]
    )
    marks = shown(page)
    assert marks["own"] == pytest.approx((-1.5, 0.45, own_S / math.log(3)))
    assert marks["best"] == pytest.approx((-1.5, p[1], S / math.log(3)))
    # Softmax's curve runs from the corner to the middle, through its mark; the rest is dotted.
    curves = page.evaluate("""["polyline.hydra-line:not(.hydra-beyond)", "polyline.hydra-beyond"]
        .map((which) => document.querySelector(which).getAttribute("points").split(" ")
            .map((point) => point.split(",").map(Number)))""")
    first, middle = [12, TALL + 26], [114, TALL + 26 - TALL / 3]
    assert curves[0][0] == pytest.approx(first, abs=0.06)
    assert curves[0][-1] == pytest.approx(middle, abs=0.06)
    assert curves[0][50] == pytest.approx([63, TALL + 26 - TALL * p[1]], abs=0.06)
    assert curves[1][0] == pytest.approx(middle, abs=0.06)
    assert curves[1][-1] == pytest.approx([216, TALL + 26], abs=0.06)
    # The line runs from the foot to the edge; beside it all its entropies, from foot to top.
    upright = page.locator(".hydra-simplex line.hydra-rule").first
    ends = [float(upright.get_attribute(name)) for name in ("x1", "y1", "x2", "y2")]
    assert ends == pytest.approx([63, TALL + 26 - TALL * 0.5, 63, TALL + 26])
    points = page.locator(".hydra-measure").get_attribute("points").split(" ")
    measured = [tuple(map(float, point.split(","))) for point in points]
    assert len(measured) == 81
    for share, (x, y) in zip((0, 0.5, 1), measured[::40], strict=True):
        q = [(1.5 - share / 2) / 2, share / 2, (0.5 - share / 2) / 2]
        S = -sum(w * math.log(w) for w in q if w)
        beside = [236 + 78 * S / math.log(3), TALL + 26 - TALL * share / 2]
        assert [x, y] == pytest.approx(beside, abs=0.06)
    shades = page.locator(".hydra-rivals td.hydra-heat").evaluate_all(
        "all => all.map(cell => parseFloat(cell.style.getPropertyValue('--heat')))"
    )
    assert shades == pytest.approx([100 * w for w in (*own, *p)], abs=0.051)
    # Each contour holds the distributions of one entropy, at even steps of it.
    levels = page.evaluate("""[...document.querySelectorAll(".hydra-contour")].map((one) =>
        one.getAttribute("points").split(" ").map((point) => point.split(",").map(Number))[0])""")
    for i, (x, y) in enumerate(levels, start=1):
        middle = (TALL + 26 - y) / TALL
        q = [(2 - (x - 12) / 102 - middle) / 2, middle, ((x - 12) / 102 - middle) / 2]
        S = -sum(w * math.log(w) for w in q if w > 0)
        assert pytest.approx(i * math.log(3) / 7, abs=0.01) == S or min(q) < 0.001
    assert len(levels) == 6
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@browser
def test_another_measure_has_another_best(widget_page):
    page = widget_page(RivalsWidget(U=-1.8, along=0.4))
    page.get_by_role("radio", name="G = ½(1 − Σ q²)").click()
    drawn(page)
    # On the edge, where key 3 gets nothing.
    expect_rows(page, [0.86, 0.08, 0.06, 0.1252], [0.8, 0.2, 0, 0.16])
    expect(page.locator(".hydra-summary")).to_have_text(
        "Sparsemax has G = 0.160, yours 0.125, 0.035 less."
    )
    expect(page.locator(".hydra-rivals th")).to_have_text(
        ["weights", "key 1", "key 2", "key 3", "G", "yours", "sparsemax"]
    )
    expect(page.get_by_role("group", name="Measured by")).to_be_visible()
    labels = page.locator(".hydra-simplex text")
    expect(labels.nth(-2)).to_have_text("⅓")
    expect(labels.last).to_have_text("G")
    assert shown(page)["best"] == pytest.approx((-1.8, 0.2, 0.48))
    page.get_by_role("radio", name="entropy S").click()
    expect(page.locator(".hydra-rivals th").last).to_have_text("softmax")
    expect(labels.nth(-2)).to_have_text("ln 3")


@browser
def test_by_keys_and_by_sliders(widget_page):
    page = widget_page(RivalsWidget(U=-1, along=1 / 3))
    summary = page.locator(".hydra-summary")
    expect(summary).to_have_text("You stand on softmax at τ = ∞: S = 1.099.")
    page.get_by_role("slider", name="Mean energy U").focus()
    press(page, "ArrowRight")
    turned = "You stand on softmax (of the negated scores) at τ = "
    expect(summary).to_have_text(f"{turned}66.7: S = 1.099.")
    press(page, "End")
    expect(summary).to_have_text(f"{turned}0: S = 0.000.")
    press(page, "Home")
    expect(summary).to_have_text("You stand on softmax at τ = 0: S = 0.000.")
    drag(page, "Mean energy U", 0.5)
    drag(page, "Height", 1)
    expect_rows(page, [0, 1, 0, 0], [1 / 3, 1 / 3, 1 / 3, math.log(3)])
    expect(summary).to_have_text("Softmax at τ = ∞ has S = 1.099, yours 0.000, 1.099 less.")
    drag(page, "Height", 0)
    expect_rows(page, [0.5, 0, 0.5, math.log(2)], [1 / 3, 1 / 3, 1 / 3, math.log(3)])
    page.wait_for_url("**#rivals.along=0")
    page.reload()
    page.wait_for_selector("[data-ready=rivals]")
    expect_rows(page, [0.5, 0, 0.5, math.log(2)], [1 / 3, 1 / 3, 1 / 3, math.log(3)])


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_the_point_follows_the_pointer_and_stays_in_the_triangle(widget_page, width):
    page = widget_page(RivalsWidget(), width=width)
    picture = page.locator(".hydra-simplex svg")
    handle = page.locator(".hydra-handle")
    handle.scroll_into_view_if_needed()
    frame, held = picture.bounding_box(), handle.bounding_box()
    unit = frame["width"] / 326

    def to(U, middle):
        page.mouse.move(
            frame["x"] + unit * (12 + 102 * (U + 2)),
            frame["y"] + unit * (TALL + 26 - TALL * middle),
            steps=3,
        )

    page.mouse.move(held["x"] + held["width"] / 2, held["y"] + held["height"] / 2)
    page.mouse.down()
    to(-1.2, 0.5)
    drawn(page)
    assert shown(page)["own"][:2] == pytest.approx((-1.2, 0.5), abs=0.02)
    to(-1.2, -0.3)  # below the triangle
    drawn(page)
    assert shown(page)["own"][:2] == pytest.approx((-1.2, 0), abs=0.02)
    to(-2.08, 0.5)  # left of it: the corner
    drawn(page)
    assert shown(page)["own"][:2] == pytest.approx((-2, 0), abs=0.001)
    to(0.2, 0.1)  # right of it
    drawn(page)
    assert shown(page)["own"][:2] == pytest.approx((0, 0), abs=0.001)
    to(-0.4, 0.2)
    drawn(page)
    where = page.locator(".hydra-handle, .hydra-simplex .hydra-dot").evaluate_all(
        "all => all.map((one) => ['cx', 'cy'].map((name) => one.getAttribute(name)))"
    )
    assert where[0] == where[2]  # what is held stays under the point; between them stands S's dot
    page.mouse.up()
    to(-1, 0.2)  # let go
    drawn(page)
    assert shown(page)["own"][:2] == pytest.approx((-0.4, 0.2), abs=0.02)


@browser
def test_a_link_that_makes_no_sense_is_told_so(widget_page):
    page = widget_page(RivalsWidget())
    for asked in ["U=-3", "along=2", "measure=S", "name=x"]:
        follow(page, f"#rivals.{asked}")
        expect_refused(page, "rivals", asked)


@browser
def test_links(widget_page):
    page = widget_page(RivalsWidget(), fragment="#rivals.measure=gini&rivals.U=-1.8")
    expect(page.locator(".hydra-rivals th").last).to_have_text("sparsemax")
    follow(page, "#rivals.along=0")
    expect(page.locator(".hydra-rivals th").last).to_have_text("softmax")
    expect(page.locator(".hydra-rivals tbody td").first).to_have_text("0.750")


@browser
def test_a_finger_drags_the_point(widget_page):
    page = widget_page(RivalsWidget(), width=360)
    page.evaluate("document.body.style.minHeight = '3000px'")
    x, y = middle(page.locator(".hydra-handle"))
    assert swipe(page, (x, y), (x + 30, y - 40)) == 0
    page.wait_for_url("**#rivals.*")
    assert middle(page.locator(".hydra-handle")) == pytest.approx((x + 30, y - 40), abs=2)
