import json
import re
import time
from contextlib import contextmanager
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch

from hydra_lib.timing import mistakes
from hydra_lib.timing.environment import NoCudaError
from hydra_lib.timing.mistakes import MISTAKES, Mistake, clock, make_all, work
from hydra_lib.timing.mistakes._mistake import repeat
from tests.refusal import refuses

SMALL = {
    "no synchronize": {"n": 16, "budget": 0},
    "cold start": {"n": 16},
    "allocation": {"size": 4096, "budget": 0},
    "cached inputs": {"size": 4096, "budget": 0},
    "one sample": {"n": 16, "blocks": 3},
    "unpaired": {"n": 16, "rounds": 3},
    "threads": {"n": 16, "budget": 0},
}


LONG = {"cold start": pytest.mark.long}  # it starts Python


@pytest.mark.parametrize("name", [pytest.param(n, marks=LONG.get(n, ())) for n in SMALL])
def test_every_mistake_can_be_made_on_a_cpu(name):
    threads = torch.get_num_threads()
    found = MISTAKES[name](**SMALL[name])
    assert found.name == name
    assert found.wrong > 0
    assert found.right > 0
    assert found.factor == found.wrong / found.right
    assert found.unit == ("ratio" if name in ("one sample", "unpaired") else "s")
    assert found.wrong_way != found.right_way
    record = asdict(found)
    assert json.loads(json.dumps(record)) == record
    assert torch.get_num_threads() == threads


def test_tf32_is_of_cuda_only():
    text = "device must be CUDA, where this mistake is made, got cpu"
    with pytest.raises(NoCudaError, match=f"^{text}$"):
        MISTAKES["TF32"]("cpu")


def test_tf32_is_of_no_old_gpu(monkeypatch):
    monkeypatch.setattr(work, "chosen", lambda device, name, n: (torch.device("cuda"), n))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    text = "device must have TF32, compute capability 8.0 or later, got 7.5"
    with pytest.raises(ValueError, match=f"^{text}$"):
        MISTAKES["TF32"]("cuda")


def test_threads_are_of_the_cpu_only():
    with pytest.raises(ValueError, match=r"^device must be .* got cuda$"):
        MISTAKES["threads"]("cuda")


@pytest.mark.parametrize("name", ["TF32", *(n for n in SMALL if "budget" in SMALL[n])])
def test_a_budget_is_refused_before_any_work(name, monkeypatch):
    monkeypatch.setattr(torch, "ones", lambda *_, **__: pytest.fail("work was prepared"))
    monkeypatch.setattr(torch, "randn", lambda *_, **__: pytest.fail("work was prepared"))
    with refuses(ValueError, "budget must be finite and at least 0, got -1"):
        MISTAKES[name]("cpu", budget=-1)


@pytest.mark.parametrize("name", ["allocation", "cached inputs"])
def test_less_than_a_number_is_refused(name):
    with refuses(ValueError, "size must be an integer of at least 4, got 3"):
        MISTAKES[name](size=3)
    assert MISTAKES[name](size=4, budget=0).right > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
@pytest.mark.parametrize("name", [n for n in MISTAKES if n != "threads"])
def test_cuda_without_cuda(name):
    text = "device must be one of 0 CUDA devices that torch sees, got cuda"
    with pytest.raises(NoCudaError, match=f"^{re.escape(text)}$"):
        MISTAKES[name]("cuda")
    with pytest.raises(NoCudaError):
        make_all("cuda")


def test_all_of_them_and_the_reasons(monkeypatch):
    def fine(device):
        return Mistake("fine", "a", "b", 1.0, 2.0)

    def broken(device):
        raise RuntimeError("no such clock")

    for name in list(MISTAKES):
        if name != "TF32":
            monkeypatch.delitem(mistakes.MISTAKES, name)
    monkeypatch.setitem(MISTAKES, "fine", fine)
    monkeypatch.setitem(MISTAKES, "broken", broken)
    made, reasons = make_all()
    assert [x.name for x in made] == ["fine"]
    assert reasons == {
        "TF32": "device must be CUDA, where this mistake is made, got cpu",
        "broken": "no such clock",
    }


def pretend(monkeypatch, *runs):
    left = [np.array(pairs, dtype=float).T for pairs in runs]
    monkeypatch.setattr(clock, "_pairs", lambda *_: left.pop(0))


def test_medians_do_not_see_a_stray_sample(monkeypatch):
    # In every block of 20 the first three samples of one side are off by 4, in either direction.
    pretend(monkeypatch, [(4.0, 1)] * 3 + [(1.0, 1)] * 17 + [(1.0, 4)] * 3 + [(2.0, 2)] * 17)
    found = clock.one_sample(blocks=2)
    assert found.wrong == pytest.approx(4.0)
    assert found.right == pytest.approx(1.0)
    pretend(monkeypatch, [(1.0, 1.25)] * 40)
    found = clock.one_sample(blocks=2)
    assert found.wrong == found.right == pytest.approx(1.25)


def test_pairs_do_not_see_the_neighbour(monkeypatch):
    # With a neighbour everything takes twice as long; b takes 1.25 times as long as a.
    said = []

    @contextmanager
    def neighbours(device):
        said.append(f"in {device}")
        yield
        said.append("out")

    monkeypatch.setattr(clock, "neighbours", neighbours)
    pretend(monkeypatch, [(1.0, 1.25)] * 3, [(2.0, 2.5)] * 3)
    found = clock.unpaired(rounds=3)
    assert found.wrong == pytest.approx(2.5)  # a in the first run against b in the second
    assert found.right == pytest.approx(1.25)
    assert said == ["in cpu", "out"]


def test_neighbours_work_and_leave(monkeypatch):
    monkeypatch.setattr(clock.os, "cpu_count", lambda: 1)
    started, start = [], clock.subprocess.Popen
    keep = lambda *a, **k: started.append(start(*a, **k)) or started[-1]  # noqa: E731
    monkeypatch.setattr(clock.subprocess, "Popen", keep)
    with clock.neighbours(torch.device("cpu")):
        busy, deadline = psutil.Process(started[0].pid), time.monotonic() + 20
        before = busy.cpu_times().user
        while busy.cpu_times().user < before + 0.1:  # one that sleeps never gets there
            assert time.monotonic() < deadline
    assert started[0].poll() is not None


def test_fresh_process_reports_its_first_call(monkeypatch):
    class Done:
        stdout = "a word of greeting\n" + json.dumps([9.0, 4.0] + [1.0] * 19) + "\n"

    asked = []
    monkeypatch.setattr(clock.subprocess, "run", lambda command, **_: asked.append(command) or Done)
    found = clock.cold_start(n=5)
    assert (found.wrong, found.right) == (9.0, 1.0)
    assert asked[0][-3:] == ["cpu", "5", str(torch.get_num_threads())]


def test_the_answer_is_waited_for_between_the_two_looks_at_the_clock(monkeypatch):
    said = []

    class Pool:
        def __init__(self, workers):
            self.workers = workers

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def submit(self, fn, *args, out):
            said.append("submit")
            return self

        def result(self):
            said.append("result")

    monkeypatch.setattr(clock, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(clock.time, "perf_counter", lambda: said.append("look") or float(len(said)))
    monkeypatch.setattr(clock, "repeat", lambda once, *_: [once()])
    found = clock.no_synchronize(n=4)
    assert said == ["look", "submit", "look", "result", "look"]
    assert (found.wrong, found.right) == (2.0, 4.0)


def test_the_number_of_threads_is_put_back():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert MISTAKES["threads"](**SMALL["threads"]).wrong_way.startswith("all threads (")
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_cached_inputs_differ_in_what_comes_before(monkeypatch):
    said = []

    class Array:
        def __init__(self, *_, **__):
            pass

        def sum(self):
            said.append("read")

        def add_(self, _):
            said.append("sweep")

    def clock(fn, arguments):
        said.append("clock")
        fn(*arguments)
        return float(len(said))

    monkeypatch.setattr(work.torch, "ones", Array)
    monkeypatch.setattr(work.torch, "zeros", Array)
    monkeypatch.setattr(work, "stopwatch", lambda *_, **__: clock)
    monkeypatch.setattr(work, "repeat", lambda once, *_: [once()])
    found = work.cached_inputs(size=4096)
    assert said == ["read", "clock", "read", "sweep", "clock", "read"]
    assert (found.wrong, found.right) == (3.0, 6.0)


def spied(monkeypatch):
    """What is timed, and on how many threads; the times are 1, 2, …"""
    timed = []

    def bench(fn, *args, **_):
        timed.append((lambda: fn(*args), torch.get_num_threads()))
        return SimpleNamespace(p50=float(len(timed)))

    monkeypatch.setattr(work, "bench", bench)
    return timed


def test_allocation_writes_to_new_memory_and_to_memory_that_is_there(monkeypatch):
    timed = spied(monkeypatch)
    found = work.allocation(size=4096)
    assert (found.wrong, found.right) == (1.0, 2.0)
    (fresh, _), (there, _) = timed
    results = [fresh(), fresh(), there(), there()]  # all kept, so that no memory comes back
    places = [x.data_ptr() for x in results]
    assert len(set(places)) == 3
    assert places[2] == places[3]
    assert all((x == 2).all() for x in results)


def test_threads_are_all_and_then_one(monkeypatch):
    timed = spied(monkeypatch)
    monkeypatch.setattr(work.os, "cpu_count", lambda: 3)
    found = work.threads(n=4)
    assert [threads for _, threads in timed] == [3, 1]
    assert (found.wrong, found.right) == (1.0, 2.0)
    assert found.wrong_way == "all threads (3)"


def test_two_calls_warm_up():
    found = iter(range(100))
    assert repeat(lambda: next(found), torch.device("cpu"), 0) == [2, 3, 4, 5, 6]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_mistakes_on_cuda():
    before = torch.get_float32_matmul_precision()
    made, reasons = make_all("cuda")
    assert {x.name for x in made} == set(MISTAKES) - {"threads"}
    assert set(reasons) == {"threads"}
    assert torch.get_float32_matmul_precision() == before
    found = {x.name: x for x in made}
    assert found["TF32"].more["wrong_error"] > 10 * found["TF32"].more["right_error"]
