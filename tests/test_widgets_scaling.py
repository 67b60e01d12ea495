"""The scaling widget: its arithmetic against the library, every control, links."""

import functools
import itertools
import json
import math
import re

import pytest
import torch
import traitlets
from playwright.sync_api import expect

from hydra_lib import boltzmann, scaling
from hydra_lib.widgets import ScalingWidget
from tests.conftest import (
    drag,
    drawn,
    expect_refused,
    follow,
    in_javascript,
    stir,
    table_of,
    uniforms,
)

browser = pytest.mark.browser
SCORES = "m.sampler(c.rows, c.keys, c.seed).scores(c.d, c.mu_q, c.mu_k, c.sigma)"


@pytest.mark.parametrize(
    "setting",
    [
        {"d_k": 48},
        {"d_k": 1024},
        {"sigma": 0.1},
        {"sigma": 4},
        {"mu_q": -1},
        {"mu_k": 4},
        {"seed": -1},
    ],
)
def test_bad_settings(setting):
    (name,) = setting
    with pytest.raises(traitlets.TraitError, match=name):
        ScalingWidget(**setting)


def random_cases(count):
    generator = torch.Generator().manual_seed(3)
    u = torch.rand(count, 3, generator=generator, dtype=torch.float64).tolist()
    return [
        {
            "d": 2 ** (index % 8),
            "sigma": 0.25 + 2.75 * x,
            "mu_q": 3 * y if index % 3 else 0,
            "mu_k": 3 * z if index % 5 else 0,
            "seed": index * 7919,
            "rows": 1 + index % 2,
            "keys": 1 + index % 5,
        }
        for index, (x, y, z) in enumerate(u)
    ]


def test_random_numbers_are_those_that_their_source_names():
    assert stir(1) == 0x514E28B7  # MurmurHash3 of nothing, with seed 1
    cases = [(seed, stream) for seed in (0, 7, 99991) for stream in (0, 5)]
    expression = "(() => { const u = m.uniforms(...c); return [u(), u(), u()]; })()"
    found = json.loads(in_javascript("random.js", expression, cases))
    for case, drawn_numbers in zip(cases, found, strict=True):
        assert drawn_numbers == list(itertools.islice(uniforms(*case), 3))


def test_moments_agree_with_the_library():
    cases = random_cases(1000)
    got = json.loads(in_javascript("scaling.js", "m.moments(c.d, c.mu_q, c.mu_k, c.sigma)", cases))
    for case, moments in zip(cases, got, strict=True):
        d, sigma = case["d"], case["sigma"]
        expected = scaling.dot_product_moments(d, case["mu_q"], case["mu_k"], sigma, sigma)
        # Softmax sees E‖q‖² σ_k², the variance of a key with mean 0.
        centred = scaling.dot_product_moments(d, case["mu_q"], 0, sigma, sigma)
        assert moments["within"] == pytest.approx(centred.variance, rel=1e-12)
        assert moments["mean"] == pytest.approx(expected.mean, rel=1e-12)
        assert moments["variance"] == pytest.approx(expected.variance, rel=1e-12)


# The entries in the order in which the sampler draws them: for each power of two what it adds, and
# there row by row the query and then its keys.
ENTRIES = """(() => {
    const q = Array.from({length: c.rows}, () => []);
    const k = q.map(() => Array.from({length: c.keys}, () => []));
    for (let power = 0; 2 ** power <= c.d; power++) {
        const draw = m.normals(c.seed, 16 * c.keys + power);
        const take = (list) => {
            for (let n = 0; n < Math.max(1, 2 ** (power - 1)); n++) list.push(draw());
        };
        q.forEach((query, row) => [query, ...k[row]].forEach(take));
    }
    return {q, k, scores: %s};
})()"""


@pytest.mark.long
def test_scores_are_the_products_of_shared_queries_with_keys():
    cases = random_cases(1000)
    got = json.loads(in_javascript("scaling.js", ENTRIES % SCORES, cases))
    for case, entries in zip(cases, got, strict=True):
        q, k = (torch.tensor(entries[x], dtype=torch.float64) for x in "qk")
        q, k = case["mu_q"] + case["sigma"] * q, case["mu_k"] + case["sigma"] * k
        assert q.shape == (case["rows"], case["d"])
        expected = (k @ q[..., None]).flatten()
        scores = torch.tensor(entries["scores"], dtype=torch.float64)
        # Sums that cancel are compared against the size of their terms.
        size = (k.abs() @ q.abs()[..., None]).max().item()
        torch.testing.assert_close(scores, expected, rtol=1e-9, atol=1e-13 * size)


@pytest.mark.long
def test_measures_and_saturation_agree_with_the_library():
    generator = torch.Generator().manual_seed(4)
    cases = []
    for index in range(1200):
        scale = 10 ** (3 * torch.rand((), generator=generator).item() - 1.5)
        row = torch.randn(2 + index % 7, generator=generator, dtype=torch.float64)
        cases.append((scale * row).tolist())
    expression = "({...m.measure(c), ...m.saturation(c)})"
    got = json.loads(in_javascript("scaling.js", expression, cases))
    for case, result in zip(cases, got, strict=True):
        scores = torch.tensor(case, dtype=torch.float64)
        measured = scaling.measure_moments(scores)
        assert result["mean"] == pytest.approx(measured.mean, rel=1e-9, abs=1e-13)
        assert result["variance"] == pytest.approx(measured.variance, rel=1e-9)
        assert result["entropy"] == pytest.approx(
            boltzmann.entropy(scores).item(), rel=1e-9, abs=1e-14
        )
        size = boltzmann.jacobian(scores).norm().item()
        assert result["frobenius"] == pytest.approx(size, rel=1e-9, abs=1e-14)
        assert result["p"] == pytest.approx(boltzmann.probabilities(scores).tolist(), rel=1e-9)


@pytest.mark.long
def test_the_sample_has_the_predicted_moments():
    cases = [
        {"d": 2**e, "mu_q": a, "mu_k": b, "sigma": sigma, "seed": seed, "rows": 2000, "keys": 1}
        for e, a, b, sigma in (
            (0, 0, 0, 1),
            (3, 0.5, 2, 2),
            (6, 0, 3, 1),
            (6, 1, 0, 0.25),
            (9, 0, 0, 0.5),
        )
        for seed in (0, 1, 2**32 - 1)
    ]
    got = json.loads(in_javascript("scaling.js", SCORES, cases))
    samples = set()
    for case, scores in zip(cases, got, strict=True):
        measured = scaling.measure_moments(torch.tensor(scores, dtype=torch.float64))
        d, sigma = case["d"], case["sigma"]
        expected = scaling.dot_product_moments(d, case["mu_q"], case["mu_k"], sigma, sigma)
        # 15 cases, two numbers each: four standard errors are a chance of 1 in 500.
        assert abs(measured.mean - expected.mean) < 4 * measured.mean_error, case
        assert abs(measured.variance - expected.variance) < 4 * measured.variance_error, case
        samples.add(tuple(scores[:3]))
    assert len(samples) == len(cases)  # another seed is another sample


def test_histogram_and_density():
    generator = torch.Generator().manual_seed(5)
    xs = (3 * torch.randn(500, generator=generator, dtype=torch.float64)).tolist()
    (got,) = json.loads(in_javascript("scaling.js", "m.histogram(c, -4, 4, 16)", [xs]))
    edges = torch.linspace(-4, 4, 17, dtype=torch.float64)
    assert got == torch.histogram(torch.tensor(xs, dtype=torch.float64), edges).hist.tolist()
    at = [[x, {"mean": 0.3, "variance": 2.5}] for x in (-2.0, 0.0, 0.3, 5.0)]
    density = json.loads(in_javascript("scaling.js", "m.normalDensity(c[0], c[1])", at))
    normal = torch.distributions.Normal(0.3, math.sqrt(2.5))
    expected = [normal.log_prob(torch.tensor(x)).exp().item() for x, _ in at]
    assert density == pytest.approx(expected, rel=1e-6)


# --- controls ------------------------------------------------------------------------------------


def cells(page, caption):
    table = page.locator("table", has=page.locator(f"caption:text-is('{caption}')"))
    return [
        [0.0 if t == "<.001" else float(t.replace("−", "-")) for t in row]
        for row in (line.locator("td").all_inner_texts() for line in table.locator("tr").all())
        if row and row != [""]
    ]


@functools.cache
def drawings(d, mu_q, mu_k, sigma, seed):
    """The scores of the histogram and of the row, as tensors."""
    case = {"d": d, "mu_q": mu_q, "mu_k": mu_k, "sigma": sigma, "seed": seed}
    shapes = [{**case, "rows": 2000, "keys": 1}, {**case, "rows": 1, "keys": 8}]
    got = json.loads(in_javascript("scaling.js", SCORES, shapes))
    return [torch.tensor(scores, dtype=torch.float64) for scores in got]


FACTS = ["mean, predicted", "mean, measured", "variance, predicted", "variance, measured"]
FACTS += ["within a row, predicted", "keys in use, of 8", "size of the Jacobian"]


def expect_setting(page, d=64, mu_q=0.0, mu_k=0.0, sigma=1.0, seed=0):
    """Everything on the page is the library's result for this setting, to the digits shown."""
    drawn(page)
    raw = scaling.dot_product_moments(d, mu_q, mu_k, sigma, sigma)
    within = scaling.dot_product_moments(d, mu_q, 0, sigma, sigma).variance
    row = cells(page, "One row of attention: 8 keys, one query")
    facts = cells(page, "A score, and this row")
    expect(table_of(page, "A score, and this row").locator("tbody th")).to_have_text(FACTS)
    said = []
    for which, divisor in enumerate((1, math.sqrt(d))):
        many, few = (x / divisor for x in drawings(d, mu_q, mu_k, sigma, seed))
        measured = scaling.measure_moments(many)
        used = boltzmann.entropy(few).exp().item()
        variance = raw.variance / divisor**2
        expected = [raw.mean / divisor, measured.mean, variance, measured.variance]
        expected += [within / divisor**2, used, boltzmann.jacobian(few).norm().item()]
        assert [f[which] for f in facts] == pytest.approx(expected, rel=5e-3, abs=1e-12)
        assert [r[2 * which] for r in row] == pytest.approx(few.tolist(), rel=5e-3)
        weights = boltzmann.probabilities(few).tolist()
        assert [r[2 * which + 1] for r in row] == pytest.approx(weights, abs=5.1e-4)
        said += [variance, used] if which else [d, variance, used, 8]
        # The bars hold every score that the caption does not leave out.
        lane = page.locator(".hydra-histogram").nth(which)
        caption = lane.locator("figcaption").inner_text()
        outside = re.search(r", ([\d,]+) outside$", caption)
        assert caption.startswith(f"{['q·k', 'q·k / √dₖ'][which]}: 2,000 scores")
        far = (many - raw.mean / divisor + 24) / 48
        beyond = ((far < 0) | (far >= 1)).sum().item()
        assert beyond == (int(outside[1].replace(",", "")) if outside else 0)
        # One scale for bars and curve: both end under the top, and as high as they should.
        tops = re.findall(r"V([\d.]+)h", lane.locator("path").get_attribute("d"))
        bars = [120 - float(top) for top in tops]
        counts = torch.histc(far[(far >= 0) & (far < 1)], 96, 0, 1)
        top = max(counts.max().item(), 1000 / math.sqrt(2 * math.pi * variance))
        assert bars == pytest.approx((116 * counts / top).tolist(), abs=1e-3)
        points = lane.locator("polyline").get_attribute("points").split(" ")
        assert [points[i].split(",")[0] for i in (0, -1)] == ["0", "480"]  # from edge to edge
        x, y = points[120].split(",")
        peak = 1000 / math.sqrt(2 * math.pi * variance)
        assert (x, float(y)) == ("240", pytest.approx(120 - 116 * peak / top, abs=0.051))
    shares = page.locator(".hydra-frozen td.hydra-bar").evaluate_all(
        "all => all.map(cell => parseFloat(cell.style.getPropertyValue('--heat')))"
    )
    assert shares[1::2] == pytest.approx([100 * w for w in weights], abs=0.051)
    assert sum(shares[::2]) == pytest.approx(100, abs=0.4)
    sentence = page.locator(".hydra-summary").inner_text().replace("−", "-")
    found = [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", sentence)]
    assert found == pytest.approx(said, rel=5e-3)


@browser
def test_controls_by_keyboard(widget_page):
    page = widget_page(ScalingWidget())
    expect_setting(page)
    keys = page.locator(".hydra-frozen tbody th")
    expect(keys).to_have_text([str(1 + j) for j in range(keys.count())])
    size = page.get_by_label("Width dₖ")
    size.focus()
    page.keyboard.press("ArrowRight")
    expect(size).to_have_attribute("aria-valuetext", "128")
    expect_setting(page, d=128)
    page.keyboard.press("Home")
    expect_setting(page, d=1)
    page.keyboard.press("End")
    expect_setting(page, d=512)
    page.get_by_label("Std deviation σ").focus()
    page.keyboard.press("ArrowRight")
    expect_setting(page, d=512, sigma=1.05)
    page.keyboard.press("Home")
    expect_setting(page, d=512, sigma=0.25)
    page.get_by_label("Mean μq").focus()
    page.keyboard.press("End")
    expect_setting(page, d=512, sigma=0.25, mu_q=3)
    page.keyboard.press("Home")
    page.get_by_label("Mean μk").focus()
    page.keyboard.press("End")
    expect_setting(page, d=512, sigma=0.25, mu_k=3)
    page.get_by_role("button", name="draw again").focus()
    page.keyboard.press("Enter")
    expect_setting(page, d=512, sigma=0.25, mu_k=3, seed=1)


@browser
def test_controls_by_pointer(widget_page):
    page = widget_page(ScalingWidget(d_k=16))
    drag(page, "Width dₖ", 0)
    expect_setting(page, d=1)
    drag(page, "Width dₖ", 1)
    expect_setting(page, d=512)
    drag(page, "Std deviation σ", 1)
    expect_setting(page, d=512, sigma=3)
    drag(page, "Mean μq", 1)
    expect_setting(page, d=512, sigma=3, mu_q=3)
    page.get_by_role("button", name="draw again").click()
    expect_setting(page, d=512, sigma=3, mu_q=3, seed=1)
    page.wait_for_url("**scaling.seed=1&*")
    page.reload()  # the setting stands in the URL
    page.wait_for_selector("[data-ready=scaling]")
    expect_setting(page, d=512, sigma=3, mu_q=3, seed=1)


@browser
def test_the_draws_after_the_last_seed_are_the_first(widget_page):
    page = widget_page(ScalingWidget(seed=2**32 - 1))
    page.get_by_role("button", name="draw again").click()
    expect_setting(page)
    page.wait_for_url("**scaling.seed=0")


@browser
def test_a_link_that_makes_no_sense_is_told_so(widget_page):
    page = widget_page(ScalingWidget())
    for asked in [
        "d_k=48",
        "d_k=1024",
        "sigma=0.1",
        "sigma=4",
        "mu_q=-1",
        "mu_k=4",
        "scaled=true",
        "seed=1.5",
        "name=x",
    ]:
        follow(page, f"#scaling.{asked}")
        expect_refused(page, "scaling", asked)
        expect_setting(page)


@browser
@pytest.mark.parametrize("width", [1280, 360])
def test_tables_stay_where_they_are(widget_page, width):
    page = widget_page(ScalingWidget(), width=width)
    page.add_style_tag(content="body { font-family: 'DejaVu Sans', Verdana }")  # wide letters
    places = """() => [...document.querySelectorAll("table, .hydra-histogram")]
        .map((one) => one.getBoundingClientRect())
        .map(({ x, y, width }) => [x, y, width].map(Math.round))"""
    slider = page.get_by_role("slider", name="Width dₖ")
    slider.press("Home")
    seen = set()
    for _ in range(10):
        drawn(page)
        seen.add(str(page.evaluate(places)))
        slider.press("ArrowRight")
    assert len(seen) == 1


@browser
def test_on_a_phone_both_columns_are_in_sight(widget_page):
    """The book leaves a widget 328 of 360 pixels."""
    page = widget_page(ScalingWidget(), width=328 + 16)
    page.add_style_tag(content="body { font-family: 'DejaVu Sans', Verdana }")  # wide letters
    panels = page.locator(".hydra-panels")
    slider = page.get_by_role("slider", name="Width dₖ")
    slider.press("Home")
    for _ in range(10):
        drawn(page)
        assert panels.evaluate("one => one.scrollWidth <= one.clientWidth")
        slider.press("ArrowRight")
