"""Each verdict on the claims page, as a test that fails when it stops being true.

Numbers and formulas are read from ``book/claims.yml``, of which the page is made.
"""

import functools
import itertools
import math
import re
import statistics
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import yaml

from hydra_lib import (
    HeadConfig,
    MultiHeadAttention,
    apply_mask,
    causal_mask,
    decay,
    dot_product_moments,
    entropy,
    jacobian,
    mean_energy,
    measure_moments,
    merge_heads,
    probabilities,
    running_mean,
    running_sum,
    sample_scores,
    scaled_dot_product_attention,
    split_heads,
    trace,
)
from hydra_lib.backward import attention_backward, multi_head_backward
from hydra_lib.matmul.bilinear import BilinearAlgorithm
from hydra_lib.matmul.counting import Tally, counted, triple_loop
from hydra_lib.matmul.recursion import strassen
from hydra_lib.matmul.schemes import STRASSEN
from hydra_lib.parallel import (
    attention_of,
    heads_over_ranks,
    merge,
    partial_softmax,
    run,
    seconds,
)
from hydra_lib.parallel.demo import heads as heads_on_ranks
from hydra_lib.records import group, record, records
from hydra_lib.toy.ablation import clone, equalize, head_weights
from hydra_lib.toy.language import corpus
from hydra_lib.toy.model import ToyModel, stored, train
from hydra_lib.toy.roles import ROLES, role_scores

BOOK = Path(__file__).parents[1] / "book"
CLAIMS = {c["id"]: c for c in yaml.safe_load((BOOK / "claims.yml").read_text("utf-8"))}
FUTURE = ~causal_mask(5)


def scores(seed=0):
    return torch.randn(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def labels():
    """Every label of the book and its kind: ref for a heading, prf:ref for a proof's statement."""
    found = {}
    for path in BOOK.glob("*.md"):
        text = path.read_text("utf-8")
        found |= dict.fromkeys(re.findall(r"^\((\S+)\)=\n+#", text, re.MULTILINE), "ref")
        statements = r"^:::\{prf:\w+\}.*\n:label: (\S+)"
        found |= dict.fromkeys(re.findall(statements, text, re.MULTILINE), "prf:ref")
    return found


def formulas(text):
    return re.findall(r"\$(.+?)\$", text)


def value(formula, **letters):
    """A formula of the page in numbers, ``n(n+1)/2`` at n = 6."""
    python = re.sub(r"\\cdot|[{}\s]", lambda m: "*" if m[0] == "\\cdot" else "", formula)
    python = re.sub(r"(?<=[\w)])(?=\()|(?<=[a-zA-Z\d)])(?=[a-zA-Z])", "*", python)
    return eval(python.replace("^", "**"), {"__builtins__": {}}, letters)


def whole_numbers(text):
    return [int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\d|\d", text)]


def products(*shapes):
    """Multiplications that the triple loop takes for a product of matrices, as counted."""
    tally, (a, b) = Tally(), map(np.ones, shapes)
    triple_loop(counted(a, tally).tolist(), counted(b, tally).tolist())
    return tally.multiplications


def test_every_claim_has_a_test_and_every_test_a_claim():
    tested = {name.removeprefix("test_") for name in globals() if re.match(r"test_[A-Z]\d+$", name)}
    assert set(CLAIMS) == tested
    assert all(re.fullmatch(r"[HWBO]\d+", name) for name in CLAIMS)


def test_the_page_shows_every_letter():
    page = (BOOK / "claims.md").read_text("utf-8")
    shown = re.findall(r"^```\{claims\} (.+)$", page, re.MULTILINE)
    assert {letter for group in shown for letter in group.split()} == {name[0] for name in CLAIMS}


@pytest.fixture
def row(monkeypatch):
    monkeypatch.syspath_prepend(str(BOOK / "_ext"))
    import claims

    return claims.row


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_claim_is_complete_and_its_evidence_is_there(claim, row):
    assert claim["claim"]
    assert claim["verdict"]
    assert claim["evidence"]
    known = labels()
    for label in claim["evidence"]:
        assert f"{{{known[label]}}}`{label}`" in row(claim)


def test_a_row_of_the_page(row):
    claim = {"id": "O1", "claim": "$a$", "verdict": "Holds", "evidence": ["thm-b", "c"]}
    links = "{prf:ref}`thm-b`, {ref}`c` |"
    assert row(claim) == f"| O1 | $a$ | **Holds.** {links}"
    for sentence, told in (
        ("Always.", "**Holds.** Always."),
        ("for 1.", "**Holds** for 1."),
        (": counted.", "**Holds**: counted."),
        ("$x$ is 1.", "**Holds.** $x$ is 1."),
    ):
        assert row(claim | {"sentence": sentence}) == f"| O1 | $a$ | {told} {links}"


def test_formulas_are_read():
    assert value("n(n+1)/2", n=6) == 21
    assert value("2nd^2", n=3, d=5) == 150
    assert value("1.8 \\cdot 10^{15}") == 1.8e15
    assert value("(a+b)(a-b)", a=5, b=2) == 21
    assert value("w T", w=2, T=3) == 6
    assert whole_numbers("1920 × 1080 × 3 and 68,719,476,736, of 7") == [
        1920, 1080, 3, 68_719_476_736, 7,
    ]  # fmt: skip


def test_H3():
    weights = probabilities(apply_mask(scores(), causal_mask(5)))
    assert (weights[FUTURE] == 0.0).all()
    assert torch.softmax(torch.full((3,), -torch.inf), -1).isnan().all()


def test_H4():
    weights = probabilities(torch.zeros(5, 5) * causal_mask(5))
    torch.testing.assert_close(weights, torch.full((5, 5), 0.2))
    values = torch.ones(5, 1, requires_grad=True)
    (weights @ values)[0].backward()
    assert (values.grad[1:] > 0).all()


def test_H5():
    layer, x = heads_layer()
    assert CLAIMS["H5"]["verdict"] == "Misleading"
    assert {name for name, _ in layer.named_parameters()} == {f"W_{m}.weight" for m in "qkvo"}
    for T in (3, 5):  # weights of another shape from the same parameters
        assert layer.trace(*[x[:, :T]] * 3).weights.shape == (2, 3, T, T)
    one, other = (layer.trace(*[part] * 3).weights for part in (x, x.flip(-1)))
    assert ((one - other).abs().amax((-2, -1)) > 1e-3).all()


def test_H6():
    values = torch.tensor([[2.0, 8.0, 14.0], [4.0, 10.0, 16.0], [6.0, 12.0, 18.0]])
    assert (running_sum(3) @ values).tolist() == [[2, 8, 14], [6, 18, 30], [12, 30, 48]]
    assert (running_mean(3) @ values).tolist() == [[2, 8, 14], [3, 9, 15], [4, 10, 16]]


def test_B8():
    """Softmax has more entropy than any mixture with a rival of the same mean energy."""
    s = torch.tensor([0.0, -1.0, -2.0], dtype=torch.float64)
    p = probabilities(s)
    direction = torch.tensor([1.0, -2.0, 1.0], dtype=torch.float64)  # keeps sum and mean energy
    for step in (-0.05, -0.01, 0.01, 0.05):
        rival = p + step * direction
        torch.testing.assert_close(-(rival @ s), mean_energy(s))
        assert torch.special.entr(rival).sum() < entropy(s)


def test_B9():
    s = scores()[0]
    largest = [probabilities(s, tau).max() for tau in (0.1, 1.0, 10.0)]
    assert largest == sorted(largest, reverse=True)
    assert probabilities(s, 0.0).max() == 1
    torch.testing.assert_close(probabilities(s, torch.inf), torch.full((5,), 0.2).double())


def test_B10():
    photons = torch.arange(4000, dtype=torch.float64)
    for tau in (0.3, 10.0):
        planck = 1 / torch.tensor(1 / tau, dtype=torch.float64).expm1()
        torch.testing.assert_close(mean_energy(-photons, tau), planck)
        assert math.exp(-1 / tau) < 0.99 * planck  # a single photon's factor is not it


def test_B14():
    row, values = decay(5, 0.5)[4], torch.arange(5.0)
    draws = torch.multinomial(
        row, 1_000_000, replacement=True, generator=torch.Generator().manual_seed(0)
    )
    deviation = ((row * (values - row @ values) ** 2).sum() / 1_000_000).sqrt()
    assert (values[draws].mean() - row @ values).abs() < 4 * deviation


def worlds(n=20_000, **world):
    return measure_moments(sample_scores(n, 1, generator=torch.Generator().manual_seed(0), **world))


def heads_layer(d=12, h=3):
    layer = MultiHeadAttention(HeadConfig(d, h), generator=torch.Generator().manual_seed(0))
    x = torch.randn(2, 5, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return layer.double(), x


def pairs(name, which):
    """What was timed in pairs, and its ratio to the reference."""
    return [r for r in group(record(name), which) if r["reference"]]


def test_H1():
    q, k = scores(1)[:3], scores(2)  # 3 queries, 5 keys
    steps = trace(q, k, k)
    assert steps.scores.shape == (3, 5)
    torch.testing.assert_close(steps.scores[2, 4], (q[2] * k[4]).sum())


def test_H2():
    for d_k in (16, 256):
        measured = worlds(d_k=d_k)
        assert abs(measured.variance / d_k - 1) < 4 * measured.variance_error / d_k
    q = torch.randn(20_000, 64, generator=torch.Generator().manual_seed(0))
    correlated = measure_moments((q * q).sum(-1) / 8)
    assert correlated.mean > 7  # k = q: unit variances, but the mean grows like √d_k
    assert abs(correlated.variance - 2) < 4 * correlated.variance_error


def test_H7():
    for n in (2, 3, 5):
        tally = Tally()
        a = counted(np.arange(n * n).reshape(n, n), tally).tolist()
        triple_loop(a, a)
        assert (tally.multiplications, tally.additions) == (n**3, n**3 - n**2)


def test_H8():
    """A level saves an eighth of the products of blocks and costs only additions of blocks."""
    totals = [sum(STRASSEN.counts(levels)) / (2 * 8**levels - 4**levels) for levels in range(13)]
    assert totals[1] > 1  # 2 × 2 numbers: 25 operations for 12
    assert totals[12] < 1  # 4096 × 4096: fewer in all


def test_H9():
    claim = CLAIMS["H9"]["claim"]
    [millions] = re.findall(r"JFT-(\d+)M", claim)
    [size] = re.findall(r"\d+(?: × \d+)+", claim)
    [said] = formulas(claim)
    count = int(millions) * 10**6 * math.prod(whole_numbers(size))
    assert CLAIMS["H9"]["verdict"] == "Holds"
    assert math.floor(count / 1e14) * 1e14 == pytest.approx(value(said))  # cut to two digits


def test_H10():
    assert not STRASSEN.defect().any()
    W = STRASSEN.W.copy()
    W[0, 0, 0] *= -1
    assert BilinearAlgorithm(STRASSEN.U, STRASSEN.V, W).defect().any()


def test_H11():
    sizes = np.array([2.0**levels for levels in range(1, 11)])
    counts = np.array([float(STRASSEN.counts(levels)[0]) for levels in range(1, 11)])
    assert np.polyfit(np.log(sizes), np.log(counts), 1)[0] == pytest.approx(np.log2(7))


def test_H12():
    source = [r for r in pairs("strassen", "numpy") if r["kernel"] == "source's scheme, leaf 64"]
    assert min(r["n"] for r in source) > 64
    assert all(r["ratio"] < 1 for r in source)


def test_H13():
    rows = [r for r in group(record("strassen"), "errors") if r["form"] == "winograd"]
    for dtype in ("float32", "float64"):
        errors = {r["levels"]: r["error"] for r in rows if r["dtype"] == dtype and r["n"] == 512}
        bounds = {r["levels"]: r["bound"] for r in rows if r["dtype"] == dtype and r["n"] == 512}
        assert errors[0] < errors[2] < errors[4]
        for level in range(1, 5):
            assert errors[level] < 4 * errors[level - 1]  # the bound grows up to 4.5-fold
            assert errors[level] < bounds[level] / 1000


def test_H14():
    assert np.zeros((2, 2)).dtype == np.float64
    a, b = np.ones((5, 7), np.float32), np.ones((7, 3), np.float32)
    assert strassen(a, b, leaf=1).dtype == np.float32


def test_H15():
    """The same product by loops and by a library, from Python."""
    rungs = {r["kernel"]: r["p50"] for r in group(record("strassen"), "ladder") if r["n"] == 256}
    loop = rungs["CPython, triple loop over lists"]
    assert 100 <= loop / rungs["Mojo, triple loop"] < 1000
    assert 1000 < loop / rungs["Mojo, triple loop in vectors"] < 2000
    assert all(2000 < loop / rungs[name] < 14_050 for name in ("numpy.matmul", "torch.mm"))


def test_H16():
    counts = {sum(HeadConfig(768, h).flops(97, 89).values()) for h in (1, 2, 12, 24)}
    assert len(counts) == 1
    assert len({HeadConfig(768, h).parameters() for h in (1, 2, 12, 24)}) == 1
    twelve = {r["T"]: r["ratio"] for r in pairs("attention", "heads") if r["kernel"] == "12 heads"}
    shortest, middle, longest = (twelve[T] for T in sorted(twelve))
    assert 0.98 < shortest < 1.02
    assert middle < 0.98
    assert 0.88 < longest < 0.92


def test_H17():
    layer, x = heads_layer()
    steps = layer.trace(x, x, x)
    for i in range(3):
        own = slice(4 * i, 4 * i + 4)
        q, k, v = (x @ w.weight[own].T for w in (layer.W_q, layer.W_k, layer.W_v))
        torch.testing.assert_close(steps.heads[:, i], scaled_dot_product_attention(q, k, v))
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    mask[0] = False
    ours, theirs = layer(x, x, x, mask), layer.to_torch()(x, x, x, attn_mask=~mask)[0]
    silent = layer.to_torch()(x, x, x, attn_mask=~mask, need_weights=False)[0]
    torch.testing.assert_close(ours, silent)
    torch.testing.assert_close(ours[:, 1:], theirs[:, 1:])
    assert (ours[:, 0] == 0).all()
    assert theirs[:, 0].isnan().all()
    torch.testing.assert_close(layer(x, x, x), layer.to_torch()(x, x, x)[0])
    biased = MultiHeadAttention(HeadConfig(12, 4), bias=True, generator=torch.Generator()).double()
    with torch.no_grad():
        evaluated = biased.to_torch().eval()(x, x, x, attn_mask=~mask, need_weights=False)[0]
        assert (biased(x, x, x, mask)[:, 0] == 0).all()
    assert evaluated[:, 0].isnan().all()
    torch.testing.assert_close(evaluated[:, 1:], biased(x, x, x, mask)[:, 1:])


def test_H18():
    layers = [r for r in pairs("attention", "recurrent") if r["kernel"] == "whole layer"]
    assert all(r["ratio"] < 1 for r in layers if r["T"] >= 1024)
    assert any(r["ratio"] > 1 for r in layers)
    # Work: of whole layers, at every length.
    for n, d in itertools.product((1, 16, 512, 4096), (128, 512)):
        assert sum(HeadConfig(d, 8).flops(n, n).values()) > 4 * n * d**2
    # Depth: no output of attention waits for another, every state of the recurrence for the last.
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 7, 5, generator=generator, dtype=torch.float64)
    alone = [scaled_dot_product_attention(row[None], k, v)[0] for row in q]
    torch.testing.assert_close(torch.stack(alone), scaled_dot_product_attention(q, k, v))
    W, states = torch.randn(5, 5, generator=generator).double(), [torch.zeros(5).double()]
    states[0].requires_grad_()
    for x in v:
        states.append(torch.tanh(W @ states[-1] + x))
    (reaching,) = torch.autograd.grad(states[-1].sum(), states[0])
    assert (reaching != 0).all()
    # Without the tanh two steps are one of the same kind, and rounds of doubling reach all states.
    steps = [(W, x) for x in v]
    for apart in (1, 2, 4):
        steps = [
            (A @ steps[t - apart][0], A @ steps[t - apart][1] + b) if t >= apart else (A, b)
            for t, (A, b) in enumerate(steps)
        ]
    state = torch.zeros(5).double()
    for x, (_, scanned) in zip(v, steps, strict=True):
        state = W @ state + x
        torch.testing.assert_close(scanned, state)


def test_H19():
    k, v = torch.randn(2, 7, 3, generator=torch.Generator().manual_seed(0)).double()
    near = [
        scaled_dot_product_attention(torch.full((1, 3), x).double(), k, v) for x in (-1e-9, 1e-9)
    ]
    assert (near[1] - near[0]).abs().max() < 1e-8  # so a jump of 1 is missed by ½
    # On average it is met as closely as one likes: two keys, and a query as sharp as needed.
    x = torch.linspace(-1, 1, 2001, dtype=torch.float64)[:, None]
    keys = torch.tensor([[-1.0], [1.0]], dtype=torch.float64)
    for sharp in (10, 100, 1000):
        step = scaled_dot_product_attention(sharp * x, keys, keys.clamp(min=0))
        missed = (step - (x > 0).double()).abs()
        assert missed.max() > 0.499
        assert missed.mean() < 1 / sharp


def test_H20():
    layer, x = heads_layer()
    grad_output = torch.randn(x.shape, generator=torch.Generator().manual_seed(9)).to(x)
    mask = causal_mask(x.shape[-2])
    ours = multi_head_backward(layer, x, x, x, grad_output, mask)
    layer(x, x, x, mask).backward(grad_output)
    for name, parameter in layer.named_parameters():
        torch.testing.assert_close(ours[name], parameter.grad)
    q, k, v, g = torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(2)).double()
    found = attention_backward(q, k, v, g).grad_q
    for at in itertools.product(range(5), range(3)):
        step = torch.zeros_like(q)
        step[at] = 1e-6
        above, below = (scaled_dot_product_attention(x, k, v) for x in (q + step, q - step))
        assert ((above - below) * g).sum() / 2e-6 == pytest.approx(found[at].item(), rel=1e-6)


def test_W1():
    assert [HeadConfig(*c).head_dim for c in ((384, 12), (768, 12), (1536, 24))] == [32, 64, 64]


def test_W2():
    with pytest.raises(ValueError, match="got d_model=768, n_heads=7; nearest that fit"):
        HeadConfig(768, 7)


def test_W3():
    layer, x = heads_layer()
    with torch.no_grad():  # whole numbers, so that no order of additions makes a difference
        for parameter in layer.parameters():
            parameter.copy_((99 * parameter).round())
    x = (9 * x).round()
    steps = layer.trace(x, x, x)
    for name in "qkv":
        fused, W = getattr(steps, f"{name}_heads"), getattr(layer, f"W_{name}").weight
        for i in range(3):
            assert torch.equal(fused[:, i], x @ W[4 * i : 4 * i + 4].T)


def test_W4():
    layer = MultiHeadAttention(HeadConfig(768, 12), generator=torch.Generator())
    count = sum(p.numel() for p in layer.parameters())
    assert count == 4 * 768**2 == 2_359_296
    assert 12 * count == 28_311_552
    assert round(12 * count / 120e6, 3) == 0.236


def test_W5():
    ratio = {(r["kernel"], r["B"], r["T"]): r["ratio"] for r in pairs("ladder", "loop")}
    assert ratio["attention, all heads at once", 1, 1] > 2
    assert ratio["attention, all heads at once", 1, 512] < 1.5
    assert min(ratio.values()) > 1
    given, kept = (
        {r["pass"]: r for r in group(record("ladder"), which)
         if r["T"] == 1024 and r["kernel"] == "one head at a time"}
        for which in ("ladder", "memory kept")
    )  # fmt: skip
    assert {r["reference"] for r in (*given.values(), *kept.values())} == {"all heads at once"}
    assert min(r["ratio_p20"] for r in given.values()) > 1  # one head at a time is faster
    assert all(0.95 < r["ratio_p20"] < r["ratio_p80"] < 1.05 for r in kept.values())


def test_W6():
    _, x = heads_layer()
    for h in (1, 2, 3, 4, 6, 12):
        assert torch.equal(merge_heads(split_heads(x, h)), x)


def test_W7():
    layer, x = heads_layer()
    steps = layer.trace(x, x, x)
    torch.testing.assert_close(layer.contributions(steps.heads).sum(1), steps.output)
    changed = steps.heads.clone()
    changed[:, 0] += 1
    assert torch.equal(merge_heads(changed)[..., 4:], steps.merged[..., 4:])
    assert ((layer.combine(changed) - steps.output).abs() > 1e-6).all()


def toy_heads(model, name="W_q"):
    return [head_weights(model, layer, head)[name] for layer in (0, 1) for head in range(6)]


@pytest.mark.long
def test_W8():
    model, test = stored(), corpus(60, seed=1_000_000)
    scores = role_scores(model, test)["induction"][1]
    head, idle = scores.argmax().item(), scores.argmin().item()
    alone, twins = stored(), stored()
    with torch.no_grad():
        head_weights(alone, 1, idle)["W_o"].zero_()
    clone(twins, 1, head, idle)

    def gradient(one, name):
        loss = F.cross_entropy(one(test.ids[:, :-1]).mT, test.ids[:, 1:])
        whole = torch.autograd.grad(loss, getattr(one.layers[1], name).weight)[0]
        own = slice(8 * head, 8 * head + 8)
        return (whole[:, own] if name == "W_o" else whole[own]).norm().item()

    assert gradient(twins, "W_o") == pytest.approx(gradient(alone, "W_o"), rel=1e-3)
    assert gradient(twins, "W_k") == pytest.approx(gradient(alone, "W_k") / 2, rel=1e-3)
    seeds = group(record("heads"), "seeds")
    for row in seeds:
        for c in row["clones"]:
            loss = c["loss"]
            cost = loss["twins, without one"] - loss["twins"]
            assert cost < loss["alone, without it"] - loss["alone"]
            ratio = [c["ratio"][name] for name in ("W_q", "W_k", "W_v", "W_o")]
            assert ratio == pytest.approx([0.5, 0.5, 0.5, 1], abs=0.01)
    vacancies = group(record("heads"), "vacancies")
    smaller, other, idle = 0, 0, 0
    for row in vacancies:
        found = row["found"]
        pull = {silent: x["gradient"]["induction"] for silent, x in found.items()}
        smaller += pull["nobody"] < pull["induction"]
        other += pull["nobody"] < pull["other"]
        new, none = found["nobody"]["after"], found["nobody"]["without"]
        assert abs(new["induction"]["accuracy"] - none["induction"]["accuracy"]) < 0.1
        rise = {job: none[job]["loss"] - new[job]["loss"] for job in row["cost"]}
        assert {job for job, x in rise.items() if x > 0.1} <= {
            job for job, x in row["cost"].items() if x > 0.3
        }
        idle += max(rise.values()) < 0.02
        assert found["induction"]["without"]["induction"]["accuracy"] < 0.08
    learned = [row["found"]["induction"]["after"]["induction"]["accuracy"] for row in vacancies]
    assert smaller == other == len(vacancies)
    assert min(idle, sum(x > 0.3 for x in learned)) == len(vacancies) - 1


@pytest.mark.long
def test_W9():
    documents = corpus(64, seed=0)
    for tied in (True, False):
        model = ToyModel(generator=torch.Generator().manual_seed(0))
        if tied:
            equalize(model, generator=torch.Generator())
        inputs, targets = documents.ids[:, :-1], documents.ids[:, 1:]
        for _ in train(model, inputs, targets, steps=10, seed=0):
            pass
        heads = toy_heads(model)
        assert all(torch.equal(heads[0], other) for other in heads[:6]) == tied
    tied = [row for row in group(record("heads"), "ties") if row["noise"] == 0]
    assert all(row["largest difference"] == 0 for row in tied)
    exact = [row["gap"] for row in tied]
    usual = [row["gap"] for row in group(record("heads"), "seeds")]
    assert min(exact) > 3 * max(usual)
    scores = role_scores(stored(), corpus(100, seed=1_000_000))
    assert all(scores[role].max() > 0.8 for role in ROLES[:4])


def test_W10():
    x = torch.arange(30).reshape(5, 6)
    split = split_heads(x, 3)
    assert not split.is_contiguous()
    assert split.stride() == (2, 6, 1)  # rows of a head stay d_model apart
    assert split.data_ptr() == x.data_ptr()


def test_W11():
    included = {
        (r["kernel"].split(",")[0], r["B"], r["T"]): (r["ratio"], r["spread"])
        for r in pairs("attention", "strides")
        if r["kernel"].endswith("packing included")
    }
    assert len(included) == 8
    for (product, B, _), (ratio, spread) in included.items():
        if product == "q @ kᵀ" and B > 1:
            assert ratio - spread > 1
        else:
            assert ratio - spread < 1


def test_W12():
    from hydra_lib.kernels import launch_grid

    assert launch_grid(8, 12, 1024, split_queries=False) == 8 * 12
    assert launch_grid(8, 12, 1024) == 8 * 12 * 1024 // 128


def test_W13():
    from hydra_lib.kernels.tiles import tile_width

    assert (tile_width(64), tile_width(72)) == (64, 128)
    assert (CLAIMS["W13"]["verdict"] == "Open") == (not records("gpu-"))


def test_W14():
    layer, x = heads_layer()
    products = [m for m in layer.modules() if isinstance(m, torch.nn.Linear)]
    assert len(products) == 4
    shapes = [tuple(t.shape) for t in layer.trace(x, x, x)]
    assert shapes[0] == shapes[-1] == (2, 5, 12)
    assert shapes[3] == shapes[10] == (2, 3, 5, 4)


def test_B1():
    x = torch.randint(-999, 999, (6, 4), generator=torch.Generator().manual_seed(0)).double()
    y = torch.randint(-999, 999, (6, 4), generator=torch.Generator().manual_seed(1)).double()
    claimed, n = formulas(CLAIMS["B1"]["claim"])
    [between] = formulas(CLAIMS["B1"]["sentence"])
    assert n == "n"
    assert trace(x, x, x).scores.unique().numel() == value(claimed, n=6)
    assert trace(x, y, y).scores.unique().numel() == value(between, n=6)


def test_B2():
    [claimed], [true] = (formulas(CLAIMS["B2"][part]) for part in ("claim", "sentence"))
    for d in (2, 8192):
        assert products((1, d), (d, 1)) == value(true, d=d) != value(claimed, d=d)


def test_B3():
    n, d, claimed = whole_numbers(CLAIMS["B3"]["claim"])
    [true] = whole_numbers(CLAIMS["B3"]["sentence"])
    pairs = value(formulas(CLAIMS["B1"]["claim"])[0], n=n)
    assert pairs * products((1, d), (d, 1)) == true
    [each] = formulas(CLAIMS["B2"]["claim"])
    assert claimed not in (true, pairs * value(each, d=d))
    assert claimed == n * d**2


def test_B4():
    chapter = (BOOK / "06_heads.md").read_text("utf-8")
    sizes = re.findall(r'"(GPT-2|Llama 3) [^"]+": \((\d+), (\d+)\)', chapter)
    widths = {name: [int(d) for n, d, _ in sizes if n == name] for name, _, _ in sizes}
    assert widths == {"GPT-2": [768, 1024, 1280, 1600], "Llama 3": [4096, 8192]}
    head_dims = [HeadConfig(int(d), int(h)).head_dim for _, d, h in sizes]
    assert head_dims == [64, 64, 64, 64, 128, 128]


def test_B5():
    def saved(n, d=12, d_k=3):
        # At full width a pair of tokens has one product for both its orders.
        whole = n * (n + 1) // 2 * products((1, d), (d, 1))
        project = 2 * products((n, d), (d, d_k))
        return whole - project - products((n, d_k), (d_k, n))

    assert re.match("for one head.* enough tokens.* All heads", CLAIMS["B5"]["sentence"])
    assert saved(21) < 0 == saved(22) < saved(23)
    # At half the width n·d/2 − n·d²: negative for every n.
    assert all(saved(n, d_k=6) == n * 12 // 2 - n * 12**2 < 0 for n in (1, 10, 50))
    for n in (1, 100, 10_000):
        flops = HeadConfig(12, 4).flops(n, n)
        assert flops["W_q"] + flops["W_k"] + flops["scores"] > 2 * n**2 * 12


def test_B6():
    """Lengths and directions come first, so that the angle is known without a dot product."""
    angles = torch.tensor([0.3, 1.1, 2.9], dtype=torch.float64)
    q = 2 * torch.stack([angles.cos(), angles.sin()], -1)
    k = 5 * torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    between = angles[:, None] - torch.tensor([math.pi / 2, math.pi], dtype=torch.float64)
    assert CLAIMS["B6"]["verdict"] == "Holds"
    torch.testing.assert_close(trace(q, k, k).scores, 2 * 5 * between.cos())


def test_B7():
    q, k = scores(1), scores(2)
    weights = trace(q, k, k, temperature=1).weights
    [claimed] = formulas(CLAIMS["B7"]["claim"])
    assert claimed == r"e^{q_j \cdot k_j}"
    for i in range(5):
        right = [math.exp(q[i] @ k[j]) for j in range(5)]
        wrong = [math.exp(q[j] @ k[j]) for j in range(5)]
        row = weights[i].tolist()
        assert row == pytest.approx([r / sum(right) for r in right])
        assert row != pytest.approx([r / sum(wrong) for r in right])


def test_B11():
    for d_k, sigma, mu in ((256, 2.0, 0.0), (64, 1.0, 0.5)):
        world = {"d_k": d_k, "mu_q": mu, "mu_k": mu, "sigma_q": sigma, "sigma_k": sigma}
        exact = dot_product_moments(**world).variance
        assert exact == d_k * (sigma**4 + 2 * mu**2 * sigma**2)
        measured = worlds(**world)
        assert abs(measured.variance - exact) < 4 * measured.variance_error
        assert abs(measured.variance - sigma**2 * d_k) > 10 * measured.variance_error


def test_B12():
    generator = torch.Generator().manual_seed(4)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    x, (W_q, W_k) = normal(32), normal(2, 20_000, 16, 32) / 32**0.5
    over_weights = measure_moments(((W_q @ x) * (W_k @ x)).sum(-1))
    assert abs(over_weights.mean) < 4 * over_weights.mean_error
    xs, (W_q, W_k) = normal(20_000, 32), normal(2, 16, 32) / 32**0.5
    W_k = (W_q + W_k) / 2**0.5  # as training would align them
    over_inputs = measure_moments(((xs @ W_q.T) * (xs @ W_k.T)).sum(-1))
    trace_of = (W_q.T @ W_k).trace().item()
    assert abs(over_inputs.mean - trace_of) < 4 * over_inputs.mean_error
    assert over_inputs.mean > 10 * over_inputs.mean_error


def test_B13():
    in_use = []
    for d_k in (16, 256):
        s = sample_scores(500, 16, d_k, generator=torch.Generator().manual_seed(0))
        in_use.append(entropy(s, d_k**0.5).exp().mean())
    assert all(8 < keys < 14 for keys in in_use)
    # Layers that start smaller start nearly flat.
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layer = torch.nn.MultiheadAttention(256, 4, batch_first=True)
        x = F.layer_norm(torch.randn(1, 128, 256), (256,))
    _, weights = layer(x, x, x, average_attn_weights=False)
    assert torch.special.entr(weights).sum(-1).exp().mean() > 0.8 * 128
    model = ToyModel(generator=torch.Generator().manual_seed(0))
    for weights in (found.weights for found in model.traces(corpus(3, seed=0).ids)):
        seen = torch.arange(1, weights.shape[-1] + 1)
        share = torch.special.entr(weights).sum(-1).exp() / seen
        assert share[..., 20:].mean() > 0.9


def test_B15():
    layer, x = heads_layer()
    assert layer.trace(x, x, x).merged.shape[-1] == 12
    assert layer.W_o.weight.shape == (12, 12)
    n_heads, T, d_v, d_model = 5, 3, 7, 11  # wider than d_model / n_heads
    merged = merge_heads(torch.randn(n_heads, T, d_v))
    assert merged.shape[-1] > d_model
    assert (merged @ torch.randn(n_heads * d_v, d_model)).shape == (T, d_model)


def test_B16():
    assert HeadConfig(512, 8).head_dim == 64
    one, eight = (HeadConfig(512, h).flops(64, 64)["scores"] for h in (1, 8))
    assert one == eight  # in total


def test_B17():
    found = record("heads")
    right = {h: [] for h in (1, 2, 4, 8)}
    for row in group(found, "lookups"):
        right[row["n_heads"]].append(row["accuracy"])
    for fewer, more in ((1, 2), (2, 4), (4, 8)):
        assert max(right[fewer]) < min(right[more])
    gaps = {6: [row["gap"] for row in group(found, "seeds")]}
    for row in group(found, "widths"):
        gaps.setdefault(row["n_heads"], []).append(row["gap"])
    median = {h: statistics.median(values) for h, values in gaps.items()}
    assert median[1] > min(median.values()) < median[12]
    later = [row["gap"] for row in group(found, "longer")]
    assert min(median.values()) < min(later) < max(later) < median[12]


def test_B18():
    norms, medians, means = [], [], []
    generator = torch.Generator().manual_seed(0)
    for d_k in (4, 64, 1024):
        s = sample_scores(500, 16, d_k, generator=torch.Generator().manual_seed(0))
        norms.append(jacobian(s, 1.0).flatten(1).norm(dim=-1).quantile(torch.tensor([0.5, 0.9])))
        q = torch.randn(500, d_k, 1, generator=generator)
        k = torch.randn(500, 16, d_k, generator=generator)
        size = (jacobian((k @ q).squeeze(-1), 1.0) @ k).flatten(1).norm(dim=-1)
        medians.append(size.median().item())
        means.append(size.mean().item())
    assert (norms[-1] < norms[0]).all()
    assert norms[-1][0] < norms[0][0] / 100
    assert medians[-1] < medians[0] / 100
    assert means[-1] > 2 * means[0]


def test_O1():
    for close, spoiled in (
        (lambda s: s + torch.full_like(s, -torch.inf), (True, True)),
        (lambda s: s.masked_fill(torch.ones(3).bool(), -torch.inf), (False, True)),
    ):
        s, v = torch.ones(3, requires_grad=True), torch.ones(3, 1, requires_grad=True)
        weights = torch.softmax(torch.stack([s, close(s)]), -1)
        found = torch.autograd.grad((weights @ v)[0].sum(), (s, v))
        assert tuple(x.isnan().any().item() for x in found) == spoiled


def test_O2():
    s = torch.tensor([3.0, 1.0, 0.5, 0.0, -1.0], dtype=torch.float64)
    taus = torch.logspace(-0.8, 4, 400, dtype=torch.float64)[:, None]  # below, U rounds to its end
    energies = mean_energy(s, taus)
    assert (energies.diff() > 0).all()
    assert energies[0] == pytest.approx(-3, abs=1e-4)
    assert energies[-1] == pytest.approx(-s.mean().item(), abs=1e-3)


def test_O3():
    world = {"mu_q": 2.0, "mu_k": 5.0, "sigma_q": 0.5, "sigma_k": 3.0}
    rows = sample_scores(20_000, 8, 12, **world, generator=torch.Generator().manual_seed(0))
    assert rows.var(-1).mean() == pytest.approx(12 * (0.5**2 + 2.0**2) * 3.0**2, rel=0.02)


def test_O4():
    d, d_k = 12, 3
    for n in (1, 5, 50):
        one_head = 2 * products((n, d), (d, d_k)) + products((n, d_k), (d_k, n))
        assert d // d_k * one_head > products((n, d), (d, n))


def test_O5():
    for n in (2, 17, 1000):
        row = torch.zeros(n, dtype=torch.float64)
        row[0] = 6.0
        tau = 6.0 / math.log(n - 1) if n > 2 else math.inf
        assert probabilities(row, tau)[0] == pytest.approx(0.5)


def test_O6():
    for n, d in ((1, 64), (64, 64), (512, 64)):
        assert sum(HeadConfig(d, 4).flops(n, n).values()) > 4 * n * d**2


def test_O7():
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(6, 5, 7, generator=generator).double()
    k, v = torch.randn(2, 2, 11, 7, generator=generator).double()
    shared = scaled_dot_product_attention(q.unflatten(0, (2, 3)), k[:, None], v[:, None])
    own = [x.repeat_interleave(3, 0) for x in (k, v)]
    torch.testing.assert_close(shared.flatten(0, 1), scaled_dot_product_attention(q, *own))
    torchs = F.scaled_dot_product_attention(q[None], k[None], v[None], enable_gqa=True)
    torch.testing.assert_close(shared.flatten(0, 1), torchs[0])


@pytest.mark.slow
def test_O8():
    for seen in run(heads_on_ranks, 2, HeadConfig(12, 6), 7):
        assert max(seen.errors.values()) < 1e-13
        assert [c.name for c in seen.forward] == [c.name for c in seen.backward] == ["all_reduce"]


def test_O9():
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 7, 2, generator=generator).double()
    found = [partial_softmax(q, k[j : j + 1], v[j : j + 1]) for j in range(7)]
    whole = scaled_dot_product_attention(q, k, v)
    for order in itertools.islice(itertools.permutations(found), 0, None, 500):
        a, b, c, *others = order
        left, right = merge(merge(a, b), c), merge(a, merge(b, c))
        for start in (left, right):
            merged = functools.reduce(merge, others, start)
            torch.testing.assert_close(attention_of(merged), whole)


def test_O10():
    shares = set()
    for batch, heads in itertools.product((1, 8, 512), (8, 16, 64)):
        cost = heads_over_ranks(HeadConfig(512, heads), 300, 8, batch)
        shares.add(round(seconds(cost, 1e13, 1e10).share, 12))
    assert len(shares) == 1
