"""The reader's own inner loop: forgotten barriers, mistakes by name, compile errors with lines."""

import json
import math
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib.widgets import YourKernelWidget
from tests.conftest import drawn, follow, in_javascript

browser = pytest.mark.browser
LOOP, GIVEN = json.loads(in_javascript("your_kernel.js", "[m.OWN_LOOP, m.GIVEN]", [0]))[0]
BARRIER = "workgroupBarrier();  // "


def barriers(*loops):
    return json.loads(in_javascript("your_kernel.js", "m.missingBarriers(c)", loops))


def without(comment):
    """The loop without the barrier that has this comment."""
    line = next(x for x in LOOP.splitlines(keepends=True) if x.startswith(BARRIER + comment))
    return LOOP.replace(line, "\n")


def test_the_books_own_loop_lacks_no_barrier():
    assert barriers(LOOP, "", "keys[0][0] = 1;") == [[], [], []]


@pytest.mark.parametrize(
    ("comment", "words"),
    [
        ("the tiles are complete", "before keys is read: others may not have written it yet."),
        ("so are the scores", "before scores is read: others may not have written it yet."),
        ("so are the weights", "before weights is read: others may not have written it yet."),
        ("nobody reads this tile", "before values is written again: others may still read it."),
    ],
)
def test_a_forgotten_barrier_is_named(comment, words):
    (found,) = barriers(without(comment))
    assert any(problem.endswith(words) for problem in found), found
    assert all(re.match(r"Line \d+: a barrier is missing before ", problem) for problem in found)


def test_its_own_place_an_invocation_reads_without_waiting():
    written = "scores[at.y][at.x] = s;\n"
    own, others = written + "s = scores[at.y] [at.x];", written + "s = scores[at.y][0];"
    wait = BARRIER + "before the next tile\n"
    assert barriers(own) == [[]]
    assert [len(found) for found in barriers(others + wait)] == [1]


@pytest.mark.parametrize(
    ("named", "own", "others"),
    [
        ("let y = at.y;\nlet j: u32 = at.x;", "[y][j]", "[j][y]"),
        ("let me = at;", "[me.y][me.x]", "[me.x][me.y]"),
        ("let me = at.xy;\nlet mine = me.y;", "[mine][ me.x ]", "[mine][mine]"),
        ("let i = i32(at.y);\nlet j = (at.x);", "[u32(i)][j]", "[u32(j)][j]"),
        ("let me = vec2(at.x, at.y);", "[me.y][me.x]", "[me.x][me.y]"),
        ("let j = at.x;\nlet me = vec2<u32>(j, at.y);", "[me.y][j]", "[me.y][me.y]"),
        ("let me = vec2u(at.y, at.x);", "[at.y][at.x]", "[me.y][me.x]"),
        ("var i : u32 = at.y;\nlet same = i == at.x;", "[i][at.x]", "[at.x][i]"),
    ],
)
def test_its_own_place_may_have_other_names(named, own, others):
    for place, found in ((own, 0), (others, 2)):  # and written again, once round
        loop = f"{named}\nscores[at.y][at.x] = s;\ns = scores{place} + scores[at.y][at.x];"
        assert [len(one) for one in barriers(loop)] == [found]


def test_a_name_given_twice_stands_for_neither():
    """In the second block j is another invocation's column."""
    own = "{ let j = at.x;\nscores[at.y][j] = s; }\n"
    others = (
        "for (var j = 0u; j < 16u; j++) { s += scores[at.y][j]; }",
        "{ const j = 3; s += scores[at.y][j]; }",
        "{ let j = at.x + 1; s += scores[at.y][j]; }",
    )
    assert [len(found) for found in barriers(*(own + other for other in others))] == [2] * 3


def test_a_name_given_another_value_stands_for_neither():
    loops = (
        f"var j = at;\nscores[at.y][at.x] = s;\n{again};\ns += scores[at.y][j.x];"
        for again in ("j = one", "j += one", "j-=one", "j ^= one", "j >>= one", "j.x++", "j[0] --")
    )
    assert [len(found) for found in barriers(*loops)] == [2] * 7


def test_a_barrier_in_a_comment_is_none():
    quiet = LOOP.replace(BARRIER + "so are the scores", "// workgroupBarrier(); ")
    assert barriers(quiet) == barriers(without("so are the scores"))


def test_every_known_mistake_is_told_from_the_others():
    names = json.loads(in_javascript("your_kernel.js", "Object.keys(m.MISTAKEN)", [0]))[0]
    verdicts = json.loads(in_javascript("your_kernel.js", "m.judged(m.mistaken(c))", [*names, ""]))
    assert verdicts.pop()["right"]
    words = [verdict["words"] for verdict in verdicts]
    assert not any(verdict["right"] for verdict in verdicts)
    assert len(set(words)) == len(names)
    assert all(one.endswith(".") and "goes wrong" not in one for one in words)
    (zeros, odd) = json.loads(
        in_javascript("your_kernel.js", "m.judged(new Float32Array(53 * 24).fill(c))", [0, 1])
    )
    assert zeros["words"].startswith("All zeros")
    assert odd["words"].startswith("Row 0 is the first wrong one")
    spoilt = (
        "(() => { const x = m.mistaken(''); x[37 * 24 + 5] += c; return m.judged(x).words; })()"
    )
    (words,) = json.loads(in_javascript("your_kernel.js", spoilt, [1e6]))
    rest = "rows that need fewer than 3 tiles of keys are right"
    assert re.fullmatch(rf"Row 37 is the first wrong one, off by \d\.\de\+\d: {rest}\.", words)


def test_an_unknown_mistake_is_placed():
    expression = """(() => {
        const output = m.mistaken("");
        output[c[0] * 24 + 7] += Number(c[1]);
        const {right, words} = m.judged(output);
        return `${right ? "right: " : ""}${words}`;
    })()"""
    *placed, nothing = json.loads(
        in_javascript("your_kernel.js", expression, [[15, 1], [16, 1], [40, 1], [3, "NaN"]])
    )
    for words, row, place in (
        (placed[0], 15, "it needs only the first tile of keys"),
        (placed[1], 16, "rows that need fewer than 2 tiles of keys are right"),
        (placed[2], 40, "rows that need fewer than 3 tiles of keys are right"),
    ):
        assert re.fullmatch(rf"Row {row} is the first wrong one, off by [\d.]+: {place}\.", words)
    assert nothing.startswith("The output holds NaN: a weight may be 2^x ")


def test_some_mistakes_by_torch():
    """What is said to be wrong is what that mistake gives, computed in another way."""
    given = """[["q", "k", "v"].map((name) => Array.from(m.trialInputs()[name])),
        c.map((name) => Array.from(m.mistaken(name)))]"""
    names = ["", "scale", "exp", "mask", "diagonal"]
    inputs, outputs = json.loads(in_javascript("your_kernel.js", given, [names]))[0]
    q, k, v = (torch.tensor(x, dtype=torch.float64).view(53, 24) for x in inputs)
    assert not any(torch.equal(a, b) for a, b in ((q, 2 * k), (q, 2 * v), (k, v)))
    row, key = torch.meshgrid(torch.arange(53), torch.arange(53), indexing="ij")
    scores, tau = q @ k.mT, math.sqrt(24)
    seen = {
        "": (scores / tau, key <= row),
        "scale": (scores, key <= row),
        "exp": (scores / tau / math.log(2), key <= row),
        "mask": (scores / tau, key // 16 <= row // 16),  # later tiles are never visited
        "diagonal": (scores / tau, key < row),
    }
    for name, output in zip(names, outputs, strict=True):
        exponents, mask = seen[name]
        expected = exponents.masked_fill(~mask, -torch.inf).softmax(-1) @ v
        found = torch.tensor(output, dtype=torch.float64).view(53, 24)
        torch.testing.assert_close(found[1:], expected[1:])  # the first may see no key at all


def check(page, code):
    page.get_by_label("The inner loop").fill(code)
    page.get_by_role("button", name="Check and time").press("Enter")
    expect(page.get_by_role("button", name="Check and time")).to_be_enabled(timeout=60_000)
    expect(page.get_by_role("button", name="Check and time")).to_be_focused()
    return page.locator(".hydra-summary").inner_text(), page.locator("li").all_inner_texts()


@browser
def test_loops_on_a_device(gpu_page):
    page = gpu_page(YourKernelWidget())
    assert page.get_by_label("The inner loop").input_value() == GIVEN
    said, problems = check(page, GIVEN)
    assert said == "Not right yet."
    assert problems == ["All zeros: nothing has been added to acc yet."]

    timing = page.locator(".hydra-summary", has_text="Being timed beside the book's …")
    page.get_by_label("The inner loop").fill(LOOP)
    page.get_by_role("button", name="Check and time").press("Enter")
    expect(timing).to_have_count(1)
    expect(timing).to_have_count(0)
    # By a clock on which every call takes 10 ms.
    page.evaluate(
        """() => {
            let calls = 0;
            const { prototype } = GPUComputePassEncoder;
            const dispatch = prototype.dispatchWorkgroups;
            prototype.dispatchWorkgroups = function (...size) {
                calls++;
                return dispatch.apply(this, size);
            };
            GPUSupportedFeatures.prototype.has = () => false; // no clock of the device's own
            performance.now = () => 10 * calls;
        }"""
    )
    said, problems = check(page, LOOP)
    assert re.fullmatch(
        r"Right: every row within \S+\. Yours takes 10\.0 ms at T = 64, h = 1, head_dim = 64; it "
        r"is 1\.00 × as fast as the book's \(paired, ± < 0\.01 %\)\. This is software, no GPU: the "
        r"times say nothing\.",
        said,
    )
    assert problems == []

    fades = LOOP.replace("total *= fade;", "").replace("acc[c] *= fade;", "")
    said, problems = check(page, fades)
    assert (said, len(problems)) == ("Not right yet.", 1)
    assert problems[0].startswith("No rescaling: ")

    said, problems = check(page, LOOP.replace("weights[at.y][j];", "weights[j][at.y];"))
    assert problems[0].startswith("A wrong index: ")

    said, problems = check(page, without("nobody reads this tile"))
    assert "a barrier is missing before values is written again" in " ".join(problems)

    broken = LOOP.replace("s *= SCALE;", "s *= SCALES;")
    line = broken[: broken.index("SCALES")].count("\n") + 1
    said, problems = check(page, broken)
    assert said == "It does not compile."
    assert problems == [f"Line {line}: unresolved value 'SCALES'"]
    said, problems = check(page, LOOP + "if (true) {")
    assert said == "It does not compile."
    assert problems[0].startswith("After your last line: ")

    page.wait_for_url("**#your_kernel.code=*")
    page.get_by_role("button", name="Begin again").click()
    expect(page.get_by_label("The inner loop")).to_have_value(GIVEN)
    expect(page.locator(".hydra-summary")).to_have_text("Nothing has been checked yet.")
    expect(page.locator("li")).to_have_count(0)
    # Nor is a verdict told that comes when the loop is another one by then.
    page.evaluate(
        """() => {
            const ask = GPU.prototype.requestAdapter;
            window.asked = 0;
            GPU.prototype.requestAdapter = async function (...how) {
                asked++;
                await new Promise((done) => { window.answer = done; });
                return ask.apply(this, how);
            };
        }"""
    )
    page.get_by_label("The inner loop").fill(broken)
    page.get_by_role("button", name="Check and time").press("Enter")
    expect(page.locator(".hydra-summary")).to_have_text("Being checked …")
    page.get_by_role("button", name="Check and time").press("Enter")  # it is under way
    page.get_by_role("button", name="Begin again").press("Enter")
    drawn(page)
    page.evaluate("answer()")
    expect(page.get_by_role("button", name="Check and time")).to_be_enabled()
    expect(page.locator(".hydra-summary")).to_have_text("Nothing has been checked yet.")
    assert page.evaluate("asked") == 1


@browser
def test_a_press_that_takes_no_focus_keeps_what_was_typed(widget_page):
    """Safari's buttons take none, so that the field has not said yet that it was changed."""
    page = widget_page(YourKernelWidget())
    page.evaluate("() => Object.defineProperty(navigator, 'gpu', {value: undefined})")
    page.get_by_label("The inner loop").evaluate("one => { one.value = 'let s = 0.0;'; }")
    page.get_by_role("button", name="Check and time").evaluate("one => one.click()")
    page.wait_for_url("**#your_kernel.code=*")
    drawn(page)
    expect(page.get_by_label("The inner loop")).to_have_value("let s = 0.0;")


@browser
def test_without_a_device_barriers_are_still_found(widget_page):
    page = widget_page(YourKernelWidget())
    page.evaluate("() => Object.defineProperty(navigator, 'gpu', {value: undefined})")
    said, problems = check(page, without("so are the scores"))
    assert said.startswith("This browser has no WebGPU.")
    assert len(problems) == 1
    follow(page, "#your_kernel.code=%22let%20s%20%3D%200.0%3B%22")
    expect(page.get_by_label("The inner loop")).to_have_value("let s = 0.0;")
    follow(page, "#your_kernel.code=7")
    problem = page.locator("[data-ready=your_kernel] > .hydra-problem").last
    expect(problem).to_contain_text("The link asks for code = 7")
    for letters, taken in ((7999, True), (8000, False)):
        follow(page, "#your_kernel.code=%22" + letters * "a" + "%22")
        expected = letters * "a" if taken else GIVEN
        expect(page.get_by_label("The inner loop")).to_have_value(expected)
    page.set_viewport_size({"width": 360, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
