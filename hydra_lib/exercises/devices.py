"""Checks of the exercises of chapter 12."""

from collections.abc import Iterator

import torch

from hydra_lib import heads
from hydra_lib.exercises import progress
from hydra_lib.exercises.compare import function, value
from hydra_lib.exercises.reader import Wrong, kind, numbers

__all__ = [
    "bytes_sent",
    "contributions",
    "enough_bandwidth",
    "from_all_ranks",
    "kv_heads",
    "progress",
    "weights_of_rank",
]


@value(
    mistakes=[
        (4 * 1536**2, "that is the whole layer; eight ranks share it"),
        (3 * 1536**2 // 8, "W_O is cut as well: its rows meet the rank's heads"),
        (3 * 1536**2 // 8 + 1536**2, "W_O is cut too: a rank has only the rows its heads meet"),
        (1536**2 // 8, "that is one matrix of four"),
        (4 * 1536 * 64, "that is one head; a rank has several"),
        (4 * 192**2, "only one side of each matrix is cut: the rank's heads still read all of x"),
        (4 * 1536**2 * 2 // 8, "that is one whole matrix: a rank has an eighth of each of four"),
    ]
)
def weights_of_rank():
    """Weights of a layer 1536 wide with 24 heads on one of eight ranks."""
    return 4 * 1536**2 // 8


def _sum_parts() -> list[tuple]:
    """Outputs of heads (h, T, d_k), W_O (d_model, d_model) and ranks: small integers."""
    generator = torch.Generator().manual_seed(11)

    def draw(*shape):
        return torch.randint(-3, 4, shape, generator=generator).double()

    return [(draw(6, 5, 2), draw(12, 12), ranks) for ranks in (2, 3)]


def _of_ranks(x, W, ranks):
    own_rows = zip(x.chunk(ranks), W.chunk(ranks), strict=True)
    return torch.stack([heads.merge_heads(part) @ rows for part, rows in own_rows])


def _with(rows):
    """The same with other rows of W_O than the rank's own."""
    return lambda x, W, ranks: torch.stack(
        [heads.merge_heads(part) @ rows(W, ranks, r) for r, part in enumerate(x.chunk(ranks))]
    )


_FIRST = "every rank meets the first rows of W_O: each has rows of its own"
_FLAT = "reshape without a transpose mixes positions: merge the rank's heads"


@function(
    _sum_parts(),
    mistakes=[
        (lambda x, W, r: _of_ranks(x, W, r).sum(0), "that is the sum: the all-reduce comes later"),
        (lambda x, W, r: _of_ranks(x, W, r).flip(0), "the ranks are in reverse order"),
        (
            lambda x, W, r: torch.stack(
                [heads.merge_heads(x) @ part for part in W.chunk(r, dim=1)]
            ),
            "W_O is cut into columns: each rank would need the outputs of all heads; cut the rows",
        ),
        (_with(lambda W, ranks, r: W[: len(W) // ranks]), _FIRST),
        (_with(lambda W, ranks, r: W.chunk(ranks)[ranks - 1 - r]), "the rows are in reverse order"),
        (
            _with(lambda W, ranks, r: W.chunk(ranks, dim=1)[r].mT),
            "those are columns of W_O, transposed: here out = merged @ W_O, and rows meet heads",
        ),
        (_with(lambda W, ranks, r: W[r::ranks]), "every n-th row: a rank's rows are neighbours"),
        (
            lambda x, W, ranks: torch.stack(
                [
                    part.reshape(part.shape[1], -1) @ rows
                    for part, rows in zip(x.chunk(ranks), W.chunk(ranks), strict=True)
                ]
            ),
            _FLAT,
        ),
        (
            lambda x, W, ranks: torch.stack([heads.merge_heads(p) for p in x.chunk(ranks)]),
            "those are the merged heads: W_O is missing",
        ),
        (
            lambda x, W, ranks: x @ W.reshape(len(x), -1, W.shape[-1]),
            "that is one contribution a head: a rank adds up those of its own heads",
        ),
        (
            lambda x, W, ranks: torch.stack([heads.merge_heads(x) @ W] * ranks),
            "every rank computes everything: each has its own heads only",
        ),
        (
            lambda x, W, ranks: torch.stack([heads.merge_heads(x) @ W / ranks] * ranks),
            "a share of the whole output: each rank has its own heads only",
        ),
    ],
)
def contributions(head_outputs, W_O, ranks):
    """What each rank adds to the output, (ranks, T, d_model): its heads times its rows of W_O."""
    return _of_ranks(head_outputs, W_O, ranks)


@function(
    [(24, 2), (600, 3), (1000, 8), (1200, 5)],
    mistakes=[
        (lambda n, P: n * (P - 1) / P, "that is half of it: the sums go around, then the results"),
        (lambda n, P: n, "that is one copy: sums go around in pieces, and then the results"),
        (lambda n, P: 2 * n, "each time around one piece stays at home: P − 1 of P are sent"),
        (lambda n, P: n * (P - 1), "that is everyone to everyone; in a ring only 1/P is passed on"),
        (lambda n, P: 2 * n * (P - 1), "each message is a piece, 1/P of the tensor"),
        (lambda n, P: 2 * n / P, "that is two messages; there are 2 (P − 1)"),
        (lambda n, P: 2 * n * P / (P - 1), "upside down: P − 1 of P pieces"),
        (lambda n, P: n * P, "that is what all ranks hold together"),
        (lambda n, P: 2 * (P - 1), "that is how many messages; the question is their bytes"),
        (lambda n, P: n / P, "that is one message; there are 2 (P − 1)"),
    ],
)
def bytes_sent(size, ranks):
    """Bytes that each rank sends when a tensor of ``size`` bytes is summed in a ring."""
    return 2 * size * (ranks - 1) / ranks


def _found() -> list[tuple]:
    """m, l and o of three ranks: as they come; so large, and so far below 0, that e^m is no number
    or 0 (in eighths, which float32 holds, too); with -inf, where one or two found nothing for a
    query, and none for the last."""
    generator = torch.Generator().manual_seed(12)
    m = 3 * torch.randn(3, 4, generator=generator, dtype=torch.float64)
    l = 1 + torch.rand(3, 4, generator=generator, dtype=torch.float64)
    o = torch.randn(3, 4, 2, generator=generator, dtype=torch.float64)
    nobody = torch.zeros(3, 4).bool()
    plain = (m.clone(), l.clone(), o.clone())
    far = torch.tensor([0.0, 1e6, -1e6, 0.0], dtype=torch.float64)
    large = ((8 * m).round() / 8 + far, l.clone(), o.clone())
    nobody[0, 0] = nobody[:2, 1] = nobody[1, 2] = nobody[:, 3] = True
    m[nobody], l[nobody], o[nobody] = -torch.inf, 0.0, 0.0
    return [plain, large, (m, l, o)]


def _merged_ranks(m, l, o, guard=True, top=None):
    top = m.amax(0) if top is None else top
    if guard:
        top = top.masked_fill(top == -torch.inf, 0.0)
    fade = (m - top).exp()
    total = (fade * l).sum(0)
    if guard:
        total = total.masked_fill(total == 0, 1.0)
    return (fade[..., None] * o).sum(0) / total[:, None]


def _in_turn(first: int, clean: bool):
    """One rank after the other without a guard, beginning with the first or with nothing."""

    def answer(m, l, o):
        top, weight, both = (m[0], l[0], o[0]) if first else (m[0] - torch.inf, 0 * l[0], 0 * o[0])
        for rank in range(first, len(m)):
            new = torch.maximum(top, m[rank])
            a, b = (top - new).exp(), (m[rank] - new).exp()
            weight, both = a * weight + b * l[rank], a[:, None] * both + b[:, None] * o[rank]
            top = new
        output = both / weight[:, None]
        return output.nan_to_num() if clean else output

    return answer


def _no_parts(result) -> torch.Tensor:
    if isinstance(result, tuple) and len(result) == 3:
        raise Wrong("expected one output, got three things: if those are m, l and o, it is o / l")
    return numbers(result)


def _plain_sum(m, l, o):
    return o.sum(0) / l.sum(0)[:, None]


def _means(m, l, o):
    return (o / l[..., None]).mean(0)


@function(
    _found(),
    mistakes=[
        (
            lambda m, l, o: _merged_ranks(m, l, o, guard=False),
            "a query for which nobody has a key gets zeros; −∞ − (−∞) and 0 / 0 are no numbers",
        ),
        *(
            (
                lambda m, l, o, guard=guard: _merged_ranks(m, l, o, guard, torch.zeros(4)),
                "e^m itself overflows where m is large: bring all to the common maximum first",
            )
            for guard in (True, False)
        ),
        *(
            (
                lambda m, l, o, guard=guard: _merged_ranks(m, l, o, guard, m.max().expand(4)),
                "one maximum for all queries leaves some with nothing: each has its own",
            )
            for guard in (True, False)
        ),
        *(
            (
                lambda m, l, o, least=least: _merged_ranks(m, l, o, top=m.amax(0).clamp(min=least)),
                "all scores may be far below 0: put a finite number only in place of −∞",
            )
            for least in (0, -100, -1000)
        ),
        *(
            (
                lambda m, l, o, guard=guard: _merged_ranks(m, l, o, guard, m.amax(1, keepdim=True)),
                "wrong axis: the ranks are the first one, and the largest m is taken over them",
            )
            for guard in (True, False)
        ),
        *(
            (
                _in_turn(first, clean),
                "where nobody has found anything yet, −∞ − (−∞) is NaN, and stays with the query "
                "when a later rank finds something: guard each step",
            )
            for first in (0, 1)
            for clean in (True, False)
        ),
        (
            _plain_sum,
            "each rank counts from its own maximum: bring l and o to the common one first",
        ),
        (
            lambda m, l, o: torch.nan_to_num(_plain_sum(m, l, o)),
            "each rank counts from its own maximum: bring l and o to the common one first",
        ),
        *(
            (
                lambda m, l, o, guard=guard: _merged_ranks(m, l, l[..., None] * o, guard),
                "that takes o for a mixture: it is the sum itself, not yet divided by l",
            )
            for guard in (True, False)
        ),
        (_means, "a mean of the ranks' outputs: one that found more weight must count for more"),
        (
            lambda m, l, o: torch.nan_to_num(_means(m, l, o)),
            "a mean of the ranks' outputs: one that found more weight must count for more",
        ),
        (
            lambda m, l, o: ((m - m.amax(0)).exp()[..., None] * o).sum(0) / l.sum(0)[:, None],
            "o is brought to the common maximum, l is not",
        ),
        (
            lambda m, l, o: o.sum(0) / ((m - m.amax(0)).exp() * l).sum(0)[:, None],
            "l is brought to the common maximum, o is not",
        ),
        (
            lambda m, l, o: ((m - m.amax(0)).exp()[..., None] * o).sum(0),
            "that is o of all ranks: the division by l is missing",
        ),
        (
            lambda m, l, o: (
                ((m.amax(0) - m).exp()[..., None] * o).sum(0)
                / ((m.amax(0) - m).exp() * l).sum(0)[:, None]
            ),
            "the sign in the exponent: what was counted from a lower maximum fades",
        ),
        (
            lambda m, l, o: (torch.softmax(m, 0)[..., None] * (o / l[..., None])).sum(0),
            "the ranks' outputs are weighted by e^m: the weight a rank found is e^m l",
        ),
        (lambda m, l, o: o.sum(0), "that is a plain sum of o"),
    ],
    read=_no_parts,
)
def from_all_ranks(m, l, o):
    """The output (Tq, d_v) from what each of P ranks found: m and l (P, Tq), o (P, Tq, d_v)."""
    return _merged_ranks(m, l, o)


_RATIO = 2 * 7 * 1e5 / (4 * 4096 + 2 * 2048)  # GB a second: 1e14 FLOP/s over 1e9


@value(
    mistakes=[
        (1e9 * _RATIO, "those are bytes a second; the question is GB a second"),
        (_RATIO / 2, "half: a number has two bytes, and an all-reduce goes around twice"),
        (_RATIO / 4, "two bytes a number, and an all-reduce sends nearly everything twice"),
        (
            8 * _RATIO,
            "8 times: R is the speed of one rank; or those are Gbit, and a GB is 8 of them",
        ),
        (_RATIO * 1e9 / 2**30, "those are GiB, of 2³⁰ bytes; the question is GB, of 10⁹"),
        (_RATIO * 8 / 7, "each time around a rank sends 7 of its 8 pieces: P − 1, not P"),
        (_RATIO / 7, "a rank does an eighth of the work, but sends nearly as much"),
        (_RATIO / 8, "a rank does an eighth of the work: the link must be faster, not slower"),
        (2 * 7 * 1e5 / (4 * 4096), "scores and mixing are missing among the FLOPs"),
        (2 * 7 * 1e5 / (2 * 2048), "the four projections are missing among the FLOPs"),
        (2 * _RATIO, "twice: a product and a sum are two FLOPs, and a number has two bytes"),
        (1 / _RATIO, "upside down"),
    ],
    within=0.05,
)
def enough_bandwidth():
    """GB a second at which sending takes as long as computing: d_model 4096, T 2048, 8 ranks of
    100 TFLOP/s, forward, 16-bit numbers."""
    return _RATIO


def _needed(rank, ranks, n_heads, n_kv):
    own = n_heads // ranks
    return sorted({i // (n_heads // n_kv) for i in range(rank * own, (rank + 1) * own)})


def _in_order(result) -> torch.Tensor:
    if isinstance(result, set | dict | Iterator):
        raise Wrong(f"expected a list of numbers, in order, got {kind(result)}")
    return numbers(result)


_NONE = "with fewer KV heads than ranks that leaves ranks with none: several must share one"


def _own(rank, ranks, n_heads, n_kv):
    return range(rank * n_heads // ranks, (rank + 1) * n_heads // ranks)


@function(
    [
        *((1, 2, 8, 4), (2, 4, 8, 2), (3, 4, 8, 2), (5, 8, 16, 4)),
        *((1, 2, 12, 4), (1, 6, 12, 4), (1, 2, 12, 6), (0, 1, 8, 4)),
    ],
    mistakes=[
        (
            lambda r, P, h, n: list(range(r * n // P, (r + 1) * n // P)),
            _NONE,
        ),
        (lambda r, P, h, n: list(range(r * (n // P), (r + 1) * (n // P))), _NONE),
        (
            lambda r, P, h, n: list(range(r * n // P, max(r * n // P + 1, (r + 1) * n // P))),
            "where neither number divides the other a rank may need two",
        ),
        (
            lambda r, P, h, n: sorted({i % n for i in _own(r, P, h, n)}),
            "i % n_kv deals them out in turn; the heads of a group are neighbours",
        ),
        (lambda r, P, h, n: list(_own(r, P, h, n)), "those are the query heads of the rank"),
        (
            lambda r, P, h, n: [i // (h // n) for i in _own(r, P, h, n)],
            "one for each query head: a KV head that several share is needed once",
        ),
        (lambda r, P, h, n: list(range(n)), "all of them on every rank: it needs its own only"),
        (
            lambda r, P, h, n: sorted({i // n for i in _own(r, P, h, n)}),
            "a group has n_heads / n_kv query heads, and not n_kv",
        ),
        (
            lambda r, P, h, n: sorted({_needed(r, P, h, n)[0], _needed(r, P, h, n)[-1]}),
            "the first and the last only: the rank needs those between them as well",
        ),
        (lambda r, P, h, n: [i + 1 for i in _needed(r, P, h, n)], "they are counted from 0"),
        (lambda r, P, h, n: [r], "that is the rank: which KV heads do its query heads share?"),
        (lambda r, P, h, n: [r % n], "that deals them out in turn; groups are neighbours"),
        (
            lambda r, P, h, n: sorted({i // (h // n) for i in range(h // P)}),
            "those are rank 0's: the query heads of a rank begin at rank · n_heads / ranks",
        ),
    ],
    read=_in_order,
)
def kv_heads(rank, ranks, n_heads, n_kv):
    """The KV heads, counted from 0, that the query heads of a rank need, in order."""
    return _needed(rank, ranks, n_heads, n_kv)
