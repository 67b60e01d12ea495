import copy
import math
import re

import numpy as np
import pytest
import torch

from hydra_lib.timing import (
    Comparison,
    EmptyWorkloadError,
    FailedCheckError,
    NoCudaError,
    NothingToWaitForError,
    bench,
    compare,
)
from hydra_lib.timing import measurement as timing
from hydra_lib.timing import sampling as stopwatch
from hydra_lib.timing.accuracy import leaves
from tests.refusal import refuses

QUICK = {"budget": 0.002}
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
without_cuda = pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")


def exactly(text):
    return f"^{re.escape(text)}$"


def two(dtype=torch.float32, n=17):
    return torch.randn(2, 13, n, generator=torch.Generator().manual_seed(0)).to(dtype).unbind()


class Counted:
    """Counts its calls."""

    def __init__(self, fn):
        self.fn, self.calls = fn, 0

    def __call__(self, *args):
        self.calls += 1
        return self.fn(*args)


@pytest.fixture
def fake_seconds(monkeypatch):
    """Every call takes ``fn.seconds``, whatever the machine does."""
    monkeypatch.setattr(timing, "stopwatch", lambda *_: lambda fn, args: fn.seconds(*args))


# bench


def test_bench_reports_quantiles_and_settings():
    a, b = two()
    t = bench(torch.add, a, b, flops=221, bytes=2652, **QUICK)
    assert 0 < t.p20 <= t.p50 <= t.p80 < math.inf
    assert t.samples >= 5
    assert t.spread >= 0
    assert (t.dtype, t.flush, t.flops, t.bytes) == ("float32", False, 221, 2652)


def test_bench_gives_quantiles_of_the_samples(fake_seconds):
    times = iter([9.0] + [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])  # the first is the warm-up's

    def fn():
        return 0

    fn.seconds = lambda: next(times)
    t = bench(fn, budget=0)
    assert (t.p20, t.p50, t.p80, t.samples) == (pytest.approx(1.8), 3.0, pytest.approx(4.2), 5)
    assert t.spread == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("fn", "dtype"),
    [
        (lambda: torch.ones(3, dtype=torch.bfloat16), "bfloat16"),
        (lambda: np.ones(3, dtype=np.float32), "float32"),
        (lambda: sum(i * 0.5 for i in range(9)), "float64"),
        (lambda: [[1, 2], [3, 4]], "int64"),
        (lambda: {"weights": torch.ones(2), "loss": 1.0}, "float32"),
    ],
)
def test_bench_times_torch_numpy_and_python(fn, dtype):
    assert bench(fn, **QUICK).dtype == dtype


def test_every_call_gets_the_arguments():
    seen = []
    bench(lambda x, y: seen.append((x, y)) or y, 7, 1.0, budget=0)
    assert seen == [(7, 1.0)] * 7  # checked, warm, timed five times


def test_caches_are_flushed_when_asked(monkeypatch):
    monkeypatch.setattr(stopwatch, "FLUSH_BYTES", 4096)
    swept = []
    real = torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda *a, **k: swept.append(real(*a, **k)) or swept[-1])
    assert bench(lambda: 1.0, flush=True, budget=0).flush
    assert swept.pop().tolist() == [6.0] * 1024  # one warm call, five timed
    assert compare(abs, math.fabs, (1.0,), flush=True, budget=0).candidate.flush
    assert swept.pop().tolist() == [12.0] * 1024
    assert not bench(lambda: 1.0, budget=0).flush
    assert not compare(abs, math.fabs, (1.0,), budget=0).reference.flush
    assert not swept


def test_work_that_ran_elsewhere_than_asked_is_not_timed():
    fn = Counted(torch.clone)
    for call in (bench, lambda fn, x, device: compare(fn, fn, (x,), device=device)):
        with pytest.raises(ValueError, match=r"^device must be cpu, where it ran, got cpu:1$"):
            call(fn, torch.ones(2), device="cpu:1")
    assert fn.calls == 1 + 3  # the checks, and no sample


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda fn: bench(fn, torch.ones(3, 0)),
            EmptyWorkloadError,
            "an argument of fn must have an element, got shape (3, 0)",
        ),
        (
            lambda fn: compare(fn, fn, (np.ones((0, 2)),)),
            EmptyWorkloadError,
            "an argument of candidate must have an element, got shape (0, 2)",
        ),
        (
            lambda fn: bench(fn, 1.0, budget=math.nan),
            ValueError,
            "budget must be finite and at least 0, got nan",
        ),
        (
            lambda fn: bench(fn, 1.0, budget=math.inf),
            ValueError,
            "budget must be finite and at least 0, got inf",
        ),
        (
            lambda fn: bench(fn, 1.0, device="meta"),
            ValueError,
            "device must be cpu or cuda, got meta",
        ),
        (
            lambda fn: compare(fn, fn, (1.0,), tolerance=-0.1),
            ValueError,
            "tolerance must be finite and at least 0, got -0.1",
        ),
        (
            lambda fn: bench(fn, 1.0, flops=-1),
            ValueError,
            "flops must be finite and at least 0, got -1",
        ),
        (
            lambda fn: compare(fn, fn, (1.0,), bytes=math.nan),
            ValueError,
            "bytes must be finite and at least 0, got nan",
        ),
        (lambda fn: compare(fn, fn, [1.0]), TypeError, "inputs must be a tuple, got list"),
        (lambda fn: bench(3), TypeError, "fn must be a function, got 3"),
        (lambda fn: compare(fn, None, (1,)), TypeError, "candidate must be a function, got None"),
        (
            lambda fn: bench(fn, 1.0, budget=None),
            TypeError,
            "budget must be a number, got NoneType",
        ),
        (
            lambda fn: bench(fn, 1.0, device="gpu"),
            ValueError,
            "device must be cpu or cuda, got 'gpu'",
        ),
    ],
)
def test_bad_input_is_refused_before_any_call(call, error, text):
    fn = Counted(torch.clone)
    with refuses(error, text):
        call(fn)
    assert fn.calls == 0


@without_cuda
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_cuda_timing_without_cuda_is_refused_before_any_call(device):
    fn = Counted(torch.clone)
    text = f"device must be one of 0 CUDA devices that torch sees, got {device}"
    for call in (bench, lambda fn, x, device: compare(fn, fn, (x,), device=device)):
        with pytest.raises(NoCudaError, match=exactly(text)):
            call(fn, torch.ones(2), device=device)
    assert fn.calls == 0


@pytest.mark.parametrize(
    ("fn", "error", "text"),
    [
        (
            lambda: None,
            NothingToWaitForError,
            "fn must return a tensor, array or number, got NoneType",
        ),
        (
            lambda: torch.ones(0),
            EmptyWorkloadError,
            "a result of fn must have an element, got shape (0,)",
        ),
        (
            lambda: torch.ones(2, device="meta"),
            ValueError,
            "fn must work on the CPU or on one CUDA device, got meta",
        ),
    ],
)
def test_work_that_cannot_be_timed_is_called_once(fn, error, text):
    fn = Counted(fn)
    with pytest.raises(error, match=exactly(text)):
        bench(fn)
    assert fn.calls == 1


# compare


def test_ratio_is_reference_over_candidate(fake_seconds):
    def reference(x):
        return x + x

    def candidate(x):
        return 2 * x

    weather = iter([1.0, 1.0] + [1.0, 1.0, 7.0, 7.0, 2.0, 2.0, 9.0, 9.0, 3.0, 3.0])
    reference.seconds = lambda x: 6 * next(weather)
    candidate.seconds = lambda x: 2 * next(weather)
    c = compare(reference, candidate, (torch.ones(3),), budget=0)
    assert (c.p20, c.p50, c.p80, c.spread) == (3.0, 3.0, 3.0, 0.0)
    assert (c.reference.p50, c.candidate.p50) == (18.0, 6.0)
    assert c.reference.samples == c.candidate.samples == 5


def test_compare_gives_the_error_of_each():
    x = torch.ones(5)

    def near(x):
        return x * (1 + 2**-22)  # two units in the last place of float32

    c = compare(torch.clone, near, (x,), **QUICK)
    assert isinstance(c, Comparison)
    assert c.reference_error == 0.0
    assert c.candidate_error == 2.0**-22
    c = compare(near, torch.clone, (x,), exact=torch.clone, **QUICK)
    assert c.reference_error == 2.0**-22
    assert c.candidate_error == 0.0


@pytest.mark.parametrize(
    ("candidate", "text"),
    [
        (
            lambda a, b: 2 * (a @ b.mT),
            "candidate is wrong: error 1.00e+00 against float64, allowed 3.81e-06",
        ),
        (
            lambda a, b: (a @ b.mT) / 0.0,
            "candidate is wrong: error inf against float64, allowed 3.81e-06",
        ),
        (
            lambda a, b: (a @ b.mT) * math.nan,
            "candidate is wrong: error nan against float64, allowed 3.81e-06",
        ),
        (
            lambda a, b: a @ b.mT[:, :1],
            "candidate returned shape (13, 1), the float64 computation (13, 13)",
        ),
        (
            lambda a, b: (a @ b.mT, a),
            "candidate returned 2 results, the float64 computation 1",
        ),
        (
            lambda a, b: a.double() @ b.double().mT,
            "candidate returned float64, reference float32",
        ),
    ],
)
def test_a_wrong_candidate_is_not_timed(candidate, text):
    reference, candidate = Counted(lambda a, b: a @ b.mT), Counted(candidate)
    with pytest.raises(FailedCheckError, match=exactly(text)):
        compare(reference, candidate, two())
    assert candidate.calls == 1
    assert reference.calls == 2  # once in float64


def test_a_wrong_reference_is_not_timed():
    text = "reference is wrong: error 5.00e-01 against float64, allowed 3.81e-06"
    with pytest.raises(FailedCheckError, match=exactly(text)):
        compare(lambda x: x / 2, lambda x: x / 2, (torch.ones(3),), exact=torch.clone)


def test_the_tolerance_is_the_callers():
    def near(x):
        return x * 1.001

    c = compare(torch.clone, near, (torch.ones(3),), tolerance=0.002, **QUICK)
    assert c.candidate_error == pytest.approx(0.001, rel=1e-3)
    with pytest.raises(FailedCheckError):
        compare(torch.clone, near, (torch.ones(3),), tolerance=0.0005)


def test_a_candidate_does_not_find_the_answer_in_a_shared_buffer():
    a, b = two(torch.float64)
    out = torch.zeros(13, 13, dtype=torch.float64)

    def reference(a, b):
        return torch.mm(a, b.mT, out=out)

    with pytest.raises(FailedCheckError, match=r"candidate is wrong: error 1\.00e\+00"):
        compare(reference, lambda a, b: out, (a, b))  # does nothing
    with pytest.raises(FailedCheckError, match=r"candidate is wrong: error 1\.00e\+00"):
        compare(reference, lambda a, b: torch.mm(a, 2 * b.mT, out=out), (a, b))

    def honest(a, b):
        return torch.mm(b, a.mT).mT.contiguous()

    assert compare(reference, honest, (a, b), **QUICK).candidate_error < 1e-14


def test_a_reference_that_leaves_float64_is_refused():
    text = "exact must be float64, complex128 or integers, got torch.float32"
    with pytest.raises(TypeError, match=exactly(text)):
        compare(lambda x: x.float(), torch.clone, (torch.ones(3),))


def first_of(fn):
    return lambda within: fn(leaves(within)[0])


def test_a_reference_that_keeps_its_dtype_needs_an_exact_one():
    layer = torch.nn.Linear(5, 3)
    both, x = (
        (layer, lambda x: torch.nn.functional.linear(x, layer.weight, layer.bias)),
        torch.randn(7, 5),
    )
    says = r"^reference in float64 raised RuntimeError: .* exact must be a copy of it in float64$"
    with pytest.raises(FailedCheckError, match=says):
        compare(*both, (x,), **QUICK)
    exact = copy.deepcopy(layer).double()
    assert compare(*both, (x,), exact=exact, **QUICK).candidate_error < 1e-6


def test_a_function_that_writes_to_its_inputs():
    """A right answer, and every later call would start from another input."""
    q, k = two()

    def halved(q, k):
        q /= 2
        return q @ k.mT

    def exact(q, k):
        return q @ k.mT / 2

    text = "candidate changed its inputs: each call would do something else"
    with pytest.raises(FailedCheckError, match=exactly(text)):
        compare(exact, halved, (q, k), **QUICK)
    text = "reference changed its inputs: each call would do something else"
    with pytest.raises(FailedCheckError, match=exactly(text)):
        compare(halved, exact, (q, k), exact=exact, **QUICK)
    for within in (lambda x: [x], lambda x: {"x": (x,)}):
        with pytest.raises(FailedCheckError, match=r"^candidate changed its inputs: "):
            compare(first_of(torch.neg), first_of(torch.neg_), (within(q),), **QUICK)
        assert compare(*[first_of(torch.neg)] * 2, (within(q),), **QUICK).candidate_error == 0
    with pytest.raises(FailedCheckError, match=r"^candidate changed its inputs: "):
        compare(np.negative, lambda x: np.negative(x, out=x), (np.ones((3, 5)),), **QUICK)
    with torch.inference_mode():
        plain = torch.ones(3, 3)
        assert compare(torch.neg, torch.neg, (plain,), **QUICK).candidate_error == 0


def test_compare_numpy_python_and_gradients():
    x = np.linspace(0, 1, 11)
    assert compare(np.sum, lambda x: sum(x.tolist()), (x,), **QUICK).candidate_error < 1e-15
    q = torch.linspace(-1, 1, 7, requires_grad=True)

    def grad(q):
        return torch.autograd.grad(torch.sin(q).sum(), q)

    c = compare(grad, lambda q: torch.cos(q), (q,), **QUICK)
    assert c.candidate_error < 1e-6


# On a GPU


@pytest.mark.gpu
@needs_cuda
def test_cuda_time_is_the_kernels_and_not_the_launch():
    a = torch.randn(8192, 8192, device="cuda")
    t = bench(torch.mm, a, a, flops=2 * 8192**3)
    assert t.environment["device"] == torch.cuda.get_device_name()
    # Without waiting, a launch of about 10 µs would make it 100 PFLOP/s.
    assert 0 < t.flops / t.p50 < 5e15


@pytest.mark.gpu
@needs_cuda
def test_cuda_compare_with_flush_and_tf32_refused():
    a, b = torch.randn(2, 2048, 2048, device="cuda")
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("highest")
        compare(torch.mm, lambda a, b: (b.mT @ a.mT).mT, (a, b), flush=True, budget=0.2)
        torch.set_float32_matmul_precision("high")
        with pytest.raises(FailedCheckError):
            compare(torch.mm, torch.mm, (a, b))
    finally:
        torch.set_float32_matmul_precision(before)
