"""Any public callable, any arguments: an answer, or one error that says what was wrong with which.

Public is what the package, its rooms and the chapters' checks export. It is found by inspection, so
that what is new joins by itself. Each parameter gets something plausible for its name, or something
strange. ``--hypothesis-profile=thorough`` calls everything oftener.
"""

import copy
import functools
import importlib
import inspect
import pkgutil
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from torch import nn

import hydra_lib
from hydra_lib.exercises.verdict import CHAPTERS
from hydra_lib.heads import HeadConfig
from hydra_lib.matmul import STRASSEN, BilinearAlgorithm, Tally, naive
from hydra_lib.multihead import MultiHeadAttention
from hydra_lib.parallel import Cost, Partial
from hydra_lib.records import record
from hydra_lib.rotary import RotaryAttention
from hydra_lib.timing import (
    LADDER,
    AttentionSize,
    Ceilings,
    Comparison,
    FailedCheckError,
    Timing,
    roofline,
)
from hydra_lib.toy import Reader, ToyModel, ablate, corpus, stored
from hydra_lib.widgets import head_viewer
from hydra_lib.widgets._base import Data, Setting, Text, Widget
from tests.refusal import unhooked


def seeded():
    return torch.Generator().manual_seed(0)


LAYER = MultiHeadAttention(HeadConfig(4, 2), generator=seeded())
MODEL = ToyModel(HeadConfig(4, 2), generator=seeded())
# What a method is called on. A class that is not here has its constructor called, and no method.
OBJECTS = {
    HeadConfig: lambda: HeadConfig(4, 2),
    MultiHeadAttention: lambda: LAYER,
    RotaryAttention: lambda: RotaryAttention(HeadConfig(4, 2), generator=seeded()),
    ToyModel: lambda: MODEL,
    Reader: Reader,
    AttentionSize: lambda: AttentionSize(1, 2, 3, 4),
    BilinearAlgorithm: lambda: STRASSEN,
}
CHECKS = [f"hydra_lib.exercises.{chapter}" for chapter in CHAPTERS]


def rooms():
    """The modules at the top, the packages, and the modules of checks; others are their insides."""
    for _, name, package in pkgutil.walk_packages(hydra_lib.__path__, "hydra_lib."):
        if "._" not in name and (package or name.count(".") == 1 or name in CHECKS):
            yield importlib.import_module(name)


def public():
    """Functions, constructors, and methods of the objects above: the name, and how to get it."""
    seen = set()
    for module in rooms():
        for name in module.__all__:
            try:
                thing = getattr(module, name)
            except ImportError:  # a room that needs a later torch than the core
                continue
            told = inspect.isclass(thing) and issubclass(thing, tuple | Exception)
            if not callable(thing) or told or thing in seen:
                continue
            seen.add(thing)
            yield f"{module.__name__}.{name}", thing, lambda thing=thing: thing
            for method in vars(thing) if thing in OBJECTS else ():
                if (
                    inspect.isroutine(bound := getattr(OBJECTS[thing](), method))
                    and method[0] != "_"
                ):
                    yield (
                        f"{module.__name__}.{name}.{method}",
                        bound,
                        lambda thing=thing, method=method: getattr(OBJECTS[thing](), method),
                    )


CALLABLES = {name: (thing, get) for name, thing, get in public()}

x, ids = torch.randn(2, 3, 4, generator=seeded()), torch.tensor([[0, 9, 17], [0, 39, 20]])
rows, square = torch.zeros(2, 3), torch.randn(2, 3, 3, generator=seeded())
allowed, flags, sizes = torch.ones(3, 3).bool().tril(), [False, True], [1, 2, 4]
heads, matrix = torch.randn(2, 2, 3, 4, generator=seeded()), x[0]
part, rung = Partial(rows, rows + 1, x), LADDER["one head at a time"]
timed = Timing(1.0, 2.0, 3.0, 0.1, 9, "float32", False, 1, 1, {"device": "EPYC"})
measured = record("strassen")
row = measured["rows"][0]
PLAUSIBLE = {
    "k v query key value values output grad_output": [x, matrix],
    "q": [x, matrix, heads],
    "causal bias recompute return_weights flush backward training share": flags,
    "split_queries": flags,
    "length width d_model n_heads d_k d_v queries keys batch block steps rows": sizes,
    "columns tokens ranks element m n B h T head_dim levels leaf digits": sizes,
    "index source target seed position product highlight": [0, 1],
    "mu_q mu_k sigma_q sigma_k noise rate flops bytes seconds bandwidth latency": [0, 0.5, 1],
    "budget": [0],
    "error tolerance timeout passes": [0, 0.5, 1],
    "ids inputs targets": [ids, (x, x)],
    "x": [x, torch.randn(2, 2, 3, 4)],
    "scores": [x, square, square.double(), x.masked_fill(x > 0, -torch.inf), square[0]],
    "weights": [square],
    "mask": [None, allowed, allowed[:1]],
    "tau": [0, 0.5, 1.0, torch.inf, torch.ones(2, 3, 1)],
    "temperature": [None, 0, 0.5, torch.inf],
    "log_z": [rows],
    "lengths": [torch.tensor([1, 3]), torch.tensor([1, 3], dtype=torch.uint8)],
    "symbols": [40],
    "heads": [0, 1, torch.randn(2, 2, 3, 2)],
    "head": [0, 1],
    "outputs": [torch.randn(2, 2, 3, 2)],
    "config": [HeadConfig(4, 2)],
    "generator": [seeded()],
    "module": [nn.MultiheadAttention(4, 2)],
    "layer": [0, 1, LAYER],
    "layers": sizes,
    "model": [MODEL],
    "documents": [1, 2, corpus(6, 47, seed=0)],
    "means": [None, [torch.zeros(2, 2)] * 2],
    "edit": [None, ablate(1, 0), lambda layer, heads: heads],
    "symbol": ["^", "a"],
    "text": ["", "^ab"],
    "a": [matrix, matrix.numpy(), part, [[1, 2]]],
    "b": [matrix.mT, matrix.mT.numpy(), part, [[1], [2]]],
    "out": [None, torch.empty(3, 3)],
    "matrix": [matrix.numpy()],
    "tally": [Tally()],
    "outer inner": [STRASSEN, naive(2, 1, 2)],
    "U V W": [STRASSEN.U, STRASSEN.W],
    "products": ["p1 = a11 b11", "p1 = (a11 - a12) b11; p2 = a12 b21"],
    "results": ["c11 = p1", "c11 = p1 - p2"],
    "part like": [part],
    "cost": [Cost(1.0, 2.0, 3)],
    "dtype": [torch.float32, torch.float64, torch.float16],
    "device": ["cpu", torch.device("cpu")],
    "size": [AttentionSize(1, 2, 3, 4)],
    "gradient": [heads],
    "exact": [x.double(), matrix.double(), None],
    "result": [x, matrix.double(), {}],
    "kernel reference candidate": [rung, "all at once"],
    "kernels": [("one", "two")],
    "sizes": [{"n": 4}],
    "timing": [timed],
    "pair": [Comparison(1.0, 1.0, 1.0, 0.1, timed, timed, 0.0, 0.0)],
    "ceilings": [Ceilings(timed, timed)],
    "tensors": [None, (heads,) * 4],
    "record": [None, measured, record("ladder"), {**measured, "rows": [{**row, "p50": "1"}]}],
    "records": [None, {"strassen": measured}, {"strassen": {**measured, "ceilings": {"a": 1}}}],
    "name what group": ["strassen", "ladder", "matmul", "SDPA math"],
    "groups": [None, ["square"]],
    "prefix": ["gpu-", "strassen"],
    "fig": [Figure()],
    "alt": ["a sentence"],
    "items": [("a", matrix), "@"],
    "things": [seeded, hydra_lib.trace],
}
PLAUSIBLE = {name: values for names, values in PLAUSIBLE.items() for name in names.split()}
# Where a name means something else.
lists, numbers = [[1.0, 2.0], [0.5, -1.0]], [1, 2, 5]
FITTING = {
    "aggregation.aggregate_by_loops": {"weights": [square[0]], "values": [matrix, x[1]]},
    "backward.multi_head_backward": {"layer": [LAYER]},
    "figures.graph": {
        "places": [{"a": (0, 0), "b": (1, 0)}],
        "arrows": [[("a", "b", "to", "fro")]],
    },
    "figures.shades": {"matrix": [matrix, square[0]]},
    "matmul.BilinearAlgorithm.multiply": {"a": [np.ones((4, 2))], "b": [np.ones((2, 6))]},
    "matmul.choose_levels": {"m": numbers, "k": numbers, "n": numbers},
    "matmul.naive": {"m": numbers, "k": numbers, "n": numbers},
    "matmul.triple_loop": {"a": [lists], "b": [lists]},
    "notebook.shader": {"name": ["copy", "matmul_naive"]},
    "recompute.attention_backward_recomputed": {
        n: [x] for n in ("q", "k", "v", "output", "grad_output")
    },
    "timing.exact_attention": {"q": [heads], "k": [heads], "v": [heads]},
    "timing.exact_gradients": {"q": [heads], "k": [heads], "v": [heads]},
    "timing.refusal": {"name": ["SDPA math"], "q": [heads], "k": [heads], "v": [heads]},
    "toy.ablate_by_kind": {
        "layer": [0, 1],
        "heads": [0, 1],
        "means": [[torch.zeros(6, 2, 2)] * 2],
        "ids": [ids],
        "where": [None, ids > 0],
    },
    "toy.train": {"inputs": [ids], "targets": [ids], "steps": [1, 2], "batch": [1, 2]},
    "widgets.ExplorerWidget": {
        "records": [{"strassen": measured}],
        "groups": [None, ["numpy"]],
        **{n: [None] for n in ("record", "group", "direction", "dtype", "kernel", "reference")},
        **{n: [None] for n in ("d_model", "m", "k", "n", "T", "head_dim", "B", "h", "chart")},
        "show": ["time", "speed", "ratio"],
    },
    "widgets.GuessWidget": {
        "rows": [[{"kernel": "a", "T": 4, "ratio": 0.5, "reference": "b"}]],
        "about": ["a sentence"],
        "guesses": [[[None]], [[2.0]]],
        "T": [4],
        "looked": [[False], [True]],
        "reference": ["b"],
    },
    "widgets.SentenceWidget": {
        "controls": [["rule"], ["arrows"]],
        "rule": ["mean", "attention"],
        "parts": [[1, 2, 3, 4, 5, 6, 7]],
        "future": ["masked", "zero"],
        **{n: [[[1.0, 2.0]] * 7] for n in "qk"},
        "word": [0, 6],
    },
    "widgets.TraceWidget": {
        **{n: [lists] for n in "qkv"},
        "mask": [None, [[True, False], [True, True]]],
        "temperature": [None, 0.5],
        "words": [["a", "b"]],
        "cell": ["scores.1.2"],
        "step": [1, 5],
    },
    "widgets.YourGpuWidget": {
        "records": [{"ladder": record("ladder")}],
        "measure": ["attention", "matmul"],
        "T": [64, 256],
        "h": [1, 12],
        "head_dim": [64],
        "n": [128],
        "budget": [2, 5],
        **dict.fromkeys(("no_wait", "cold", "upload", "pipeline", "one_sample"), flags),
    },
}
# Never answered here: what takes a function of the caller's, a device of its own or ranks, and what
# writes a file.
UNANSWERED = {
    *("kernels.flash_attention", "kernels.online_softmax", "kernels.tiled_matmul"),
    *("parallel.attention_over_ranks", "parallel.mesh_of_ranks", "parallel.run"),
    *("parallel.shard_heads", "records.write", "timing.bench", "timing.climb", "timing.compare"),
    *("timing.forward_and_backward", "timing.measure_ceilings", "timing.measure_pair"),
    "timing.peak_bytes",
}
STRANGE = [
    *(None, True, False, 0, -1, 3, 7, 10**12, 10**30, 10**4000, 0.0, 2.5, -0.5, 1e-320, 1e300),
    *(torch.nan, torch.inf, -torch.inf, 1j, "", "1", "scores", b"1", [], [1.0], [[1.0, 2.0]], ()),
    *({}, {"a": 1}, object(), int, len, lambda *_: None, range(3), slice(None), torch.float32),
    *(np.float32(0.5), np.float64(np.nan), np.int64(2), np.uint8(3), np.bool_(True), np.ones(3)),
    *(np.ones((3, 3)), np.ones((2, 3, 4), np.float32), np.array(2), np.array("a")),
    *(torch.tensor(2), torch.tensor(0.5), torch.tensor(True), torch.ones(0), torch.ones(2, 0)),
    *(torch.ones(3), torch.ones(4), torch.ones(3, 4), torch.ones(2, 3), torch.ones(5, 2, 3, 4)),
    *(torch.ones(2, 3, 4, dtype=dtype) for dtype in (torch.float16, torch.float64, torch.bool)),
    *(torch.ones(2, 3, 4, dtype=dtype) for dtype in (torch.int64, torch.uint8, torch.complex64)),
    *(torch.ones(2, 3, 4).to(dtype) for dtype in (torch.float8_e4m3fn, torch.uint16)),
    *(x.to("meta"), x.to_sparse(), x.mT, x[:, :2], x[..., :1], x * torch.nan, x * torch.inf),
    *(x * 3e38, x * 1e-44, x - torch.inf, ids - 9, ids[0], ids.int(), ids.to("meta"), square),
    *(nn.Linear(4, 4), nn.Parameter(x), MODEL, LAYER, RotaryAttention(HeadConfig(4, 2))),
    *(HeadConfig(3, 1), HeadConfig(10**9, 1), torch.Generator(), corpus(1, 3, seed=0)),
    *(corpus(1, 3, seed=0)._replace(job=rows), corpus(1, 3, seed=0)._replace(ids=ids + 50)),
    *(nn.MultiheadAttention(4, 2, dropout=0.5), nn.MultiheadAttention(4, 1, kdim=3)),
    *([torch.zeros(2, 2)], [torch.zeros(2, 3)] * 2, [None, None], ablate(7, 0), ablate(0, 9)),
    *("gpu", "cuda:99", torch.device("cuda"), torch.device("meta"), torch.int8, (x, None), [x]),
    *(part._replace(l=None), part._replace(o=rows), part._replace(m=rows.double()), Cost(1, "", 1)),
    *(("a", x), ("a", x[0] * torch.nan), np.ma.masked_array(np.ones((3, 4))), {"x": measured}),
    *({**measured, "rows": [1]}, {**measured, "rows": []}, AttentionSize(10**6, 1, 10**6, 1)),
]
# A caller's own function does what it does, for as long as it likes; so does a budget of hours.
OWN = ["edit", "fn", "function", "reference", "candidate", "exact", "test", "attend", "kernel"]


def withheld(name, value):
    long = isinstance(value, float | int | np.number | torch.Tensor) and value is not False
    return callable(value) if name in OWN else long if name == "budget" else False


@functools.cache
def strange(name):
    """All of the strange values that a parameter of this name may be given."""
    return [value for value in STRANGE if not withheld(name, value)]


def parameters(thing):
    """What a callable may be given, by name; the settings of a widget too."""
    if thing.__module__ in CHECKS and inspect.isfunction(thing):
        # A check says what the reader's function takes.
        return {"answer": inspect.Parameter("answer", inspect.Parameter.POSITIONAL_ONLY)}
    found = dict(inspect.signature(thing).parameters)
    widget = inspect.isclass(thing) and issubclass(thing, Widget)
    for p in list(found.values()):
        if p.kind is p.VAR_POSITIONAL and widget:
            del found[p.name]
        if p.kind is p.VAR_KEYWORD:
            del found[p.name]
            more = []
            if widget:
                traits = thing.class_traits().items()
                kinds = Setting | Text | Data
                more = [n for n, t in traits if isinstance(t, kinds) and not t.read_only]
            new = [inspect.Parameter(n, p.KEYWORD_ONLY, default=None) for n in more]
            found |= {p.name: p for p in new if p.name not in found}
    return found


def arguments(name, thing, rng):
    """Positional and keyword arguments; what has a default is left out every other time."""
    positional, named = [], {}
    measures = "mistakes" in name or name.endswith(("measure_ceilings", "climb"))
    for p in parameters(thing).values():
        any_value = strange(p.name)
        # What is measured takes its time: there, no device is one.
        usual = FITTING.get(name.removeprefix("hydra_lib."), {}).get(p.name)
        if usual is None:
            usual = PLAUSIBLE.get(p.name, any_value)
        if measures and p.name == "device":
            usual = any_value

        def one(any_value=any_value, usual=usual):
            value = rng.choice(any_value if rng.random() < 0.2 else usual)
            # Some functions change a model, and the next call is to have the same.
            return copy.deepcopy(value) if isinstance(value, nn.Module) else value

        must = p.default is p.empty or p.name in ("budget", "device")
        if p.kind is p.VAR_POSITIONAL:
            positional += [one() for _ in range(rng.randrange(3))]
        elif must and p.kind is not p.KEYWORD_ONLY and not named:
            positional.append(one())
        elif must or rng.random() < 0.5:
            named[p.name] = one()
    return positional, named


def is_clear(error: Exception, names: list[str]) -> bool:
    """Does it name an argument, if there is one, and say what was expected and what came?"""
    said = not names or any(re.search(rf"(?<!\w){name}(?!\w)", str(error)) for name in names)
    expected = re.search(r"must|expected|needs| is on ", str(error))
    return bool(said and expected and re.search(r"got |are on | is on ", str(error)))


def refusal(name, seed):
    """Call it: the error, if any, and what the arguments are called."""
    thing, get = CALLABLES[name]
    positional, named = arguments(name, thing, random.Random(seed))
    # A layer makes q itself, from its query; the name of a record is what an error calls it.
    names = [*parameters(thing), *(["q"] if "query" in parameters(thing) else [])]
    if "name" not in named and inspect.isclass(thing) and issubclass(thing, Widget):
        names.remove("name")  # every widget has one, and many an error is about another
    names += [given for given in (*positional[1:], named.get("name")) if isinstance(given, str)]
    with unhooked():
        call, start = get(), time.process_time()
        try:
            answer = call(*positional, **named)
            if isinstance(answer, Iterator):
                next(answer)
        except FailedCheckError:
            pass  # which is what the reader asked for: that a function is wrong
        except (TypeError, ValueError) as error:
            assert time.process_time() - start < 1
            return error, names
    return None, names


@functools.cache
def scored_on_few():
    return head_viewer._scored(stored())


def score_on_few(monkeypatch):
    """Head viewers soon know what their heads do; none that is made later knows of it."""
    monkeypatch.setattr(head_viewer, "_held_out", lambda: corpus(2, 47, seed=0))
    monkeypatch.setattr(head_viewer, "_stored_scored", scored_on_few)


@pytest.mark.filterwarnings("ignore:All-NaN slice")  # Triton's interpreter, of a kernel's NaN
@pytest.mark.parametrize("name", CALLABLES)
def test_every_call_is_answered_or_refused_clearly(name, monkeypatch):
    # A right answer is to come soon, too.
    monkeypatch.setattr(roofline, "CPU_SIZES", (2**10, 8))
    score_on_few(monkeypatch)

    @settings(max_examples=settings.default.max_examples // 5, database=None, derandomize=True)
    @given(st.integers(0, 2**32))
    def fuzz(seed):
        error, names = refusal(name, seed)
        assert error is None or is_clear(error, names), repr(error)

    fuzz()


@pytest.mark.parametrize(
    "name",
    [
        name for name in CALLABLES
        if name.removeprefix("hydra_lib.") not in UNANSWERED
        and not name.startswith(("hydra_lib.exercises.", "hydra_lib.timing.mistakes."))
    ],
)  # fmt: skip
def test_some_call_is_answered(name, monkeypatch):
    """Else the others never get past the first check."""
    score_on_few(monkeypatch)
    assert any(refusal(name, seed)[0] is None for seed in range(100))


def test_the_fuzz_can_fail():
    def obscure(scores):
        return scores.shape[-1] + len(scores)

    with pytest.raises(AttributeError):
        obscure(1.0)
    assert not is_clear(TypeError("'int' object is not iterable"), ["scores"])
    assert not is_clear(ValueError("scores are wrong"), ["scores"])
    assert is_clear(ValueError("scores must be finite, got nan"), ["scores"])


def test_every_room_is_called():
    found = {name.removeprefix("hydra_lib.") for name in CALLABLES}
    assert {f"hydra_lib.{room}" for room in hydra_lib._ROOMS} <= {m.__name__ for m in rooms()}
    assert {"boltzmann.entropy", "toy.clone", "heads.HeadConfig", "timing.bench"} <= found
    assert {"multihead.MultiHeadAttention.trace", "toy.ToyModel.forward"} <= found
    assert {"exercises.softmax.rival", "timing.mistakes.make_all"} <= found
    assert {"matmul.BilinearAlgorithm.parse", "widgets.TraceWidget"} <= found
    # What needs a later torch than the core is missing only where that is.
    assert ("kernels.flash_attention" in found) == hasattr(pytest.importorskip("triton"), "knobs")


def test_what_the_core_exports_stands_at_the_front_door():
    """The book's sentence has names of its own, and so has what shows code in a notebook."""
    names = {path.stem for path in Path(hydra_lib.__path__[0]).glob("[a-z]*.py")}
    for name in names - {"sentence", "notebook"}:
        module = importlib.import_module(f"hydra_lib.{name}")
        assert set(module.__all__) <= set(hydra_lib.__all__), name


def test_what_people_reach_for_is_at_the_front_door():
    from hydra_lib import bench, compare, strassen, strassen_fast

    rooms = hydra_lib.timing, hydra_lib.matmul
    for function in (bench, compare, strassen, strassen_fast):
        assert any(getattr(room, function.__name__, None) is function for room in rooms)
