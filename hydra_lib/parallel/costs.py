"""What a layer costs each rank, in FLOPs and in bytes, and what follows for its time.

A prediction: it knows a machine by three numbers, the rate of its arithmetic, the bandwidth and the
latency of its links, and takes neither of the two for overlapping with the other.
"""

from typing import NamedTuple

from hydra_lib import _checks
from hydra_lib.heads import HeadConfig

__all__ = ["Cost", "Seconds", "check_heads", "heads_over_ranks", "keys_over_ranks", "seconds"]


class Cost(NamedTuple):
    """Of one pass, for each rank: FLOPs, bytes that it sends, and messages one after the other."""

    flops: float
    bytes: float
    messages: int


class Seconds(NamedTuple):
    """How long one pass takes by prediction: computing, then communicating."""

    compute: float
    communicate: float

    @property
    def total(self) -> float:
        return self.compute + self.communicate

    @property
    def share(self) -> float:
        """Of the time, how much goes into communication; of no time, nothing."""
        return self.communicate / self.total if self.communicate else 0.0


def heads_over_ranks(
    config: HeadConfig,
    tokens: int,
    ranks: int,
    batch: int = 1,
    element: int = 2,
    training: bool = False,
) -> Cost:
    """Self-attention with its heads over P ranks: :func:`hydra_lib.parallel.heads.shard_heads`.

    FLOPs of a rank: ``(8 B T d_model² + 4 B T² d_model) / P``. The output, N = B T d_model
    ``element`` bytes, is summed by one all-reduce. In a ring each rank sends ``2 N (P − 1) / P``
    bytes in 2 (P − 1) messages. ``training`` adds the backward pass: twice the FLOPs, and one
    all-reduce more. Causal order is not made use of. Raises ValueError for heads that the ranks do
    not divide, and for sizes that are no positive integers. Source: Patarasuk and Yuan (2009),
    *Bandwidth Optimal All-reduce Algorithms*, for the ring.

    >>> heads_over_ranks(HeadConfig(8, 4), tokens=5, ranks=2)
    Cost(flops=1680.0, bytes=80.0, messages=2)
    """
    _checks.instance("config", config, HeadConfig)
    tokens, ranks = _checks.integer("tokens", tokens), _checks.integer("ranks", ranks)
    batch, element = _checks.integer("batch", batch), _checks.integer("element", element)
    passes, reduced = (3, 2) if _checks.flag("training", training) else (1, 1)
    flops = sum(config.flops(tokens, tokens, batch).values())
    check_heads(config.n_heads, ranks)
    size = batch * tokens * config.d_model * element
    sent, messages = _ring(size, ranks)
    return Cost(passes * flops / ranks, reduced * sent, reduced * messages)


def keys_over_ranks(config: HeadConfig, queries: int, keys: int, ranks: int) -> Cost:
    """Attention alone, with its keys over P ranks, as
    :func:`hydra_lib.parallel.sequence.attention_over_ranks` computes it.

    FLOPs of a rank: ``4 Tq Tk d_model / P``. Two all-reduces, of m and of (l, o): together
    ``4 h Tq (d_v + 2)`` bytes, since partial softmaxes are float32, whatever the number of keys.
    Projections are left out. Raises ValueError for sizes that are no positive integers.

    >>> keys_over_ranks(HeadConfig(8, 4), queries=1, keys=6, ranks=2)
    Cost(flops=96.0, bytes=64.0, messages=4)
    """
    _checks.instance("config", config, HeadConfig)
    ranks = _checks.integer("ranks", ranks)
    counted = config.flops(queries, keys)
    size = 4 * config.n_heads * queries * (config.head_dim + 2)
    sent, messages = _ring(size, ranks)
    return Cost((counted["scores"] + counted["mix"]) / ranks, sent, 2 * messages)


def seconds(
    cost: Cost, rate: float | int, bandwidth: float | int, latency: float | int = 0.0
) -> Seconds:
    """Predicted seconds: ``flops / rate``, and ``bytes / bandwidth + messages · latency``.

    ``rate`` in FLOPs a second, ``bandwidth`` in bytes a second that a rank sends, ``latency`` in
    seconds a message. Raises TypeError for what is no number, ValueError unless rate and bandwidth
    are finite and above 0 and latency is finite and at least 0. Source: Hockney (1994), *The
    Communication Challenge for MPP*, for the two terms of a message.

    >>> seconds(Cost(flops=1680.0, bytes=80.0, messages=2), rate=840.0, bandwidth=40.0)
    Seconds(compute=2.0, communicate=2.0)
    """
    _checks.instance("cost", cost, Cost)
    flops, size, messages = (
        _checks.finite(f"cost.{name}", x, least=0) for name, x in cost._asdict().items()
    )
    rate, bandwidth = _checks.finite("rate", rate), _checks.finite("bandwidth", bandwidth)
    for name, value in (("rate", rate), ("bandwidth", bandwidth)):
        if not value > 0:
            raise ValueError(f"{name} must be above 0, got {value}")
    latency = _checks.finite("latency", latency, least=0)
    return Seconds(flops / rate, size / bandwidth + messages * latency)


def check_heads(heads: int, ranks: int) -> None:
    """Refuse heads that the ranks do not divide, with the numbers of ranks that would."""
    if heads % ranks:
        fits = [n for n in range(1, min(heads, 1024) + 1) if heads % n == 0]
        raise ValueError(
            f"ranks must divide n_heads: got n_heads={heads} on {ranks} ranks; these do: "
            f"{', '.join(map(str, fits))}"
        )


def _ring(size: int, ranks: int) -> tuple[float, int]:
    """Bytes each rank sends, and messages in a row, of an all-reduce in a ring.

    P − 1 times each rank passes on 1/P of the sum so far, and P − 1 times 1/P of the result.
    """
    return 2 * size * (ranks - 1) / ranks, 2 * (ranks - 1)
