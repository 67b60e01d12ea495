import math
import re
import sys

import pytest
import torch

from hydra_lib.heads import split_heads
from hydra_lib.timing import verified as module
from hydra_lib.timing.exact import attend_causally, exact_gradients, row_error
from hydra_lib.timing.ladder import LADDER, Rung
from hydra_lib.timing.measurement import FailedCheckError
from hydra_lib.timing.sizes import AttentionSize
from hydra_lib.timing.verified import climb, measure, measure_pair, tolerance, verify
from tests.refusal import refuses

SIZE = AttentionSize(2, 3, 7, 5)
EAGER, FLASH = LADDER["all heads at once"], LADDER["SDPA flash"]
QUICK = {"budget": 0}


def wrong(q, k, v):
    """The last row is missing, which is a small one."""
    return torch.cat([FLASH.attend(q, k, v)[:, :, :-1], 0 * q[:, :, -1:]], 2)


@pytest.fixture(autouse=True)
def without_triton(monkeypatch):
    monkeypatch.setitem(sys.modules, "hydra_lib.kernels", None)


@pytest.mark.parametrize("backward", [False, True])
def test_one_kernel_alone(backward):
    found = measure("g", EAGER, SIZE, torch.float32, backward=backward, **QUICK)
    assert (found["group"], found["kernel"]) == ("g", "all heads at once")
    assert found["flops"] == SIZE.flops(backward)
    assert found["bytes"] == SIZE.bytes(torch.float32, backward, (8, 19)[backward])
    assert found["pass"] == ("forward", "forward+backward")[backward]
    assert found["dtype"] == "float32"
    assert 0 < found["error"] < 1e-5
    assert found["reference"] is found["ratio"] is found["peak_bytes"] is None


@pytest.mark.parametrize("backward", [False, True])
def test_a_pair_gives_two_rows(backward):
    first, second = measure_pair(
        "g", EAGER, FLASH, SIZE, torch.bfloat16, backward=backward, **QUICK
    )
    assert (first["kernel"], first["reference"], first["ratio"]) == (EAGER.name, None, None)
    assert (second["kernel"], second["reference"]) == (FLASH.name, EAGER.name)
    assert second["ratio"] > 0
    assert first["flops"] == second["flops"] == SIZE.flops(backward)
    assert second["bytes"] == SIZE.bytes(torch.bfloat16, backward) < first["bytes"]
    assert 1e-5 < first["error"] < tolerance(torch.bfloat16)


def test_a_pair_may_bring_its_own_tensors():
    seen = []
    spy = Rung("spy", lambda q, k, v: seen.append(q.is_contiguous()) or attend_causally(q, k, v))
    tensors = tuple(x.contiguous() for x in SIZE.tensors(torch.float32))
    measure_pair("g", EAGER, spy, SIZE, torch.float32, tensors=tensors, **QUICK)
    assert all(seen)
    seen.clear()
    measure_pair("g", EAGER, spy, SIZE, torch.float32, **QUICK)
    assert not any(seen)


@pytest.mark.parametrize(
    "work",
    [
        lambda **how: measure("g", EAGER, SIZE, torch.float32, **how),
        lambda **how: measure_pair("g", EAGER, FLASH, SIZE, torch.float32, **how),
        lambda **how: climb(SIZE, torch.float32, **how),
    ],
)
def test_options_are_refused_before_any_work(work, monkeypatch):
    monkeypatch.setattr(AttentionSize, "tensors", lambda *_: pytest.fail("work was prepared"))
    with refuses(ValueError, "budget must be finite and at least 0, got -1"):
        work(budget=-1)
    with refuses(TypeError, "flush must be True or False, got 1"):
        work(flush=1)
    for unknown in ("budgt", "flops", "exact"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{unknown}'"):
            work(**{unknown: 3})


def test_tensors_are_those_of_the_row():
    for what, dtype, size, error in (
        ("q must be torch.bfloat16, got torch.float32", torch.bfloat16, SIZE, TypeError),
        (
            f"q must have the size's shape {tuple(SIZE.tensors(torch.float32)[0].shape)}, got "
            "(1, 1, 2, 8)",
            torch.float32,
            AttentionSize(1, 1, 2, 8),
            ValueError,
        ),
    ):
        with refuses(error, what):
            tensors = size.tensors(torch.float32)
            measure_pair("g", EAGER, EAGER, SIZE, dtype, tensors=tensors, **QUICK)


def test_a_missing_row_is_not_timed(monkeypatch):
    monkeypatch.setattr(module, "bench", None)
    monkeypatch.setattr(module, "compare", None)
    text = "wrong is wrong: a row is off by 1.00e+00, allowed 6.25e-02"
    for call in (
        lambda: measure("g", Rung("wrong", wrong), SIZE, torch.bfloat16),
        lambda: measure_pair("g", EAGER, Rung("wrong", wrong), SIZE, torch.bfloat16),
        lambda: measure_pair("g", Rung("wrong", wrong), EAGER, SIZE, torch.bfloat16),
    ):
        with pytest.raises(FailedCheckError, match=f"^{re.escape(text)}$"):
            call()


def test_a_wrong_gradient_is_not_timed():
    class Bent(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return 1.01 * gradient

    bent = Rung("bent", lambda q, k, v: attend_causally(q, Bent.apply(k), v))
    measure("g", bent, SIZE, torch.float32, **QUICK)
    with pytest.raises(FailedCheckError, match=r"^bent is wrong: a row is off by .*e-02"):
        measure("g", bent, SIZE, torch.float32, backward=True, **QUICK)


@pytest.mark.parametrize(
    ("dtype", "most", "of_query"),
    [
        (torch.float32, 2.0**-16, 2.0**-16),
        (torch.float16, 2.0**-7, 2.0**-4),
        (torch.bfloat16, 2.0**-4, 0.5),
    ],
)
def test_tolerances(dtype, most, of_query):
    assert (tolerance(dtype), tolerance(dtype, of_query=True)) == (most, of_query)


def test_a_query_s_gradient_is_off_by_the_output_s_rounding_alone():
    """All in float64; the output is rounded for Σ dO·O, as kernels keep it, or it is not."""
    dtype, generator = torch.bfloat16, torch.Generator().manual_seed(1511)
    wide = [torch.randn(1, 1024, 128, generator=generator).to(dtype) for _ in range(4)]
    q, k, v, grad = tensors = [split_heads(x, 2) for x in wide]
    exact = exact_gradients(*tensors)
    q, k, v, grad = (x.double() for x in tensors)
    scores = (q @ k.mT / 8).masked_fill(torch.ones(1024, 1024).triu(1).bool(), -math.inf)
    weights = scores.softmax(-1)
    found = []
    for out in (exact[0], exact[0].to(dtype).double()):
        mean = (grad * out).sum(-1, keepdim=True)
        found.append(weights * (grad @ v.mT - mean) @ k / 8)
    assert row_error(found[0], exact[1]) < 1e-12
    assert tolerance(dtype) < row_error(found[1], exact[1]) < tolerance(dtype, of_query=True)
    verify("x", (exact[0], found[1], *exact[2:]), exact, dtype)
    for place, allowed in enumerate((0.0625, 0.5, 0.0625, 0.0625)):
        missing = [x.clone() for x in exact]
        missing[place].view(-1, 64)[missing[place].view(-1, 64).norm(dim=-1).argmax()] = 0
        with pytest.raises(FailedCheckError, match=rf"off by 1\.00e\+00, allowed {allowed:.2e}"):
            verify("x", tuple(missing), exact, dtype)


def test_verify_takes_one_tensor_or_several():
    exact = torch.ones(3, 2, dtype=torch.float64)
    assert verify("x", exact.float(), exact, torch.float32) == 0.0
    near = exact.float() * (1 + 2**-20)
    assert verify("x", (exact, near), (exact, exact), torch.float32) == 2.0**-20
    with pytest.raises(FailedCheckError):
        verify("x", (exact, exact * torch.nan), (exact, exact), torch.float32)
    with pytest.raises(ValueError, match="zip"):
        verify("x", exact, (exact, exact), torch.float32)


@pytest.mark.parametrize("backward", [False, True])
def test_the_ladder_is_climbed_and_nothing_is_left_out_silently(backward):
    rows, refused = climb(SIZE, torch.float32, backward=backward, **QUICK)
    kernels = [r["kernel"] for r in rows]
    whats = [x["what"].partition(",")[0] for x in refused]
    assert kernels == [n for n in LADDER if n in kernels]  # in order
    assert sorted({*kernels, *(x["what"] for x in refused)}, key=str)
    assert len(kernels) + len(refused) == len(LADDER)
    assert ("Python loops" in whats) is backward
    assert [r["reference"] for r in rows if r["kernel"] == EAGER.name] == [None]
    assert {r["reference"] for r in rows if r["kernel"] != EAGER.name} == {EAGER.name}
    assert {x["group"] for x in refused} == {"ladder"}
    end = "B=2 h=3 T=7 head_dim=5" + ", forward+backward" * backward
    assert all(x["what"].endswith(end) for x in refused)
    assert {"reason": "needs CUDA, got cpu"}.items() <= refused[-3].items()


def test_a_wrong_rung_is_refused_and_the_others_are_measured(monkeypatch):
    monkeypatch.setitem(LADDER, "SDPA math", Rung("SDPA math", wrong))
    rows, refused = climb(SIZE, torch.float32, **QUICK)
    assert "SDPA flash" in [r["kernel"] for r in rows]
    reasons = {x["what"].partition(",")[0]: x["reason"] for x in refused}
    assert reasons["SDPA math"].startswith("SDPA math is wrong: a row is off by 1.00e+00")


def test_a_rung_whose_backward_pass_fails_is_refused(monkeypatch):
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            raise RuntimeError("no plan found\nfor this size")

    once = Rung("SDPA math", lambda q, k, v: attend_causally(q, Once.apply(k), v))
    monkeypatch.setitem(LADDER, "SDPA math", once)
    rows, refused = climb(SIZE, torch.float32, backward=True, **QUICK)
    assert [r["kernel"] for r in rows][-1] == "SDPA flash"
    reasons = {x["what"].partition(",")[0]: x["reason"] for x in refused}
    assert reasons["SDPA math"] == "no plan found"


def test_the_references_row_is_the_one_in_the_middle(monkeypatch):
    times = iter([5.0, 1.0, 3.0, 2.0])

    def pretend(group, first, second, *_, **__):
        return {"kernel": first.name, "p50": next(times)}, {"kernel": second.name, "p50": 9.0}

    monkeypatch.setattr(module, "measure_pair", pretend)
    rows, _ = climb(SIZE, torch.float32, **QUICK)
    assert [r["p50"] for r in rows] == [9.0, 9.0, 3.0, 9.0, 9.0]


def test_a_reference_alone_on_its_device_is_measured_alone(monkeypatch):
    for name in set(LADDER) - {EAGER.name}:
        monkeypatch.setitem(LADDER, name, Rung(name, wrong))
    rows, refused = climb(SIZE, torch.float32, **QUICK)
    assert [r["kernel"] for r in rows] == [EAGER.name]
    assert len(refused) == len(LADDER) - 1


def test_a_reference_that_does_not_run(monkeypatch):
    def starve(q, k, v):
        raise torch.cuda.OutOfMemoryError("no room")

    monkeypatch.setitem(LADDER, EAGER.name, Rung(EAGER.name, starve))
    text = f"size must let 'all heads at once' run, got {SIZE}: out of memory: no room"
    with refuses(ValueError, text):
        climb(SIZE, torch.float32, **QUICK)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_a_pair_on_cuda():
    size = AttentionSize(2, 12, 1024, 64)
    options = {"budget": 0.1, "flush": True}
    first, second = measure_pair("g", EAGER, FLASH, size, torch.bfloat16, "cuda", **options)
    matrix = 2 * 12 * 1024**2 * 2
    assert first["peak_bytes"] > matrix > second["peak_bytes"]
