"""The stopwatch with four places for a wait: what each choice measures, on a made-up queue too."""

import itertools
import json
import re

import pytest
from playwright.sync_api import expect

from hydra_lib.widgets import MissingWaitWidget
from tests.conftest import expect_refused, in_javascript

# Earlier work takes 5 s, the kernel 1 s, a launch 1 ms, the way to the device and back 100 ms: the
# host's clock and the queue's end.
FAKE = """(async () => {
    let time = 0, done = 0;
    const launch = (seconds) => () => { time += 0.001; done = Math.max(done, time) + seconds; };
    const found = await m.stopwatchTime(c, {earlier: launch(5), kernel: launch(1), now: () => time,
        wait: async () => { time = Math.max(time, done) + 0.1; }});
    return [found, m.verdict(c)];
})()"""


def test_the_verdict_is_what_the_clock_shows():
    cases = list(itertools.product((False, True), repeat=4))
    found = json.loads(in_javascript("missing_wait.js", FAKE, cases))
    for waits, (seconds, verdict) in zip(cases, found, strict=True):
        first, second, third, _ = waits
        trips = 0.1 * (second + third)
        assert verdict["right"] == (abs(seconds - trips - 1.001) < 1e-9), waits
        if second and not third and not first:
            assert "only the launch and the earlier work" in verdict["words"]
            assert 5 < seconds < 5.2  # and still not the kernel
        elif not third:
            assert "only the launch" in verdict["words"]
            assert abs(seconds - trips - 0.001) < 1e-9
        elif not first:
            assert "earlier work" in verdict["words"]
            assert seconds > 5.9
        if first and second:
            assert "round trip to the device" in verdict["words"]


def test_the_lines_of_the_stopwatch():
    (lines,) = json.loads(in_javascript("missing_wait.js", "m.STOPWATCH", [None]))
    assert lines == [
        "queue.submit([earlier]);", None, "const start = performance.now();", None,
        "queue.submit([kernel]);", None, "const stop = performance.now();", None,
    ]  # fmt: skip


def test_the_words():
    asking = "A wait is missing before the clock stops: you timed only the launch"
    queued = "; the kernel is still in the queue."
    started = "The queue was not empty when the clock started: this time includes the earlier work."
    right = "Right: the queue is empty when the clock starts, and the kernel is done when it stops."
    trip = "round trip to the device"
    words = {
        (0, 0, 0, 0): asking + queued,
        (0, 1, 0, 0): f"{asking} and the earlier work{queued}",
        (1, 1, 0, 1): f"{asking} and a {trip}, for the wait before it{queued}"
        " The wait after the clock stops comes too late.",
        (0, 0, 1, 0): started,
        (
            0,
            1,
            1,
            1,
        ): f"{started} The wait before the launch, for that work, comes after the start, so "
        "it is counted too.",
        (1, 0, 1, 0): right,
        (1, 1, 1, 1): f"{right} The wait before the launch is counted too: one {trip}."
        " The last wait comes after the clock has stopped and changes nothing.",
    }
    found = json.loads(in_javascript("missing_wait.js", "m.verdict(c).words", list(words)))
    assert found == list(words.values())


@pytest.mark.parametrize("waits", [[True], [1, 0, 1, 0], "yes", [True] * 5])
def test_errors(waits):
    with pytest.raises(ValueError, match="waits must be"):
        MissingWaitWidget(waits=waits)


def heights(page):
    """Of the widget, as wide as the book's column and on a phone."""
    found = []
    for width in (720, 360):
        page.set_viewport_size({"width": width, "height": 900})
        found.append(page.locator(".hydra").bounding_box()["height"])
    return found


@pytest.mark.browser
def test_on_a_device(gpu_page):
    """With the longest that is said of a right stopwatch and of a wrong one: no run moves what
    stands below."""
    page = gpu_page(MissingWaitWidget(waits=[True, True, False, True]))
    told = page.locator(".hydra-summary")
    expect(told).to_have_text("Not run yet.")
    before = heights(page)
    page.get_by_role("button", name="Run").click()
    expect(told).to_contain_text("A wait is missing before the clock stops", timeout=60_000)
    seconds = r"\d[\d.,]* [mµn]?s"
    timed = re.compile(rf"Your stopwatch shows {seconds}; the kernel takes {seconds}\.")
    expect(told).to_contain_text(timed)
    assert heights(page) == before
    page.get_by_label("wait before the clock stops").focus()
    page.keyboard.press("Space")
    page.evaluate(
        """() => {
            window.asked = 0;
            const ask = GPU.prototype.requestAdapter;
            GPU.prototype.requestAdapter = function (...how) {
                asked++;
                return ask.apply(this, how);
            };
        }"""
    )
    page.get_by_role("button", name="Run").press("Enter")
    page.get_by_role("button", name="Run").press("Enter")  # while it runs
    expect(told).to_contain_text("Right: the queue is empty", timeout=60_000)
    assert page.evaluate("asked") == 1
    expect(page.get_by_role("button", name="Run")).to_be_enabled()
    expect(page.get_by_role("button", name="Run")).to_be_focused()
    # A round trip more than the kernel, since it waits before the launch, too.
    expect(told).to_contain_text(timed)
    expect(told).to_contain_text("This is software, no GPU.")
    assert heights(page) == before
    page.wait_for_url("**#missing_wait.waits=*")
    page.get_by_role("button", name="Run").click()
    expect(told).to_have_text("Running.")
    page.get_by_label("wait before the launch").uncheck()
    expect(page.get_by_role("button", name="Run")).to_be_enabled(timeout=60_000)
    expect(told).to_have_text("Not run yet.")  # a verdict of the waits that were
    page.get_by_role("button", name="Run").click()
    expect(told).to_contain_text("and changes nothing. The kernel takes", timeout=60_000)


@pytest.mark.browser
def test_without_a_device(widget_page):
    page = widget_page(MissingWaitWidget(), fragment="#missing_wait.waits=[true]")
    expect_refused(page, "missing_wait", "waits=[true]")
    lines = "queue.submit([earlier]);", "const start = performance.now();"
    lines += "queue.submit([kernel]);", "const stop = performance.now();"
    waited = [text for line in lines for text in (line, "await queue.onSubmittedWorkDone();")]
    expect(page.locator(".hydra code")).to_have_text(waited)
    page.evaluate("() => Object.defineProperty(navigator, 'gpu', {value: undefined})")
    page.get_by_label("wait before the clock starts").check()
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".hydra-summary")).to_contain_text("Nothing was timed. This browser has no")
    page.set_viewport_size({"width": 360, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
