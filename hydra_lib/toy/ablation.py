"""Ablation of heads: take one away or put its mean in its place, copy one, make all equal."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float, Int

from hydra_lib import _checks
from hydra_lib.rotary import RotaryAttention
from hydra_lib.toy.language import KINDS, Corpus, check_documents
from hydra_lib.toy.model import ToyModel, check_ids

__all__ = [
    "ablate",
    "ablate_by_kind",
    "clone",
    "equalize",
    "head_weights",
    "mean_heads",
    "mean_heads_by_kind",
]

KIND = torch.tensor([kind for kind, symbols in enumerate(KINDS) for _ in symbols])  # of a symbol


def mean_heads(model: ToyModel, documents: Corpus) -> list[Float[torch.Tensor, "h d_k"]]:
    """Each layer's mean head outputs over all documents and positions, for :func:`ablate`.

    Raises TypeError for what is no model or no :class:`hydra_lib.toy.language.Corpus`, ValueError
    for documents that are not what a corpus holds.
    """
    _checks.instance("model", model, ToyModel)
    check_documents(documents)
    with torch.no_grad():
        return [trace.heads.mean((0, 2)) for trace in model.traces(documents.ids[:, :-1])]


def mean_heads_by_kind(
    model: ToyModel, documents: Corpus
) -> list[Float[torch.Tensor, "kinds h d_k"]]:
    """Each layer's mean head outputs at symbols of each kind, for :func:`ablate_by_kind`.

    The kinds are those of :data:`hydra_lib.toy.language.KINDS`. Raises as :func:`mean_heads`, and
    ValueError for documents in which a kind does not occur.
    """
    _checks.instance("model", model, ToyModel)
    check_documents(documents)
    ids = documents.ids[:, :-1]
    there = KIND.to(ids.device)[ids]
    if missing := [symbols for kind, symbols in enumerate(KINDS) if not (there == kind).any()]:
        raise ValueError(f"documents must have symbols of each kind, got none of {missing[0]!r}")
    with torch.no_grad():
        layers = [trace.heads.transpose(1, 2) for trace in model.traces(ids)]  # (n, T, h, d_k)
    return [
        torch.stack([heads[there == kind].mean(0) for kind in range(len(KINDS))])
        for heads in layers
    ]


def ablate(layer: int, *heads: int, means: list | None = None) -> Callable:
    """An ``edit`` for :class:`hydra_lib.toy.model.ToyModel` that takes heads of a layer away.

    Their outputs become zeros or, with ``means`` from :func:`mean_heads`, their own mean: what the
    head says on average, and nothing about this document. The mean is the fairer question, since
    the layers that follow may never have seen zeros; :func:`ablate_by_kind` has a mean for each
    kind of symbol.

    Raises ValueError for a layer or head that is not an integer from 0, or that ``means`` do not
    have; the model refuses a layer that it does not have, and the edit a head, and means of another
    shape, dtype or device than its outputs.

    >>> ablate(0, 1)(0, torch.ones(1, 2, 1, 1)).flatten()
    tensor([1., 0.])
    """

    layer, taken = _places(layer, heads)
    if means is not None:
        _check_means(means, layer, taken, "h, d_k")

    def said(outputs: torch.Tensor) -> torch.Tensor:
        if means is None:
            return torch.zeros_like(outputs)
        _checks.like("means", means[layer], "outputs", outputs, outputs.shape[1::2])
        return means[layer][:, None].expand_as(outputs)

    return _edit(layer, taken, said)


def ablate_by_kind(
    layer: int,
    *heads: int,
    means: list,
    ids: Int[torch.Tensor, "B T"],
    where: Bool[torch.Tensor, "B T"] | None = None,
) -> Callable:
    """An ``edit`` as :func:`ablate` gives, with a head's mean over symbols of the same kind.

    ``means`` are those of :func:`mean_heads_by_kind`, ``ids`` the symbols that the model is
    given; with ``where`` the heads are taken away at the positions where it is True. A mean over
    all positions is what a head may never say at a star, and can break there what the head has no
    part in; this one is what it usually says at a star.

    Raises TypeError and ValueError as :func:`ablate`, and for ids that are no symbols, or a
    ``where`` that is not as boolean and as large.

    >>> means = [torch.arange(6.0)[:, None, None]]
    >>> edit = ablate_by_kind(0, 0, means=means, ids=torch.tensor([[0, 7, 16]]))
    >>> edit(0, torch.full((1, 1, 3, 1), 9.0)).flatten()
    tensor([0., 3., 5.])
    """
    layer, taken = _places(layer, heads)
    _check_means(means, layer, taken, "kinds, h, d_k")
    check_ids("ids", ids, len(KIND))
    if where is not None:
        _checks.tensor("where", where)
        if where.dtype != torch.bool or where.shape != ids.shape:
            raise ValueError(
                f"where must be torch.bool {tuple(ids.shape)}, as ids are, got {where.dtype} "
                f"{tuple(where.shape)}"
            )
    usual = means[layer][KIND.to(ids.device)[ids.long()]].transpose(1, 2)  # (B, h, T, d_k)

    def said(outputs: torch.Tensor) -> torch.Tensor:
        _checks.like("means at ids", usual, "outputs", outputs, outputs.shape)
        return usual if where is None else torch.where(where[:, None, :, None], usual, outputs)

    return _edit(layer, taken, said)


def _places(layer: object, heads: tuple) -> tuple[int, list[int]]:
    layer = _checks.integer("layer", layer, least=0)
    return layer, [_checks.integer("heads", head, least=0) for head in heads]


def _check_means(means: object, layer: int, heads: list[int], shape: str) -> None:
    if not isinstance(means, list | tuple):
        raise TypeError(f"means must be a list, a tensor a layer, got {type(means).__name__}")
    if not means:
        raise ValueError("means must be a list, a tensor a layer, got an empty one")
    _checks.integer("layer", layer, 0, len(means) - 1)
    _checks.floating("means", means[layer])
    got = tuple(means[layer].shape)
    if len(got) != shape.count(",") + 1 or ("kinds" in shape and got[0] != len(KINDS)):
        raise ValueError(f"means must be ({shape}) each, got shape {got}")
    for head in heads:
        _checks.integer("heads", head, 0, got[-2] - 1)


def _edit(layer: int, taken: list[int], said: Callable) -> Callable:
    """The edit that puts ``said(outputs)`` in place of some heads' outputs."""

    def edit(index: int, outputs: Float[torch.Tensor, "B h T d_k"]) -> torch.Tensor:
        _checks.floating("outputs", outputs)
        if outputs.ndim != 4:
            raise ValueError(f"outputs must be (B, h, T, d_k), got shape {tuple(outputs.shape)}")
        if index != layer:
            return outputs
        outputs = outputs.clone()  # (B, h, T, d_k)
        instead = said(outputs)
        for head in taken:
            _checks.integer("heads", head, 0, outputs.shape[1] - 1)
            outputs[:, head] = instead[:, head]
        return outputs

    edit.layer = layer  # type: ignore[attr-defined]  # for the model, which knows how many it has
    return edit


def head_weights(model: ToyModel, layer: int, head: int) -> dict[str, torch.Tensor]:
    """What belongs to one head, as views: its rows of W_q, W_k, W_v, its columns of W_o.

    Raises TypeError for what is no model, ValueError for a layer or head that it does not have.
    """
    attention = _layer(model, layer, head=head)
    head, d_k = int(head), attention.config.head_dim  # a narrow one of NumPy's would overflow
    own = slice(head * d_k, (head + 1) * d_k)
    rows = {name: getattr(attention, name).weight[own] for name in ("W_q", "W_k", "W_v")}
    return rows | {"W_o": attention.W_o.weight[:, own]}


def _layer(model: Any, layer: object, **heads: object) -> RotaryAttention:
    """The layer, if the model has it and all of these heads."""
    _checks.instance("model", model, ToyModel)
    attention = model.layers[_checks.integer("layer", layer, 0, len(model.layers) - 1)]
    for name, head in heads.items():
        _checks.integer(name, head, 0, attention.config.n_heads - 1)
    return attention


@torch.no_grad()
def clone(model: ToyModel, layer: int, source: int, target: int) -> None:
    """Overwrite head ``target`` by a copy of ``source``, in place, and halve W_o of both.

    The two together then add to the output exactly what ``source`` alone did; what ``target`` did
    is lost. Raises ValueError for a layer or head that the model does not have, and for a head that
    is to become its own twin.
    """
    _layer(model, layer, source=source, target=target)
    own, copy = head_weights(model, layer, source), head_weights(model, layer, target)
    if source == target:
        raise ValueError(f"target must be another head than source, got {target} for both")
    for name, weight in own.items():
        if name == "W_o":
            weight.mul_(0.5)
        copy[name].copy_(weight)


@torch.no_grad()
def equalize(model: ToyModel, noise: float | int = 0.0, *, generator: torch.Generator) -> None:
    """Make all heads of each layer copies of its first, in place; then multiply by 1 + noise · ε.

    ``noise`` is the relative size of the difference; each ε is a standard normal number of its own.
    Raises TypeError for what is no model, number or generator, ValueError for a noise below 0.
    """
    _checks.instance("model", model, ToyModel)
    noise = float(_checks.finite("noise", noise, least=0))
    _checks.generator(generator)
    for layer, attention in enumerate(model.layers):
        first = head_weights(model, layer, 0)
        for head in range(1, attention.config.n_heads):
            for name, weight in head_weights(model, layer, head).items():
                weight.copy_(first[name])
        for weight in attention.parameters():
            drawn = torch.randn(weight.shape, generator=generator, device=generator.device)
            weight.mul_(1 + noise * drawn.to(weight.device))
