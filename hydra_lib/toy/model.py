"""A language model that is nothing but attention: two layers of heads and a residual path."""

import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import nn

from hydra_lib.heads import HeadConfig
from hydra_lib.masking import causal_mask
from hydra_lib.multihead import MultiHeadTrace
from hydra_lib.records import FOLDER
from hydra_lib.rotary import RotaryAttention
from hydra_lib.toy.language import SYMBOLS

__all__ = ["TOY", "ToyModel", "stored", "train"]

TOY = HeadConfig(d_model=48, n_heads=6)


class ToyModel(nn.Module):
    """Embedding, causal attention layers on a residual path, and scores for the next symbol.

    ``x = embed(ids)``, then ``x = x + attend(norm(x))`` for each layer, then ``unembed(norm(x))``.
    No feed-forward layers, no biases but those of the norms: what it can do, heads do. With the
    standard configuration and two layers it has 22,560 parameters.

    Weights of the attention layers and of the last one are drawn uniformly with variance
    1 / (3 d_model), embeddings with variance 1/4.

    Called with ``ids`` (B, T), integers, it gives the logits (B, T, symbols); logits at t concern
    symbol t + 1. ``edit(layer, heads)`` may replace the outputs of a layer's heads,
    (B, h, T, d_k), on their way to W_o: that is how a head is taken away.

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
        d = config.d_model
        self.embed = nn.utils.skip_init(nn.Embedding, symbols, d)
        nn.init.normal_(self.embed.weight, std=0.5, generator=generator)
        self.layers = nn.ModuleList(
            RotaryAttention(config, generator=generator) for _ in range(layers)
        )
        # The layers' own start is √3 times wider, and from there some models answer brackets
        # without any head that looks at the answer (chapter 07).
        for weight in self.layers.parameters():
            nn.init.uniform_(weight, -(d**-0.5), d**-0.5, generator=generator)
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers + 1))
        self.unembed = nn.utils.skip_init(nn.Linear, d, symbols, bias=False)
        nn.init.uniform_(self.unembed.weight, -(d**-0.5), d**-0.5, generator=generator)

    def forward(
        self, ids: torch.Tensor, edit: Callable | None = None
    ) -> Float[torch.Tensor, "B T symbols"]:
        x, mask = self.embed(ids), causal_mask(ids.shape[-1])
        for index, (norm, layer) in enumerate(zip(self.norms, self.layers, strict=False)):
            y = norm(x)
            if edit is None:
                x = x + layer(y, y, y, mask)
            else:
                x = x + layer.combine(edit(index, layer.trace(y, y, y, mask).heads))
        return self.unembed(self.norms[-1](x))

    def traces(self, ids: torch.Tensor) -> list[MultiHeadTrace]:
        """Every step of every layer; ``weights`` (B, h, T, T) among them."""
        x, mask, traces = self.embed(ids), causal_mask(ids.shape[-1]), []
        for norm, layer in zip(self.norms, self.layers, strict=False):
            y = norm(x)
            traces.append(layer.trace(y, y, y, mask))
            x = x + traces[-1].output
        return traces


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
    inputs: torch.Tensor,
    targets: torch.Tensor,
    steps: int = 3000,
    batch: int = 32,
    *,
    seed: int,
) -> Iterator[float]:
    """Train in place; an iterator that makes one step each time it is asked, and gives its loss.

    ``inputs`` (n, T) and ``targets`` are integers; targets have the axes of the model's output
    but the last, so (n, T) here, and −100 does not count. Documents come in an order drawn from
    ``seed``, each once before any comes again. AdamW with a learning rate
    of 0.01 that rises over 50 steps and falls along a cosine to a twentieth; gradients of a norm
    above 1 are cut to 1. The loss is the mean cross-entropy in nats.

    Only parameters that require a gradient move. Deterministic for a seed on one machine. Raises
    ValueError unless there are at least ``batch`` documents.

    >>> model = ToyModel(generator=torch.Generator().manual_seed(0))
    >>> ids = torch.randint(40, (32, 9), generator=torch.Generator().manual_seed(1))
    >>> len(list(train(model, ids[:, :-1], ids[:, 1:], steps=3, seed=0)))
    3
    """
    if len(inputs) < batch or len(inputs) != len(targets):
        raise ValueError(
            f"expected at least {batch} documents, as many inputs as targets, "
            f"got {len(inputs)} and {len(targets)}"
        )
    return _steps(model, inputs, targets, steps, batch, seed)


def _steps(model, inputs, targets, steps, batch, seed) -> Iterator[float]:
    weights = [p for p in model.parameters() if p.requires_grad]
    adam = torch.optim.AdamW(weights, lr=0.01, betas=(0.9, 0.95), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: _rate(step, steps))
    generator, order = torch.Generator().manual_seed(seed), torch.empty(0, dtype=torch.long)
    for _ in range(steps):
        if len(order) < batch:
            order = torch.randperm(len(inputs), generator=generator)
        now, order = order[:batch], order[batch:]
        loss = F.cross_entropy(model(inputs[now]).flatten(0, -2), targets[now].flatten())
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        adam.step()
        schedule.step()
        yield loss.item()


def _rate(step: int, steps: int) -> float:
    return min(1.0, (step + 1) / 50) * (0.525 + 0.475 * math.cos(math.pi * step / steps))
