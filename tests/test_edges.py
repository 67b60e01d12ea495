"""Any public callable, any arguments: an answer, or one error that says what was wrong with which.

Callables are found by inspection, so a new one joins by itself. Each parameter gets something
plausible for its name, or something strange. A room joins by its name in ``MODULES``.
"""

import importlib
import inspect
import random
import re
import time
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from hydra_lib.heads import HeadConfig
from hydra_lib.multihead import MultiHeadAttention
from hydra_lib.rotary import RotaryAttention
from hydra_lib.toy import Reader, ToyModel, ablate, corpus
from tests.refusal import unhooked

CORE = "aggregation masking boltzmann scaling attention heads multihead rotary backward recompute"
TOY = "toy.language toy.model toy.roles toy.ablation"
MODULES = [f"hydra_lib.{name}" for name in f"{CORE} {TOY}".split()]


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
}


def public(modules):
    """Functions, constructors, and methods of the objects above: the name, and how to get it."""
    for module in map(importlib.import_module, modules):
        for name in module.__all__:
            thing = getattr(module, name)
            if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, tuple)):
                continue
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


CALLABLES = {name: (thing, get) for name, thing, get in public(MODULES)}

x, ids = torch.randn(2, 3, 4, generator=seeded()), torch.tensor([[0, 9, 17], [0, 39, 20]])
rows, square = torch.zeros(2, 3), torch.randn(2, 3, 3, generator=seeded())
allowed, flags, sizes = torch.ones(3, 3).bool().tril(), [False, True], [1, 2, 4]
PLAUSIBLE = {
    "q k v query key value values output grad_output": [x],
    "causal bias recompute return_weights": flags,
    "length width d_model n_heads d_k d_v queries keys batch block steps layers rows": sizes,
    "index source target head seed": [0, 1],
    "mu_q mu_k sigma_q sigma_k noise rate": [0, 0.5, 1],
    "ids inputs targets": [ids],
    "x": [x, torch.randn(2, 2, 3, 4)],
    "scores": [x, square, square.double(), x.masked_fill(x > 0, -torch.inf)],
    "weights": [square],
    "mask": [None, allowed, allowed[:1]],
    "tau": [0, 0.5, 1.0, torch.inf, torch.ones(2, 3, 1)],
    "temperature": [None, 0, 0.5, torch.inf],
    "log_z": [rows],
    "lengths": [torch.tensor([1, 3]), torch.tensor([1, 3], dtype=torch.uint8)],
    "symbols": [40],
    "heads": [0, 1, torch.randn(2, 2, 3, 2)],
    "outputs": [torch.randn(2, 2, 3, 2)],
    "config": [HeadConfig(4, 2)],
    "generator": [seeded()],
    "module": [nn.MultiheadAttention(4, 2)],
    "layer": [0, 1, LAYER],
    "model": [MODEL],
    "documents": [1, 2, corpus(6, 47, seed=0)],
    "means": [None, [torch.zeros(2, 2)] * 2],
    "edit": [None, ablate(1, 0), lambda layer, heads: heads],
    "symbol": ["^", "a"],
    "text": ["", "^ab"],
}
PLAUSIBLE = {name: values for names, values in PLAUSIBLE.items() for name in names.split()}
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
]


def arguments(thing, rng):
    """Positional and keyword arguments; what has a default is left out every other time."""
    positional, named = [], {}
    for p in inspect.signature(thing).parameters.values():
        # What a caller's own function says is its own affair.
        strange = [x for x in STRANGE if not (p.name == "edit" and callable(x))]

        def one(p=p, strange=strange):
            return rng.choice(strange if rng.random() < 0.2 else PLAUSIBLE.get(p.name, strange))

        if p.kind is p.VAR_POSITIONAL:
            positional += [one() for _ in range(rng.randrange(3))]
        elif p.default is p.empty and p.kind is not p.KEYWORD_ONLY:
            positional.append(one())
        elif p.default is p.empty or rng.random() < 0.5:
            named[p.name] = one()
    return positional, named


def is_clear(error: Exception, names: list[str]) -> bool:
    """Does it name an argument, and say what was expected and what came?"""
    said = any(re.search(rf"(?<!\w){name}(?!\w)", str(error)) for name in names)
    expected = re.search(r"must|expected|needs| is on ", str(error))
    return bool(said and expected and re.search(r"got |are on | is on ", str(error)))


@pytest.mark.parametrize("name", CALLABLES)
def test_every_call_is_answered_or_refused_clearly(name):
    thing, get = CALLABLES[name]
    names = [*inspect.signature(thing).parameters, "q"]  # a layer makes q itself, from its query

    @settings(max_examples=25, database=None, derandomize=True)
    @given(st.integers(0, 2**32))
    def fuzz(seed):
        positional, named = arguments(thing, random.Random(seed))
        with unhooked():
            call, start, refusal = get(), time.process_time(), None
            try:
                answer = call(*positional, **named)
                if isinstance(answer, Iterator):
                    next(answer)
            except (TypeError, ValueError) as error:
                refusal = error
            assert time.process_time() - start < 1
        assert refusal is None or is_clear(refusal, names), repr(refusal)

    fuzz()


def test_the_fuzz_can_fail():
    def obscure(scores):
        return scores.shape[-1] + len(scores)

    with pytest.raises(AttributeError):
        obscure(1.0)
    assert not is_clear(TypeError("'int' object is not iterable"), ["scores"])
    assert not is_clear(ValueError("scores are wrong"), ["scores"])
    assert is_clear(ValueError("scores must be finite, got nan"), ["scores"])


def test_every_public_name_of_the_core_and_the_toy_is_called():
    found = {name.removeprefix("hydra_lib.") for name in CALLABLES}
    assert {"boltzmann.entropy", "toy.ablation.clone", "heads.HeadConfig"} <= found
    assert {"multihead.MultiHeadAttention.trace", "toy.model.ToyModel.forward"} <= found
