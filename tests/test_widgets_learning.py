"""The widget of a layer that learns: arithmetic against the library, its steps, controls, links."""

import functools
import itertools
import json
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib import HeadConfig, MultiHeadAttention, sentence
from hydra_lib.widgets import LearningWidget
from hydra_lib.widgets._base import SettingError
from tests.conftest import drawn, expect_refused, follow, in_javascript, press, uniforms

browser = pytest.mark.browser
VALUES = sentence.VALUES.double()
T, D, RATE, BATCH = 7, 10, 0.5, 16
PROJECTIONS = ("W_q", "W_k", "W_v", "W_o")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"step": 121}, "step must be an integer from 0 to 120, got 121"),
        ({"step": 1.5}, "step must be an integer from 0 to 120, got 1.5"),
        ({"seed": -1}, "seed must be an integer from 0 to 4,294,967,295, got -1"),
    ],
)
def test_bad_settings(setting, message):
    with pytest.raises(SettingError, match=f"^{re.escape(message)}$"):
        LearningWidget(**setting)


def layer_of(W, h):
    """The library's layer with four matrices, given as x @ W: nn.Linear stores them transposed."""
    layer = MultiHeadAttention(HeadConfig(len(W[0]), h)).double()
    with torch.no_grad():
        for name, matrix in zip(PROJECTIONS, W, strict=True):
            getattr(layer, name).weight.copy_(torch.as_tensor(matrix).T)
    return layer


def named(W):
    return dict(zip("qkvo", W, strict=True))


def close(got, expected):
    got = torch.tensor(got, dtype=torch.float64)
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-12)


def test_a_layer_and_its_gradients_agree_with_the_library():
    generator = torch.Generator().manual_seed(3)
    cases, expected = [], []
    for tokens, d, h in ((5, 6, 3), (7, 10, 2), (1, 4, 1), (3, 14, 7)):
        W = torch.randn(4, d, d, generator=generator, dtype=torch.float64)
        x, d_output = torch.randn(2, tokens, d, generator=generator, dtype=torch.float64)
        layer = layer_of(W, h)
        output, weights = layer(*[x[None]] * 3, causal=True, return_weights=True)
        output.backward(d_output[None])
        ways = [getattr(layer, name).weight.grad.T for name in PROJECTIONS]
        cases.append([x.tolist(), named(W.tolist()), h, d_output.tolist()])
        expected.append((output[0], weights[0], ways))
    expression = """(([x, W, h, d]) => (
        (all) => [all.output, all.heads.map((one) => one.weights), m.gradients(x, W, all, d)]
    )(m.forward(x, W, h)))(c)"""
    found = json.loads(in_javascript("multihead.js", expression, cases))
    for (output, weights, ways), wanted in zip(found, expected, strict=True):
        close(output, wanted[0].detach())
        close(weights, wanted[1].detach())
        for name, way in zip("qkvo", wanted[2], strict=True):
            close(ways[name], way)


def text_of(colours):
    """Its place, and its colour with mean 0 and variance 1, in every row."""
    return torch.cat([3 * torch.eye(T).double(), 12**0.5 * (colours - 0.5)], dim=1)


def test_a_text_by_hand():
    [found] = json.loads(
        in_javascript("multihead.js", "m.textOf(c)", [[[0.5, 1, 0], [0.5, 0.5, 0.5]]])
    )
    root = 3**0.5
    assert found[0] == pytest.approx([3, 0, 0, root, -root])
    assert found[1] == pytest.approx([0, 3, 0, 0, 0])


def layers_after(seed, steps):
    """Gradient descent by the library's layer and autograd, on what the page draws."""
    draw = uniforms(seed)

    def even(rows, columns, most):
        numbers = list(itertools.islice(draw, rows * columns))
        return most * (2 * torch.tensor(numbers, dtype=torch.float64).reshape(rows, columns) - 1)

    layer = layer_of([even(D, D, (3 / D) ** 0.5) for _ in range(4)], 2)
    for _ in range(steps):
        x = torch.stack([text_of(even(T, 3, 0.5) + 0.5) for _ in range(BATCH)])
        miss = layer(x, x, x, causal=True)[:, 1:, T:] - x[:, :-1, T:]
        layer.zero_grad()
        miss.square().mean().backward()
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter -= RATE * parameter.grad
    return layer


ANSWERS = """(([seed, at, colours]) => {
    const layers = [];
    for (const W of m.learning(seed, colours.length)) if (layers.push(W) > Math.max(...at)) break;
    return at.map((step) => m.answer(layers[step], colours));
})(c)"""


@functools.cache
def answers(seed, *at):
    found = in_javascript("multihead.js", ANSWERS, [[seed, at, VALUES.tolist()]])
    return json.loads(found)[0]


@pytest.mark.parametrize("seed", [0, 2**32 - 1])
def test_every_step_is_one_of_gradient_descent(seed):
    for step, found in zip((0, 1, 5), answers(seed, 0, 1, 5), strict=True):
        text = text_of(VALUES)[None]
        layer = layers_after(seed, step).requires_grad_(False)
        output, weights = layer(*[text] * 3, causal=True, return_weights=True)
        given = output[0, :, T:] / 12**0.5 + 0.5
        close(found["given"], given)
        close(found["weights"], weights[0])
        close(found["off"], (given[1:] - VALUES[:-1]).square().mean().sqrt())


@pytest.mark.long
def test_it_learns_from_wherever_it_begins():
    found = [answers(seed, 0, 40, 120) for seed in range(5)]
    for first, half, last in found:
        assert first["off"] > 0.2
        assert half["off"] < 0.1
        assert last["off"] < 0.05
        before = torch.tensor(last["weights"]).diagonal(-1, dim1=-2, dim2=-1).mean(-1)
        assert before.max() > 0.9


# --- the page ---------------------------------------------------------------------------------


def told(step, seed=0):
    [found] = answers(seed, step)
    before = torch.tensor(found["weights"]).diagonal(-1, dim1=-2, dim2=-1).mean(-1)
    shares = [f"{100 * share:.0f}\u00a0%" for share in before.tolist()]
    return found, (
        f"After {step} step{'' if step == 1 else 's'} its colours are off by {found['off']:.2f}, "
        f"where a full colour is 1. Head 0 puts {shares[0]} of its weight on the word before, "
        f"head 1 puts {shares[1]}."
    )


def shown(weight):
    return "" if weight < 0.005 else "1" if weight > 0.995 else f"{weight:.2f}"[1:]


def expect_setting(page, step, seed=0):
    found, text = told(step, seed)
    expect(page.locator(".hydra-summary")).to_have_text(text)
    expect(page.locator("output")).to_have_text(str(step))
    paints = page.locator(".hydra-words > .hydra-swatch").evaluate_all(
        "all => all.map(one => one.style.getPropertyValue('--paint'))"
    )

    def css(colours):
        return [
            "rgb(" + " ".join(str(int(255 * min(1, max(0, c)) + 0.5)) for c in colour) + ")"
            for colour in colours
        ]

    assert paints[:7] == css(found["given"])
    assert paints[7:14] == ["var(--line)", *css(VALUES[:-1].tolist())]
    assert paints[14:] == css(VALUES.tolist())
    for head, weights in enumerate(found["weights"]):
        table = page.locator("table").nth(head)
        expect(table.locator("caption")).to_have_text(f"head {head}: weights, a row for each word")
        cells = [
            shown(w) if j <= t else "" for t, row in enumerate(weights) for j, w in enumerate(row)
        ]
        expect(table.locator("td:not(thead td)")).to_have_text(cells)
        hatched = table.locator("td.hydra-skipped")
        expect(hatched).to_have_count(21)


@browser
def test_steps_by_key_and_by_button(widget_page):
    page = widget_page(LearningWidget())
    expect_setting(page, 0)
    page.get_by_role("slider", name="Steps").focus()
    press(page, "ArrowRight")
    expect_setting(page, 1)
    page.wait_for_url("**#learning.step=1")
    page.get_by_role("button", name="learn").click()  # all at once: less motion is asked for
    expect_setting(page, 120)
    page.get_by_role("button", name="begin again").click()
    expect_setting(page, 0)
    page.get_by_role("button", name="learn").click()
    expect_setting(page, 120)
    page.get_by_role("button", name="another start").click()
    expect_setting(page, 0, 1)
    page.set_viewport_size({"width": 360, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@browser
def test_steps_are_made_before_a_hand_asks_for_them(widget_page):
    """A step takes the exponentials of a batch of texts, what is shown those of one."""
    page = widget_page(LearningWidget())
    page.evaluate("""() => {
        const exp = Math.exp;
        window.taken = 0;
        Math.exp = (x) => (window.taken++, exp(x));
    }""")
    for start in (1, 2):
        page.evaluate("() => { window.taken = 0; }")
        page.get_by_role("button", name="another start").click()
        expect_setting(page, 0, start)
        page.wait_for_function(  # while steps are made they are between any two looks
            """() => {
                const quiet = window.taken > 10_000 && window.taken === window.before;
                window.before = window.taken;
                return quiet;
            }""",
            polling=300,
        )
        page.evaluate("() => { window.taken = 0; }")
        page.get_by_role("slider", name="Steps").fill("120")
        expect_setting(page, 120, start)
        assert 0 < page.evaluate("window.taken") <= 2 * 2 * T * T


@browser
def test_where_motion_is_welcome_steps_are_seen_one_by_one(widget_page):
    page = widget_page(LearningWidget(step=100))
    page.emulate_media(reduced_motion="no-preference")
    page.evaluate("""() => {
        window.seen = [];
        const label = document.querySelector("output");
        new MutationObserver(() => seen.push(Number(label.textContent))).observe(label,
            { characterData: true, childList: true, subtree: true });
    }""")
    learn, stop, again = (
        page.get_by_role("button", name=name, exact=True)
        for name in ("learn", "stop", "begin again")
    )
    learn.click()
    expect(page.locator("output")).to_have_text("120")
    expect(again).to_have_count(1)
    seen = page.evaluate("seen")
    assert len(seen) >= 10  # a frame may be lost
    assert seen == sorted(seen)
    assert 1 in {after - before for before, after in itertools.pairwise(seen)}
    again.click()
    page.wait_for_function("seen.at(-1) > 5 && seen.at(-1) < 90")
    assert 0 in page.evaluate("seen")
    stop.click()
    drawn(page)
    stopped = page.locator("output").inner_text()
    for _ in range(3):
        drawn(page)
    expect(page.locator("output")).to_have_text(stopped)
    # What the reader does meanwhile ends the walk.
    learn.click()
    page.get_by_role("button", name="another start").click()
    expect(learn).to_have_count(1)
    drawn(page)
    expect_setting(page, 0, 1)


@browser
def test_links(widget_page):
    page = widget_page(LearningWidget(), fragment="#learning.step=20&learning.seed=3")
    expect_setting(page, 20, 3)
    follow(page, "#learning.step=7")
    expect_setting(page, 7)
    for asked in ("step=121", "step=0.5", "seed=-1", "values=1"):
        follow(page, f"#learning.{asked}")
        expect_refused(page, "learning", asked)


@browser
def test_another_start_before_the_first_step(widget_page):
    page = widget_page(LearningWidget(seed=2**32 - 1))
    for seed in (0, 1):  # after the last the first; then the seed alone changes
        page.get_by_role("button", name="another start").click()
        expect_setting(page, 0, seed)
        page.wait_for_url(f"**#learning.seed={seed}")
