"""The widget of the reader's own machine: what it sends, a run by SwiftShader, what can go wrong.

Never a time: what is compared is right or wrong, said or not said.
"""

import json
import math
import re

import pytest
import torch
from playwright.sync_api import expect

from hydra_lib.records import check, records
from hydra_lib.timing import AttentionSize
from hydra_lib.widgets import ExplorerWidget, YourGpuWidget
from tests.conftest import UNREADABLE, expect_refused, in_browser, in_javascript
from tests.measured_records import bare_record, gpu_record, run_in_page
from tests.refusal import refuses

browser = pytest.mark.browser
SMALL = {"T": 64, "h": 2, "head_dim": 16, "n": 128, "budget": 2}
LOOPS = ["loops over arrays", "typed arrays", "typed arrays in blocks"]
GPU = ["stored, three kernels", "fused, one kernel"]
NO_HALF = "Left out: this device or browser has no float16."


# --- what the class takes and sends ---------------------------------------------------------------


def test_records_beside():
    known = records("")
    widget = YourGpuWidget({"ladder": known["ladder"], "bare": bare_record(), "gpu": gpu_record()})
    rows = [r for r in widget.recorded if r["T"] == 256]
    assert {r["kernel"] for r in rows} >= {"SDPA flash", "all heads at once"}
    assert {r["date"] for r in rows} == {known["ladder"]["environment"]["date"][:10]}
    assert all(r["p50"] > 0 for r in widget.recorded)
    assert YourGpuWidget().recorded == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"T": 100}, "T must be 64 or 128 or 256 or 512 or 1024 or 2048 or 4096, got 100"),
        ({"h": 17}, "h must be an integer from 1 to 16, got 17"),
        ({"measure": "all"}, "measure must be attention or matmul or sweep, got 'all'"),
        ({"cold": 1}, "cold must be False or True, got 1"),
        ({"result": {"p50": math.nan}}, "result must be a dictionary for JSON, got {'p50': nan}"),
        ({"records": {"x": {}}}, "records['x'] must have what, environment, rows, got none"),
    ],
)
def test_errors(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        YourGpuWidget(**settings)
    with refuses(TypeError, "records must be a dict, got list"):
        YourGpuWidget(records=[1])


def test_counts_of_the_rungs():
    task = {"measure": "attention", "T": 64, "h": 3, "D": 16, "n": 128}
    expression = "m.linesOf(c).map(({plan, ...line}) => line)"
    tasks = [task, task | {"measure": "matmul"}, task | {"measure": "sweep"}]
    attention, matmul, sweep = json.loads(in_javascript("your_gpu.js", expression, tasks))
    size = AttentionSize(1, 3, 64, 16)
    assert [line["kernel"] for line in attention] == [*LOOPS, *GPU, GPU[1]]
    assert {line["flops"] for line in attention} == {size.flops()}
    stored = size.bytes(torch.float32) + 5 * 4 * 3 * 64 * 65 // 2
    assert [line["bytes"] for line in attention] == [
        size.bytes(torch.float64),
        size.bytes(torch.float32),
        size.bytes(torch.float32),
        stored,
        size.bytes(torch.float32),
        size.bytes(torch.float16),
    ]
    assert {line["flops"] for line in matmul} == {2 * 128**3}
    assert [line["bytes"] for line in matmul] == [3 * 4 * 128**2] * 3 + [3 * 2 * 128**2]
    # What the stored kernels hold grows like T², what the fused one holds like T.
    held = {(line["kernel"], line["sizes"]["T"]): line["held"] for line in sweep}
    assert held[GPU[0], 8192] / held[GPU[0], 4096] == pytest.approx(4, rel=0.01)
    assert held[GPU[1], 8192] / held[GPU[1], 4096] == 2


def test_what_a_device_cannot_run():
    limits = {
        "maxStorageBufferBindingSize": 2**27,
        "maxBufferSize": 2**28,
        "maxComputeWorkgroupStorageSize": 2**14,
        "maxComputeWorkgroupsPerDimension": 65535,
    }
    device = {"limits": limits, "half": False}
    full = {"buffers": {"q": 2**25}, "shared": 2**14, "steps": [{"groups": [1, 65535, 1]}]}
    plan = {"buffers": {"q": 10}, "dtype": "float32", "shared": 0, "steps": [{"groups": [1, 1, 1]}]}
    plans = [
        plan,
        plan | full,
        plan | {"dtype": "float16"},
        plan | {"shared": 18432},
        plan | {"buffers": {"scores": 2**28}},
        plan | {"steps": [{"groups": [1, 70000, 1]}]},
    ]
    cases = [[device, one] for one in plans]
    cases.append([device | {"limits": limits | {"maxBufferSize": 10**6}}, plans[-2]])
    assert json.loads(in_javascript("gpu.js", "m.refusal(...c)", cases)) == [
        None,
        None,
        "this device or browser has no float16",
        "it needs 18.4 kB of workgroup memory; this device gives 16.4 kB",
        "scores would take 1.1 GB; a buffer here holds at most 134 MB",
        "it needs 70000 workgroups in a line; this device takes 65535",
        "scores would take 1.1 GB; a buffer here holds at most 1 MB",
    ]


def test_a_page_without_webgpu_is_told_why():
    secure, plain = json.loads(in_javascript("gpu.js", "m.withoutGpu(c)", [True, False]))
    where = "Chrome and Edge have it from version 113, Safari from 26, Firefox from 141, not yet on"
    assert secure == f"This browser has no WebGPU. {where} every system."
    assert plain == (
        "This page did not come over https, and browsers give WebGPU only to pages that do, or "
        "that come from localhost or a file."
    )


def test_what_is_known_of_a_device():
    expression = """m.openGpu({requestAdapter: async () => c && ({
        info: c.info, features: new Set(c.features), limits: {},
        requestDevice: async ({requiredFeatures: granted}) => {
            if (c.refused) throw new Error(c.refused);
            return {lost: new Promise(() => {}), limits: {granted}};
        },
    })}).then(
        ({name, software, stamps, limits: {granted}}) => [name, software, stamps, granted],
        (error) => [error instanceof m.GpuError, error.message])"""
    cases = [
        {"info": {"vendor": "nvidia", "architecture": "", "description": "H200"}, "features": []},
        {"info": {}, "features": ["timestamp-query", "shader-f16", "bgra8unorm-storage"]},
        {"info": {"device": "SwiftShader Device"}, "features": []},
        {"info": {"vendor": "a", "isFallbackAdapter": True}, "features": []},
        {"info": {}, "features": [], "refused": "too much was asked"},
        None,
    ]
    *known, refused, none = json.loads(in_javascript("gpu.js", expression, cases))
    assert known == [
        ["nvidia H200", False, False, []],
        ["a GPU without a name", False, True, ["timestamp-query", "shader-f16"]],
        ["SwiftShader Device", True, False, []],
        ["a", True, False, []],
    ]
    assert refused == [True, "The browser refuses the device: too much was asked"]
    assert none[1].startswith("This browser has WebGPU, but gives this page no device. ")


def test_the_page_s_clock_runs_from_the_first_call_to_the_device_s_word():
    expression = """(() => {
        let time = 5;
        const device = {
            createCommandEncoder: () => ({beginComputePass: () => ({end() {}}), finish() {}}),
            queue: {submit() {}, onSubmittedWorkDone: async () => { time += 3; }},
        };
        const encode = () => { time += 0.25; };
        return m.awaited({device, lost: new Promise(() => {})}, {encode}, 2, () => time);
    })()"""
    assert json.loads(in_javascript("gpu.js", expression, [0])) == [3.5]


def test_a_run_tells_what_the_device_found_wrong():
    """Each kind of error is listened for, and none is left to be heard by the next run."""
    expression = """(() => {
        const listening = [];
        const device = {
            pushErrorScope: (kind) => listening.push(kind),
            popErrorScope: async () => {
                const message = c.errors[listening.pop()];
                return message ? {message} : null;
            },
            createCommandEncoder: () => ({beginComputePass: () => ({end() {}}), finish() {}}),
            queue: {
                submit() { if (c.thrown) throw new Error(c.thrown); },
                onSubmittedWorkDone: async () => {},
            },
        };
        return m.runOnce({device, lost: new Promise(() => {})}, {encode() {}}).then(
            () => [listening.length],
            (error) => [listening.length, error instanceof m.GpuError, error.message]);
    })()"""
    memory, bad = "The device has no memory left for this", {"validation": "bad"}
    cases = [
        ({}, None, [0]),
        (bad, None, [0, True, "bad"]),
        ({"out-of-memory": "0x5"}, None, [0, True, memory]),
        (bad | {"out-of-memory": "0x5"}, None, [0, True, memory]),
        ({"out-of-memory": "0x5", "internal": "a fault"}, None, [0, True, "a fault"]),
        (bad, "first", [0, False, "first"]),
    ]
    asked = [{"errors": errors, "thrown": thrown} for errors, thrown, _ in cases]
    told = json.loads(in_javascript("gpu.js", expression, asked))
    assert told == [expected for *_, expected in cases]


def test_the_device_s_clock():
    expression = """(() => {
        globalThis.GPUBufferUsage = {QUERY_RESOLVE: 1, COPY_SRC: 2, MAP_READ: 4, COPY_DST: 8};
        globalThis.GPUMapMode = {READ: 1};
        const log = [], destroy = () => log.push("destroyed");
        const device = {
            createQuerySet: ({type, count}) => (log.push([type, count]), {destroy}),
            createBuffer: ({size, usage}) => (log.push([size, usage]), {
                destroy, mapAsync: async () => {},
                getMappedRange: () => new BigUint64Array(c.map(BigInt)).buffer,
            }),
            createCommandEncoder: () => ({
                beginComputePass: ({timestampWrites: {beginningOfPassWriteIndex: from,
                    endOfPassWriteIndex: to}}) => (log.push([from, to]), {end() {}}),
                resolveQuerySet: (_, ...all) => log.push([all[0], all[1], all[3]]),
                copyBufferToBuffer: (_, from, __, ...all) => log.push([from, ...all]),
                finish() {},
            }),
            queue: {submit() {}},
        };
        const gpu = {device, lost: new Promise(() => {})};
        return m.stamped(gpu, {encode: () => log.push("call")}, 3).then((found) => [found, log]);
    })()"""
    cases = [[5_000_000_000, 8_500_000_000], [7, 7], [9, 8]]
    found, logs = zip(*json.loads(in_javascript("gpu.js", expression, cases)), strict=True)
    assert found == (3.5, None, None)  # no number where the stamps do not tell
    made = [["timestamp", 2], [16, 3], [16, 12]]
    used = [[0, 1], "call", "call", "call", [0, 2, 0], [0, 0, 16]]
    assert logs[0] == made + used + ["destroyed"] * 3
    assert logs[0] == logs[1] == logs[2]


def test_names_of_browsers():
    tail = "AppleWebKit/537.36 (KHTML, like Gecko)"
    agents = {
        f"{tail} Chrome/131.0.0.0 Safari/537.36": "Chromium 131.0.0.0",
        f"{tail} Chrome/131.0.0.0 Safari/537.36 Edg/131.0": "Edge 131.0",
        f"{tail} Chrome/131.0.0.0 Safari/537.36 OPR/117.0": "Opera 117.0",
        "Gecko/20100101 Firefox/142.0": "Firefox 142.0",
        "AppleWebKit/605.1 Version/26.0 Safari/605.1": "Safari 26.0",
        "Lynx": "unknown",
    }
    found = json.loads(in_javascript("your_gpu.js", "m.browserOf(c)", list(agents)))
    assert found == list(agents.values())


# --- a run ----------------------------------------------------------------------------------------


def run(page):
    page.get_by_role("button", name="Run").click()
    ended(page)


def ended(page):
    expect(page.get_by_role("button", name="Run")).to_be_enabled(timeout=120_000)


def rung(page, i):
    return page.locator(".hydra-rungs tbody tr").nth(i)


def told(page):
    return page.locator(".hydra-run .hydra-summary").inner_text()


def expect_rungs(page, states):
    """What stands below the name of each rung; True for one that was right and got a time."""
    expect(page.locator(".hydra-rungs tbody tr")).to_have_count(len(states))
    for i, state in enumerate(states):
        right = state is True
        words = re.compile("^right (to|within) ") if right else state
        time = re.compile(r"^[\d,.]+ (s|ms|µs|ns)") if right else "– –"
        expect(rung(page, i).locator("th small")).to_have_text(words)
        expect(rung(page, i).locator("td").nth(2)).to_have_text(time)


@browser
def test_before_anything_runs_it_says_what_will(widget_page):
    page = widget_page(YourGpuWidget(records("ladder")))
    expect_rungs(page, [""] * 6)
    expect(rung(page, 3).locator("td").first).to_contain_text("101 M 11.0 MB")
    expect(rung(page, 4).locator("td").first).to_contain_text("101 M 3.15 MB")
    expect(page.locator(".hydra-note").first).to_contain_text("Nothing leaves this page.")
    page.get_by_label("Measure").select_option("matmul")
    expect(page.locator("caption")).to_contain_text("512 × 512")
    expect(page.get_by_label("Length T")).to_be_hidden()
    page.get_by_label("Side n").select_option("2048")
    expect(page.locator("caption")).to_contain_text("2048 × 2048")
    page.get_by_label("Measure").focus()
    page.keyboard.press("ArrowDown")
    expect(rung(page, 11).locator("th")).to_contain_text("T = 16384, fused")
    page.wait_for_url("**#your_gpu.measure=sweep&your_gpu.n=2048")
    for width in (320, 360, 640):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@browser
def test_a_run_on_a_device(gpu_page):
    page = gpu_page(YourGpuWidget(**SMALL))
    page.get_by_label("do not wait for the device").check()
    page.get_by_label("count compiling the kernel").focus()
    page.keyboard.press("Space")
    page.evaluate(
        """() => {
            const root = document.querySelector("[data-ready=your_gpu]");
            window.said = new Set();
            const hear = (one, k) => said.add(`${k} ${one.textContent}`);
            const rungs = () => root.querySelectorAll(".hydra-rungs tbody th small");
            const listen = () => rungs().forEach(hear);
            new MutationObserver(listen).observe(root, { childList: true, subtree: true });
        }"""
    )
    run(page)
    expect_rungs(page, [True] * 5 + [NO_HALF])
    said = page.evaluate("[...said]")
    fused = len(LOOPS) + 1
    assert f"{fused} being checked against float64 …" in said
    assert f"{fused} being timed …" in said
    expect(page.locator(".hydra-note").first).to_contain_text("(software, no GPU); its times say")
    expect(page.locator(".hydra-rungs small.hydra-wrong")).to_have_count(2)
    assert "Fastest: " in told(page)
    assert "(paired, ± " in told(page)
    expect(page.locator("figure svg")).to_have_count(2)
    expect(page.locator(".hydra-mistaken")).to_have_count(2)
    page.get_by_text("The record as JSON").click()
    record = json.loads(page.get_by_label("the record as JSON").input_value())
    check(record)
    assert record["settings"]["clock"].startswith(
        ("the page's clock, ", "timestamps of the device")
    )
    roof = record["ceilings"]["float32"]
    assert [roof["copy"][key] for key in ("flops", "bytes")] == [None, 8 * 2**20]
    assert [roof["matmul"][key] for key in ("flops", "bytes")] == [2 * 128**3, 3 * 4 * 128**2]
    page.get_by_role("button", name="Copy").click()
    expect(page.locator(".hydra-json button")).to_have_text(re.compile("^Copied|^Selected"))
    assert [row["kernel"] for row in record["rows"]] == [*LOOPS, *GPU]
    assert record["missing"][0]["what"] == "fused, one kernel, float16"
    assert {m["kernel"] for m in record["mistakes"]} == set(GPU)
    ExplorerWidget({"yours": record})

    # The address holds it: whoever follows it sees the same, and nothing runs.
    page.wait_for_url("**your_gpu.result=*")
    page.reload()
    page.wait_for_selector("[data-ready=your_gpu]")
    expect_rungs(page, [True] * 5 + [NO_HALF])
    again = json.loads(page.locator("textarea").input_value())
    assert again == record
    page.get_by_label("head_dim").select_option("32")
    expect_rungs(page, [""] * 6)
    assert told(page) == "The last result is for other sizes."


@browser
def test_products_one_of_them_wrong(gpu_page):
    widget = YourGpuWidget(measure="matmul", **SMALL)
    widget._esm = widget._esm.replace("sum += f32(a[row", "sum += f32(a[7 + row")
    page = gpu_page(widget)
    run(page)
    words = rung(page, 0).locator("th small").inner_text()
    assert re.match(r"Wrong: a row is off by 1\.\d, allowed 0\.000015; not timed\.$", words)
    expect(page.locator(".hydra-rungs th small.hydra-wrong")).to_have_count(1)
    expect_rungs(page, [words, True, True, NO_HALF])
    assert "Not timed: 2 of 4." in told(page)


LOSE = """(() => {
    const request = GPUAdapter.prototype.requestDevice;
    GPUAdapter.prototype.requestDevice = async function (...how) {
        const device = await request.apply(this, how);
        window.lose = () => device.destroy();
        return device;
    };
})()"""
HIDE = """() => {
    Object.defineProperty(document, "hidden", {value: true, configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
    delete document.hidden;
}"""


@browser
def test_runs_that_end_early(gpu_page):
    widget = YourGpuWidget(measure="matmul", **{**SMALL, "budget": 60})
    widget._esm = widget._esm.replace("fn store(row: u32", "fn shop(row: u32")
    page = gpu_page(widget)
    timing = rung(page, 0).locator("th small", has_text="timed")
    ways = (
        ("document.querySelectorAll('.hydra-run button')[1].click()", "you stopped it"),
        (HIDE, "the page went into the background, where browsers slow it down"),
        ("lose()", "The device was lost"),
    )
    page.evaluate(LOSE)
    for way, words in ways:
        page.get_by_role("button", name="Run").click()
        expect(timing).to_be_visible(timeout=60_000)
        assert told(page) == "Running."
        page.evaluate(way)
        ended(page)
        assert f"The run has ended early: {words}" in told(page)
    # Its compiler's words, and the line.
    compiled = "The kernel does not compile: line "
    expect(rung(page, 2).locator("th small")).to_contain_text(compiled)


@browser
def test_a_result_is_drawn(widget_page):
    known = {"ladder": records("")["ladder"]}
    ladder = run_in_page("attention", [(0, 0.3), (3, 2e-3), (4, 1e-3)], [[3, 0], [4, 2e-4]])
    sweep = run_in_page("sweep", [(0, 1e-3), (1, 2e-4), (2, 4e-3), (3, 8e-4), (5, 3.2e-3)])
    widgets = [
        YourGpuWidget(known, result=ladder, name="ladder"),
        YourGpuWidget(measure="sweep", result=sweep, name="sweep"),
    ]
    page = widget_page(*widgets)
    expect(rung(page, 3).locator("td").nth(2)).to_contain_text("mistaken: less than the clock")
    first, second = page.locator("[data-ready=ladder]"), page.locator("[data-ready=sweep]")
    expect(first.locator(".hydra-mistaken")).to_have_count(1)
    expect(first.locator("figcaption").first).to_contain_text("Without colour: AMD EPYC")
    expect(first.locator("figcaption").nth(1)).to_contain_text("Roofline in float32")
    expect(first.locator("figure").nth(1).locator(".hydra-point text")).to_have_text(
        [re.compile("^4( |$)"), re.compile("^5( |$)")]  # a name where it fits
    )
    expect(second.locator(".hydra-path")).to_have_count(2)
    expect(second.locator("figure").nth(1)).to_be_hidden()
    expect(second.locator(".hydra-summary")).to_contain_text("fused, one kernel: up to T = 2048")
    expect(second.locator(".hydra-summary")).to_contain_text(
        "stored, three kernels: up to T = 1024"
    )
    expect(page.locator("text:text-is('time of one call')")).to_have_count(1)
    assert page.locator("body").evaluate(UNREADABLE) == []
    for widget in (ladder, sweep):
        check(record_of(widget))


TIMES = """(() => {
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    picture.style.width = "340px";
    document.body.append(picture);
    m.drawTimes(picture, c);
    const all = (kind, ...names) => [...picture.querySelectorAll(kind)].map((one) =>
        names.map((name) => one.getAttribute(name)));
    const texts = [...picture.querySelectorAll("text")].map((one) => {
        const {x, y, width, height} = one.getBBox();
        return [one.textContent, Number(one.getAttribute("x")), x, x + width, y, y + height];
    });
    return {
        room: picture.getAttribute("viewBox"), texts,
        grid: all(".hydra-grid", "x1", "x2"), base: all(".hydra-base", "x1", "x2", "y1", "y2"),
        rows: [...picture.querySelectorAll("g")].map((row) => [row.getAttribute("class"),
            [...row.querySelectorAll("circle")].map((one) => [one.getAttribute("class"),
                Number(one.getAttribute("cx")), Number(one.getAttribute("cy"))]),
            [...row.querySelectorAll("line")].map((one) => ["x1", "x2", "y1", "y2"].map((at) =>
                Number(one.getAttribute(at))))]),
        unreadable: (UNREADABLE)(document.body),
    };
})()""".replace("UNREADABLE", UNREADABLE)


@browser
def test_times_stand_where_the_axis_says(chromium):
    """On a logarithmic axis that holds every time, a wrong one too; rows in the order given."""
    entries = [
        {"name": "slow", "p20": 7e-4, "p50": 8e-4, "p80": 9e-4, "wrong": None, "own": True},
        {"name": "on record", "p50": 2e-4, "wrong": None, "own": False},
        {"name": "fast", "p20": 9e-6, "p50": 1e-5, "p80": 1.1e-5, "wrong": 1e-6, "own": True},
    ]
    (drawn,) = json.loads(in_browser(chromium, "your_gpu_chart.js", TIMES, [entries]))
    assert drawn["unreadable"] == []
    width, height = [float(x) for x in drawn["room"].split()][2:]
    written = {}
    for said, x, left, right, top, bottom in drawn["texts"]:
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
        if amount := re.fullmatch(r"(\d+) (ns|µs|ms)", said):
            written[float(amount[1] + {"ns": "e-9", "µs": "e-6", "ms": "e-3"}[amount[2]])] = x
    assert set(written) >= {1e-6, 1e-5, 1e-4, 1e-3}
    assert [float(x) for line in drawn["grid"] for x in line] == [
        x for x in written.values() for _ in range(2)
    ]
    decade = (written[1e-3] - written[1e-6]) / 3

    def place(seconds):
        return pytest.approx(written[1e-6] + decade * math.log10(seconds / 1e-6), abs=0.01)

    (base,) = drawn["base"]
    ends = [10 ** ((float(x) - written[1e-6]) / decade - 6) for x in base[:2]]
    assert ends == [pytest.approx(1e-6 / 1.5), pytest.approx(9e-4 * 1.5)]
    names = ["slow: 800 µs", "on record: 200 µs", "fast: 10.0 µs"]
    texts = {said: place for said, *place in drawn["texts"]}
    levels = []
    for entry, name, (kind, dots, spans) in zip(entries, names, drawn["rows"], strict=True):
        assert ("hydra-picked" in kind) == entry["own"]
        _, x, y = dots[0]
        levels.append(y)
        assert x == place(entry["p50"])
        span = [place(entry["p20"]), place(entry["p80"]), y, y] if "p20" in entry else None
        assert spans == ([span] if span else [])
        wrong = [[kind, at, level] for kind, at, level in dots[1:]]
        assert wrong == ([["hydra-mistaken", place(1e-6), y]] if entry["wrong"] else [])
        _, left, right, top, bottom = texts[name]  # above its dot, towards the middle
        assert y - 24 < top < bottom < y
        assert (right if x > width / 2 else left) == pytest.approx(x, abs=1)
    assert levels == sorted(levels)
    assert levels[-1] < float(base[2]) == float(base[3]) < height - 30
    (title,) = [place for said, *place in drawn["texts"] if said == "time of one call"]
    assert title[2] == pytest.approx(float(base[1]), abs=1)


def record_of(result):
    return json.loads(in_javascript("your_gpu.js", "m.recordOf(c)", [result]))[0]


# --- without a device ----------------------------------------------------------------------------


@browser
@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        ("undefined", "This browser has no WebGPU. Chrome and Edge have it from version 113, "),
        (
            "{requestAdapter: async () => null}",
            "gives this page no device. Chrome and Edge have it",
        ),
        (
            "{requestAdapter: async () => ({info: {}, features: new Set(), limits: {}, "
            "requestDevice: async () => { throw new Error('too busy'); }})}",
            "The browser refuses the device: too busy",
        ),
    ],
)
def test_without_a_device_the_loops_run(widget_page, gpu, words):
    page = widget_page(YourGpuWidget(**SMALL))
    page.evaluate(f"() => Object.defineProperty(navigator, 'gpu', {{value: {gpu}}})")
    page.get_by_role("button", name="Run").press("Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_enabled()
    ended(page)
    expect(page.get_by_role("button", name="Run")).to_be_focused()
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    expect_rungs(page, [True] * 3 + ["Left out: it needs WebGPU."] * 3)
    assert words in told(page)
    record = json.loads(page.locator("textarea").input_value())
    check(record)
    assert "ceilings" not in record
    assert record["environment"]["device"] == record["environment"]["cpu"]
    page.get_by_text("The record as JSON").click()
    copy = page.locator(".hydra-json button")
    copy.click()
    expect(copy).to_have_text(re.compile("^Copied|^Selected"))
    run(page)
    expect(copy).to_have_text("Copy")  # another record


@browser
def test_without_webgpu_it_says_what_runs_in_javascript(widget_page):
    page = widget_page(YourGpuWidget(**SMALL))
    page.evaluate("() => Object.defineProperty(navigator, 'gpu', {value: undefined})")
    for measure, words in (
        ("matmul", "Attention with a short text has rungs in JavaScript, which run here"),
        ("attention", "The rungs in JavaScript run here"),
    ):
        page.get_by_label("Measure").select_option(measure)
        note = page.locator(".hydra-note").first
        expect(note).to_contain_text(f" every system. {words} all the same. Nothing ")


def test_a_result_is_shown_only_if_it_is_whole():
    whole = run_in_page("attention", [(0, 0.3), (3, 2e-3), (4, 1e-3)], [[4, 2e-4]])
    (lines,) = json.loads(in_javascript("your_gpu.js", "m.linesOf(c).length", [whole["task"]]))
    last = lines - 1
    cases = [whole | {"missing": missing} for missing in ([], [[0, "why"], [last, "why"]])]
    cases += [
        whole | {"missing": [missing]}
        for missing in ([0, 5], [-1, "why"], [last + 1, "why"], [0.5, "why"], [0], [0, "why", 1])
    ]
    roof = whole["roof"]["float32"]
    standing = [roof["copy"][:1] + [0] + roof["copy"][2:], [*roof["copy"], 1]]
    cases += [whole | {"roof": {"float32": roof | {"copy": copy}}} for copy in standing]
    found = json.loads(in_javascript("your_gpu.js", "m.isResult(c, () => true)", cases))
    assert found == [True] * 2 + [False] * 8


def test_a_copy_is_of_float32_under_every_roof():
    result = run_in_page("attention", [(0, 0.3), (3, 2e-3)])
    result["roof"]["float16"] = result["roof"]["float32"]
    ceilings = record_of(result)["ceilings"].values()
    dtypes = [[both[kind]["dtype"] for kind in both] for both in ceilings]
    assert dtypes == [["float32", "float32"], ["float32", "float16"]]


@browser
def test_links_that_make_no_sense(widget_page):
    page = widget_page(YourGpuWidget(), fragment="#your_gpu.T=65")
    expect_refused(page, "your_gpu", "T=65")
    result = {"task": {"measure": "matmul", "T": 64, "h": 1, "D": 16, "n": 128}, "rows": []}
    for asked in ("result=1", "budget=1000", "recorded=[]", f"result={json.dumps(result)}"):
        page.evaluate("(hash) => { location.hash = hash; }", f"#your_gpu.{asked}")
        problem = page.locator("[data-ready=your_gpu] > .hydra-problem").last
        expect(problem).to_contain_text(f"The link asks for {asked.split('=')[0]} = ")
