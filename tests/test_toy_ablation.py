"""Surgery: what is cut is gone, what is copied is equal, what is left alone does not move."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from hydra_lib.heads import HeadConfig
from hydra_lib.toy.ablation import (
    ablate,
    ablate_by_kind,
    clone,
    equalize,
    head_weights,
    mean_heads,
    mean_heads_by_kind,
)
from hydra_lib.toy.language import KINDS, SYMBOLS, corpus, encode
from hydra_lib.toy.model import ToyModel, train
from tests.refusal import refuses, unhooked

DOCUMENTS = corpus(40, 23, seed=0)
IDS = DOCUMENTS.ids[:, :-1]


def fresh(seed=0):
    return ToyModel(generator=torch.Generator().manual_seed(seed)).double()


def test_head_weights_are_the_heads_own_slices():
    model = fresh()
    own = head_weights(model, 1, 2)
    assert {name: tuple(w.shape) for name, w in own.items()} == {
        "W_q": (8, 48),
        "W_k": (8, 48),
        "W_v": (8, 48),
        "W_o": (48, 8),
    }
    with torch.no_grad():
        own["W_o"].zero_()
    assert torch.allclose(model(IDS), model(IDS, ablate(1, 2)))  # views: that cut the head off


def test_a_narrow_number_is_a_head():
    """The last row of head 3 is row 127, and 128 is no int8."""
    model = ToyModel(HeadConfig(128, 4), layers=1, generator=torch.Generator().manual_seed(3))
    expected = head_weights(model, 0, 3)
    with unhooked():
        got = head_weights(model, 0, np.int8(3))
    assert all(torch.equal(got[name], expected[name]) for name in expected)


@pytest.mark.parametrize("head", [-1, 6])
def test_a_head_that_is_not_there(head):
    message = f"head must be an integer from 0 to 5, got {head}"
    with refuses(ValueError, message):
        head_weights(fresh(), 0, head)


def test_ablation_by_zero_is_a_contribution_less():
    model = fresh()
    steps = model.traces(IDS)[1]
    contributions = model.layers[1].contributions(steps.heads)  # (B, h, T, d_model)
    rest = model.embed(IDS) + model.traces(IDS)[0].output
    for heads in ((3,), (0, 5)):
        left = [i for i in range(6) if i not in heads]
        x = rest + contributions[:, left].sum(1)
        torch.testing.assert_close(model(IDS, ablate(1, *heads)), model.unembed(model.norms[-1](x)))


def test_ablation_by_the_mean_says_the_same_everywhere():
    model = fresh()
    means = mean_heads(model, DOCUMENTS)
    assert [tuple(m.shape) for m in means] == [(6, 8), (6, 8)]
    heads = model.traces(IDS)[0].heads
    torch.testing.assert_close(means[0][4], heads[:, 4].reshape(-1, 8).mean(0))
    edited = ablate(0, 4, means=means)(0, heads)
    assert (edited[:, 4] == means[0][4]).all()
    assert torch.equal(edited[:, :4], heads[:, :4])
    assert torch.equal(ablate(0, 4)(1, heads), heads)


def kinds_of(ids):
    return [[next(k for k in KINDS if SYMBOLS[i] in k) for i in row] for row in ids]


def test_kinds_are_all_symbols_in_order():
    assert "".join(KINDS) == SYMBOLS


def test_means_by_kind_are_the_loops():
    model = fresh()
    means = mean_heads_by_kind(model, DOCUMENTS)
    assert [tuple(m.shape) for m in means] == [(6, 6, 8), (6, 6, 8)]
    kinds = kinds_of(IDS)
    for layer, trace in enumerate(model.traces(IDS)):
        for number, kind in enumerate(KINDS):
            said = [
                trace.heads[n, :, t]
                for n, row in enumerate(kinds)
                for t, here in enumerate(row)
                if here == kind
            ]
            torch.testing.assert_close(means[layer][number], torch.stack(said).mean(0))


def test_ablation_by_kind_says_at_each_symbol_what_is_usual_there():
    model = fresh()
    means = mean_heads_by_kind(model, DOCUMENTS)
    ids = encode("^(a)*Ab")[None].repeat(2, 1)
    heads = model.traces(ids)[1].heads
    edited = ablate_by_kind(1, 4, 2, means=means, ids=ids)(1, heads)
    for t, kind in enumerate([0, 1, 5, 2, 3, 4, 5]):
        for head in (2, 4):
            assert (edited[:, head, t] == means[1][kind, head]).all()
    assert torch.equal(edited[:, [0, 1, 3, 5]], heads[:, [0, 1, 3, 5]])
    assert torch.equal(ablate_by_kind(1, 4, means=means, ids=ids)(0, heads), heads)

    where = torch.zeros(2, 7, dtype=torch.bool)
    where[1, 4] = True
    edited = ablate_by_kind(1, 4, means=means, ids=ids, where=where)(1, heads)
    assert torch.equal(edited[1, 4, 4], means[1][3, 4])
    edited[1, 4, 4] = heads[1, 4, 4]
    assert torch.equal(edited, heads)


def test_wrong_calls_by_kind():
    model = fresh()
    means = mean_heads_by_kind(model, DOCUMENTS)
    with refuses(ValueError, "documents must have symbols of each kind, got none of '([{'"):
        few = DOCUMENTS._replace(ids=DOCUMENTS.ids.clone().fill_(0))
        mean_heads_by_kind(model, few)
    with refuses(TypeError, "documents must be a Corpus, got Tensor"):
        mean_heads_by_kind(model, IDS)
    with refuses(ValueError, "means must be (kinds, h, d_k) each, got shape (6, 8)"):
        ablate_by_kind(0, 1, means=mean_heads(model, DOCUMENTS), ids=IDS)
    with refuses(ValueError, "means must be (kinds, h, d_k) each, got shape (5, 6, 8)"):
        ablate_by_kind(0, 1, means=[m[:5] for m in means], ids=IDS)
    with refuses(ValueError, "means must be (h, d_k) each, got shape (6, 6, 8)"):
        ablate(0, 1, means=means)
    with refuses(ValueError, "heads must be an integer from 0 to 5, got 6"):
        ablate_by_kind(0, 6, means=means, ids=IDS)
    with refuses(ValueError, "layer must be an integer from 0 to 1, got 2"):
        ablate_by_kind(2, 0, means=means, ids=IDS)
    with refuses(ValueError, "ids must lie between 0 and 39, got 0 to 40"):
        ablate_by_kind(0, 0, means=means, ids=torch.tensor([[0, 40]]))
    message = "where must be torch.bool (40, 23), as ids are, got torch.bool (40,)"
    with refuses(ValueError, message):
        ablate_by_kind(0, 0, means=means, ids=IDS, where=torch.ones(40, dtype=torch.bool))
    with refuses(ValueError, "means at ids must have shape (2, 6, 7, 8), got (40, 6, 23, 8)"):
        ablate_by_kind(0, 0, means=means, ids=IDS)(0, torch.zeros(2, 6, 7, 8).double())


def test_twins_say_together_what_one_said_alone():
    model, cloned = fresh(), fresh()
    clone(cloned, 1, 2, 5)
    torch.testing.assert_close(cloned(IDS), model(IDS, ablate(1, 5)))
    one, other = (head_weights(cloned, 1, head) for head in (2, 5))
    assert all(torch.equal(one[name], other[name]) for name in one)
    torch.testing.assert_close(2 * one["W_o"], head_weights(model, 1, 2)["W_o"])


def test_a_twins_gradient_is_half_for_what_stands_before_w_o():
    model, cloned = fresh(), fresh()
    with torch.no_grad():
        head_weights(model, 1, 5)["W_o"].zero_()
    clone(cloned, 1, 2, 5)
    grads = []
    for one in (model, cloned):
        loss = F.cross_entropy(one(IDS).mT, DOCUMENTS.ids[:, 1:])
        names = ("W_q", "W_k", "W_v", "W_o")
        got = torch.autograd.grad(loss, [getattr(one.layers[1], n).weight for n in names])
        grads.append([g[16:24] for g in got[:3]] + [got[3][:, 16:24]])
    for alone, twin in zip(grads[0][:3], grads[1][:3], strict=True):
        torch.testing.assert_close(twin, alone / 2)
    torch.testing.assert_close(grads[1][3], grads[0][3])


def test_equal_heads_have_equal_weights_and_stay_so_in_training():
    model = ToyModel(generator=torch.Generator().manual_seed(1))
    equalize(model, generator=torch.Generator())

    def spread():
        own = [head_weights(model, layer, h) for layer in (0, 1) for h in range(6)]
        rows = [[w[n] for w in own[at : at + 6]] for at in (0, 6) for n in own[0]]
        return max((x - row[0]).abs().max().item() for row in rows for x in row)

    assert spread() == 0
    before = [p.clone() for p in model.parameters()]
    inputs, targets = IDS.repeat(2, 1), DOCUMENTS.ids[:, 1:].repeat(2, 1)
    list(train(model, inputs, targets, steps=20, seed=0))
    assert all(not torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True))
    assert spread() == 0  # not one bit


def test_noise_is_relative():
    model = fresh()
    equalize(model, 1e-3, generator=torch.Generator().manual_seed(0))
    first, other = head_weights(model, 0, 0)["W_k"], head_weights(model, 0, 3)["W_k"]
    ratio = (other / first - 1).flatten()
    assert ratio.std().item() == pytest.approx(1e-3 * 2**0.5, rel=0.2)


def test_means_of_no_layer():
    with refuses(ValueError, "means must be a list, a tensor a layer, got an empty one"):
        ablate(0, 1, means=[])


def test_a_head_does_not_become_its_own_twin():
    with refuses(ValueError, "target must be another head than source, got 1 for both"):
        clone(fresh(), 0, 1, 1)


@pytest.mark.parametrize("layer", [-1, "0", 1.0])
def test_layers_that_are_no_layers(layer):
    with refuses(ValueError, f"layer must be an integer, 0 or more, got {layer!r}"):
        ablate(layer, 0)


def test_what_the_model_does_not_have_cannot_be_ablated():
    model = fresh()
    with refuses(ValueError, "heads must be an integer, 0 or more, got -1"):
        ablate(0, -1)
    with refuses(ValueError, "layer must be an integer from 0 to 1, got 2"):
        model(IDS, ablate(2, 0))
    with refuses(ValueError, "heads must be an integer from 0 to 5, got 6"):
        model(IDS, ablate(1, 6))
    means = mean_heads(model, DOCUMENTS)
    with refuses(ValueError, "layer must be an integer from 0 to 1, got 2"):
        ablate(2, 0, means=means)
    with refuses(ValueError, "heads must be an integer from 0 to 5, got 6"):
        ablate(1, 6, means=means)
    with refuses(TypeError, "means must be a list, a tensor a layer, got Tensor"):
        ablate(1, 5, means=means[0])
    narrow = [torch.zeros(6, 1, dtype=torch.float64)] * 2
    with refuses(ValueError, "means must have shape (6, 8), got (6, 1)"):
        model(IDS, ablate(1, 5, means=narrow))
    with refuses(ValueError, "outputs must be (B, h, T, d_k), got shape (6,)"):
        ablate(0, 1)(0, torch.ones(6))
    with refuses(ValueError, "layer must be an integer from 0 to 1, got 2"):
        head_weights(model, 2, 0)
    with refuses(TypeError, "model must be a ToyModel, got int"):
        head_weights(0, 0, 0)
    with refuses(ValueError, "noise must be finite and at least 0, got -1"):
        equalize(model, -1, generator=torch.Generator())
    with refuses(TypeError, "documents must be a Corpus, got Tensor"):
        mean_heads(model, IDS)
