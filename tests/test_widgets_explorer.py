"""The explorer of records: its arithmetic against the library, every control, links, errors."""

import copy
import itertools
import json
import math
import random
import re
import statistics

import pytest
import traitlets
from playwright.sync_api import expect

from hydra_lib.records import provenance, records
from hydra_lib.timing import roofline
from hydra_lib.timing.sizes import AttentionSize
from hydra_lib.widgets import ExplorerWidget
from tests.conftest import UNREADABLE, drawn, follow, in_javascript, middle, swipe
from tests.measured_records import FAST, a_row, bare_record, ceiling, environment_of, gpu_record

browser = pytest.mark.browser
SIZES = ("d_model", "m", "k", "n", "T", "head_dim", "B", "h")
CHOICES = ("group", "pass", "dtype", *SIZES)
SIZE = (1, 2, 64, 16)


def small_record():
    """Three kernels, the second paired with the first and the third with the second."""
    rows = [
        a_row("ladder", "first", SIZE, 8e-3, error=None, peak_bytes=None),
        a_row("ladder", "second", SIZE, 2e-3, reference="first", ratio=4.5, spread=0.021),
        a_row("ladder", "third", SIZE, 1e-3, reference="second", ratio=1.8, spread=None),
    ]
    # 1 TB/s and 10 TFLOP/s; forward these rows move 16,384 bytes and compute 266,240 FLOPs.
    ceilings = {"copy": ceiling(1e-3, bytes=1e9), "matmul": ceiling(1e-3, flops=1e10)}
    return {
        "what": "Small",
        "environment": environment_of("AMD EPYC"),
        "ceilings": {"bfloat16": ceilings},
        "rows": rows,
    }


# --- what the class takes and sends -----------------------------------------------------------


def broken(**changes):
    record = small_record()
    record["rows"][1] |= changes
    return {"x": record}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ExplorerWidget({}),
            "records must be a dictionary of at least one record, got {}",
        ),
        (
            lambda: ExplorerWidget(None),
            "records must be a dictionary of at least one record, got None",
        ),
        (
            lambda: ExplorerWidget({"x": None}),
            "records['x'] must be a dictionary, got None",
        ),
        (
            lambda: ExplorerWidget(small_record()),
            "records['what'] must be a dictionary, got 'Small'",
        ),
        (
            lambda: ExplorerWidget(broken(p50=None)),
            "records['x']: row 1: p50 must be a number above 0, got None",
        ),
        (
            lambda: ExplorerWidget({"x": small_record() | {"rows": [{"group": "training"}]}}),
            "records['x'] must have timed rows to show, got none",
        ),
        (
            lambda: ExplorerWidget({"x": bare_record()}, groups=["training"]),
            "records['x'] must have timed rows to show, got none",
        ),
        (
            lambda: ExplorerWidget({"x": bare_record()}, groups=["mine", "yours"]),
            "groups must be one of mine, training, got 'yours'",
        ),
        (
            lambda: ExplorerWidget({"x": small_record()}, T=128),
            "T must be one of those measured (64), got 128",
        ),
        (
            lambda: ExplorerWidget({"x": small_record()}, n=128),
            "n must be one of those measured (nothing), got 128",
        ),
        (
            lambda: ExplorerWidget({"x": small_record()}, reference="fourth"),
            "reference must be one of those measured (first, second, third), got 'fourth'",
        ),
        (
            lambda: ExplorerWidget({"x": small_record()}).set_trait("direction", "backward"),
            "direction must be one of those measured (forward), got 'backward'",
        ),
        (
            lambda: ExplorerWidget({"x": small_record()}, record="y"),
            "record must be one of those measured (x), got 'y'",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()


@pytest.mark.parametrize("setting", [{"show": "money"}, {"chart": "pie"}, {"T": "long"}])
def test_bad_settings(setting):
    (name,) = setting
    with pytest.raises(traitlets.TraitError, match=name):
        ExplorerWidget({"x": small_record()}, **setting)


def test_only_what_is_shown_is_sent():
    record = gpu_record() | {"checks": [{"long": 1}], "missing": [{"longer": 1}]}
    before = copy.deepcopy(record)
    widget = ExplorerWidget(
        {"gpu": record}, T=1024, chart="T", kernel="Triton", direction="forward"
    )
    assert record == before
    sent = widget.get_state(["records"])["records"]["gpu"]
    assert set(sent) == {"what", "environment", "ceilings", "rows"}
    for row, given in zip(sent["rows"], record["rows"], strict=True):
        assert row.items() <= given.items()
        assert None not in row.values()
        assert not set(row) & {"samples", "ratio_p20", "ratio_p80"}
    assert sent["ceilings"] == {"bfloat16": {"peak": 1e12 / 1.5e-3, "bandwidth": 4e12}}
    assert ExplorerWidget({"x": bare_record()}).records["x"]["ceilings"] == {}


def test_groups_are_sent_in_the_order_that_was_asked_for():
    sent = ExplorerWidget({"gpu": gpu_record()}, groups=["kernels", "grid"]).records["gpu"]
    assert list(dict.fromkeys(row["group"] for row in sent["rows"])) == ["kernels", "grid"]
    sent = ExplorerWidget({"x": bare_record()}).records["x"]
    assert {row["group"] for row in sent["rows"]} == {"mine"}  # "training" is not timed


# --- arithmetic -------------------------------------------------------------------------------


@pytest.mark.long
def test_places_agree_with_the_library():
    draw = random.Random(11)
    records = []
    for _ in range(40):
        record = small_record()
        record["ceilings"]["bfloat16"] = {
            "copy": ceiling(10 ** draw.uniform(-5, 1), bytes=draw.randint(1, 10**12)),
            "matmul": ceiling(10 ** draw.uniform(-5, 1), flops=draw.randint(1, 10**15)),
        }
        counts = [{"flops": 10**15, "bytes": 10**12} for _ in range(30)]
        record["rows"] = [
            a_row("ladder", "one", SIZE, 10 ** draw.uniform(-7, 1))
            | {name: draw.randint(1, most) for name, most in count.items()}
            for count in counts
        ]
        records.append(record)
    sent = [ExplorerWidget({"x": record}).records["x"] for record in records]
    expression = "c.rows.map((row) => m.placeOf(c, row))"
    got = json.loads(in_javascript("records.js", expression, sent))
    bounds = []
    for record, results in zip(records, got, strict=True):
        ceilings = roofline.ceilings_of(record)["bfloat16"]
        for row, result in zip(record["rows"], results, strict=True):
            expected = roofline.place(ceilings, row["flops"], row["bytes"], row["p50"])
            expected["leastSeconds"] = expected.pop("least_seconds")
            del expected["ridge"]
            bounds.append(expected.pop("bound"))
            assert result.pop("bound") == bounds[-1]
            assert result == pytest.approx(expected, rel=1e-9)
    assert len(bounds) == 1200
    assert min(map(bounds.count, ("memory", "compute"))) > 100
    ridge = "m.place({ peak: 6, bandwidth: 2 }, 3, c, 1).bound"  # both take half a second
    assert json.loads(in_javascript("records.js", ridge, [1, 1.01])) == ["compute", "memory"]


def test_provenance_agrees_with_the_library():
    made = [*records("").values(), small_record(), gpu_record()]
    for device, threads in itertools.product(("EPYC", "H200"), (1, 2, None)):
        about = environment_of(device, cpu="EPYC") | {"threads": threads}
        made.append(small_record() | {"environment": about})
    got = in_javascript("records.js", "m.provenance(c)", made)
    assert json.loads(got) == [provenance(one) for one in made]


def test_no_place_without_ceilings_or_counts():
    record = ExplorerWidget({"x": small_record()}).records["x"]
    row = record["rows"][0]
    others = [row | {"dtype": "float32"}, row | {"flops": 0}]
    others += [{k: v for k, v in row.items() if k != name} for name in ("flops", "bytes")]
    cases = [[record, row], *([record, other] for other in others)]
    got = json.loads(in_javascript("records.js", "m.placeOf(...c)", cases))
    assert got[0]["bound"] == "compute"
    assert got[1:] == [None] * 4


def ratio_of(rows, kernel, reference):
    """The rule in other words: a pair that was measured, else two medians of the same work."""
    if kernel == reference:
        return 1, "itself"
    pairs = {
        (r["kernel"], r["reference"]): r["ratio"] for r in reversed(rows) if r.get("reference")
    }
    if (kernel, reference) in pairs:
        return pairs[kernel, reference], "paired"
    if (reference, kernel) in pairs:
        return 1 / pairs[reference, kernel], "paired"
    first = {r["kernel"]: r for r in reversed(rows)}
    if not {kernel, reference} <= set(first):
        return None
    if not first[kernel]["flops"] or first[kernel]["flops"] != first[reference]["flops"]:
        return None
    return first[reference]["p50"] / first[kernel]["p50"], "medians"


def test_ratios():
    draw = random.Random(12)
    cases = []
    for _ in range(1000):
        rows = []
        for _ in range(draw.randint(1, 6)):
            kernel, reference = draw.choices("abcd", k=2)
            flops = draw.choice([1, 1, 1, 1, 2, None])
            row = {"kernel": kernel, "p50": draw.random() + 0.1, "flops": flops}
            if reference != kernel and draw.random() < 0.5:
                row |= {"reference": reference, "ratio": draw.random() + 0.1}
            rows.append(row)
        cases.append([rows, *draw.choices("abcd", k=2)])
    got = json.loads(in_javascript("records.js", "m.compared(...c)", cases))
    kinds = []
    for case, result in zip(cases, got, strict=True):
        expected = ratio_of(*case)
        kinds.append(expected and expected[1])
        if expected is None:
            assert result is None
        else:
            assert (result["value"], result["how"]) == (pytest.approx(expected[0]), expected[1])
    assert min(map(kinds.count, (None, "itself", "paired", "medians"))) > 50


def test_ratios_by_hand():
    rows = small_record()["rows"]
    pairs = [("second", "first"), ("first", "second"), ("third", "first"), ("third", "third")]
    pairs.append(("third", "second"))
    got = json.loads(in_javascript("records.js", "m.compared(...c)", [[rows, *p] for p in pairs]))
    assert got == [
        {"value": 4.5, "how": "paired", "spread": 0.021},
        {"value": 1 / 4.5, "how": "paired", "spread": 0.021},
        {"value": 8.0, "how": "medians", "spread": None},
        {"value": 1, "how": "itself", "spread": None},
        {"value": 1.8, "how": "paired", "spread": None},
    ]


def agreeing(rows, wanted):
    return [r for r in rows if all(r.get(k) == v for k, v in wanted.items() if v is not None)]


def test_choices_always_leave_rows():
    """Each value that is offered has rows, given the choices before it; refusals are told."""
    rows = ExplorerWidget({"gpu": gpu_record()}).records["gpu"]["rows"]
    draw = random.Random(13)
    values = {key: [*dict.fromkeys(r.get(key) for r in rows), None, 7] for key in CHOICES}
    cases = [{key: draw.choice(values[key]) for key in CHOICES} for _ in range(1000)]
    cases += [dict.fromkeys(CHOICES)]
    # The rows once: with every case they would be thirty megabytes.
    got = json.loads(in_javascript("records.js", f"m.choose({json.dumps(rows)}, c)", cases))
    for asked, result in zip(cases, got, strict=True):
        left, taken = rows, result["taken"]
        for key in CHOICES:
            known = {r[key] for r in left if key in r}
            assert sorted(result["offered"][key]) == sorted(known)
            refused = asked[key] is not None and asked[key] not in known
            assert (key in result["refused"]) == refused
            if asked[key] in known:
                assert taken[key] == asked[key]
            elif not known:
                assert taken[key] is None
            else:
                usual = max(known) if key in SIZES else left[0][key]
                assert taken[key] == usual
            left = agreeing(left, {key: taken[key]})
        assert result["rows"] == left
        assert left


def test_one_row_a_kernel():
    """The GPU's Triton has two rows a size: the one beside the reference that is asked for."""
    rows = agreeing(gpu_record()["rows"], {"group": "forward", "T": 1024, "head_dim": 64})
    assert [r["kernel"] for r in rows] == [FAST, "Triton", "SDPA cuDNN", "Triton"]
    for reference, expected in ((FAST, rows[1]), ("SDPA cuDNN", rows[3]), ("Triton", rows[1])):
        expression = "m.fastestFirst(...c)"
        (got,) = json.loads(in_javascript("records.js", expression, [[rows, reference]]))
        assert [r["kernel"] for r in got] == ["SDPA cuDNN", "Triton", FAST]
        assert got[1] == expected


def test_series_keep_the_other_choices():
    rows = gpu_record()["rows"]
    taken = dict.fromkeys(CHOICES) | {"group": "forward", "pass": "forward", "dtype": "bfloat16"}
    taken |= {"T": 4096, "head_dim": 64, "B": 4, "h": 32, "record": "other", "chart": "T"}
    cases = [[rows[::-1], taken, "T"], [rows, taken, "head_dim"], [rows, taken, "n"]]
    cases.append([rows, taken | {"group": "grid", "head_dim": 64}, "T"])
    along_T, along_d, along_n, grid = json.loads(
        in_javascript("records.js", "m.series(...c)", cases)
    )
    assert [stop["x"] for stop in along_T] == [1024, 4096, 16384]
    assert [stop["taken"]["B"] for stop in along_T] == [16, 4, 1]  # it may follow the length
    for stop in along_T:
        about = {"group": "forward", "T": stop["x"], "head_dim": 64}
        assert stop["rows"] == agreeing(rows, about)[::-1]
    assert [(stop["x"], stop["taken"]["h"]) for stop in along_d] == [(64, 32), (128, 16)]
    assert along_n == []
    assert [stop["x"] for stop in grid] == [1024]  # at 16384 only head_dim = 128 was measured


def test_what_a_record_offers_and_is_compared_with():
    sizes = {"dtype": "float32", "B": 1, "h": 1, "head_dim": 8, "causal": False, "training": False}
    rows = [
        {"kernel": kernel, "T": T, "seconds": 1, "reference": against, **sizes}
        for T in (16, 64)
        for kernel, against in (("a", "b"), ("b", None), ("c", "d"), ("d", None), ("e", "d"))
    ]
    expression = "m.usualReference(c)"
    got = json.loads(in_javascript("records.js", expression, [rows, rows[:2], rows[1:2]]))
    assert got == ["d", "b", "b"]  # what most are paired with; without a pair, the first kernel
    expression = "(({taken, refused}) => [taken.record, taken.reference, taken.chart, refused])"
    asked = [{}, {"record": "two", "chart": "T"}, {"record": "none"}]
    parts = {"one": rows, "two": rows[:2] + rows[5:7]}
    records = json.dumps({name: {"rows": part, "ceilings": {}} for name, part in parts.items()})
    got = json.loads(in_javascript("records.js", f"{expression}(m.view({records}, c))", asked))
    assert [found[:3] for found in got] == [["one", "d", "T"], ["two", "b", "T"], ["one", "d", "T"]]
    assert [found[3] for found in got] == [[], [], ["record"]]


def test_numbers_as_text():
    cases = {
        "timeText": [
            (1.234, "1.23 s"),
            (0.0427, "42.7 ms"),
            (0.1, "100 ms"),
            (9.9996e-4, "1.00 ms"),
            (0.9999, "1.00 s"),
            (0.9994, "999 ms"),
            (2e-9, "2.00 ns"),
            (5e-11, "0.0500 ns"),
            (12345.6, "12,300 s"),
            (1, "1.00 s"),
            (1e-3, "1.00 ms"),
        ],
        "speedText": [(989e12, "989 TFLOP/s"), (4.53e10, "45.3 GFLOP/s"), (2e4, "0.0200 MFLOP/s")],
        "memoryText": [
            (12_345_678, "12.3 MB"),
            (999, "999 B"),
            (999_900, "1.00 MB"),
            (3e9, "3.00 GB"),
        ],
        "three": [
            (1, "1.00"),
            (0.00194, "0.00194"),
            (3.1e-5, "3.10e−5"),
            (0, "0.00"),
            (99.96, "100"),
            (100, "100"),
            (999_600, "1.00e6"),
            (1.5e9, "1.50e9"),
        ],
        "percent": [
            (0.416, "42 %"),
            (0.0213, "2.1 %"),
            (9e-5, "< 0.01 %"),
            (1e-4, "0.01 %"),
            (0.1, "10 %"),
            (0.104, "10 %"),
            (12.3, "1,230 %"),
        ],
    }
    for name, pairs in cases.items():
        given, expected = zip(*pairs, strict=True)
        got = json.loads(in_javascript("records.js", f"m.{name}(c)", list(given)))
        assert got == list(expected), name


def test_axes_hold_their_values():
    draw = random.Random(14)
    cases = [[10 ** draw.uniform(-6, 6) for _ in range(draw.randint(1, 9))] for _ in range(300)]
    expression = """(() => {
        const axis = m.axisOf(c, 12);
        const places = c.map(m.scale(axis, 200, 20));
        return [axis, m.ticks(axis, 6), places, m.apart(places, 14, 0, 220)];
    })()"""
    got = json.loads(in_javascript("chart.js", expression, cases))
    for values, (axis, ticks, places, labels) in zip(cases, got, strict=True):
        assert axis["log"] == (max(values) / min(values) > 12)
        assert all(20 <= place <= 200 for place in places)
        order = [places[i] for i in sorted(range(len(values)), key=values.__getitem__)]
        assert order == sorted(order, reverse=True)
        assert 2 <= len(ticks) <= 8
        assert ticks == sorted(ticks)
        assert all(axis["low"] <= tick <= axis["high"] for tick in ticks)
        ordered = sorted(range(len(places)), key=places.__getitem__)
        gaps = [labels[b] - labels[a] for a, b in itertools.pairwise(ordered)]
        assert all(gap > 14 - 1e-9 for gap in gaps)
        assert all(-1e-9 <= label <= 220 + 1e-9 for label in labels)


def test_axes_by_hand():
    by_hand = [
        ("axisOf([2, 30], 12).log", True),
        ("axisOf([2, 24], 12)", {"low": 0, "high": 24 * 1.08, "log": False}),
        ("ticks({ low: 1, high: 100, log: true }, 7)", [1, 2, 5, 10, 20, 50, 100]),
        ("ticks({ low: 1, high: 100, log: true }, 6)", [1, 3, 10, 30, 100]),
        ("ticks({ low: 1, high: 100, log: true }, 4)", [1, 10, 100]),
        ("ticks({ low: 1, high: 1e6, log: true }, 3)", [1, 1e3, 1e6]),
        ("ticks({ low: 1e-3, high: 1e-2, log: true }, 4)", [0.001, 0.002, 0.005, 0.01]),
        ("ticks({ low: 0, high: 10, log: false }, 5)", [0, 2, 4, 6, 8, 10]),
        ("ticks({ low: 3, high: 10, log: false }, 4)", [4, 6, 8, 10]),
        ("ticks({ low: 0, high: 0.5, log: false }, 5)", [0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        ("ticks({ low: 0, high: 12, log: false }, 3)", [0, 5, 10]),
        ("closest([{ at: 1 }, { at: 4 }, { at: 9 }], 6)", {"at": 4}),
        ("closest([{ at: 1 }, { at: 4 }], 2.5)", {"at": 1}),
        ("apart([12, 50, 10], 5, 0, 52)", [15, 50, 10]),
        ("apart([51, 50, 52], 5, 0, 52)", [47, 42, 52]),
        ("apart([1, 0], 5, 0, 52)", [5, 0]),
        (
            "columns([5, 0, 3, 9].map((x) => ({ x })), 4)",
            [[{"x": 0}, {"x": 3}], [{"x": 5}], [{"x": 9}]],
        ),
    ]
    called, expected = zip(*by_hand, strict=True)
    got = in_javascript("chart.js", "new Function('m', `return m.${c}`)(m)", called)
    for call, found, right in zip(called, json.loads(got), expected, strict=True):
        assert found == right, call


# --- the page ---------------------------------------------------------------------------------


def both():
    return ExplorerWidget({"cpu": small_record(), "gpu": gpu_record()})


def select(page, name):
    return page.get_by_role("combobox", name=name, exact=True)


def pick(page, name):
    page.get_by_role("radio", name=name, exact=True).check()


def bar(percent):
    return re.compile(f"^--heat: ?{re.escape(f'{percent:.1f}')}%;?$")


def kernels(page):
    expect(page.locator(".hydra-results tbody tr").first).to_be_visible()
    names = page.locator(".hydra-results tbody button").all_inner_texts()
    return [re.sub(r"^\d+\s+", "", name) for name in names]


def cells(page, i):
    return page.locator(".hydra-results tbody tr").nth(i).locator("td")


SECOND = (
    "second: 2.00 ms, 4.50 × as fast as first (paired, ± 2.1 %), < 0.01 % of the roof, set by "
    "compute. At the roof it would take 26.6 ns. Within 0.00310 of float64, checked before "
    "it was timed. Most memory held besides the inputs: 12.3 MB."
)


@browser
def test_bars_over_a_wide_range_are_logarithmic_and_say_so(widget_page):
    record = small_record()
    record["rows"][0] = a_row("ladder", "first", SIZE, 0.8)  # beside 2 and 1 ms
    page = widget_page(ExplorerWidget({"x": record}))
    expect(page.locator("caption")).to_have_text(
        "B = 1, h = 2, T = 64, head_dim = 16, bfloat16, forward; fastest first, bars on a log scale"
    )
    low, high = math.log(1e-3 / 1.3), math.log(0.8 * 1.3)
    for i, seconds in enumerate((1e-3, 2e-3, 0.8)):
        heat = 100 * (math.log(seconds) - low) / (high - low)
        expect(cells(page, i).first).to_have_attribute("style", bar(heat))
    pick(page, "FLOP/s")
    expect(page.locator("caption")).to_contain_text("bars on a log scale")
    select(page, "Ratio to").select_option("second")
    pick(page, "ratio")  # 1.8, 1 and 1 / 4.5: in proportion
    expect(page.locator("caption")).to_have_text(re.compile("fastest first$"))
    expect(cells(page, 0).nth(2)).to_have_attribute("style", bar(100))


@browser
def test_one_record(widget_page):
    page = widget_page(ExplorerWidget({"x": small_record()}, kernel="second"))
    assert page.locator(".hydra-controls label:visible").count() == 0  # one size, nothing to choose
    expect(page.locator("legend:visible")).to_have_text("Show")
    expect(page.locator(".hydra-note").nth(1)).to_have_text(
        "Small. AMD EPYC, 2 threads, 2026-01-02; "
        "python 3.12.1, torch 2.13.0, cuda 13.0, numpy 2.4.6."
    )
    expect(page.locator(".hydra-note").first).to_have_text(
        "Paired: run in turn; the median of their ratios. The reference was run again with each "
        "kernel; its time here is from one of these series. Medians: the ratio of the two "
        "medians. ±: half the 95 % interval of a median; with fewer than six rounds, half their "
        "range."
    )
    expect(page.locator("caption")).to_have_text(
        "B = 1, h = 2, T = 64, head_dim = 16, bfloat16, forward; fastest first"
    )
    assert kernels(page) == ["third", "second", "first"]
    expect(page.locator("thead th")).to_have_text(
        ["kernel", "time p20–p80", "MFLOP/s GB/s", "ratio how", "of roof set by"]
    )
    expect(cells(page, 1)).to_have_text(
        ["2.00 ms 1.90–2.20", "133 0.00819", "4.50 paired", "< 0.01 % compute"]
    )
    expect(cells(page, 0)).to_have_text(
        ["1.00 ms 0.950–1.10", "266 0.0164", "8.00 medians", "< 0.01 % compute"]
    )
    expect(page.locator(".hydra-summary")).to_have_text(SECOND)
    expect(page.locator(".hydra-picked text")).to_have_text("2 second")
    expect(page.locator(".hydra-point text")).to_have_text(["1 third", "2 second", "3 first"])
    expect(page.locator("figcaption")).to_have_text(
        "Roofline in bfloat16, as measured: a copy of 1,000 GB/s, a square matmul of 10.0 TFLOP/s."
    )


@browser
def test_a_bare_record(widget_page):
    page = widget_page(ExplorerWidget({"x": bare_record()}))
    expect(page.locator("figure")).to_be_hidden()
    assert kernels(page) == ["quick one", "slow one"]
    expect(cells(page, 1)).to_have_text(["3.00 s 3.00–6.00", "– –", "1.00 itself"])
    expect(cells(page, 0)).to_have_text(["2.00 ns –", "– –", "– –"])
    expect(page.locator(".hydra-summary")).to_have_text(
        "quick one: 2.00 ns, not compared with slow one."
    )


@browser
def test_products_of_other_sides_and_levels(widget_page):
    sides = {"m": 256, "k": 4096, "n": 4096, "flops": None}
    pair = {"reference": "torch.mm", "ratio": 1.25, "levels": 2}
    record = small_record()
    record["rows"] = [
        a_row("rectangles", "torch.mm", None, 5e-3, **sides),
        a_row("rectangles", "strassen_fast", None, 4e-3, **sides, **pair),
        a_row("rectangles", "torch.mm", None, 3e-3, **sides | {"m": 512}),
        a_row("widths", "layer", None, 3e-3, d_model=768, T=5, flops=None),
        a_row("widths", "layer", None, 4e-3, d_model=768, T=7, flops=None),
    ]
    page = widget_page(ExplorerWidget({"x": record}, m=256))
    expect(page.locator("caption")).to_have_text(
        "m = 256, k = 4096, n = 4096, bfloat16, forward; fastest first"
    )
    expect(page.locator(".hydra-summary")).to_have_text(
        "strassen_fast: 4.00 ms, 1.25 × as fast as torch.mm (paired, ± 1 %). "
        "Levels of recursion: 2. Within 0.00310 of float64, checked before it was timed. "
        "Most memory held besides the inputs: 12.3 MB."
    )
    select(page, "Rows m").select_option("512")
    expect(page.locator("caption")).to_contain_text("m = 512")  # it is drawn at the next frame
    assert kernels(page) == ["torch.mm"]
    select(page, "Measured").select_option("widths")
    expect(page.locator("caption")).to_contain_text("d_model = 768, T = 7, bfloat16")
    expect(page.locator(".hydra-path circle")).to_have_count(2)
    for seen, dots in (("cursor", "pointer"), ("stroke", "none")):
        expect(page.locator(".hydra-path circle").first).to_have_css(seen, dots)
    pick(page, "FLOP/s")
    expect(page.locator("figcaption")).to_have_text("The FLOPs of these kernels were not counted.")
    expect(page.locator("figure svg > g > *")).to_have_count(0)


@browser
def test_rows_by_pointer_and_keyboard(widget_page):
    page = widget_page(ExplorerWidget({"x": small_record()}))
    summary, pressed = page.locator(".hydra-summary"), page.locator("button[aria-pressed=true]")
    expect(summary).to_contain_text("third: 1.00 ms, 8.00 × as fast as first (ratio of medians)")
    cells(page, 1).nth(2).click()  # anywhere in the row
    expect(summary).to_have_text(SECOND)
    expect(pressed).to_have_text("2 second")
    expect(page.locator(".hydra-point circle").nth(2)).to_have_css("cursor", "pointer")
    page.locator(".hydra-point circle").nth(2).click()
    expect(summary).to_contain_text("first: 8.00 ms, the reference, < 0.01 % of the roof")
    expect(page.locator(".hydra-chosen button")).to_have_text("3 first")
    expect(page.locator(".hydra-results [tabindex='0']")).to_have_text("3 first")
    page.locator(".hydra-results [tabindex='0']").focus()
    page.keyboard.press("ArrowUp")
    expect(summary).to_have_text(SECOND)
    expect(pressed).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(summary).to_contain_text("third: ")
    expect(page.locator(".hydra-picked text")).to_have_text("1 third")
    expect(pressed).to_be_focused()


@browser
def test_reference_and_what_is_shown(widget_page):
    page = widget_page(ExplorerWidget({"x": small_record()}, kernel="second"))
    select(page, "Ratio to").select_option("second")
    expect(cells(page, 0).nth(2)).to_have_text("1.80 paired")
    expect(cells(page, 2).nth(2)).to_have_text("0.222 paired")
    expect(page.locator(".hydra-summary")).to_contain_text("second: 2.00 ms, the reference, ")
    select(page, "Ratio to").focus()
    page.keyboard.press("ArrowDown")
    expect(cells(page, 1).nth(2)).to_have_text("0.556 paired")
    for name, column, heats in (
        ("time", 0, [12.5, 25, 100]),
        ("FLOP/s", 1, [100, 50, 12.5]),
        ("ratio", 2, [100, 55.6, 12.5]),
    ):
        pick(page, name)
        bars = page.locator("td.hydra-bar")
        expect(bars).to_have_count(3)
        for i, heat in enumerate(heats):
            expect(cells(page, i).nth(column)).to_have_attribute("style", bar(heat))
    page.get_by_role("radio", name="ratio").focus()
    page.keyboard.press("ArrowLeft")
    expect(cells(page, 0).nth(1)).to_have_attribute("style", bar(100))


@browser
def test_device_group_and_sizes(widget_page):
    page = widget_page(both())
    device = select(page, "Device")
    expect(device.locator("option")).to_have_text(["AMD EPYC", "NVIDIA H200"])
    device.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hydra-note").last).to_have_text(
        "Made up. NVIDIA H200, 2026-02-03; python 3.12.1, torch 2.13.0, cuda 13.0, numpy 2.4.6."
    )
    caption = page.locator("caption")
    expect(caption).to_contain_text("B = 1, h = 16, T = 16384, head_dim = 128, bfloat16, forward")
    select(page, "Length T").select_option("1024")
    expect(caption).to_contain_text("B = 16, h = 16, T = 1024, head_dim = 128")
    select(page, "head_dim").select_option("64")
    expect(caption).to_contain_text("B = 16, h = 32, T = 1024, head_dim = 64")
    assert kernels(page) == ["SDPA cuDNN", "Triton", FAST]
    select(page, "Ratio to").select_option("SDPA cuDNN")
    expect(cells(page, 1).nth(2)).to_have_text("0.891 paired")

    group = select(page, "Measured")
    group.select_option("grid")
    expect(caption).to_contain_text("B = 16, h = 32, T = 1024, head_dim = 64")
    # Two sizes differ in the batch alone; the ratio's kernel is not in this group.
    expect(select(page, "Ratio to")).to_have_value("Triton, one program a head")
    select(page, "Batch B").select_option("1")
    expect(caption).to_contain_text("B = 1, h = 12, T = 1024, head_dim = 64")
    group.select_option("head_dim")
    expect(caption).to_contain_text("B = 4, h = 16, T = 2048, head_dim = 64")
    expect(page.locator(".hydra-problem[role=status]")).to_be_empty()
    group.select_option("kernels")
    expect(caption).to_contain_text("n = 4096, bfloat16, forward")
    expect(cells(page, 0)).to_have_text(["30.0 µs 28.5–33.0", "– 2,240", "– –", "– –"])
    expect(page.locator(".hydra-summary")).to_contain_text(
        "torch.softmax: 30.0 µs, not compared with torch.mm. "
    )
    group.select_option("backward")
    expect(caption).to_contain_text("forward+backward; fastest first")
    page.wait_for_url("**#explorer.group=backward&explorer.record=gpu")


@browser
def test_charts(widget_page):
    page = widget_page(both(), fragment="#explorer.record=gpu")
    caption = page.locator("figcaption")
    chart = page.get_by_role("group", name="Chart").locator("label:visible")
    expect(chart).to_have_text(["roofline", "along T", "along head_dim"])
    expect(caption).to_contain_text("Roofline in bfloat16")
    pick(page, "along T")
    expect(caption).to_have_text(
        "Time along T; B changes with it. The dashed line is what the table shows: drag it."
    )
    expect(page.locator(".hydra-path")).to_have_count(3)
    assert sorted(page.locator(".hydra-point text").all_text_contents()) == ["1", "2", "3"]
    page.locator(".hydra-path").nth(2).locator("circle").first.click()
    expect(page.locator(".hydra-path.hydra-picked")).to_have_count(1)
    expect(page.locator(".hydra-summary")).to_contain_text(f"{FAST}: ")
    pick(page, "ratio")
    expect(caption).to_contain_text(f"Times as fast as {FAST} along T")
    # The polyline of the ratio to cuDNN is flat where all three ratios are the same.
    points = page.locator(".hydra-picked polyline").get_attribute("points").split(" ")
    assert len({point.split(",")[1] for point in points}) == 1
    page.get_by_role("radio", name="along T").focus()
    page.keyboard.press("ArrowRight")
    expect(caption).to_contain_text("along head_dim; h changes with it.")
    select(page, "Measured").select_option("head_dim")
    expect(caption).to_contain_text("along head_dim. ")
    expect(page.locator(".hydra-path circle")).to_have_count(30)
    select(page, "Measured").select_option("ladder")
    # Its two lengths are fewer than its kernels.
    expect(page.get_by_role("radio", name="roofline")).to_be_checked()
    select(page, "Length T").select_option("1024")
    pick(page, "along T")
    # It is not in the table at this length, hence it stands there by its name.
    expect(page.locator(".hydra-point text", has_text="Python loops")).to_have_count(1)


@browser
def test_a_name_stays_away_where_another_mark_is_in_its_place(widget_page):
    record = small_record()
    record["rows"][1] |= {"p50": 1.02e-3, "p20": 1e-3, "p80": 1.1e-3, "bytes": 16_384 // 4}
    record["rows"][2] |= {"kernel": "third, of a long name"}
    page = widget_page(ExplorerWidget({"x": record}))
    expect(page.locator(".hydra-point text")).to_have_text(["1", "3 first", "2 second"])


@browser
@pytest.mark.parametrize("length", ["32", "1024"])
def test_names_stand_beside_their_marks_where_they_fit(widget_page, length):
    page = widget_page(ExplorerWidget({"gpu": gpu_record()}, group="ladder", chart="roofline"))
    page.add_style_tag(content="body { font-family: 'DejaVu Sans', Verdana }")  # wide letters
    select(page, "Length T").select_option(length)
    drawn(page)
    texts = page.locator(".hydra-point text").all()
    said = [one.text_content() for one in texts]
    names = kernels(page)
    assert sum(" " in one for one in said) >= 2
    assert all(
        one in (f"{n}", f"{n} {name}")
        for one, n, name in zip(
            sorted(said, key=lambda x: int(x.split()[0])), range(1, 99), names, strict=False
        )
    )
    picture = page.locator(".hydra-plot svg").bounding_box()
    boxes = [one.bounding_box() for one in texts]
    for box in boxes:
        assert box["x"] + box["width"] <= picture["x"] + picture["width"] + 1
    marks = [one.bounding_box() for one in page.locator(".hydra-point circle").all()]
    for one, other in itertools.chain(
        itertools.combinations(boxes, 2), itertools.product(boxes, marks)
    ):
        above = one["y"] + one["height"] - 3 <= other["y"] or other["y"] + 3 >= one["y"] + 10
        apart = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
        assert above or apart


DRAWN = """() => {
    const picture = document.querySelector(".hydra-plot svg");
    const number = (one, name) => Number(one.getAttribute(name));
    const all = (what, read) => [...picture.querySelectorAll(what)].map(read);
    return {
        texts: all("text", (t) => [number(t, "x"), number(t, "y"), t.textContent]),
        points: all(".hydra-point", (g) => [...["cx", "cy"].map((name) =>
            number(g.querySelector("circle"), name)), g.querySelector("text").textContent]),
        paths: all(".hydra-path", (g) => [...g.querySelectorAll("circle")].map((c) =>
            ["cx", "cy"].map((name) => number(c, name)))),
        lines: all("polyline", (p) => p.getAttribute("points").split(" ").map((pair) =>
            pair.split(",").map(Number))),
        base: all("g > .hydra-base", (l) => ["x1", "y1", "x2", "y2"].map((n) => number(l, n))),
        gap: all("g > .hydra-gap", (l) => ["x1", "y1", "x2", "y2"].map((n) => number(l, n))),
    };
}"""


def read_axes(texts, base):
    """What a place across and up stands for, from the written values alone, as a reader has it."""
    plain = re.compile(r"\d+(\.\d+)?|[1-9]e(−[4-9]|[5-9])")
    left, floor = base[0], base[1]
    across = {said: x for x, y, said in texts if y == floor + 15}
    up = {said: y - 4 for x, y, said in texts if x == left - 6}
    assert [said for said in [*across, *up] if not plain.fullmatch(said)] == []
    across, up = ({float(s.replace("−", "-")): at for s, at in m.items()} for m in (across, up))
    return inverse(across), inverse(up)


def inverse(marked):
    """The value at a place, linear or logarithmic, whichever all written values agree with."""
    values = sorted(marked)
    assert len(values) >= 3, marked
    for to, back in ((math.log10, lambda v: 10**v), (float, float)):
        if values[0] <= 0 and to is math.log10:
            continue
        slope = (to(values[-1]) - to(values[0])) / (marked[values[-1]] - marked[values[0]])

        def at(place, to=to, back=back, slope=slope):
            return back(to(values[0]) + slope * (place - marked[values[0]]))

        if all(at(place) == pytest.approx(v, rel=1e-6, abs=1e-9) for v, place in marked.items()):
            return at
    raise AssertionError(f"written values on no scale: {marked}")


@browser
@pytest.mark.parametrize("bandwidth", [1e12, 1e17])  # with a bend at 10, at 1e−4 FLOP/byte
def test_the_roof_stands_where_the_axes_say(widget_page, bandwidth):
    record = small_record()
    record["ceilings"]["bfloat16"]["copy"] = ceiling(1e-3, bytes=bandwidth / 1e3)
    page = widget_page(ExplorerWidget({"x": record}, kernel="second"))
    expect(page.locator(".hydra-point")).to_have_count(3)
    drawn = page.evaluate(DRAWN)
    across, up = read_axes(drawn["texts"], drawn["base"][0])
    said = [text for *_, text in drawn["texts"]]
    assert [said.count(name) for name in ("FLOP/byte", "TFLOP/s", "copy", "matmul")] == [1] * 4
    intensity = 266_240 / 16_384
    [roof] = drawn["lines"]
    # Up to 10 TFLOP/s and level from there on.
    bend = 1e13 / bandwidth
    found = [(across(x), up(y)) for x, y in roof]
    expected = [(bend / 3, 10 / 3), (bend, 10), (3 * intensity, 10)]
    assert found == [pytest.approx(corner, rel=1e-6) for corner in expected]
    # "copy" stands just above the middle of the slope, and leans as it does.
    (left, low), (right, high) = roof[:2]
    half_way = [(left + right) / 2, (low + high) / 2 - 6]
    lean = math.degrees(math.atan2(high - low, right - left))
    name = page.locator(".hydra-plot text:text-is('copy')")
    turned = re.findall(r"-?[\d.]+", name.get_attribute("transform"))
    assert [float(x) for x in turned] == pytest.approx([lean, *half_way], abs=1e-3)
    assert [float(name.get_attribute(at)) for at in "xy"] == pytest.approx(half_way, abs=1e-3)
    speeds = {"1": 266_240e-12 / 1e-3, "2": 266_240e-12 / 2e-3, "3": 266_240e-12 / 8e-3}
    assert {name.split()[0]: (across(x), up(y)) for x, y, name in drawn["points"]} == {
        name: pytest.approx((intensity, speed), rel=1e-6) for name, speed in speeds.items()
    }
    [(x1, y1, x2, y2)] = drawn["gap"]  # what the chosen kernel lacks to the roof
    assert (across(x1), up(y1)) == pytest.approx((intensity, 10), rel=1e-6)
    assert (across(x2), up(y2)) == pytest.approx((intensity, speeds["2"]), rel=1e-6)


@browser
@pytest.mark.parametrize(("axis", "sizes"), [("T", (16, 32, 128)), ("head_dim", (8, 24, 32))])
@pytest.mark.parametrize("show", ["time", "speed", "ratio"])
def test_lines_stand_where_the_axes_say(widget_page, axis, sizes, show):
    about, rows, expected = {"B": 1, "h": 2, "T": 64, "head_dim": 16}, [], {}
    for i, own in enumerate(sizes):
        size = tuple((about | {axis: own}).values())
        times = {"first": 7e-3 * (i + 1), "second": 1e-3 * (i + 2) ** 2}
        ratio = 3 + i
        rows.append(a_row("g", "first", size, times["first"]))
        rows.append(a_row("g", "second", size, times["second"], reference="first", ratio=ratio))
        for kernel, time in times.items():
            flops = AttentionSize(*size).flops()
            value = {
                "time": time,
                "speed": flops / time,
                "ratio": {"first": 1, "second": ratio}[kernel],
            }
            expected.setdefault(kernel, []).append((own, value[show]))
    record = small_record() | {"rows": rows}
    settings = {axis: sizes[1], "chart": axis, "show": show, "kernel": "second"}
    page = widget_page(ExplorerWidget({"x": record}, **settings))
    expect(page.locator(".hydra-path")).to_have_count(2)
    drawn = page.evaluate(DRAWN)
    across, up = read_axes(drawn["texts"], drawn["base"][0])
    said = [text for *_, text in drawn["texts"]]
    units = {"s": 1, "ms": 1e-3, "GFLOP/s": 1e9, "MFLOP/s": 1e6, "×": 1}
    [unit] = [units[text] for text in said if text in units]
    assert said.count(axis) == 1
    found = [[(across(x), unit * up(y)) for x, y in path] for path in drawn["paths"]]
    lines = [[(across(x), unit * up(y)) for x, y in line] for line in drawn["lines"]]
    right = [[pytest.approx(p, rel=1e-6) for p in path] for path in expected.values()]
    assert sorted(found) == sorted(right, key=lambda p: p[0].expected)
    assert found == lines
    ends = [(x, y) for x, y, _ in drawn["points"]]
    assert sorted(ends) == sorted(tuple(path[-1]) for path in drawn["paths"])
    [(x1, _, x2, _)] = drawn["gap"]  # where the table stands
    assert x1 == x2
    assert across(x1) == pytest.approx(sizes[1], rel=1e-6)
    if show == "ratio":
        assert [up(y1) for _, y1, _, y2 in drawn["base"][1:] if y1 == y2] == [pytest.approx(1)]


@browser
def test_a_finger_drags_the_dashed_line(widget_page):
    page = widget_page(both(), width=360, fragment="#explorer.record=gpu&explorer.chart=T")
    page.evaluate("document.body.style.minHeight = '3000px'")
    taken = select(page, "Length T").input_value()
    x, y = middle(page.locator(".hydra-along"))
    assert swipe(page, (x, y), (x - 150, y)) == 0
    expect(select(page, "Length T")).not_to_have_value(taken)
    taken = select(page, "Length T").input_value()
    x, y = middle(page.locator(".hydra-along"))
    assert swipe(page, (x + 9, y), (x + 12, y - 80)) > 40  # one that starts upwards scrolls
    expect(select(page, "Length T")).to_have_value(taken)
    pick(page, "along T")
    covered = page.evaluate(
        """() => {
            const handle = document.querySelector(".hydra-along");
            const { x, y, width, height } = handle.getBoundingClientRect();
            const tops = Array.from({ length: 40 }, (_, i) =>
                document.elementFromPoint(x + width / 2, y + (height * (i + 0.5)) / 40));
            return tops.filter((one) => one !== handle).length;
        }"""
    )
    assert covered == 0  # by no dot that stands on the line


@browser
def test_the_dashed_line_is_dragged_from_size_to_size(widget_page):
    page = widget_page(both(), fragment="#explorer.record=gpu&explorer.chart=T")
    handle, caption = page.locator(".hydra-along"), page.locator("caption")
    lengths = select(page, "Length T").locator("option").all_inner_texts()
    taken = select(page, "Length T").input_value()
    assert len(lengths) > 2
    assert taken == lengths[-1]
    box, drawn = handle.bounding_box(), page.locator(".hydra-plot svg").bounding_box()
    middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
    dashed = page.locator("g > .hydra-gap").bounding_box()
    assert abs(dashed["x"] - middle[0]) < 1
    page.mouse.move(*middle)
    page.mouse.down()
    seen = []
    for share in range(100, -20, -5):  # one hand, without letting go, to the left and beyond
        page.mouse.move(drawn["x"] + drawn["width"] * share / 100, middle[1])
        page.evaluate("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")
        seen.append(select(page, "Length T").input_value())
    page.mouse.up()
    assert list(dict.fromkeys(seen)) == lengths[::-1]
    expect(caption).to_contain_text(f"T = {lengths[0]},")
    pick(page, "roofline")  # where no size is chosen there is nothing to drag
    expect(handle).not_to_be_in_viewport()


@browser
def test_a_kernel_that_was_not_measured_there(widget_page):
    widget = ExplorerWidget({"gpu": gpu_record()}, group="ladder", T=32, kernel="Python loops")
    page = widget_page(widget)
    expect(page.locator(".hydra-chosen")).to_have_count(1)
    select(page, "Length T").select_option("1024")
    expect(page.locator(".hydra-summary")).to_have_text(
        "Python loops was not measured at this size."
    )
    expect(page.locator(".hydra-chosen")).to_have_count(0)


@browser
def test_among_other_measurements_a_kernel_is_not_missed(widget_page):
    page = widget_page(ExplorerWidget({"gpu": gpu_record()}, group="ladder", kernel="Triton"))
    expect(page.locator(".hydra-summary")).to_contain_text("Triton: ")
    select(page, "Measured").select_option("grid")  # where it was measured it stays
    expect(page.locator(".hydra-summary")).to_contain_text("Triton: ")
    select(page, "Measured").select_option("kernels")
    expect(page.locator(".hydra-summary")).not_to_contain_text("was not measured")
    expect(page.locator(".hydra-chosen")).to_have_count(1)


@browser
def test_links(widget_page):
    page = widget_page(
        both(),
        fragment="#explorer.record=gpu&explorer.group=backward&explorer.direction=forward%2Bbackward"
        "&explorer.T=4096&explorer.head_dim=64&explorer.reference=Triton&explorer.show=ratio"
        "&explorer.chart=T&explorer.kernel=SDPA%20flash&explorer.B=null",
    )
    expect(page.locator("caption")).to_contain_text("T = 4096, head_dim = 64, bfloat16, forward+b")
    expect(page.locator("figcaption")).to_contain_text("Times as fast as Triton along T")
    sentence = page.locator(".hydra-summary").inner_text()
    assert sentence.startswith("SDPA flash: 3.78 ms, 0.918 × as fast as Triton (paired, ± 1 %), ")
    select(page, "head_dim").select_option("128")
    page.wait_for_url("**explorer.head_dim=128*")
    page.reload()
    page.wait_for_selector("[data-ready=explorer]")
    expect(select(page, "head_dim")).to_have_value("128")
    expect(select(page, "Length T")).to_have_value("4096")
    expect(page.locator(".hydra-summary")).to_contain_text("SDPA flash: ")


NONSENSE = ("T=63", "T=1024.5", "group=none", "record=x", "show=null", "chart=pie", "kernel=x")
NONSENSE += ("direction=backward", "reference=x", "records=1", "pass=forward", "name=x")


@browser
def test_a_link_that_makes_no_sense_is_told_so(widget_page):
    page = widget_page(both())
    problem = page.locator("[data-ready=explorer] > .hydra-problem").last
    for asked in ("T=false", *NONSENSE):
        follow(page, f"#explorer.{asked}")
        trait, value = asked.split("=")
        expect(problem).to_have_text(
            f"The link asks for {trait} = {value}, which this widget cannot show."
        )
        assert kernels(page) == ["third", "second", "first"]


@browser
def test_a_link_to_what_was_not_measured_together_is_told_so(widget_page):
    fragment = "#explorer.T=4096&explorer.group=forward&explorer.reference=Triton&explorer.chart=n"
    page = widget_page(both(), fragment=fragment)
    told = page.locator(".hydra-problem[role=status]")
    expect(told).to_have_text(
        "Not measured here: Measured = forward. Not measured here: Length T = 4096. "
        "Not measured here: Ratio to = Triton. Not measured here: Chart = n."
    )
    assert kernels(page) == ["third", "second", "first"]
    select(page, "Ratio to").select_option("third")
    expect(told).to_be_empty()  # what could not be had is asked for no longer


@browser
def test_two_records_of_one_device(widget_page):
    page = widget_page(ExplorerWidget({"yours": small_record(), "book": bare_record()}))
    names = select(page, "Device").locator("option")
    expect(names).to_have_text(["AMD EPYC (yours)", "AMD EPYC (book)"])


@browser
def test_nothing_leaves_the_page(widget_page):
    widget = ExplorerWidget({"gpu": gpu_record()}, group="ladder", T=1024)
    page = widget_page(widget, scheme="dark")
    for width in (320, 360, 440, 520, 640, 760, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outer = page.locator(".hydra-results").bounding_box()
        inner = page.locator(".hydra-results table").bounding_box()
        assert inner["width"] <= outer["width"] + 0.5, width


@browser
def test_every_record_of_the_book_can_be_shown(widget_page):
    known = records("")
    timed = {
        name: [r["group"] for r in one["rows"] if "kernel" in r] for name, one in known.items()
    }
    timed = {name: dict.fromkeys(groups) for name, groups in timed.items() if groups}
    assert {"attention", "ladder", "strassen"} <= set(timed)
    page = widget_page(ExplorerWidget({name: known[name] for name in timed}))
    for name, groups in timed.items():
        select(page, "Device").select_option(name)
        expect(page.locator(".hydra-note").last).to_contain_text(provenance(known[name]))
        for group in groups:
            select(page, "Measured").select_option(group)
            expect(page.locator(".hydra-problem[role=status]")).to_be_empty()
            first = page.locator(".hydra-results tbody td").first
            expect(first).to_have_text(re.compile(r"^[\d.,]+ (s|ms|µs|ns)"))
            assert statistics.fmean(len(k) for k in kernels(page)) > 2
            assert page.locator(".hydra").evaluate(UNREADABLE) == []


@browser
@pytest.mark.parametrize("lengths", [(16, 64, 256), (16,)])
def test_a_name_that_is_not_in_the_table_stays_in_the_picture(widget_page, lengths):
    """A kernel that was not run at the chosen length, of which a name has little room."""
    long = "a kernel with a name that is longer than the whole of the picture"
    rows = [a_row("g", "first", (1, 2, T, 16), 1e-3 * T) for T in (16, 64, 256, 1024)]
    rows += [a_row("g", long, (1, 2, T, 16), 2e-3 * T) for T in lengths]
    record = small_record() | {"rows": rows}
    page = widget_page(ExplorerWidget({"x": record}, T=1024, chart="T"))
    name = page.locator(".hydra-point text", has_text="a kernel")
    expect(name).to_have_text(re.compile("^a kernel with .*…$"))
    expect(name).to_have_attribute("text-anchor", "end" if 256 in lengths else "start")
    axis = page.locator(".hydra-plot .hydra-base").first
    assert name.bounding_box()["x"] >= axis.bounding_box()["x"] - 1
    assert page.locator(".hydra-plot").evaluate(UNREADABLE) == []
