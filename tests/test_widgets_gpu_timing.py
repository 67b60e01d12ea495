"""What is timed on the reader's machine, and how, without a browser: a fake clock, plain loops."""

import json
import math

import numpy as np
import pytest
import torch

from hydra_lib.timing import sampling
from hydra_lib.timing.exact import exact_attention, row_error
from hydra_lib.timing.verified import tolerance
from tests.conftest import in_javascript

# A clock that moves when work is done or waited for, in seconds; `log` is what happened.
FAKE = """(async (c) => {
    let time = 0, queue = 0;
    const log = [];
    const now = () => time;
    const work = (i) => async () => { time += c.costs[i]; log.push(i); return c.costs[i]; };
    const device = {
        submit: () => { log.push("submit"); time += 1e-5; queue += c.kernel; },
        wait: async () => { time += queue; queue = 0; },
        upload: () => { log.push("upload"); time += 0.25; },
        renew: async () => { log.push("renew"); time += 2; queue += c.first ?? 0; },
    };
    return %s;
})(c)"""


def play(expression, **case):
    return json.loads(in_javascript("sampling.js", FAKE % expression, [case]))[0]


def test_the_page_s_clock_is_in_seconds():
    expression = "[performance.now(), m.pageSeconds(), performance.now()]"
    [(before, seconds, after)] = json.loads(in_javascript("sampling.js", expression, [0]))
    assert before <= 1000 * seconds <= after


def test_quantiles_are_those_of_the_library():
    generator = np.random.default_rng(0)
    cases = [generator.exponential(size=n).tolist() for n in (1, 2, 3, 5, 6, 19, 20, 21, 100)]
    found = json.loads(in_javascript("sampling.js", "m.quantiles(c)", cases))
    for values, one in zip(cases, found, strict=True):
        expected = sampling.quantiles(np.array(values))
        assert [one[key] for key in ("p20", "p50", "p80", "spread")] == pytest.approx(expected)


def test_a_round_holds_every_rung_in_turns():
    log = play("(await m.sample([work(0), work(1)], {now, budget: 0.05}), log)", costs=[1, 2])
    assert log == [0, 1] + [0, 1, 1, 0] * 2 + [0, 1]  # a warm-up, and the least, five rounds


def test_sampling_ends_when_the_spread_is_known_or_the_budget_is_over():
    count = "(await m.sample([work(0)], {now, budget: c.budget}))[0].length"
    assert play(count, costs=[2**-10], budget=1) == 103  # a tenth of the budget at least
    assert play(count, costs=[2**-10], budget=200 * 2**-10) == 20  # to the very end of it
    assert play(count, costs=[2**-6], budget=1) == 20
    assert play(count, costs=[2**-3], budget=1) == 8
    assert play(count, costs=[7], budget=1) == 5


def test_times_that_rise_and_fall_together_have_a_ratio_that_is_known():
    expression = """(await m.sample([1, 2].map((cost) => {
        let calls = 0;
        return async () => { time += cost; return cost * (1 + (calls++) % 7); };
    }), {now, budget: 600}))[0].length"""
    assert play(expression) == 20


def test_a_run_can_be_stopped():
    expression = """await m.sample([work(0)], {now, budget: 9, pass: (share) => {
        if (share > 0.5) throw new m.Stopped("enough");
    }}).catch((error) => [error.message, error instanceof m.Stopped, log.length])"""
    assert play(expression, costs=[1]) == ["enough", True, 6]
    shares = "(await m.sample([work(0)], {now, budget: 4, pass: (share) => log.push(share)}), log)"
    told = play(shares, costs=[3])[::2]  # work(0) logs a 0 between them
    assert told == [0, 0, 0.75, 1, 1, 1]


def test_calls_of_a_sample():
    expression = """[await m.callsFor(
        (calls) => { log.push(calls); return calls * c.kernel; }, 2 ** -7), log]"""
    assert play(expression, kernel=2**-7) == [1, [1]]
    assert play(expression, kernel=0.75 * 2**-7) == [2, [1, 2]]  # 1.3 / 0.75 times, rounded up
    assert play(expression, kernel=2**-10) == [11, [1, 11]]
    assert play(expression, kernel=2**-20) == [10650, [1, 16, 256, 4096, 10650]]
    # A clock that never moves is not waited for.
    assert play(expression, kernel=0) == [2**14, [1, 16, 256, 4096, 2**14]]


def test_clock_step():
    expression = """(() => { let t = 0, i = 0; return m.clockStep(() => { i++;
        t = Math.floor(i / 10) * 0.125; return t; }); })()"""
    assert play(expression) == 0.125


def test_pairs():
    found = play("m.paired([2, 4, 6], [1, 2, 3])")
    assert found == {"ratio": 2, "ratio_p20": 2, "ratio_p80": 2, "spread": 0}


@pytest.mark.parametrize(
    ("made", "seconds", "submits"),
    [
        ([], 0.01001, 21),
        (["no_wait"], 1e-5, 21),
        (["upload"], 0.26001, 5),
        (["pipeline"], 2.01001, 2),
        (["one_sample"], 0.01001, 2),
        (["cold"], 0.01001, 1),
        (["no_wait", "pipeline"], 2.00001, 2),
    ],
)
def test_each_mistake_costs_what_it_counts(made, seconds, submits):
    expression = "[await m.mistimed(device, c.made, {now}), log]"
    found, log = play(expression, kernel=0.01, made=made)
    assert math.isclose(found, seconds, rel_tol=1e-9)
    assert log.count("submit") == submits
    assert ("renew" in log) == bool({"cold", "pipeline"} & set(made))


def test_mistakes_have_names():
    names = json.loads(in_javascript("sampling.js", "Object.keys(m.MISTAKES)", [0]))[0]
    assert names == ["no_wait", "cold", "upload", "pipeline", "one_sample"]


# --- plain loops ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("h", "T", "D"), [(1, 1, 1), (3, 37, 24), (2, 65, 13), (1, 130, 64)])
def test_loops_compute_attention(h, T, D):
    q, k, v = torch.randn(3, h, T, D, generator=torch.Generator().manual_seed(T))
    exact = exact_attention(q[None], k[None], v[None])[0]
    case = {"q": q.flatten().tolist(), "k": k.flatten().tolist(), "v": v.flatten().tolist()}
    expression = """((size, inputs) => [...m.LOOP_NAMES.map((name) => {
        const {head, result} = m.LOOPS[name].ready(inputs, size);
        for (let pair = 0; pair < size.pairs; pair++) head(pair);
        for (let pair = 0; pair < size.pairs; pair++) head(pair);
        return [...result()];
    }), Array.from({length: size.pairs * size.T}, (_, i) => [...m.exactAttention(inputs, size, i)])]
    )(c.size, Object.fromEntries(["q", "k", "v"].map((x) => [x, Float32Array.from(c[x])])))"""
    size = {"pairs": h, "T": T, "D": D}
    (found,) = json.loads(in_javascript("loops.js", expression, [case | {"size": size}]))
    assert len(found) == 4
    for result in found:
        assert row_error(torch.tensor(result).reshape(exact.shape), exact) < tolerance(q.dtype)
    rows = torch.tensor(found[3], dtype=torch.float64).reshape(exact.shape)
    torch.testing.assert_close(rows, exact, rtol=1e-12, atol=1e-12)


def test_exact_product_and_row_error():
    a, b = torch.randn(2, 9, 9, generator=torch.Generator().manual_seed(0)).double()
    case = {"a": a.flatten().tolist(), "b": b.flatten().tolist()}
    expression = "Array.from({length: 9}, (_, i) => [...m.exactProduct(c, {n: 9}, i)])"
    found = json.loads(in_javascript("loops.js", expression, [case]))[0]
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), a @ b)
    off = (a @ b) + 1e-3 * torch.arange(9.0)[:, None].double()
    error = "m.rowError(c[0], c[1])"
    pairs = [
        [off.tolist(), (a @ b).tolist()],
        [[[0.0], [0.0]], [[0.0], [0.0]]],
        [[[1.0]], [[0.0]]],
        [[[0.5], [0.1]], [[0.5], [0.0]]],  # a row of nothing is measured by the others
    ]
    found = json.loads(in_javascript("loops.js", error, pairs))
    assert found == pytest.approx([row_error(off, a @ b), 0, 1, 0.2])
    assert row_error(*(torch.tensor(rows).double() for rows in pairs[3])) == pytest.approx(0.2)
    assert in_javascript("loops.js", "m.rowError([[NaN], [1]], [[1], [1]])", [0]) == "[null]"


def test_tolerances_are_those_of_the_library():
    names = ("float16", "float32", "float64")
    found = json.loads(in_javascript("loops.js", "m.tolerance(c)", names))
    assert found == [tolerance(getattr(torch, name)) for name in names]


def test_rows_to_check():
    cases = [[5, 1], [10**6, 10**6], [10**6, 6 * 10**6], [17, 10**9], [16, 10**9]]
    found = json.loads(in_javascript("loops.js", "m.rowsToCheck(...c)", cases))
    assert found[0] == [0, 1, 2, 3, 4]
    assert [len(rows) for rows in found[2:]] == [33, 16, 16]
    assert len(found[1]) == 200
    assert (found[1][0], found[1][-1]) == (0, 10**6 - 1)
    assert found[1] == sorted(set(found[1]))


def test_random_numbers():
    expression = (
        "[...m.randomNumbers(4000, 1)].concat([...m.randomNumbers(2 ** 20 + 2, 1).slice(-2)])"
    )
    found = np.array(json.loads(in_javascript("loops.js", expression, [0]))[0])
    assert abs(found[:4000].mean()) < 0.05
    assert abs(found[:4000].var() - 1) < 0.05
    assert (found[4000:] == found[:2]).all()
