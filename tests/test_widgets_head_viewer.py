"""The head viewer: its language and model against the library, every control, links."""

import base64
import functools
import json
import random
import re

import numpy as np
import pytest
import torch
import traitlets
from playwright.sync_api import expect

from hydra_lib.heads import HeadConfig
from hydra_lib.toy.ablation import ablate
from hydra_lib.toy.language import JOBS, SYMBOLS, Reader, corpus, encode
from hydra_lib.toy.model import ToyModel, stored
from hydra_lib.toy.roles import role_scores, role_targets
from hydra_lib.widgets import HeadViewerWidget, head_viewer
from hydra_lib.widgets.head_viewer import check_document
from tests.conftest import expect_refused, follow, in_javascript

browser = pytest.mark.browser

TEXT = "^ab[cd]bBx(e)x*Ba"
LAYERS, HEADS = 2, 6


def spelled(ids):
    return "".join(SYMBOLS[i] for i in ids)


def small(layers=1, n_heads=4, **options):
    generator = torch.Generator().manual_seed(3)
    return ToyModel(HeadConfig(8, n_heads), layers, generator=generator, **options)


# --- settings -------------------------------------------------------------------------------------


def huge():
    model = small()
    with torch.no_grad():
        model.layers[0].W_k.weight[0, 0] = 1e5
    return model


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"model": torch.nn.Linear(2, 2)}, TypeError, "model must be a ToyModel, got Linear"),
        ({"model": small(symbols=41)}, ValueError, "model must be over 40 symbols, got 41"),
        (
            {"model": huge()},
            ValueError,
            "model must be finite in half precision, got NaN or ±∞ in layers.0.W_k.weight",
        ),
        ({"text": "^aé!"}, ValueError, f"text must be made of the symbols {SYMBOLS}, got '!', 'é'"),
        ({"text": ""}, ValueError, "text must have 2 to 48 symbols, got 0"),
        ({"text": "^"}, ValueError, "text must have 2 to 48 symbols, got 1"),
        ({"text": "^" + "a" * 48}, ValueError, "text must have 2 to 48 symbols, got 49"),
        ({"text": "abc"}, ValueError, "text must start with ^, got a"),
        (
            {"text": "^ab(c)c"},
            ValueError,
            "symbol must be one of 'b' after '^ab(c)', got 'c'",
        ),
        ({"layer": 2}, ValueError, "layer must lie in 0 … 1, got 2"),
        ({"layer": -1}, ValueError, "layer must be an integer from 0 to 99, got -1"),
        ({"layer": "0"}, ValueError, "layer must be an integer from 0 to 99, got '0'"),
        ({"text": 5}, TypeError, "text must be a string, got int"),
        ({"head": 6}, ValueError, "head must lie in 0 … 5, got 6"),
        ({"model": small(), "layer": 1}, ValueError, "layer must lie in 0 … 0, got 1"),
        ({"text": "^ab", "position": 3}, ValueError, "position must lie in 0 … 2, got 3"),
        ({"position": -1}, ValueError, "position must be an integer from 0 to 47, got -1"),
        ({"off": 12}, ValueError, "off must lie in 0 … 11, got 12"),
        ({"off": -2}, ValueError, "off must be an integer from -1 to 9,999, got -2"),
        ({"off": True}, ValueError, "off must be an integer from -1 to 9,999, got True"),
        ({"guesses": ["?"] * 11}, ValueError, "guesses must be 12 words, got 11"),
        (
            {"guesses": ["?"] * 11 + ["bracket, hard"]},
            ValueError,
            "guesses must be a row of at most 10000, each told or ? or previous or induction or "
            "bracket or entity or nothing, got ['?', '?', '?', '?', '?', '?', '?', '?', '?', "
            "'?', '?', 'bracket, hard']",
        ),
    ],
)
def test_bad_settings(setting, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        HeadViewerWidget(**setting)


def test_a_model_of_many_heads_has_a_guess_for_each(monkeypatch):
    monkeypatch.setattr(head_viewer, "_held_out", lambda: corpus(2, 47, seed=0))
    assert HeadViewerWidget(small(layers=26)).guesses == ["told"] * 104


def test_bad_changes():
    widget = HeadViewerWidget(text=TEXT, position=16)
    with pytest.raises(ValueError, match=re.escape("position must lie in 0 … 2, got 16")):
        widget.text = "^ab"
    with pytest.raises(ValueError, match=re.escape("text must start with ^, got b")):
        widget.text = "ba"
    with pytest.raises(traitlets.TraitError, match="seed"):
        widget.seed = -1
    assert (widget.text, widget.position, widget.seed) == (TEXT, 16, 0)
    widget.set_state({"text": "^ab", "position": 2})  # as a page sends them
    assert (widget.text, widget.position) == ("^ab", 2)


@pytest.mark.long
def test_state_travels_as_json_with_the_scores_and_weights_of_the_model():
    model = stored()
    widget = HeadViewerWidget(model)
    state = json.loads(json.dumps(widget.get_state(), allow_nan=False))
    scores = role_scores(model, corpus(400, seed=1_000_000))
    assert state["scores"] == {role: x.tolist() for role, x in scores.items()}
    assert widget.scores["induction"][widget.layer][widget.head] == scores["induction"].max()
    packed = base64.b64decode(state["weights"]["data"])
    half = len(packed) // 2
    raw = bytes(byte for pair in zip(packed[half:], packed[:half], strict=True) for byte in pair)
    place = 0
    for name, shape in state["weights"]["shapes"]:
        weight = model.state_dict()[name]
        assert list(weight.shape) == shape
        part = np.frombuffer(raw, "<f2", weight.numel(), place).astype(np.float32)
        assert np.array_equal(part.reshape(shape), weight.numpy())
        place += 2 * weight.numel()
    assert (place, state["weights"]["n_heads"]) == (len(raw), 6)
    assert len(raw) == 2 * 22_560


@pytest.mark.long
def test_a_model_of_another_shape_and_dtype():
    model = small(layers=3).double()
    widget = HeadViewerWidget(model, layer=2)
    assert np.shape(widget.scores["entity"]) == (3, 4)
    assert model.embed.weight.dtype == torch.float64  # the reader's model is left alone
    best = np.argmax(widget.scores["induction"][2])
    assert (widget.layer, widget.head) == (2, best)


@pytest.mark.parametrize(("text", "position"), [("^ab", 2), ("^abab", 3), ("^aba(b)a", 6)])
def test_first_position_is_the_last_look_up_with_an_outcome(text, position):
    assert HeadViewerWidget(text=text).position == position


# --- arithmetic -----------------------------------------------------------------------------------


@functools.cache
def many():
    return corpus(1040, seed=5)


@pytest.mark.slow
def test_rules_agree_with_the_library():
    documents = many()
    texts = [spelled(ids[:-1]) for ids in documents.ids]
    got = json.loads(in_javascript("toy_language.js", "m.annotate(c)", texts))
    targets = role_targets(documents)
    answers = (targets["induction"] | targets["bracket"] | targets["entity"]).tolist()
    jobs, places = documents.job.tolist(), documents.target.tolist()
    for n, (text, notes) in enumerate(zip(texts, got, strict=True)):
        reader = Reader()
        for t, (symbol, note) in enumerate(zip(text, notes, strict=True)):
            reader.read(symbol)
            assert note["job"] == reader.job == JOBS[jobs[n][t]]
            assert reader.target == places[n][t]
            assert note["choices"] == [list(choice) for choice in reader.choices()]
        for note, row in zip(notes, answers[n], strict=True):
            assert note["answers"] == [j for j, found in enumerate(row) if found]


def refusal(text):
    """The library's message; empty when it takes the text."""
    try:
        check_document(text)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.slow
def test_refusals_are_the_library_s_word_for_word():
    draw = random.Random(7)
    documents = [spelled(ids) for ids in many().ids[:900]]
    cases = ["", "^", "a", "^a'", '^a"', "^a\\", "\\'\"", "^a😀", "😀", "^a😀b" + 46 * "c", "é^"]
    for text in documents:
        length, change = draw.randint(0, 49), draw.randint(0, 48)
        other = draw.choice(SYMBOLS * 3 + "Z0'\\ \"é")
        cases += [text[:length], (text[:change] + other + text[change + 1 :])[:48]]
    got = json.loads(in_javascript("toy_language.js", "m.examine(c)", cases))
    assert [found["problem"] for found in got] == [refusal(case) for case in cases]
    problems = [found["problem"] for found in got]
    for kind in (
        "^$",
        "^text must be made",
        "^text must have",
        "^text must start",
        "^symbol must be",
    ):
        assert sum(bool(re.search(kind, problem)) for problem in problems) > 10
    for case, found in zip(cases, got, strict=True):
        legal = found["legal"]
        assert case.startswith(legal)
        assert len(legal) < 2 or refusal(legal) == ""
        if len(legal) < min(len(case), 48):
            assert refusal(case[: len(legal) + 1])  # and not a symbol more


@pytest.mark.slow
def test_drawn_documents_are_of_the_language():
    cases = [[seed, 2 + seed % 47] for seed in range(1000)] + [[7, 48]] * 2 + [[2**32 - 1, 48]]
    expression = "[m.randomDocument(...c), m.opening(m.randomDocument(...c))]"
    got = json.loads(in_javascript("toy_language.js", expression, cases))
    for (_, length), (text, opening) in zip(cases, got, strict=True):
        assert (len(text), refusal(text)) == (length, "")
        asked = []
        reader = Reader()
        for position, symbol in enumerate(text):
            reader.read(symbol)
            asked += [position] if reader.job != "none" and position < length - 1 else []
        assert opening == (asked[-1] if asked else length - 1)
    assert len({text for text, _ in got if len(text) > 10}) > 800
    assert got[1000] == got[1001]
    # The symbols come as often as the library draws them.
    ours = "".join(text for text, _ in got[:1000])
    theirs = "".join(spelled(ids[: 2 + n % 47]) for n, ids in enumerate(many().ids[:1000]))
    for kind in ("([{", ")]}", "*", "ABCDEFGH", "acegikmoqsuw"):
        shares = [sum(s in kind for s in text) / len(text) for text in (ours, theirs)]
        assert shares[0] == pytest.approx(shares[1], abs=0.01)


FORWARD = """(c.data ? (globalThis.learned = m.readModel(c), "") : (() => {
    const found = m.forward(globalThis.learned, c.ids, c.off ?? undefined);
    const parts = [...found.weights.flat(), found.logits];
    const all = new Float64Array(parts.reduce((total, part) => total + part.length, 0));
    parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
    const bytes = new Uint8Array(all.buffer);
    let text = "";
    for (let n = 0; n < bytes.length; n += 8192) {
        text += String.fromCharCode(...bytes.subarray(n, n + 8192));
    }
    return btoa(text);
})())"""


def library_forward(model, ids, off):
    """All weights, head outputs and logits of a batch of one length, (B, everything)."""
    edit = ablate(off["layer"], off["head"]) if off else None
    seen = {}

    def keep(layer, heads):
        seen[layer] = edit(layer, heads) if edit else heads
        return seen[layer]

    with torch.no_grad():
        logits = model(ids, keep)
        x, weights = model.embed(ids), []
        for index, layer in enumerate(model.layers):
            y = model.norms[index](x)
            mask = torch.ones(ids.shape[1], ids.shape[1]).tril().bool()
            weights.append(layer.trace(y, y, y, mask).weights)
            x = x + layer.combine(seen[index])
    parts = [torch.cat(weights, 1), logits]
    return torch.cat([part.flatten(1) for part in parts], 1)


@pytest.mark.slow
def test_model_agrees_with_the_library():
    draw = random.Random(9)
    documents = many().ids.tolist()
    cases = []
    for n, ids in enumerate(documents):
        length = 2 + n % 47 if n < 94 else 2 + n % 15
        if n % 3 == 0:  # the model does not know the rules
            ids = [draw.randrange(40) for _ in ids]
        off = {"layer": length // HEADS % LAYERS, "head": length % HEADS} if n % 2 else None
        cases.append({"ids": ids[:length], "off": off})
    weights = HeadViewerWidget().weights
    got = json.loads(in_javascript("toy_model.js", FORWARD, [weights, *cases]))[1:]
    results = [torch.frombuffer(bytearray(base64.b64decode(x)), dtype=torch.float64) for x in got]
    exact, single = stored().double(), stored()
    groups = {}
    for n, case in enumerate(cases):
        off = case["off"]
        key = (len(case["ids"]), off and off["layer"], off and off["head"])
        groups.setdefault(key, []).append(n)
    worst = 0.0
    for members in groups.values():
        ids = torch.tensor([cases[n]["ids"] for n in members])
        ours = torch.stack([results[n] for n in members])
        off = cases[members[0]]["off"]
        torch.testing.assert_close(ours, library_forward(exact, ids, off), rtol=0, atol=1e-9)
        if off is None:  # and what single precision costs, in documents of the language
            error = (ours - library_forward(single, ids, off)).abs().amax(1)
            worst = max([worst, *(e.item() for n, e in zip(members, error, strict=True) if n % 3)])
    assert 1e-7 < worst < 2e-4
    assert sum(map(len, groups.values())) == 1040


@pytest.mark.slow
def test_a_model_of_another_shape_agrees():
    model = small(layers=3, n_heads=2)
    widget = HeadViewerWidget(model)
    halves = small(layers=3, n_heads=2)
    halves.load_state_dict({name: x.half().float() for name, x in model.state_dict().items()})
    ids = encode(TEXT)[None]
    cases = [widget.weights, {"ids": ids[0].tolist(), "off": None}]
    got = json.loads(in_javascript("toy_model.js", FORWARD, cases))[1]
    ours = torch.frombuffer(bytearray(base64.b64decode(got)), dtype=torch.float64)[None]
    expected = library_forward(halves.double(), ids, None)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-9)


def test_what_follows_a_position_is_the_softmax_of_its_own_logits():
    logits = torch.randn(7, 11, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    given = f"{{ logits: Float64Array.from({logits.flatten().tolist()}) }}"
    expression = f"Array.from(m.predict({given}, c, 11))"
    got = json.loads(in_javascript("toy_model.js", expression, list(range(7))))
    got = torch.tensor(got, dtype=torch.float64)
    torch.testing.assert_close(got, logits.softmax(dim=1), rtol=1e-12, atol=0)


# --- controls -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library():
    """The model in double precision, and the scores that the widget shows."""
    scores = role_scores(stored(), corpus(400, seed=1_000_000))
    return stored().double(), {role: x.tolist() for role, x in scores.items()}


def rules_after(text):
    reader = Reader()
    for symbol in text:
        reader.read(symbol)
    return reader


@functools.cache
def look_ups(text, t):
    """What symbol t asks for, and where that stands."""
    reader = rules_after(text[: t + 1])
    copies = [j for j in range(1, t + 1) if text[j - 1] == text[t] and text[j].islower() and j <= t]
    return reader.job, copies if reader.job == "induction" else [reader.target]


def every_weight(model, text, edit):
    """(layers, heads, T, T), with the heads of an edit gone from below."""
    with torch.no_grad():
        x, weights = model.embed(encode(text)[None]), []
        mask = torch.ones(len(text), len(text)).tril().bool()
        for index, (norm, layer) in enumerate(zip(model.norms, model.layers, strict=False)):
            y = norm(x)
            trace = layer.trace(y, y, y, mask)
            weights.append(trace.weights[0])
            x = x + layer.combine(edit(index, trace.heads) if edit else trace.heads)
    return torch.stack(weights)


def chance(text, symbol):
    return sum(p / len(s) for p, s in rules_after(text).choices() if symbol in s)


def predictions(model, text, edit=None):
    with torch.no_grad():
        return model(encode(text)[None], edit)[0].softmax(-1)


@functools.cache
def found(model, text, off):
    """All weights and what the model expects, without the head that is off and with all."""
    edit, whole = ablate(*divmod(off, HEADS)) if off >= 0 else None, predictions(model, text)
    now = predictions(model, text, edit) if edit else whole
    return every_weight(model, text, edit), now, whole


def told(text, layer, head, t, weights, now, whole, off):
    """The sentences, in words of this test; ``whole`` is None while every head is on."""
    row = weights[layer, head, t].tolist()
    order = sorted(range(t + 1), key=lambda j: -row[j])[:3]
    seen = [j for n, j in enumerate(order) if n == 0 or row[j] >= 0.05]
    looks = f"Head L{layer}H{head} looks at " + ", ".join(f"{text[j]} {row[j]:.2f}" for j in seen)
    others = sum(row) - sum(row[j] for j in seen)
    looks += f", others {others:.2f}" if others >= 0.05 else ""
    job, answers = look_ups(text, t)
    guess = SYMBOLS[now[t].argmax()]
    line = "The model" if whole is None else f"Without L{off // HEADS}H{off % HEADS} the model"
    line += f" expects {guess} ({now[t].max():.2f})"
    if job == "none":
        asked = f"After {text[t]} the rules leave the next symbol to chance."
        looks += "."
    else:
        answer = text[answers[0]]
        asked = {
            "induction": f"Induction: if a word follows {text[t]}, it is {answer}, as before "
            "(dashed).",
            "bracket": f"Bracket: after {text[t]} comes {answer}, "
            "the word before the opening one (dashed).",
            "entity": f"Entity: after {text[t]} comes {answer}, the latest name (dashed).",
        }[job]
        looks += f". On the answer: {sum(row[j] for j in answers):.2f}."
        n = SYMBOLS.index(answer)
        line += ": right" if guess == answer else f": wrong, {answer} gets {now[t, n]:.2f}"
        line += "" if whole is None else f" ({whole[t, n]:.2f} with it)"
        still = [
            f"L{n // HEADS}H{n % HEADS}"
            for n, own in enumerate(weights.flatten(0, 1))  # a matrix for each head
            if n != off and own[t, answers].sum() >= 0.5
        ]
        if whole is not None and guess == answer and still:
            listed = " and ".join(filter(None, [", ".join(still[:-1]), still[-1]]))
            line += f"; {listed} still look{'s' * (len(still) == 1)} there"
    first = brought(text, layer, t, weights, row, off)
    said = [asked, f"{line}.", looks]
    if first:
        parts = []
        for n, (j, i, heads) in enumerate(first):
            begin = "; " if n else ""
            verb = " at " if n else " looked at "
            again = n > 0 and first[n - 1][1] == i
            parts.append(", at " if again else f"{begin}{text[i]}{verb}")
            parts.append(f"{text[j]} ({', '.join(heads)})")
        said.append(f"In layer {layer - 1}, {''.join(parts)}.")
    return said


def brought(text, layer, t, weights, row, off):
    """Where heads of the layer below looked from the two symbols that a head joins, but for ^."""
    key = row.index(max(row[: t + 1]))
    found = {}
    for i in dict.fromkeys([key, t]) if layer and row[key] >= 0.5 else []:
        for head, own in enumerate(weights[layer - 1]):
            j = own[i].argmax().item()
            if own[i, j] >= 0.5 and j not in (0, i) and (layer - 1) * HEADS + head != off:
                found.setdefault((j, i), []).append(f"L{layer - 1}H{head}")
    return [(j, i, heads) for (j, i), heads in found.items()]


def tallied(text, now, whole, off):
    found = []
    for kind in ("induction", "bracket", "entity"):
        asked = [
            (t, a[0]) for t in range(len(text)) for job, a in [look_ups(text, t)] if job == kind
        ]
        right = [sum(SYMBOLS[p[t].argmax()] == text[a] for t, a in asked) for p in (now, whole)]
        if asked:
            with_it = "" if now is whole else f" ({right[1]} with it)"
            found.append(f"{kind} {right[0]} of {len(asked)}{with_it}")
    without = f" without L{off // HEADS}H{off % HEADS}" if off >= 0 else ""
    if not found:
        return "This document asks for nothing yet."
    return f"Answers the model finds here{without}: {', '.join(found)}."


def expect_view(page, library, text, layer, head, position, off=-1, name="head_viewer"):
    """Everything on the page is what the library says about this setting."""
    model, scores = library
    view = page.locator(f"[data-ready={name}]")
    all_weights, now, whole = found(model, text, off)
    weights, edit = all_weights[layer][head], off >= 0
    lines = told(text, layer, head, position, all_weights, now, whole if edit else None, off)
    expect(view.locator(".hydra-told > span")).to_have_text(lines)
    expect(view.locator(".hydra-tallied")).to_have_text(tallied(text, now, whole, off))
    expect(view.get_by_label("switch this head off")).to_be_checked(
        checked=off == layer * HEADS + head
    )
    expect(view.get_by_label("Type your own")).to_have_value(text)

    pressed = view.locator(".hydra-head[aria-pressed=true]")
    expect(pressed).to_have_count(1)
    best = max(("previous", "induction", "bracket", "entity"), key=lambda r: scores[r][layer][head])
    well = scores[best][layer][head]
    role = f"{best} {well:.2f}" if well >= 0.5 else "nothing"
    gone = ", off" if off == layer * HEADS + head else ""
    expect(pressed).to_have_attribute("aria-label", f"layer {layer}, head {head}: {role}{gone}")
    expect(view.locator(".hydra-head.hydra-off")).to_have_count(int(off >= 0))
    view.locator("details").evaluate("details => { details.open = true; }")
    roles = view.locator(".hydra-roles")
    expect(roles.locator("caption")).to_have_text(f"Head L{layer}H{head} in each role")
    expect(roles.locator("th")).to_have_text(list(scores))
    expect(roles.locator("td:first-of-type")).to_have_text(
        [f"{rows[layer][head]:.2f}" for rows in scores.values()]
    )

    job, answers = look_ups(text, position)
    labels, row = [], weights[position].tolist()
    for j, symbol in enumerate(text):
        label = f"{j}: {symbol}, " + ("later" if j > position else f"weight {row[j]:.2f}")
        labels.append(label + (", the answer" if job != "none" and j in answers else ""))
    symbols = view.locator(".hydra-symbols button")
    shown = symbols.evaluate_all(
        """buttons => buttons.map((b) => [b.getAttribute("aria-label"), b.lastChild.textContent,
            b.style.getPropertyValue("--heat"), b.getAttribute("aria-current")])"""
    )
    assert [label for label, *_ in shown] == labels
    assert [small for _, small, *_ in shown] == [f"{w:.2f}" if w >= 0.05 else "" for w in row]
    assert [float(h.rstrip("%")) for _, _, h, _ in shown] == pytest.approx(
        [100 * w for w in row], abs=0.051
    )
    assert [j for j, (*_, current) in enumerate(shown) if current == "true"] == [position]
    expect_arcs(view, row, position, brought(text, layer, position, all_weights, row, off))

    guesses = view.locator(".hydra-guesses")
    expect(guesses.locator("caption")).to_have_text(f"What comes after {text[position]}")
    top = now[position].topk(3).indices.tolist()
    if edit and (lost := whole[position].argmax().item()) not in top:
        top[-1] = lost
    expect(guesses.locator("tbody th")).to_have_text([SYMBOLS[i] for i in top])
    for column, values in (
        (1, [f"{now[position, i]:.2f}" for i in top]),
        (3, [f"{whole[position, i]:.2f}" if edit else "" for i in top]),
        (4, [f"{chance(text[: position + 1], SYMBOLS[i]):.2f}" for i in top]),
    ):
        expect(guesses.locator(f"tbody td:nth-of-type({column})")).to_have_text(values)
    heads = guesses.locator("thead th:visible")
    without = f"without L{off // HEADS}H{off % HEADS}"
    expect(heads).to_have_text([without, "with", "rules"] if edit else ["model", "rules"])

    T, picture = len(text), view.locator(".hydra-map svg")
    expect(picture).to_have_attribute(
        "aria-label",
        f"attention of layer {layer}, head {head}: {T} × {T} weights, "
        "one row per query, one column per key",
    )
    drawn = picture.evaluate(
        """svg => [".hydra-weight", ".hydra-answered"].map((kind) =>
            [...svg.querySelectorAll(kind)].map((rect) =>
                ["y", "x", "fill-opacity"].map((name) => Number(rect.getAttribute(name)))))"""
    )
    close = {(i, j): round(w, 2) for i, r in enumerate(weights.tolist()) for j, w in enumerate(r)}
    assert {(i, j): w for i, j, w in drawn[0]} == {
        place: pytest.approx(w, abs=0.011) for place, w in close.items() if weights[place] >= 0.005
    }
    framed = {
        (i, j) for i in range(T) for kind, a in [look_ups(text, i)] if kind != "none" for j in a
    }
    assert {(i, j) for i, j, _ in drawn[1]} == framed
    sides = "all => all.map((one) => `${one.getAttribute('width')} ${one.getAttribute('height')}`)"
    assert set(picture.locator(".hydra-weight, .hydra-answered").evaluate_all(sides)) == {"1 1"}
    expect(picture).to_have_attribute("viewBox", f"-0.2 -0.2 {T + 0.4:g} {T + 0.4:g}")
    expect(picture.locator(".hydra-query")).to_have_attribute("y", str(position))
    expect_in_small(view, all_weights.flatten(0, 1), position)
    buttons = view.get_by_role("group", name="What follows").get_by_role("button")
    for n, kind in enumerate(("induction", "bracket", "entity")):
        current = "true" if kind == job else "false"
        expect(buttons.nth(n)).to_have_attribute("aria-current", current)
        asked = any(look_ups(text, t)[0] == kind for t in range(len(text)))
        expect(buttons.nth(n)).to_be_enabled(enabled=asked)


ARCS = """(svg) => {
    const origin = svg.getBoundingClientRect();
    const places = [...svg.parentElement.querySelectorAll("button")].map((one) => {
        const box = one.getBoundingClientRect();
        return [box.x + box.width / 2 - origin.x, box.top - origin.y, box.bottom - origin.y];
    });
    const ends = (path) => [0, path.getTotalLength()].map((at) => path.getPointAtLength(at));
    const all = (kind) => [...svg.querySelectorAll(kind)].map((path) =>
        [...ends(path).flatMap(({x, y}) => [x, y]), Number(path.getAttribute("stroke-width")),
            path.getBBox().y]);
    return [places, all("path:not(.hydra-prior)"), all(".hydra-prior"),
        [...svg.querySelectorAll("text")].map((one) => [one.textContent, one.getBBox().y])];
}"""


def expect_arcs(view, row, position, first):
    """One from each symbol that is taken from, as wide as its weight; below, what came before."""
    taken = [j for j in range(position) if row[j] >= 0.05]
    expect(view.locator(".hydra-looks path:not(.hydra-prior)")).to_have_count(len(taken))
    expect(view.locator(".hydra-prior")).to_have_count(len(first))
    places, arcs, below, names = view.locator(".hydra-looks").evaluate(ARCS)
    x, top, _ = places[position]
    for j, arc in zip(taken, arcs, strict=True):
        key_x, key_top, key_bottom = places[j]
        start = key_top if key_top == top else key_bottom
        assert arc[:5] == pytest.approx([key_x, start, x, top, 1 + 9 * row[j]], abs=0.6)
        if key_top == top:  # a curve rises to three quarters of its handles
            rise = min(64, 22 + (x - key_x) / 6) if top == places[0][1] else 22
            assert arc[5] == pytest.approx(top - 0.75 * rise, abs=0.6)
    for (j, i, _), arc in zip(first, below, strict=True):
        (key_x, key_top, key_bottom), (to_x, to_top, _) = places[j], places[i]
        end = key_bottom if key_top == to_top else to_top
        assert arc[:4] == pytest.approx([key_x, key_bottom, to_x, end], abs=0.6)
    expected, taken = [], []
    for j, i, heads in first if places[0][1] == places[-1][1] else []:  # in one line
        name, x = " ".join(heads), (places[j][0] + places[i][0]) / 2
        if all(abs(x - other) > 4 * len(name) + half for other, half in taken):  # with room
            expected.append(name)
            taken.append((x, 4 * len(name)))
    assert [name for name, _ in names] == expected
    assert all(y > places[0][2] for _, y in names)  # below the symbols


def expect_in_small(view, heads, position):
    """The tiles show the weights of every head, to the nearest fifth, and the row in question."""
    tiles = view.locator(".hydra-head > svg").evaluate_all(
        """all => all.map((svg) => [...svg.querySelectorAll(".hydra-weight")].flatMap((path) =>
            [...path.getAttribute("d").matchAll(/M(\\d+) (\\d+)h1v1h-1z/g)].map(([_, x, y]) =>
                [Number(y), Number(x), Number(path.getAttribute("fill-opacity"))])))"""
    )
    for cells, weights in zip(tiles, heads, strict=True):
        shown = torch.zeros_like(weights)
        for i, j, shade in cells:
            shown[i, j] = shade
        assert (shown - weights).abs().max() < 0.1001
    rows = view.locator(".hydra-head .hydra-query").evaluate_all(
        """all => all.map((row) => Number(row.getAttribute("y")))"""
    )
    assert rows == [position] * len(heads)


@browser
def test_first_look(widget_page, library):
    widget = HeadViewerWidget()
    page = widget_page(widget)
    expect_view(page, library, widget.text, widget.layer, widget.head, widget.position)


@browser
def test_heads_by_pointer_and_keyboard(widget_page, library):
    widget = HeadViewerWidget(text=TEXT, layer=0, head=0, position=16)
    page = widget_page(widget, width=360)
    buttons = page.locator(".hydra-head")
    expect(buttons).to_have_count(LAYERS * HEADS)
    for n in range(LAYERS * HEADS):
        buttons.nth(n).click()
        expect_view(page, library, TEXT, *divmod(n, HEADS), 16)
    tops = {button.bounding_box()["y"] for button in buttons.all()}
    assert len(tops) == LAYERS  # a layer stands in one line, and letters and heads on one screen
    assert max(tops) + 80 - page.locator(".hydra-symbols").bounding_box()["y"] < 690
    at = LAYERS * HEADS - 1
    for key, step in (("Left", -1), ("Up", -HEADS), ("Up", 0), ("Down", HEADS), ("Right", 1)):
        page.keyboard.press(f"Arrow{key}")
        at += step
        expect_view(page, library, TEXT, *divmod(at, HEADS), 16)
    assert page.locator(".hydra-picker [tabindex='0']").count() == 1
    page.wait_for_url(f"**#head_viewer.head={HEADS - 1}&head_viewer.layer=1")


@browser
def test_arrow_keys_where_a_layer_is_broken_into_lines(widget_page):
    model = ToyModel(HeadConfig(28, 14), 2, generator=torch.Generator().manual_seed(3))
    page = widget_page(HeadViewerWidget(model, layer=1, head=13), width=360)
    buttons = page.locator(".hydra-head")
    tops = [button.bounding_box()["y"] for button in buttons.all()]
    line = tops.count(tops[0])
    assert len(set(tops)) == 4
    assert line == 7
    buttons.last.focus()
    at = 27
    for key, step in (("Left", -1), *[("Up", -line)] * 3, ("Up", 0), ("Right", 1), ("Down", line)):
        page.keyboard.press(f"Arrow{key}")
        at += step
        expect(buttons.nth(at)).to_have_attribute("aria-pressed", "true")


def expect_guesses(page, scores, guesses):
    """A head's role is told once it was guessed right, with a mark, or given away."""
    heads = len(scores["induction"][0])
    named = [role for role in scores if "," not in role]
    for n, guess in enumerate(guesses):
        layer, head = divmod(n, heads)
        own = {role: scores[role][layer][head] for role in named}
        best = max(own, key=own.get)
        right = max(own.values()) < 0.5 if guess == "nothing" else own.get(guess, 0) >= 0.5
        known = right or guess == "told"
        mark = " ✓" if right else ""
        shown = guess if own.get(guess, 0) >= 0.5 else best
        plays = own[best] >= 0.5
        name = shown if plays else "nothing"
        share = f"{own[shown]:.2f}" if plays else ""
        button = page.locator(".hydra-head").nth(n)
        parts = [f"L{layer}H{head}", "?", ""]
        if known:
            parts = [f"L{layer}H{head}{mark}", name, share]
        expect(button.locator("span > span")).to_have_text(parts)
        said = f"{name} {share}".strip() if known else "guess its role"
        expect(button).to_have_attribute("aria-label", f"layer {layer}, head {head}: {said}")
        filled = float(button.evaluate("e => e.style.getPropertyValue('--share')").rstrip("%"))
        assert filled == (pytest.approx(100 * own[shown], abs=0.51) if known else 0)


PLACE = "of its attention goes there when there is something to find"


@browser
def test_roles_are_hidden_until_they_are_guessed(widget_page, library):
    _, scores = library
    guesses = ["?"] * 12
    page = widget_page(HeadViewerWidget(guesses=guesses, layer=1, head=2))
    verdict = page.locator(".hydra-game .hydra-summary")
    roles = page.locator(".hydra-roles")
    pills = page.get_by_role("group", name="Your guess").get_by_role("button")
    expect_guesses(page, scores, guesses)
    expect(roles).to_be_hidden()
    page.locator("details").evaluate("details => { details.open = true; }")
    expect(verdict).to_have_text(
        "What does head L1H2 look for? The buttons at the top show it at work."
    )
    # Head L1H2 copies; head L1H0 has two roles, and either is right; head L0H0 has none.
    by_bracket, by_entity = (f"{scores[role][1][0]:.2f}" for role in ("bracket", "entity"))
    both = f"bracket: {by_bracket} {PLACE}; and entity: {by_entity}"
    for n, guess, told in (
        (8, "bracket", f"Not bracket: {scores['bracket'][1][2]:.2f} {PLACE}. "),
        (8, "nothing", "It does something. "),
        (8, "induction", f"Head L1H2 is induction: 0.96 {PLACE}."),
        (6, "entity", f"Head L1H0 is {both}."),
        (0, "previous", f"Not previous: 0.14 {PLACE}. "),
        (0, "nothing", "Head L0H0 plays no role: at best previous, 0.14."),
        (4, "nothing", "It does something. "),
    ):
        page.locator(".hydra-head").nth(n).click()
        pills.filter(has_text=guess).click()
        guesses[n] = guess
        right = told.startswith("Head")
        more = " You were right." if right else "Guess again, or name them all."
        expect(verdict).to_have_text(told + more)
        expect_guesses(page, scores, guesses)
        (expect(roles).to_be_visible if right else expect(roles).to_be_hidden)()
        for one in pills.all():
            (expect(one).to_be_disabled if right else expect(one).to_be_enabled)()
            own = "true" if one.text_content() == guess else "false"
            expect(one).to_have_attribute("aria-pressed", own)
        # What was pressed is no more: the keyboard goes on where the next head is chosen.
        expect(page.locator(":focus")).to_have_count(1)
        if right:
            expect(page.locator(".hydra-head").nth(n)).to_be_focused()
    page.locator(".hydra-head").nth(11).click()
    expect(roles).to_be_hidden()
    expect(pills.filter(has_text="entity")).to_be_enabled()
    page.get_by_role("button", name="name them all").click()
    guesses = ["told" if n not in (0, 6, 8) else guess for n, guess in enumerate(guesses)]
    expect_guesses(page, scores, guesses)
    expect(verdict).to_have_text(f"Head L1H5 is induction: 0.96 {PLACE}.")
    page.wait_for_url("**head_viewer.guesses=*told*")
    page.reload()
    page.wait_for_selector("[data-ready=head_viewer]")
    expect_guesses(page, scores, guesses)
    page.get_by_role("button", name="hide the names").click()
    expect_guesses(page, scores, ["?"] * 12)
    expect(roles).to_be_hidden()
    for one in pills.all():
        expect(one).to_be_enabled()
    expect(page.get_by_role("button", name="name them all")).to_be_focused()


@browser
def test_without_a_game_every_role_is_named(widget_page, library):
    page = widget_page(HeadViewerWidget())
    expect_guesses(page, library[1], ["told"] * 12)
    expect(page.locator(".hydra-game")).to_have_count(0)
    page.get_by_text("All weights of this head").click()
    expect(page.locator(".hydra-roles")).to_be_visible()


@browser
def test_symbols_by_hover_click_and_keyboard(widget_page, library):
    page = widget_page(HeadViewerWidget(text=TEXT, layer=1, head=2, position=0))
    symbols = page.locator(".hydra-symbols button")
    for n in range(len(TEXT)):
        symbols.nth(n).hover()
        expect_view(page, library, TEXT, 1, 2, n)
    page.mouse.move(1, 1)  # away: back to the chosen one
    expect_view(page, library, TEXT, 1, 2, 0)
    symbols.nth(11).click()
    page.mouse.move(1, 1)
    expect_view(page, library, TEXT, 1, 2, 11)
    page.keyboard.press("ArrowRight")
    expect_view(page, library, TEXT, 1, 2, 12)
    symbols.nth(3).hover()  # a pointer that rests does not hold the view against the keyboard
    expect_view(page, library, TEXT, 1, 2, 3)
    page.keyboard.press("ArrowLeft")
    expect_view(page, library, TEXT, 1, 2, 11)
    expect(symbols.nth(11)).to_be_focused()
    assert page.locator(".hydra-symbols [tabindex='0']").count() == 1
    page.mouse.move(1, 1)
    page.get_by_label("switch this head off").focus()
    page.keyboard.press("Tab")  # one tab stop for the heads, which keep the chosen one
    expect(page.locator(".hydra-head").nth(8)).to_be_focused()
    expect_view(page, library, TEXT, 1, 2, 11)


@browser
def test_map_by_pointer(widget_page, library):
    page = widget_page(HeadViewerWidget(text=TEXT, layer=1, head=2, position=0))
    page.get_by_text("All weights of this head").click()
    picture = page.locator(".hydra-map svg")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()

    def at(row):
        return box["x"] + 5, box["y"] + (row + 0.5) / len(TEXT) * box["height"]

    for row in (0, 9, 16):
        page.mouse.move(*at(row))
        expect_view(page, library, TEXT, 1, 2, row)
    page.mouse.move(1, 1)
    expect_view(page, library, TEXT, 1, 2, 0)
    page.mouse.click(*at(5))
    page.mouse.move(1, 1)
    expect_view(page, library, TEXT, 1, 2, 5)


@browser
def test_every_head_off(widget_page, library):
    page = widget_page(HeadViewerWidget(text=TEXT, layer=0, head=0, position=6))
    box = page.get_by_label("switch this head off")
    for n in range(LAYERS * HEADS):
        page.locator(".hydra-head").nth(n).click()
        box.click()
        expect_view(page, library, TEXT, *divmod(n, HEADS), 6, off=n)
    page.wait_for_url("**#head_viewer.head=5&head_viewer.layer=1&head_viewer.off=11")
    box.focus()
    page.keyboard.press("Space")
    expect_view(page, library, TEXT, 1, 5, 6)


@browser
def test_a_head_stays_off_while_others_are_looked_at(widget_page, library):
    """Without L0H4 head L1H2 does not find what followed the word: the chapter tells of it."""
    widget = HeadViewerWidget()
    page = widget_page(widget)
    told = page.locator(".hydra-told")
    expect(told).to_contain_text("Head L1H2 looks at o 1.00")
    page.locator(".hydra-head").nth(4).click()
    page.get_by_label("switch this head off").click()
    page.locator(".hydra-head").nth(8).click()
    expect_view(page, library, widget.text, 1, 2, widget.position, off=4)
    expect(page.locator(".hydra-symbols")).not_to_have_class(re.compile("hydra-off"))
    expect(told).to_contain_text("On the answer: 0.00.")
    expect(page.get_by_label("switch this head off, and L0H4 on")).not_to_be_checked()
    page.locator(".hydra-head").nth(4).click()
    expect(page.locator(".hydra-symbols")).to_have_class(re.compile("hydra-off"))
    page.get_by_label("switch this head off").click()
    expect_view(page, library, widget.text, 0, 4, widget.position)


@browser
def test_what_is_asked_goes_from_one_to_the_next(widget_page, library):
    for kind, name in (
        ("bracket", "a closing bracket"),
        ("induction", "a word seen before"),
        ("entity", "a star"),
    ):
        places = [t for t in range(len(TEXT)) if look_ups(TEXT, t)[0] == kind]
        page = widget_page(HeadViewerWidget(text=TEXT, layer=1, head=2, position=0))
        for place in [*places, places[0]]:  # and after the last the first
            page.get_by_role("button", name=name, exact=True).click()
            expect_view(page, library, TEXT, 1, 2, place)


@browser
def test_typing(widget_page, library):
    page = widget_page(HeadViewerWidget(text=TEXT, layer=1, head=0, position=4))
    field = page.get_by_label("Type your own")
    problem = page.locator(".hydra-document [role=alert]")
    field.fill("")
    expect(problem).to_have_text("text must have 2 to 48 symbols, got 0")
    field.press("^")
    expect(problem).to_have_text("text must have 2 to 48 symbols, got 1")
    page.locator(".hydra-symbols button").nth(2).hover()  # which draws, and leaves the field alone
    expect(field).to_have_value("^")
    page.mouse.move(1, 1)
    for n, symbol in enumerate("^ab(c)b*"):
        if n == 0:
            continue
        if symbol == "*":  # no name was seen
            break
        field.press(symbol)
        expect(problem).to_have_text("")
        expect(field).to_have_attribute("aria-invalid", "false")
        expect_view(page, library, "^ab(c)b"[: n + 1], 1, 0, n)
    field.press("*")
    expect(problem).to_have_text(refusal("^ab(c)b*"))
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".hydra-symbols button")).to_have_count(7)  # as far as it is a document
    field.press("ArrowLeft")
    field.press("ArrowLeft")
    page.keyboard.insert_text("é")
    expect(problem).to_have_text(f"text must be made of the symbols {SYMBOLS}, got 'é'")
    expect(field).to_have_value("^ab(c)éb*")
    expect(page.locator(".hydra-symbols button")).to_have_count(6)
    field.press("Backspace")
    field.press("Delete")
    field.press("Delete")
    expect_view(page, library, "^ab(c)", 1, 0, 5)
    field.fill("")
    # The ^ that is meant stands before it at once: a fast hand goes on before anything is drawn.
    typed = """(field) => {
      document.execCommand("insertText", false, "abca");
      field.setSelectionRange(4, 4);
      document.execCommand("delete");
      return field.value;
    }"""
    assert field.evaluate(typed) == "^aba"
    expect_view(page, library, "^aba", 1, 0, 2)
    assert field.evaluate("field => [field.selectionStart, field.selectionEnd]") == [3, 3]
    field.fill("^" + "ab" * 30)
    expect(problem).to_have_text("text must have 2 to 48 symbols, got 61")
    expect(page.locator(".hydra-symbols button")).to_have_count(48)
    field.fill("ab" * 24)  # 48 were typed, and 49 are too many
    expect(problem).to_have_text("text must have 2 to 48 symbols, got 49")
    field.press("Control+A")
    page.keyboard.insert_text("^ABC")
    expect(problem).to_have_text(refusal("^ABC"))
    field.fill("hello world")  # all at once, and without the ^ that is meant
    expect(problem).to_have_text(f"text must be made of the symbols {SYMBOLS}, got ' '")
    expect(page.locator(".hydra-symbols button")).to_have_count(4)  # ^hel
    field.blur()
    expect(field).to_have_value("^hello world")
    field.fill("^Ab*")
    expect_view(page, library, "^Ab*", 1, 0, 3)
    page.wait_for_url("**#head_viewer.position=3&head_viewer.text=%5EAb*")
    page.reload()
    page.wait_for_selector("[data-ready=head_viewer]")
    expect_view(page, library, "^Ab*", 1, 0, 3)


@browser
def test_another_document(widget_page, library):
    page = widget_page(HeadViewerWidget(text=TEXT, layer=1, head=2, position=4, seed=2**32 - 2))
    seeds = [2**32 - 1, 0, 1]
    expression = "[m.randomDocument(c, 27), m.opening(m.randomDocument(c, 27))]"
    drawn = json.loads(in_javascript("toy_language.js", expression, seeds))
    assert [len(text) for text, _ in drawn] == [27] * 3
    button = page.get_by_role("button", name="another document")
    for n, (text, position) in enumerate(drawn):
        if n == 1:
            button.focus()
            page.keyboard.press("Enter")
        else:
            button.click()
        expect_view(page, library, text, 1, 2, position)
        expect(button).to_be_focused()
    page.get_by_label("Type your own").fill("^ab(")
    expect(page.locator(".hydra-tallied")).to_have_text("This document asks for nothing yet.")
    page.get_by_label("Type your own").fill("ab")  # where a document starts is understood
    expect(page.get_by_label("Type your own")).to_have_value("^ab")
    expect_view(page, library, "^ab", 1, 2, 2)
    page.get_by_label("Type your own").fill("^ab)")
    expect(page.locator(".hydra-document [role=alert]")).to_have_text(refusal("^ab)"))
    expect(page.locator(".hydra-symbols button")).to_have_count(3)
    button.focus()
    page.keyboard.press("Space")  # a text that was wrong is over once another is drawn
    expect(page.locator(".hydra-symbols button")).to_have_count(27)
    expect(page.locator(".hydra-document [role=alert]")).to_have_text("")


@browser
def test_back_to_the_first_document(widget_page, library):
    page = widget_page(HeadViewerWidget(text=TEXT, layer=1, head=2, position=4, seed=7))
    back = page.get_by_role("button", name="the first", exact=True)
    another = page.get_by_role("button", name="another document")
    expect(back).to_have_attribute("aria-disabled", "true")
    another.click()
    expect(back).to_have_attribute("aria-disabled", "false")
    second = page.get_by_label("Type your own").input_value()
    assert second != TEXT
    back.click()
    expect_view(page, library, TEXT, 1, 2, 4)
    expect(back).to_be_focused()
    page.keyboard.press("ArrowRight")
    another.click()  # as after the first time: its seed is back, too
    expect(page.get_by_label("Type your own")).to_have_value(second)


@browser
def test_links(widget_page, library):
    settings = ("text=%5Eab(c)b", "layer=0", "head=4", "position=5", "off=4")
    asked = "#" + "&".join(f"head_viewer.{setting}" for setting in settings)
    page = widget_page(HeadViewerWidget(), fragment=asked)
    expect_view(page, library, "^ab(c)b", 0, 4, 5, off=4)
    expect(page.locator("[data-ready=head_viewer] > .hydra-problem")).to_have_text("")
    document = "#head_viewer.text=%5Eab(c)b&head_viewer.layer=0&head_viewer.head=4"
    follow(page, f"{document}&head_viewer.position=40&head_viewer.off=-1")
    expect_view(page, library, "^ab(c)b", 0, 4, 6)  # the last there is
    follow(page, f"{document}&head_viewer.position=3")
    expect_view(page, library, "^ab(c)b", 0, 4, 3)


@browser
def test_a_link_that_makes_no_sense_is_told_so(widget_page):
    page = widget_page(HeadViewerWidget(text=TEXT))
    for asked in [
        *(f"text={text}" for text in ("ab", "^", "^ab(c)c", "^aZ", "7")),
        *(f"layer={layer}" for layer in ("2", "-1", "0.5", "x")),
        "head=6",
        "position=48",
        "off=12",
        "off=true",
        "seed=-1",
        "seed=4294967296",
        "guesses=[]",
        "scores=1",
        "weights=null",
        "name=x",
    ]:
        follow(page, f"#head_viewer.{asked}")
        expect_refused(page, "head_viewer", asked)
        expect(page.get_by_label("Type your own")).to_have_value(TEXT)


@browser
def test_two_on_a_page_and_two_views_of_one(widget_page, library):
    one = HeadViewerWidget(text=TEXT, layer=0, head=4, position=3)
    two = HeadViewerWidget(text="^Aab*A", layer=1, head=0, position=4, name="other")
    page = widget_page(one, two)
    page.locator("[data-ready=other] .hydra-head").nth(1).click()
    page.locator("[data-ready=head_viewer]").get_by_label("switch this head off").click()
    expect_view(page, library, TEXT, 0, 4, 3, off=4)
    expect_view(page, library, "^Aab*A", 0, 1, 4, name="other")
    page.wait_for_url("**#head_viewer.off=4&other.head=1&other.layer=0")
    page = widget_page(one, one)
    first, second = page.locator("[data-ready=head_viewer]").all()
    first.get_by_label("Type your own").fill("^ab(x")
    expect(second.get_by_label("Type your own")).to_have_value("^ab(x")
    expect(second.locator(".hydra-symbols button")).to_have_count(5)


@browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("off", [8, -1])
def test_narrow_page(widget_page, scheme, off):
    widget = HeadViewerWidget(off=off)
    page = widget_page(widget, width=360, scheme=scheme)
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", scheme)
    page.get_by_label("Type your own").fill(widget.text + "!" * 20)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    inside = page.evaluate(
        """[...document.querySelectorAll(".hydra, .hydra :not(svg *)")].every((node) =>
            node.getBoundingClientRect().right <= innerWidth - 8)"""
    )
    assert inside


@browser
def test_on_a_phone_the_letters_stay_in_sight(widget_page):
    """While a role is guessed and while one types, both far below: unless they fill the screen."""
    page = widget_page(HeadViewerWidget(guesses=["?"] * 12), width=360)
    page.evaluate("document.body.style.minHeight = '3000px'")
    letters = page.locator(".hydra-symbols")
    typed = page.get_by_label("Type your own")
    typed.evaluate("one => scrollTo(0, one.getBoundingClientRect().bottom - innerHeight + 40)")
    box = letters.bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] < typed.bounding_box()["y"] - 200
    typed.fill("^" + "ab" * 20)
    expect(letters).not_to_have_class(re.compile("hydra-brief"))
    expect(letters).to_have_css("position", "relative")
    # At 400 % of a desktop there is room for nothing else, and on a phone nothing lies under them.
    page.set_viewport_size({"width": 320, "height": 256})
    typed.fill("^Aab*Aa")
    expect(letters).to_have_css("position", "relative")
    page.set_viewport_size({"width": 360, "height": 740})
    typed.focus()
    for _ in range(7):
        page.keyboard.press("Shift+Tab")
        focus = page.locator(":focus").bounding_box()
        box = letters.bounding_box()
        assert focus["y"] >= box["y"] + box["height"]
