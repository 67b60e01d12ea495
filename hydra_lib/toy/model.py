"""A language model that is nothing but attention: two layers of heads and a residual path."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import nn

from hydra_lib import _checks
from hydra_lib.attention import fused_attention
from hydra_lib.heads import HeadConfig
from hydra_lib.multihead import MultiHeadTrace
from hydra_lib.records import FOLDER
from hydra_lib.rotary import RotaryAttention
from hydra_lib.toy.language import SYMBOLS

__all__ = ["TOY", "ToyModel", "stored", "train"]

TOY = HeadConfig(d_model=48, n_heads=6)
"""Width and heads of each layer of the model whose weights are stored."""


class ToyModel(nn.Module):
    """Embedding, causal attention layers on a residual path, and scores for the next symbol.

    ``x = embed(ids)``, then ``x = x + attend(norm(x))`` for each layer, then ``unembed(norm(x))``.
    No feed-forward layers, no biases but those of the norms: what it can do, heads do. With the
    standard configuration and two layers it has 22,560 parameters.

    Weights of the attention layers and of the last one are drawn uniformly with variance
    1 / (3 d_model), embeddings with variance 1/4.

    Called with ``ids`` (B, T), int32 or int64, it gives the logits (B, T, symbols); logits at t
    concern symbol t + 1. ``edit(layer, heads)`` may replace the outputs of a layer's heads,
    (B, h, T, d_k), on their way to W_o: that is how a head is taken away.

    Raises TypeError for ids that are no such tensor, ValueError for other shapes and for
    numbers that are no symbol's, for another device than the model's, and for an edit of a layer
    that is not there or that gives back another shape.

    >>> model = ToyModel(generator=torch.Generator().manual_seed(0))
    >>> sum(p.numel() for p in model.parameters())
    22560
    """

    def __init__(
        self,
        config: HeadConfig = TOY,
        layers: int = 2,
        symbols: int = len(SYMBOLS),
        *,
        generator: torch.Generator,
    ):
        super().__init__()
        _checks.instance("config", config, HeadConfig)
        layers, symbols = _checks.integer("layers", layers), _checks.integer("symbols", symbols)
        _checks.generator(generator)
        d, device = config.d_model, generator.device
        _checks.fits("symbols and d_model", symbols, d)
        _checks.fits("layers and d_model", layers, 4 * d * d)
        # On a meta device nn.Embedding imports a compiler to draw its normal numbers: a second.
        unset = torch.empty(symbols, d, device=device)
        self.embed = nn.Embedding.from_pretrained(unset, freeze=False)
        nn.init.normal_(self.embed.weight, std=0.5, generator=generator)
        self.layers: Any = nn.ModuleList(  # which does not say of what
            RotaryAttention(config, generator=generator) for _ in range(layers)
        )
        # The layers' own start is √3 times wider, and from there some models answer brackets
        # without any head that looks at the answer (chapter 7).
        for weight in self.layers.parameters():
            nn.init.uniform_(weight, -(d**-0.5), d**-0.5, generator=generator)
        self.norms = nn.ModuleList(nn.LayerNorm(d, device=device) for _ in range(layers + 1))
        self.unembed = nn.Linear(d, symbols, bias=False, device="meta")
        self.unembed.weight = nn.Parameter(torch.empty(symbols, d, device=device))
        nn.init.uniform_(self.unembed.weight, -(d**-0.5), d**-0.5, generator=generator)

    def forward(
        self, ids: Int[torch.Tensor, "B T"], edit: Callable | None = None
    ) -> Float[torch.Tensor, "B T symbols"]:
        self._check(ids, edit)
        x = self.embed(ids)
        for index, layer in enumerate(self.layers):
            y = self.norms[index](x)
            if edit is None:
                x = x + layer(y, y, y, causal=True)
            else:
                q, k, v = layer.split(*layer.project(y, y, y))
                heads = fused_attention(q, k, v, causal=True)
                edited = edit(index, heads)
                _checks.like("edit's result", edited, "the heads", heads, heads.shape)
                x = x + layer.combine(edited)
        return self.unembed(self.norms[-1](x))

    def traces(self, ids: Int[torch.Tensor, "B T"]) -> list[MultiHeadTrace]:
        """Every step of every layer; ``weights`` (B, h, T, T) among them."""
        self._check(ids)
        x, traces = self.embed(ids), []
        for norm, layer in zip(self.norms, self.layers, strict=False):
            y = norm(x)
            traces.append(layer.trace(y, y, y, causal=True))
            x = x + traces[-1].output
        return traces

    def _check(self, ids: object, edit: object = None, name: str = "ids") -> None:
        """Refuse bad input."""
        check_ids(name, ids, self.embed.num_embeddings)
        self._check_place(name, ids)
        if edit is not None and not callable(edit):
            raise TypeError(f"edit must be a function, got {type(edit).__name__}")
        last = len(self.layers) - 1
        if (layer := getattr(edit, "layer", 0)) > last:
            raise ValueError(f"layer must be an integer from 0 to {last}, got {layer}")

    def _check_place(self, name: str, x: Any) -> None:
        device = self.embed.weight.device
        if x.device != device:
            raise ValueError(f"{name} is on {x.device}, the model is on {device}")


def check_ids(name: str, ids: Any, symbols: int) -> None:
    _checks.integers(name, ids)
    if ids.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name} must be int32 or int64, got {ids.dtype}")
    if ids.ndim != 2 or 0 in ids.shape:
        raise ValueError(
            f"{name} must be (B, T) with no axis of length 0, got shape {tuple(ids.shape)}"
        )
    _checks.has_values(name, ids)
    if ids.min() < 0 or ids.max() >= symbols:
        got = f"{ids.min()} to {ids.max()}"
        raise ValueError(f"{name} must lie between 0 and {symbols - 1}, got {got}")


def stored() -> ToyModel:
    """The trained model of the book: its weights travel with the library, in half precision.

    They are read into float32, so two calls give the same numbers on every machine.

    Raises FileNotFoundError when the file is not there: ``benchmarks/heads.py`` writes it.

    >>> stored().embed.weight.dtype
    torch.float32
    """
    from safetensors.torch import load  # training needs none of it

    path = FOLDER / "toy.safetensors"
    if not path.is_file():
        raise FileNotFoundError(
            "there are no stored weights, hydra_lib/records/toy.safetensors: "
            "python benchmarks/heads.py seeds makes them"
        )
    model = ToyModel(generator=torch.Generator())
    model.load_state_dict({name: x.float() for name, x in load(path.read_bytes()).items()})
    return model


def train(
    model: ToyModel,
    inputs: Int[torch.Tensor, "n T"],
    targets: Int[torch.Tensor, "n ..."],
    steps: int = 3000,
    batch: int = 32,
    *,
    seed: int,
) -> Iterator[float]:
    """Train in place; an iterator that makes one step each time it is asked, and gives its loss.

    ``inputs`` (n, T) are int32 or int64, ``targets`` integers; these have the axes of the model's
    output but the last, so (n, T) here, and −100 does not count. Documents come in an order drawn
    from ``seed``, none twice before a new order is drawn, which is when fewer are left than make a
    batch. AdamW with a learning rate of 0.01 that rises
    over 50 steps and falls along a cosine to a twentieth; gradients of a norm above 1 are cut to 1.
    The loss is the mean cross-entropy in nats, NaN of a batch in which no target counts, which
    moves nothing but what earlier steps have set in motion.

    Only parameters that require a gradient move. Deterministic for a seed on one machine. Raises
    TypeError for a model that is no ToyModel and documents that are not such tensors, ValueError
    unless there are at least ``batch`` documents, for other shapes, numbers that are no symbol's,
    another device than the model's, a model without a parameter that requires a gradient, and
    for ``steps`` or ``batch`` that are not positive integers.

    >>> model = ToyModel(generator=torch.Generator().manual_seed(0))
    >>> ids = torch.randint(40, (32, 9), generator=torch.Generator().manual_seed(1))
    >>> len(list(train(model, ids[:, :-1], ids[:, 1:], steps=3, seed=0)))
    3
    """
    _checks.instance("model", model, ToyModel)
    steps, batch = _checks.integer("steps", steps), _checks.integer("batch", batch)
    seed = _checks.integer("seed", seed, least=None)
    model._check(inputs, name="inputs")
    _checks.integers("targets", targets)
    _checks.has_values("targets", targets)
    model._check_place("targets", targets)
    if not any(p.requires_grad for p in model.parameters()):
        raise ValueError("model must have a parameter that requires a gradient, got none")
    symbols = model.embed.num_embeddings
    if targets.ndim < 2 or not ((targets == -100) | (targets >= 0) & (targets < symbols)).all():
        raise ValueError(
            f"targets must be (n, T, …), each −100 or from 0 to {symbols - 1}, got shape "
            f"{tuple(targets.shape)}, {targets.min()} to {targets.max()}"
            if targets.numel()
            else f"targets must be (n, T, …), got shape {tuple(targets.shape)}"
        )
    if len(inputs) < batch or len(inputs) != len(targets):
        raise ValueError(
            f"expected at least {batch} documents, as many inputs as targets, "
            f"got {len(inputs)} and {len(targets)}"
        )
    # A kind of ToyModel may give more axes, which the first step looks at.
    axes = targets.shape[1:] if type(model) is ToyModel else targets.shape[1:2]
    _check_axes(targets, inputs.shape[1:], axes)
    return _steps(model, inputs, targets, steps, batch, seed)


def _check_axes(targets: torch.Tensor, expected: torch.Size, axes: torch.Size) -> None:
    if axes != expected:
        more = ["…"] if len(axes) < targets.ndim - 1 else []
        sizes = ", ".join([*map(str, expected), *more])
        raise ValueError(f"targets must be (n, {sizes}), got {tuple(targets.shape)}")


def _steps(model, inputs, targets, steps, batch, seed) -> Iterator[float]:
    weights = [p for p in model.parameters() if p.requires_grad]
    adam = torch.optim.AdamW(weights, lr=0.01, betas=(0.9, 0.95), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: _rate(step, steps))
    generator, order = torch.Generator().manual_seed(seed), torch.empty(0, dtype=torch.long)
    for _ in range(steps):
        if len(order) < batch:
            order = torch.randperm(len(inputs), generator=generator)
        now, order = order[:batch], order[batch:]
        with torch.enable_grad():
            logits = model(inputs[now])
            _check_axes(targets, logits.shape[1:-1], targets.shape[1:])
            loss = F.cross_entropy(logits.flatten(0, -2), targets[now].flatten().long())
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        adam.step()
        schedule.step()
        yield loss.item()


def _rate(step: int, steps: int) -> float:
    return min(1.0, (step + 1) / 50) * (0.525 + 0.475 * math.cos(math.pi * step / steps))
