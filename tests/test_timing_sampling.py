import contextlib
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib.timing import sampling as module
from hydra_lib.timing.sampling import (
    EmptyWorkloadError,
    NothingToWaitForError,
    device_of,
    first_call,
    quantiles,
    sample,
    spread,
    stopwatch,
)

CPU = torch.device("cpu")


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the test moves: ``clock.now`` in seconds."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    return clock


def taking(clock, seconds):
    def fn(*_):
        clock.now += seconds
        return seconds

    return fn


def by_result(fn, arguments):
    """A stopwatch that believes the function."""
    return fn(*arguments)


# What can be timed


def test_first_call_collects_devices_of_arguments_and_results():
    devices = set()
    x, y = torch.ones(2), torch.ones(2, device="meta")
    results = first_call("f", lambda *_: (x, 3), (y,), devices)
    assert results[0] is x
    assert results[1:] == [3]
    assert devices == {CPU, torch.device("meta")}


@pytest.mark.parametrize(
    ("value", "kind"), [(None, "NoneType"), ([], "list"), ("done", "str"), ({"x": None}, "dict")]
)
def test_a_function_that_returns_nothing_to_wait_for(value, kind):
    text = f"f must return a tensor, array or number, got {kind}"
    with pytest.raises(NothingToWaitForError, match=f"^{text}$"):
        first_call("f", lambda: value, (), set())


def test_zero_size_work_is_refused_before_it_starts():
    called = []
    text = "an argument of f must have an element, got shape (3, 0)"
    with pytest.raises(EmptyWorkloadError, match=f"^{re.escape(text)}$"):
        first_call("f", called.append, (torch.ones(2), np.ones((3, 0))), set())
    assert not called
    text = "a result of f must have an element, got shape (0, 2)"
    with pytest.raises(EmptyWorkloadError, match=f"^{re.escape(text)}$"):
        first_call("f", lambda: (1, torch.ones(0, 2)), (), set())


def test_device_of():
    gpu = torch.device("cuda:1")
    assert device_of(set(), None) == CPU
    assert device_of({CPU}, "cpu") == CPU
    assert device_of({CPU, gpu}, None) == gpu
    assert device_of({gpu}, "cuda") == gpu
    assert device_of({gpu}, gpu) == gpu


@pytest.mark.parametrize(
    ("used", "asked", "text"),
    [
        (["meta"], None, "fn must work on the CPU or on one CUDA device, got meta"),
        (
            ["cuda:0", "cpu", "cuda:1"],
            None,
            "fn must work on the CPU or on one CUDA device, got cuda:0, cuda:1",
        ),
        (["cpu"], "cuda", "device must be cpu, where it ran, got cuda"),
        (["cpu", "cuda:0"], "cpu", "device must be cuda:0, where it ran, got cpu"),
        (["cuda:0"], "cuda:1", "device must be cuda:0, where it ran, got cuda:1"),
    ],
)
def test_device_of_refuses(used, asked, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        device_of({torch.device(name) for name in used}, asked)


# One call


def test_cpu_seconds_hold_the_call_and_not_the_freeing(clock):
    class Result:
        def __del__(self):
            clock.now += 100

    def fn(seconds):
        clock.now += seconds
        return Result()

    assert stopwatch(CPU, flush=False)(fn, (3.0,)) == 3.0
    assert clock.now == 103.0  # it was freed, after the clock had stopped


class FakeCuda:
    """Stands in for torch.cuda where there is none: writes down the order of events."""

    def __init__(self, monkeypatch):
        self.log = []
        for name in ("device", "Event", "synchronize"):
            monkeypatch.setattr(torch.cuda, name, getattr(self, name))
        monkeypatch.setattr(torch, "zeros", self.zeros)

    def device(self, device):
        return contextlib.nullcontext()

    def Event(self, enable_timing):
        assert enable_timing

        def record():
            return self.log.append("record")

        return SimpleNamespace(record=record, elapsed_time=self.elapsed_time)

    def elapsed_time(self, end):
        self.log.append("elapsed")
        return 250.0

    def synchronize(self):
        self.log.append("synchronize")

    def zeros(self, n, device):
        assert n * 4 == module.FLUSH_BYTES
        return SimpleNamespace(add_=lambda _: self.log.append("flush"))


@pytest.mark.parametrize("flush", [False, True])
def test_cuda_seconds_are_between_events_and_waited_for(monkeypatch, flush):
    cuda = FakeCuda(monkeypatch)
    seconds = stopwatch(torch.device("cuda:0"), flush)
    for _ in range(2):
        assert seconds(cuda.log.append, ("work",)) == 0.25  # elapsed_time is in milliseconds
    once = ["record", "work", "record", "synchronize", "elapsed"]
    assert cuda.log == 2 * (["flush"] * flush + once)


def test_cpu_flush_is_not_in_the_time(monkeypatch, clock):
    scrap = SimpleNamespace(add_=lambda _: taking(clock, 50.0)())
    monkeypatch.setattr(torch, "zeros", lambda n, device: scrap)
    assert stopwatch(CPU, flush=True)(taking(clock, 2.0), ()) == 2.0
    assert clock.now == 52.0


# Many calls


def test_spread_by_hand():
    assert spread(np.arange(20.0) + 90.5) == 4.5 / 100  # 6th to 15th of 20, median 100
    assert spread(np.array([1.0, 2.0, 4.0, 6.0, 9.0])) == 1.0  # all of 5: (9 − 1) / 2 / 4
    assert spread(np.full(7, 3.0)) == 0.0


@pytest.mark.parametrize("n", [*range(6, 60), 101, 400, 759])
def test_spread_covers_the_median(n):
    values = np.arange(float(n)) + n
    width = round(2 * spread(values) * np.median(values))  # in ranks, since the values are ranks
    low = (n - 1 - width) // 2

    def coverage(low):
        # The median lies between the order statistics if the count of values below it does.
        return sum(math.comb(n, k) for k in range(low + 1, n - low)) / 2**n

    assert coverage(low) >= 0.95
    assert coverage(low + 2) < 0.95  # at most one rank wider than it must be


@given(st.lists(st.floats(1e-6, 1e3), min_size=5, max_size=60), st.randoms())
def test_quantiles_are_ordered_and_do_not_depend_on_the_order(values, random):
    p20, p50, p80, width = quantiles(np.array(values))
    assert min(values) <= p20 <= p50 <= p80 <= max(values)
    assert width >= 0
    shuffled = random.sample(values, len(values))
    assert quantiles(np.array(shuffled)) == (p20, p50, p80, width)


def test_sampling_stops_when_the_spread_is_known(clock):
    table = sample([taking(clock, 1.0)], (), by_result, budget=100.0)
    assert table.tolist() == [[1.0] * 20]
    assert clock.now == 30.0  # ten seconds of them to warm up


def test_sampling_fills_a_tenth_of_the_budget(clock):
    table = sample([taking(clock, 1.0)], (), by_result, budget=1000.0)
    assert table.shape == (1, 100)


def test_sampling_goes_on_while_the_spread_is_wide(clock):
    rng = np.random.default_rng(0)

    def fn():
        clock.now += 0.01
        return rng.uniform(0.8, 1.2)

    table = sample([fn], (), by_result, budget=1e4 * 0.01)
    assert 1000 < table.shape[1] < 10_000
    assert spread(table[0]) <= 0.01
    assert spread(table[0, : table.shape[1] // 2]) > 0.01


@pytest.mark.parametrize(("seconds", "n"), [(1.0, 10), (0.25, 40), (60.0, 5)])
def test_sampling_stops_when_the_budget_is_over(clock, monkeypatch, seconds, n):
    monkeypatch.setattr(module, "PRECISION", -1)  # which no spread is
    assert sample([taking(clock, seconds)], (), by_result, budget=10.0).shape == (1, n)


def test_two_functions_stop_by_their_ratio(clock):
    rng = np.random.default_rng(0)
    weather = iter(np.repeat(rng.uniform(1, 9, 200), 2))  # alike for both, another every round

    def fn():
        clock.now += 1.0
        return next(weather)

    table = sample([fn, lambda: fn() / 4], (), by_result, 300.0)
    assert table.shape == (2, 20)
    assert len(set(table[0])) == 20
    assert set(table[0] / table[1]) == {4.0}


def test_pairs_share_their_arguments_and_turn_round_every_time():
    calls = []
    fns = [lambda x: calls.append(f"r{x}") or 1.0, lambda x: calls.append(f"c{x}") or 1.0]
    sample(fns, (7,), by_result, budget=0)
    warm, timed = calls[:2], calls[2:]
    assert warm == ["r7", "c7"]
    assert timed == ["r7", "c7", "c7", "r7"] * 2 + ["r7", "c7"]
