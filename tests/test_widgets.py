"""What all widgets share: settings and their limits, bundles, the page's host, elements."""

import inspect
import json
import math
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import traitlets
from playwright.sync_api import expect

from hydra_lib.widgets import (
    AggregationWidget,
    CheckpointsWidget,
    DevicesWidget,
    ExplorerWidget,
    FreezingWidget,
    GradientWidget,
    GuessWidget,
    HeadSplitterWidget,
    HeadViewerWidget,
    LearningWidget,
    MaskWidget,
    MissingWaitWidget,
    PiecesWidget,
    ProjectionWidget,
    RecursionWidget,
    RivalsWidget,
    RotaryWidget,
    ScalingWidget,
    SentenceWidget,
    StrassenWidget,
    StrideWidget,
    TemperatureWidget,
    TilesWidget,
    TraceWidget,
    YourGpuWidget,
    YourKernelWidget,
)
from hydra_lib.widgets._base import Setting, SettingError
from hydra_lib.widgets._bundle import STATIC, bundle
from tests.conftest import (
    UNREADABLE,
    drawn,
    follow,
    in_browser,
    in_javascript,
    opening,
    press,
    showing_widgets,
    written,
)
from tests.measured_records import bare_record, crowded_record, gpu_record, run_in_page

browser = pytest.mark.browser
STORED = Path(__file__).parent
SQUARE = [[1.0, 2.0], [3.0, 4.0]]
EVERY = {
    "aggregation": partial(AggregationWidget, SQUARE),
    "checkpoints": CheckpointsWidget,
    "devices": DevicesWidget,
    "explorer": partial(
        ExplorerWidget, {"x": gpu_record(), "y": bare_record(), "z": crowded_record()}
    ),
    "gradient": GradientWidget,
    "guess": partial(
        GuessWidget, [{"kernel": "b", "reference": "a", "T": 8, "ratio": 0.5}], "here, today"
    ),
    "head_splitter": HeadSplitterWidget,
    "head_viewer": HeadViewerWidget,
    "learning": LearningWidget,
    "mask": partial(MaskWidget, SQUARE),
    "missing_wait": MissingWaitWidget,
    "pieces": PiecesWidget,
    "projection": ProjectionWidget,
    "freezing": FreezingWidget,
    "recursion": RecursionWidget,
    "rivals": RivalsWidget,
    "rotary": RotaryWidget,
    "scaling": ScalingWidget,
    "sentence": partial(SentenceWidget, controls=["rule", "parts"]),
    "strassen": StrassenWidget,
    "stride": partial(StrideWidget, wrong=True),
    "temperature": partial(TemperatureWidget, [1, 0]),
    "tiles": TilesWidget,
    "trace": partial(TraceWidget, q=SQUARE, k=SQUARE, v=SQUARE, mask=[[True, False], [True, True]]),
    "your_gpu": partial(YourGpuWidget, {"x": bare_record(), "y": gpu_record()}),
    "your_kernel": YourKernelWidget,
}
# Settings that show what the first do not.
FURTHER = {
    "aggregation": [{"rule": "window"}, {"rule": "decay", "rate": 0}],
    "checkpoints": [{"step": 650, "layer": 0, "head": 4}, {"step": 1000, "position": 7}],
    "devices": [{"ranks": 32}, {"ranks": 64}],
    "explorer": [{"chart": "T", "show": "ratio"}, {"chart": "head_dim", "group": "head_dim"}]
    + [{"record": "z", "T": T, "chart": "T"} for T in (131072, 1024)],
    "gradient": [{"scores": [8, -8, 0, 0, 0, 0, 0]}, {"scores": [-8, 8, -8, -8, -8, -8, -8]}],
    "guess": [{"guesses": [[2]], "looked": [True]}],
    "head_splitter": [{"d_model": 770}],
    "head_viewer": [{"guesses": ["?"] * 12}, {"layer": 0, "head": 4, "off": 4}],
    "learning": [{"step": 60}, {"step": 120, "seed": 3}],
    "missing_wait": [{"waits": [True] * 4}],
    "pieces": [{"word": 0}, {"word": 0, "cuts": [True, False, True, False, True, False]}],
    "projection": [{"word": 6}, {"x": [[0.25, 0, 1, 0]] * 7, "word": 1}, {"w_q": [[0, 0]] * 4}],
    "recursion": [{"levels": 12, "addition": 4}],
    "rivals": [{"measure": "gini"}],
    "rotary": [{"rates": [90, 22], "word": 5, "start": 40}, {"back": 3, "word": 2}],
    "scaling": [{"mu_k": 3, "d_k": 512}, {"mu_q": 2, "mu_k": 1}],
    "sentence": [{"controls": ["tau", "future"]}, {"controls": ["arrows"]}]
    + [{"controls": ["head"], "q": [[1, 2]] * 21, "k": [[2, 1], [0, 3], [-1, 0]] * 7}],
    "strassen": [{"product": 6}],
    "temperature": [{"tau": 0}, {"tau": math.inf}],
    "tiles": [{"step": 0}],
    "trace": [{"cell": "scores.1.1", "step": 2}, {"cell": "weights.2.1", "temperature": 1}]
    + [{"v": [[1, 0.5, 0], [0, 0.5, 1]], "words": ["cat", "it"], "cell": "output.2.1"}],
    "your_gpu": [{"measure": "matmul"}, {"measure": "sweep"}]
    + [{"result": run_in_page("attention", [(0, 0.3), (3, 2e-3), (4, 1e-3)], [[4, 2e-4]])}]
    + [{"measure": "sweep", "result": run_in_page("sweep", [(0, 1e-3), (1, 2e-4), (3, 8e-4)])}],
}


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "takes"),
    [
        (GradientWidget, "(*, scores=…, target=1, name='gradient')"),
        (YourKernelWidget, "(*, code='', name='your_kernel')"),
        (
            TraceWidget,
            "(q, k, v, mask=None, temperature=None, words=(), *, cell='', step=5, name='trace')",
        ),
    ],
)
def test_a_class_says_what_it_takes(kind, takes):
    assert str(inspect.signature(kind)) == takes


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: TemperatureWidget(scors=[1]),
            TypeError,
            "TemperatureWidget has no scors; it has scores, curves, tau, name",
        ),
        (
            lambda: TemperatureWidget([1], Tau=1),
            TypeError,
            "TemperatureWidget has no Tau; it has scores, curves, tau, name",
        ),
        (
            lambda: setattr(TemperatureWidget([1]), "temperature", 1),
            AttributeError,
            "TemperatureWidget has no temperature; it has scores, curves, tau, name",
        ),
        (
            lambda: HeadViewerWidget(heads=1),
            TypeError,
            "HeadViewerWidget has no heads; it has model, text, layer, head, position, off, seed, "
            "guesses, name",
        ),
        (
            lambda: TemperatureWidget([1], name="my widget"),
            SettingError,
            "name must be letters, digits, - and _, got 'my widget'",
        ),
        (
            lambda: setattr(TemperatureWidget([1]), "given", [2]),
            traitlets.TraitError,
            'The "given" trait is read-only.',
        ),
    ],
)
def test_nothing_unknown_passes_in_silence(make, error, message):
    with pytest.raises(error) as raised:
        make()
    assert str(raised.value) == message


def test_a_change_that_does_not_fit_is_taken_back():
    widget = AggregationWidget(SQUARE, row=1)
    with pytest.raises(SettingError):
        widget.set_state({"row": 1, "values": [[1]]})  # as a page sends them
    assert (widget.values, widget.row) == (SQUARE, 1)
    assert issubclass(SettingError, ValueError)


@pytest.mark.parametrize(
    "values",
    [
        np.array(SQUARE),
        np.array(SQUARE, dtype=np.float32),
        np.array(SQUARE, dtype=int),
        torch.tensor(SQUARE, dtype=torch.bfloat16),
        torch.nn.Parameter(torch.tensor(SQUARE)),
        [torch.tensor([1.0, 2.0]), np.array([3, 4])],
        ((1, np.float16(2)), [torch.tensor(3), 4.0]),
        [range(1, 3), range(3, 5)],
    ],
)
def test_arrays_and_tensors_become_plain_numbers(values):
    widget = AggregationWidget(values, row=np.int64(1), rate=torch.tensor(0.25))
    state = json.loads(json.dumps(widget.get_state(), allow_nan=False))
    assert (state["values"], state["given"]) == (SQUARE, SQUARE)
    assert (state["row"], state["rate"]) == (1, 0.25)
    assert {type(x) for row in widget.values for x in row} == {float}
    assert type(widget.row) is int
    mask = MaskWidget(values, np.array([[True, False], [True, True]])).mask
    assert mask == [[True, False], [True, True]]


@pytest.mark.parametrize("name", EVERY)
def test_every_state_is_json_and_every_setting_has_limits(name):
    widget = EVERY[name]()
    state = json.loads(json.dumps(widget.get_state(), allow_nan=False))
    assert state["name"] == name
    assert set(state["limits"]) == {
        trait for trait, x in widget.traits().items() if isinstance(x, Setting) and not x.read_only
    }
    for limit in state["limits"].values():
        assert limit["options"] or limit["min"] < limit["max"]


@browser
def test_a_setting_by_name_has_a_control_for_each(widget_page):
    """One that only Python knows would stand in no menu, and be drawn as another."""
    wanted, widgets = [], []
    for name, make in EVERY.items():
        for trait, setting in make().traits().items():
            options = getattr(setting, "options", ())
            if not options or setting.shape or not all(isinstance(x, str) for x in options):
                continue
            more = {"controls": ["future"]} if trait == "future" else {}
            for option in options:
                widgets.append(make(**{trait: option}, name=f"w{len(widgets)}", **more))
                wanted.append(f"{name}.{trait}={option}")
    page = widget_page(*widgets)
    chosen = "[...root.querySelectorAll('input:checked, select')].map((one) => one.value)"
    offered = page.locator("[data-ready]").evaluate_all(f"all => all.map((root) => {chosen})")
    found = zip(wanted, offered, strict=True)
    assert len(wanted) > 20
    assert [one for one, values in found if one.split("=")[1] not in values] == []


# --- limits, the same on both sides ---------------------------------------------------------------

SETTINGS = {
    "number": Setting(0.0, low=-2, high=3),
    "integer": Setting(0, low=-2, high=3, whole=True),
    "either": Setting(0.0, low=0, high=3, options=(None, math.inf)),
    "word": Setting("one", options=("one", "two")),
    "switch": Setting(False, options=(True, False)),
    "size": Setting(2, options=(1, 2, 4)),
    "row": Setting([0.0], low=-2, high=3, options=(-math.inf,), shape=(3,)),
    "matrix": Setting([[0]], low=-2, high=3, whole=True, shape=(2, 3)),
    "mask": Setting([[True]], options=(True, False), shape=(2, 2)),
}
SCALARS = [-2, -2.1, 3, 3.1, 0, 1, 2, 2.5, 4, None, True, False, "one", "inf", "-inf", "", 5e-324]
SCALARS += [1e308, {}, {"length": 1}]
VALUES = [
    *SCALARS,
    *([x] for x in SCALARS),
    *([[x]] for x in SCALARS),
    *([], [[]], [0, 3], [0, "-inf", 1], [0, 0, 0, 0], [[0, 1, 2], [1, 2, 3]], [[0, 1], [1]]),
    *([[0, 0, 0, 0]], [[0], [0], [0]], [[True, False]], [[True], [False, True]], [[[0]]]),
]


class Holder(traitlets.HasTraits):
    for _name, _setting in SETTINGS.items():
        locals()[_name] = _setting


def test_python_and_the_page_agree_on_limits():
    limits = {name: setting.limits() for name, setting in SETTINGS.items()}
    cases = [[name, value] for name in (*SETTINGS, "constructor", "other") for value in VALUES]
    expression = f"m.withinLimits(c[0], c[1], {{limits: {json.dumps(limits)}}})"
    got = json.loads(in_javascript("limits.js", expression, cases))
    for (name, value), fits in zip(cases, got, strict=True):
        if name not in SETTINGS:
            assert fits is False
            continue
        setting = SETTINGS[name]
        try:
            setting.validate(Holder(), setting.metadata["from_json"](value, None))
        except SettingError:
            assert fits is False, (name, value)
        else:
            assert fits is True, (name, value)
    assert 40 < sum(got) < len(got) / 2


# --- bundles and styles ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(p.name for p in STATIC.glob("*_widget.js")))
def test_a_bundle_is_one_module(name):
    text = bundle(name)
    assert not re.search(r"^import ", text, re.MULTILINE)
    assert len(re.findall(r"^export ", text, re.MULTILINE)) == 1
    assert not re.search(r"^/\*\*", text, re.MULTILINE)


def test_what_another_file_exports_is_imported():
    """All files of a bundle share one scope, where a name that nobody imported is found, too."""
    code = {p.name: re.sub(r"(?m)//.*$", "", p.read_text("utf-8")) for p in STATIC.glob("*.js")}
    declared = r"export (?:const|let|function\*?|class) (\w+)"
    exported = {name for text in code.values() for name in re.findall(declared, text)}
    missing = set()
    for file, text in code.items():
        lists = re.findall(r"^import \{(.*?)\}", text, re.DOTALL | re.MULTILINE)
        imported = {name for names in lists for name in re.findall(r"\w+", names)}
        called = set(re.findall(r"(?<![\w.])(\w+)\(", text))
        for name in exported & called - imported:
            own = rf"(const|let|function\*?|class) {name}\b|\b{name} =|[(,{{] *{name} *[,)}}]"
            if not re.search(own, text):
                missing.add((file, name))
    assert missing == {("stride_widget.js", "view")}  # torch's, in a text


def test_classes_are_those_of_the_style():
    """A class that no rule knows is a slip of the pen, and so is a rule for no class."""
    style = set(re.findall(r"\.(hydra-[\w-]+)", (STATIC / "ui.css").read_text("utf-8")))
    used = {}
    for path in STATIC.glob("*.js"):
        for name in re.findall(r"(?<![\w-])(hydra-[\w-]+)", path.read_text("utf-8")):
            used.setdefault(name, path.name)
    assert set(used) - style == {"hydra-tallied", "hydra-saving"}  # by which tests find them
    assert style <= set(used)


# --- elements -------------------------------------------------------------------------------------


def test_numbers_as_text():
    cases = [0, 1, -1, 12.5, 1 / 3, -2 / 3, 1234.56, 99994.0, 99996.0, 99999.6, 1e5, -1e5, 123456.7]
    cases += [1e-3, 0.00099999, -0.000999, 0.001, 0.0012344, 5e-324, 1e308, 1e21, -2.5e-7]
    cases += ["inf", "-inf"]
    got = json.loads(in_javascript("ui.js", "m.number(real(c))", cases))
    assert got == [written(float(x)) for x in cases]
    assert written(1e5) == "1.00e+5"
    assert written(-0.000999) == "−9.99e−4"
    (got,) = json.loads(in_javascript("ui.js", "[m.number(-0), m.number(NaN)]", [0]))
    assert got == ["0", "not a number"]
    noise = 0.2 * -0.9 + 0.3 * 0.6  # of two arrows at right angles
    assert noise != 0
    got = json.loads(in_javascript("ui.js", "m.brief(m.tidy(c))", [noise, 1e-8, -2.5]))
    assert got == ["0", "1.00e−8", "−2.5"]
    texts = ["1,000", " 12,345,678 ", "1,000.5", "0,125", "1,00", "1,0000", "1234,567", ",5", "x"]
    got = json.loads(in_javascript("ui.js", "m.ungrouped(c)", texts))
    assert got == ["1000", " 12345678 ", "1000.5", *texts[3:]]


def test_tenths_and_lists():
    cases = [-0.04, 0, 1.25, -0.06, -12]
    got = json.loads(in_javascript("ui.js", "m.tenths(c)", cases))
    assert got == ["0.0", "0.0", "1.3", "−0.1", "−12.0"]
    assert json.loads(in_javascript("ui.js", "m.tenths(-Infinity)", [0])) == ["−∞"]
    got = json.loads(in_javascript("ui.js", "m.listed(c)", [[], [1], [1, 2], ["a", "b", "c"]]))
    assert got == ["", "1", "1 and 2", "a, b and c"]


def test_shades():
    cases = [-1, 0, 0.12345, 0.5, 1, 1.5]
    node = "{classList: {add() {}}, style: {setProperty(_, share) { this.shade = share; }}}"
    got = json.loads(in_javascript("ui.js", f"(n => (m.heat(n, c), n.style.shade))({node})", cases))
    assert got == [f"{x}%" for x in ("0.0", "0.0", "12.3", "50.0", "100.0", "100.0")]


@browser
def test_elements(chromium):
    got = json.loads(
        in_browser(
            chromium,
            "ui.js",
            """(() => {
                const onclick = () => { made.id = "y"; };
                const made = m.el("a", {id: "x", hidden: true, lang: false, title: undefined,
                    onclick}, "text", m.el("b"));
                const before = made.outerHTML;
                made.click();
                return [before, made.id, m.svg("g", {id: "z"}, "w").outerHTML,
                    m.svg("g") instanceof SVGElement];
            })()""",
            [0],
        )
    )
    assert got == [['<a id="x" hidden="">text<b></b></a>', "y", '<g id="z">w</g>', True]]


@browser
def test_arrow_keys_go_to_the_nearest_button_of_the_next_line(chromium):
    # Lines of 120 pixels; the middles of the buttons stand at 20 and 80, at 40 and 100, and at 60.
    way = """((widths, way) => {
        const box = m.el("div", {style: "display: flex; flex-wrap: wrap; width: 120px"});
        document.body.replaceChildren(box);
        const buttons = widths.map((width) => m.el("button",
            {style: `all: unset; width: ${width}px; height: 20px`}));
        box.append(...buttons);
        m.roving([buttons]);
        return way.map(([from, key]) => {
            buttons[from].focus();
            buttons[from].dispatchEvent(new KeyboardEvent("keydown", {key}));
            return buttons.indexOf(document.activeElement);
        });
    })([40, 80, 80, 40, 120], c)"""
    steps = {
        (0, "ArrowDown"): 2,
        (1, "ArrowDown"): 3,
        (2, "ArrowDown"): 4,
        (4, "ArrowDown"): 4,
        (4, "ArrowUp"): 2,
        (3, "ArrowUp"): 1,
        (0, "ArrowUp"): 0,
        (1, "ArrowRight"): 2,
        (2, "ArrowLeft"): 1,
        (3, "Home"): 0,
        (1, "End"): 4,
        (1, "Enter"): 1,
    }
    assert json.loads(in_browser(chromium, "ui.js", way, [list(steps)])) == [list(steps.values())]


@browser
def test_a_text_is_exchanged_where_it_stands(chromium):
    """And one that stays is not touched: what reads the page aloud would say it again."""
    got = json.loads(
        in_browser(
            chromium,
            "ui.js",
            """(() => {
                const node = m.el("td"), log = [];
                const seen = new MutationObserver(() => {});
                seen.observe(node, {childList: true, characterData: true, subtree: true});
                for (const words of ["one", "two", "two", 3, 3, ""]) {
                    m.say(node, words);
                    log.push([node.innerHTML, ...seen.takeRecords().map(({type}) => type)]);
                }
                const whole = m.el("td", {}, "text", m.el("b"));
                m.say(whole, "all of it");
                return [...log, [whole.innerHTML]];
            })()""",
            [0],
        )
    )
    swap, still = ["characterData"], []
    texts = ["one", "two", "two", "3", "3", "", "all of it"]
    kinds = [["childList"], swap, still, swap, still, swap, still]
    assert got == [[[text, *kind] for text, kind in zip(texts, kinds, strict=True)]]


@browser
def test_a_widget_draws_once_a_frame_and_not_after_its_end(chromium):
    got = json.loads(
        in_browser(
            chromium,
            "ui.js",
            """(() => {
                const frames = [], heard = {}, log = [];
                globalThis.requestAnimationFrame = (f) => frames.push(f);
                globalThis.cancelAnimationFrame = (n) => { delete frames[n - 1]; };
                const run = () => frames.splice(0).forEach((f) => f());
                const model = {
                    set: (name, value) => { log.push([name, value]); heard[`change:${name}`]?.(); },
                    on: (name, f) => { heard[name] = f; }, off: (name) => { delete heard[name]; },
                    save_changes: () => log.push("saved"),
                };
                const end = m.follow(model, ["a", "b"], () => log.push("drawn"));
                m.update(model, {a: 1, b: 2, c: 3});
                run(); run();
                m.update(model, {b: 4});
                run();
                m.update(model, {a: 5});
                end();
                run();
                m.update(model, {a: 6});
                run();
                return log;
            })()""",
            [0],
        )
    )
    changes = [["a", 1], ["b", 2], ["c", 3], "saved", "drawn", ["b", 4], "saved", "drawn"]
    assert got == [["drawn", *changes, ["a", 5], "saved", ["a", 6], "saved"]]


@browser
def test_keys_of_the_browser_are_left_to_it(widget_page):
    """A page back, the end of the page: on a word, on a pot, on a number that may be changed."""
    page = widget_page(SentenceWidget(controls=["rule", "parts"]), EVERY["trace"]())
    page.evaluate(
        """() => {
            window.taken = [];
            addEventListener("keydown", (event) => taken.push(event.defaultPrevented));
        }"""
    )
    number = page.locator("[data-ready=trace] table button").first
    word = page.locator(".hydra-words button").nth(4)  # the one that is chosen already
    for one in (word, page.get_by_label("parts of cat"), number):
        one.focus()
        for key in ("Alt+ArrowLeft", "Control+End", "Meta+ArrowUp", "Control++"):
            page.keyboard.press(key)
        expect(one).to_be_focused()
    assert page.evaluate("taken") == [False] * 24  # each with the key that is held beside it
    # Nothing is set but what has the focus; the URL is written once that rests.
    page.wait_for_url("**/widgets.html#trace.cell=q.1.1")


@browser
def test_a_link_followed_just_after_a_change_is_kept(widget_page):
    """The page is busy until both are due, so that writing comes before the link is read."""
    page = widget_page(TemperatureWidget([3, 1, 0.5, 0, -1]))
    page.get_by_label("Example").evaluate(
        """(example) => {
            setTimeout(() => { location.hash = "#temperature.tau=0"; }, 200);
            example.value = [...example.options].find((one) => one.text === "A tie of two").value;
            example.dispatchEvent(new Event("change", { bubbles: true }));
            const end = performance.now() + 400;
            while (performance.now() < end);
        }"""
    )
    page.wait_for_url("**#temperature.*")
    expect(summary(page, "temperature")).to_contain_text("effectively 1 of 5 states")
    assert page.url.endswith("#temperature.tau=0")


KNOWN = {
    *(
        "class",
        "style",
        "type",
        "min",
        "max",
        "step",
        "value",
        "disabled",
        "hidden",
        "role",
        "size",
        "name",
    ),
    *(
        "scope",
        "spellcheck",
        "autocapitalize",
        "autocomplete",
        "open",
        "rows",
        "readonly",
    ),
    *(
        "x",
        "y",
        "x1",
        "x2",
        "y1",
        "y2",
        "cx",
        "cy",
        "r",
        "width",
        "height",
        "points",
        "d",
        "viewBox",
    ),
    *("fill-opacity", "stroke-opacity", "transform", "text-anchor", "stroke-width"),
    *("data-lm-suppress-shortcuts", "data-quantity", "data-grid", "data-stage", "data-options"),
    *("data-ready", "data-sign"),
}
VALUES_OF = {
    "aria-busy": {"true", "false"},
    "aria-live": {"off"},
    "tabindex": {"0", "-1"},
    "aria-hidden": {"true"},
    "aria-pressed": {"true", "false"},
    "aria-current": {"true", "false"},
    "aria-disabled": {"true", "false"},
    "aria-invalid": {"true", "false"},
    "role": {"alert", "status", "img", "group", "slider"},
    "aria-orientation": {"vertical"},
    "scope": {"row", "col"},
    "type": {"button", "checkbox", "radio", "range", "text"},
    "spellcheck": {"false"},
    "autocapitalize": {"off"},
    "autocomplete": {"off"},
    "data-lm-suppress-shortcuts": {"true"},
    "text-anchor": {"start", "middle", "end"},
    "preserveAspectRatio": {"none"},
}


@pytest.fixture(scope="module", params=EVERY)
def shown(request, chromium, address_of):
    """A widget in each of its states, with what is folded; opened once for the tests that only look
    at it."""
    name = request.param
    with opening(chromium) as open_page:
        load = showing_widgets(open_page, address_of)
        page = load(*[EVERY[name](**setting) for setting in [{}, *FURTHER.get(name, [])]])
        page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
        drawn(page)  # what is folded is drawn once it is opened
        yield name, page.locator(f"[data-ready={name}]")


@browser
def test_elements_and_attributes_are_those_a_browser_knows(shown):
    found = shown[1].evaluate_all(
        """roots => roots.flatMap((root) => [root, ...root.querySelectorAll("*")]).map((e) =>
            [e.tagName.toLowerCase(), ![HTMLUnknownElement, SVGElement].includes(e.constructor),
            Object.fromEntries([...e.attributes].map((a) => [a.name, a.value])),
            e.closest("label, [aria-label]") !== null || e.textContent !== ""])"""
    )
    live = 0
    for tag, known, attributes, told in found:
        assert known, tag
        for attribute, value in attributes.items():
            assert attribute in KNOWN or attribute in VALUES_OF or attribute.startswith("aria-")
            assert value in VALUES_OF.get(attribute, {value}), (attribute, value)
            if attribute.startswith("aria-"):
                values = ("valuetext", "valuemin", "valuemax", "valuenow")
                names = ["aria-label", *(f"aria-{value}" for value in values)]
                assert attribute in VALUES_OF or attribute in names
        if tag in ("input", "select", "button"):
            assert told, attributes
        if tag == "output":  # by itself a live region: what moves it, or the summary, says it
            assert attributes["aria-live"] == "off"
        if tag == "button":
            assert attributes["type"] == "button"
        if tag == "select" or attributes.get("type") in ("range", "text"):
            assert attributes["data-lm-suppress-shortcuts"] == "true"
        if tag == "svg":
            assert "aria-hidden" in attributes or {"role", "aria-label"} <= set(attributes)
        live += attributes.get("role") == "status"  # read whole, however little of it changed
    assert live >= shown[1].count()
    assert "hydra" in found[0][2]["class"].split()


# The numbers of a table are looked at elsewhere; and a browser has WebGPU or not.
UNSTORED = re.compile(
    r" +- '?(row|rowgroup)\b.*| +- '?cell(?!.*[a-z]{4}.*[^:]$).*| {8}.*"
    r"|- paragraph: This browser .*| +- textbox \"the record as JSON\".*"
)
UNSPOKEN = """root => [...root.querySelectorAll("[aria-hidden=true]")].map((one) =>
    [...one.querySelectorAll("text")].map((text) => text.textContent).join(" · ")
        || one.textContent).filter((text) => /[^\\W\\d]/.test(text)).join("\\n")"""


# What a widget draws: how many elements of a kind, a line for what places, sizes or shades them,
# and one for the numbers of its tables. Of a long line the beginning, how many numbers there are,
# and their sum. What is laid out by letters, which are other ones on other machines, is left out.
DRAWN = """root => {
    const lines = {}, counts = {}, add = (key, value) => (lines[key] ??= []).push(value);
    const rounded = (text) => text.replace(/-?\\d+(\\.\\d+)?(e-\\d+)?/g, (x) => +(+x).toFixed(2));
    const short = (text) => {
        const all = text.match(/-?\\d+(\\.\\d+)?/g) ?? [];
        const sum = all.reduce((total, x) => total + +x, 0).toFixed(1);
        const rest = `… ${all.length} numbers, sum ${sum}`;
        return text.length < 200 ? text : text.slice(0, 160) + rest;
    };
    for (const one of root.querySelectorAll(":not(.hydra-looks *)")) {
        const kind = [one.tagName, ...one.classList].join(".");
        counts[kind] = (counts[kind] ?? 0) + 1;
        for (const { name, value } of one.attributes) {
            const drawn = name === "style" || one instanceof SVGElement && name !== "class";
            if (drawn && /\\d/.test(value)) add(`${kind} ${name}`, rounded(value));
        }
        if (one.matches("td, output") && /\\d/.test(one.textContent)) add(kind, one.textContent);
    }
    const drawn = Object.entries(lines).map(([key, all]) => short(`${key}: ${all.join(" | ")}`));
    const kinds = Object.entries(counts).map(([kind, n]) => `${n} ${kind}`);
    return [...Object.values(Object.groupBy(kinds, (one) => one.match(/[a-z]+/i)[0]))
        .map((all) => all.join(" | ")), ...drawn];
}"""


def with_new(text, lines):
    return text + "".join(f"{line}\n" for line in lines if line not in text.split("\n")) + "\n"


@browser
def test_what_a_widget_says_and_draws(shown):
    """What a screen reader meets, below it what is only drawn, and where: read what changes.

    To store it anew, delete the file and run this.
    """
    name, widgets = shown
    said, shapes = "", ""
    for one in widgets.all():
        lines = f"{one.aria_snapshot()}\n{one.evaluate(UNSPOKEN)}".split("\n")
        said = with_new(said, [line for line in lines if not UNSTORED.fullmatch(line)])
        shapes = with_new(shapes, one.evaluate(DRAWN))
        assert one.evaluate(UNREADABLE) == []
    found = {STORED / "spoken" / f"{name}.txt": said, STORED / "drawn" / f"{name}.txt": shapes}
    new = [path for path in found if not path.exists()]
    for path in new:
        path.write_text(found[path], "utf-8")
    for path, text in found.items():
        assert text == path.read_text("utf-8")
    assert not new, f"stored, read them: {', '.join(map(str, new))}"


# Words that lie on other words, on a drawing or on a control, or beside the widget.
LYING = """(root) => {
    const boxes = [], edge = root.getBoundingClientRect();
    const add = (told, of, box) => {
        const all = { left: box.left, right: box.right, top: box.top, bottom: box.bottom };
        for (let e = of; e !== root; e = e.parentElement) { // what is scrolled away lies on nothing
            if (getComputedStyle(e).overflowX === "visible") continue;
            const room = e.getBoundingClientRect();
            all.left = Math.max(all.left, room.left);
            all.right = Math.min(all.right, room.right);
        }
        if (all.right - all.left > 3) boxes.push({ told, of, ...all });
    };
    const seen = (one) => one.checkVisibility({ visibilityProperty: true })
        && !one.closest(".hydra-sticky");
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const { currentNode: text, currentNode: { parentElement: of, data } } = texts;
        if (!data.trim() || of.closest("svg, select, textarea") || !seen(of)) continue;
        const range = new Range();
        range.selectNodeContents(text);
        for (const box of range.getClientRects()) add(data, of, box);
    }
    for (const one of root.querySelectorAll("svg, input:not([type=radio]), select"))
        if (seen(one) && getComputedStyle(one).position !== "absolute")
            add(`<${one.localName}>`, one, one.getBoundingClientRect());
    const apart = (a, b) => a.of.contains(b.of) || b.of.contains(a.of)
        || Math.min(a.right, b.right) - Math.max(a.left, b.left) < 3
        || Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) < 5;
    return boxes.flatMap((a, n) => [
        ...a.left < edge.left - 1 || a.right > edge.right + 1 ? [`${a.told} leaves`] : [],
        ...boxes.slice(n + 1).filter((b) => !apart(a, b)).map((b) => `${a.told} on ${b.told}`),
    ]);
}"""


@browser
def test_in_a_part_of_a_wide_window_nothing_lies_on_anything(shown):
    """As in JupyterLab, where a notebook may stand beside something else."""
    for one in shown[1].all():
        for width in ("640px", "520px", "400px", "330px"):
            one.evaluate("(root, width) => { root.style.width = width; }", width)
            assert one.evaluate(LYING) == [], width
        one.evaluate("(root) => { root.style.width = ''; }")


# --- the page's host ------------------------------------------------------------------------------


def summary(page, name):
    return page.locator(f"[data-ready={name}] .hydra-summary")


@browser
def test_sets_of_radio_buttons_do_not_disturb_each_other(widget_page):
    """One button of a name is chosen, and widgets come from modules that know nothing of others."""
    page = widget_page(StrassenWidget(), ExplorerWidget({"x": bare_record()}), StrassenWidget())
    chosen = page.locator("fieldset:visible").evaluate_all(
        "sets => sets.map((one) => one.querySelectorAll(':checked').length)"
    )
    assert chosen == [1, 1, 1, 1, 1]


@browser
def test_two_widgets_of_one_class_do_not_disturb_each_other(widget_page):
    first = TemperatureWidget([1, 0], name="first")
    second = TemperatureWidget([2, 0], name="second", tau=3.0)
    page = widget_page(first, second)
    sliders = page.get_by_label("Temperature τ")
    expect(sliders).to_have_count(2)
    before = page.locator("[data-ready=second]").inner_text()
    sliders.nth(0).focus()
    press(page, "Home")
    expect(summary(page, "first")).to_contain_text("Frozen")
    assert page.locator("[data-ready=second]").inner_text() == before
    sliders.nth(1).focus()
    press(page, "End")
    expect(summary(page, "second")).to_contain_text("Melted")
    expect(summary(page, "first")).to_contain_text("Frozen")
    page.wait_for_url("**#first.tau=0&second.tau=inf")
    page.reload()
    expect(summary(page, "first")).to_contain_text("Frozen")
    expect(summary(page, "second")).to_contain_text("Melted")


@browser
def test_a_link_sets_what_it_names_and_resets_the_rest(widget_page):
    page = widget_page(TemperatureWidget([3, 1, 0.5, 0, -1]), TemperatureWidget([1], name="other"))
    page.get_by_label("Example").first.select_option("A tie of two")
    page.get_by_label("or type τ").last.fill("2")
    page.keyboard.press("Enter")
    page.wait_for_url("**#temperature.scores=*&other.tau=2")
    follow(page, "#temperature.tau=0")
    told = summary(page, "temperature").inner_text()
    assert "effectively 1 of 5 states" in told
    expect(summary(page, "other")).to_contain_text("At τ = 1:")
    page.reload()  # opened afresh the link shows the same
    expect(summary(page, "temperature")).to_have_text(told)
    expect(summary(page, "other")).to_contain_text("At τ = 1:")
    page.go_back()
    expect(page.get_by_label("Example").first).to_have_value("A tie of two")
    expect(summary(page, "temperature")).to_contain_text("At τ = 1:")
    expect(summary(page, "other")).to_contain_text("At τ = 2:")
    follow(page, "#temperature.tau=inf")
    follow(page, "#")  # the page's own setting
    expect(summary(page, "temperature")).to_contain_text("At τ = 1:")
    page.go_back()
    expect(summary(page, "temperature")).to_contain_text("Melted")


@browser
def test_an_ordinary_anchor_changes_nothing_and_takes_nothing_away(widget_page):
    first, second = TemperatureWidget([1, 0], name="first"), TemperatureWidget([2], name="second")
    page = widget_page(first, second, fragment="#first.tau=0")
    expect(summary(page, "first")).to_contain_text("Frozen")
    follow(page, "#exercises")
    expect(summary(page, "first")).to_contain_text("Frozen")
    page.get_by_label("Temperature τ").last.focus()
    press(page, "End")
    page.wait_for_url("**#first.tau=0&second.tau=inf")
    page.get_by_label("or type τ").last.fill("1")
    page.keyboard.press("Enter")
    page.wait_for_url("**#first.tau=0")
    page.get_by_label("or type τ").first.fill("1")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("html$"))  # the page's own setting needs no fragment


@browser
def test_a_page_opened_at_an_anchor_writes_its_settings(widget_page):
    page = widget_page(TemperatureWidget([1, 0]), fragment="#exercises")
    page.get_by_label("Temperature τ").focus()
    press(page, "Home")
    page.wait_for_url("**#temperature.tau=0")


@browser
def test_long_and_wide_links(widget_page):
    page = widget_page(AggregationWidget(SQUARE), width=360)
    rows = json.dumps([[1]] * 1500).replace(" ", "")
    follow(page, f"#aggregation.values={rows}")
    problem = page.locator("[data-ready] > .hydra-problem")
    expect(problem).to_have_text(
        f"The link asks for values = {rows[:60]}…, which this widget cannot show."
    )
    expect(page.locator("td")).to_have_count(12)
    for values in ([[1] * 140], [[1] * 9], [[1]] * 17):
        follow(page, f"#aggregation.values={json.dumps(values)}")
        expect(problem).to_contain_text("cannot show")
    follow(page, f"#aggregation.values={json.dumps([[-123456.7] * 8] * 16)}")
    expect(problem).to_have_text("")
    expect(page.locator("td")).to_have_count(16 * 16 + 2 * 16 * 8)
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


# --- a widget that cannot run ---------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("export default { render() { throw new Error('no such state') } };", "no such state"),
        ("throw new Error('not in this browser');", "not in this browser"),
    ],
)
def test_a_widget_that_fails_leaves_its_picture_and_says_why(chromium, module, reason):
    from tests.conftest import HOST

    states = {"broken": module, "whole": "export default { render({ el }) { el.append('here') } };"}
    mime = "application/vnd.jupyter.widget"
    body = f"<!doctype html><title>broken</title><script>{HOST.read_text('utf-8')}</script>"
    for name, source in states.items():
        state = {"state": {name: {"state": {"_esm": source, "name": name}}}}
        body += f"<div><script type='{mime}-state+json'>{json.dumps(state)}</script></div>"
        view = json.dumps({"model_id": name})
        body += f"<div><script type='{mime}-view+json'>{view}</script>"
        body += "<div class=still>a picture</div></div>"
    page = chromium.new_page()
    page.route("**/*", lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto("http://127.0.0.1/broken.html")
    expect(page.locator("[data-ready=whole]")).to_have_text("here")  # the next one runs
    expect(page.locator(".still")).to_have_text("a picture")
    expect(page.get_by_role("alert").first).to_have_text(
        f"This widget does not run here: {reason}. Above is a picture of it."
    )
    page.close()
