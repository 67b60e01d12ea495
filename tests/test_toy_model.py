"""The toy model: written out by hand, trained for a moment, deterministic."""

import math
from itertools import islice

import pytest
import torch
import torch.nn.functional as F

from hydra_lib.heads import HeadConfig
from hydra_lib.masking import causal_mask
from hydra_lib.toy.language import SYMBOLS, corpus
from hydra_lib.toy.model import ToyModel, train
from tests.refusal import refuses


def fresh(seed=0, **options):
    return ToyModel(generator=torch.Generator().manual_seed(seed), **options)


def test_the_forward_pass_step_by_step():
    model = fresh(config=HeadConfig(12, 3), layers=3).double()
    ids = corpus(5, 11, seed=0).ids
    x = F.embedding(ids, model.embed.weight)
    for norm, layer in zip(model.norms[:3], model.layers, strict=True):
        y = F.layer_norm(x, (12,), norm.weight, norm.bias)
        x = x + layer.trace(y, y, y, causal_mask(12)).output
    x = F.layer_norm(x, (12,), model.norms[3].weight, model.norms[3].bias)
    torch.testing.assert_close(model(ids), x @ model.unembed.weight.T)
    assert model(ids).shape == (5, 12, len(SYMBOLS))


def test_the_future_does_not_matter():
    model, ids = fresh(), corpus(2, 17, seed=0).ids
    changed = ids.clone()
    changed[:, 9:] = 20
    torch.testing.assert_close(model(ids)[:, :9], model(changed)[:, :9])


def test_traces_are_the_model():
    model, ids = fresh(), corpus(3, 13, seed=0).ids
    x = model.embed(ids)
    for trace in model.traces(ids):
        x = x + trace.output
    torch.testing.assert_close(model.unembed(model.norms[-1](x)), model(ids))


def test_edit_sees_and_replaces_the_heads_of_each_layer():
    model, ids = fresh(), corpus(3, 13, seed=0).ids
    seen = []

    def look(layer, heads):
        seen.append((layer, tuple(heads.shape)))
        return heads

    assert torch.equal(model(ids, look), model(ids))
    assert seen == [(0, (3, 6, 14, 8)), (1, (3, 6, 14, 8))]
    nothing = model.unembed(model.norms[-1](model.embed(ids)))
    torch.testing.assert_close(model(ids, lambda layer, heads: 0 * heads), nothing)


def test_weights_are_a_function_of_the_generator():
    one, again, other = fresh(1), fresh(1), fresh(2)
    ids = corpus(1, seed=0).ids
    assert torch.equal(one(ids), again(ids))
    assert not torch.equal(one(ids), other(ids))
    for weight in (one.unembed.weight, *one.layers.parameters()):
        assert weight.abs().max() <= 48**-0.5
        assert weight.var().item() == pytest.approx(1 / (3 * 48), rel=0.1)


@pytest.mark.slow
def test_a_moment_of_training_lowers_the_loss_and_is_deterministic():
    documents = corpus(200, seed=0)
    inputs, targets = documents.ids[:, :-1], documents.ids[:, 1:]
    losses = [  # eight are more than one round of the documents
        list(islice(train(fresh(), inputs, targets, steps=40, seed=seed), steps))
        for seed, steps in ((0, 40), (0, 8), (1, 8))
    ]
    assert losses[0][:8] == losses[1] != losses[2]
    first, last = losses[0][0], sum(losses[0][-5:]) / 5
    assert 3.6 < first < 4.6  # about log 40 = 3.69, from weights that know nothing
    assert last < first - 0.3
    assert last > documents.entropy.mean()


def test_only_what_requires_a_gradient_moves():
    model, documents = fresh(), corpus(32, seed=0)
    model.embed.requires_grad_(False)
    before = {name: x.clone() for name, x in model.state_dict().items()}
    list(train(model, documents.ids[:, :-1], documents.ids[:, 1:], steps=2, seed=0))
    moved = {name for name, x in model.state_dict().items() if not torch.equal(x, before[name])}
    assert moved == set(before) - {"embed.weight"}


def test_every_document_is_seen_once_before_any_comes_again():
    model, ids = fresh(), torch.arange(40).repeat_interleave(3)[:, None].expand(120, 4)
    seen = []
    model.embed.register_forward_hook(lambda module, args, out: seen.append(args[0]))
    list(train(model, ids, ids, steps=3, batch=40, seed=0))
    assert sorted(torch.cat(seen)[:, 0].tolist()) == sorted(ids[:, 0].tolist())


def test_targets_of_minus_100_do_not_count():
    model, documents = fresh(), corpus(32, seed=0)
    inputs, targets = documents.ids[:, :-1], documents.ids[:, 1:].clone()
    targets[:, 5:] = -100
    [loss] = train(model, inputs, targets, steps=1, seed=0)
    again = fresh()
    expected = F.cross_entropy(again(inputs)[:, :5].flatten(0, 1), targets[:, :5].flatten())
    assert loss == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize(("inputs", "targets"), [(31, 31), (40, 39)])
def test_documents_must_be_enough_and_have_answers(inputs, targets):
    message = (
        f"expected at least 32 documents, as many inputs as targets, got {inputs} and {targets}"
    )
    x, y = torch.zeros(inputs, 4).long(), torch.zeros(targets, 4).long()
    with refuses(ValueError, message):
        train(fresh(), x, y, seed=0)


@pytest.mark.long
def test_the_recipe_against_a_plain_loop():
    steps, batch, low = 60, 5, 1 / 20
    documents = corpus(13, 7, seed=0)
    inputs, targets = documents.ids[:, :-1], documents.ids[:, 1:]
    models = [fresh(config=HeadConfig(6, 3)) for _ in range(2)]
    for model in models:
        with torch.no_grad():
            model.unembed.weight *= 2  # so that some gradients are longer than 1, and cut
    losses = list(train(models[0], inputs, targets, steps=steps, batch=batch, seed=3))

    plain = models[1]
    adam = torch.optim.AdamW(plain.parameters(), betas=(0.9, 0.95), weight_decay=0.01)
    generator, order, lengths = torch.Generator().manual_seed(3), [], []
    for step in range(steps):
        rise = min((step + 1) / 50, 1)
        fall = low + (1 - low) * (1 + math.cos(math.pi * step / steps)) / 2
        adam.param_groups[0]["lr"] = 0.01 * rise * fall
        if len(order) < batch:
            order = torch.randperm(13, generator=generator).tolist()
        now, order = order[:batch], order[batch:]
        logits = plain(inputs[now])  # (batch, T, symbols)
        loss = -logits.log_softmax(-1).gather(-1, targets[now][..., None]).mean()
        adam.zero_grad()
        loss.backward()
        square = sum((p.grad**2).sum() for p in plain.parameters())
        lengths.append(square.sqrt().item())
        for p in plain.parameters():
            p.grad *= min(1, 1 / lengths[-1])
        adam.step()
        assert losses[step] == pytest.approx(loss.item(), rel=1e-4)
    assert min(lengths) < 0.95 < 1.05 < max(lengths)
    for one, other in zip(models[0].parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


IDS = corpus(2, 5, seed=0).ids


@pytest.mark.parametrize(
    ("ids", "edit", "error", "message"),
    [
        ([[0]], None, TypeError, "ids must be a torch tensor, got list"),
        (IDS.float(), None, TypeError, "ids must be integers, got torch.float32"),
        (IDS.byte(), None, TypeError, "ids must be int32 or int64, got torch.uint8"),
        (
            IDS[0],
            None,
            ValueError,
            "ids must be (B, T) with no axis of length 0, got shape (6,)",
        ),
        (IDS * 0 + 40, None, ValueError, "ids must lie between 0 and 39, got 40 to 40"),
        (IDS, 3, TypeError, "edit must be a function, got int"),
        (
            IDS,
            lambda layer, heads: heads[:1],
            ValueError,
            "edit's result must have shape (2, 6, 6, 8), got (1, 6, 6, 8)",
        ),
    ],
)
def test_ids_and_edits_that_are_refused(ids, edit, error, message):
    with refuses(error, message):
        fresh()(ids, edit)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"steps": 0}, ValueError, "steps must be a positive integer, got 0"),
        ({"batch": 2.0}, ValueError, "batch must be a positive integer, got 2.0"),
        ({"seed": None}, ValueError, "seed must be an integer, got None"),
        (
            {"targets": IDS * 0 + 40},
            ValueError,
            "targets must be (n, T, …), each −100 or from 0 to 39, got shape (2, 6), 40 to 40",
        ),
        ({"targets": IDS.float()}, TypeError, "targets must be integers, got torch.float32"),
        ({"model": torch.nn.Linear(2, 2)}, TypeError, "model must be a ToyModel, got Linear"),
        ({"model": fresh().to("meta")}, ValueError, "inputs is on cpu, the model is on meta"),
        (
            {"model": fresh().requires_grad_(False)},
            ValueError,
            "model must have a parameter that requires a gradient, got none",
        ),
    ],
)
def test_training_that_is_refused_before_it_starts(options, error, message):
    arguments = {"model": fresh(), "inputs": IDS, "targets": IDS, "batch": 2, "seed": 0}
    with refuses(error, message):
        train(**arguments | options)


def test_training_where_no_gradients_are_taken():
    with torch.no_grad():
        losses = list(train(fresh(), IDS, IDS, steps=2, batch=2, seed=0))
    assert losses == list(train(fresh(), IDS, IDS, steps=2, batch=2, seed=0))


@pytest.mark.parametrize("targets", [IDS, IDS[:, :5, None]])
def test_targets_of_another_shape_are_refused_at_once(targets):
    with refuses(ValueError, f"targets must be (n, 5), got {tuple(targets.shape)}"):
        train(fresh(), IDS[:, :5], targets, batch=2, seed=0)


class Pairs(ToyModel):
    def forward(self, ids):
        return super().forward(ids).unflatten(-1, (2, 20))


def test_a_kind_of_model_with_more_axes_says_so_at_its_first_step():
    model, targets = Pairs(generator=torch.Generator()), IDS[..., None] % 20
    assert next(train(model, IDS, targets.expand(2, 6, 2), batch=2, seed=0)) > 0
    with refuses(ValueError, "targets must be (n, 6, 2), got (2, 6, 3)"):
        next(train(model, IDS, targets.expand(2, 6, 3), batch=2, seed=0))
    with refuses(ValueError, "targets must be (n, 6, …), got (2, 5, 2)"):
        train(model, IDS, targets[:, :5].expand(2, 5, 2), batch=2, seed=0)


def test_a_model_is_whole_where_its_generator_is():
    with torch.device("meta"):
        model = ToyModel(generator=torch.Generator("cpu"))
    assert {p.device.type for p in model.parameters()} == {"cpu"}


def test_a_model_needs_a_configuration_and_a_generator():
    with refuses(TypeError, "config must be a HeadConfig, got int"):
        ToyModel(12, generator=torch.Generator())
    with refuses(TypeError, "generator must be a torch.Generator, got int"):
        ToyModel(generator=0)
    text = "layers and d_model must make at most 2³¹ numbers, got 1000000000000 · 9216"
    with refuses(ValueError, text):
        ToyModel(layers=10**12, generator=torch.Generator())
