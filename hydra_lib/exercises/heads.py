"""Checks of the exercises of chapter 6."""

import math

import torch

from hydra_lib import heads, masking
from hydra_lib.exercises import progress
from hydra_lib.exercises.compare import choice, function, value
from hydra_lib.exercises.masking import ADDITIVE, must_be_boolean, to_add

__all__ = [
    "head_count",
    "last_rows",
    "merge",
    "padded_attention",
    "per_head_parameters",
    "progress",
    "split",
    "with_output_projection",
]


@choice(
    range(1, 17),
    refuse=lambda n: f"72 / {n} leaves a remainder of {72 % n}",
    missing="each of these divides 72, but some are missing",
    mistakes=[
        ([], "the list is empty; n divides 72 where 72 % n is 0, not n % 72"),
        (
            [6, 8, 9, 12, 18, 24, 36, 72],
            "those are the widths of a head; the question is how many heads",
        ),
    ],
)
def head_count():
    """Head counts from 1 to 16 that divide a width of 72, as a list."""
    return [1, 2, 3, 4, 6, 8, 9, 12]


_SIZES = ((5, 3, 2), (7, 2, 3))  # T, h, d_k


def _tokens(T: int, h: int, d_k: int) -> torch.Tensor:
    return torch.arange(T * h * d_k, dtype=torch.float64).reshape(T, h * d_k)


def _without_transpose(x, n_heads):
    return x.reshape(n_heads, len(x), -1)


def _where_it_went(got, x, n_heads) -> str:
    token, first = divmod(int(got[1, 0, 0]), x.shape[1])
    return (
        f"the shape is right, but head 1 at position 0 holds entry {first} of token {token}: "
        "the transpose is missing"
    )


def _cut(x, n_heads):
    return x.reshape(len(x), n_heads, -1)


def _interleaved(x, n_heads):
    return x.reshape(len(x), -1, n_heads)


@function(
    [(_tokens(*sizes), sizes[1]) for sizes in _SIZES],
    mistakes=[
        (_without_transpose, _where_it_went),
        (
            lambda x, n: _interleaved(x, n).permute(2, 0, 1),
            "interleaved heads: head i takes every n-th column; its columns should be neighbours",
        ),
        (_cut, "that is (T, h, d_k): the transpose to (h, T, d_k) is missing"),
        (
            lambda x, n: _cut(x, n).permute(1, 2, 0),
            "that is (h, d_k, T): positions come before columns",
        ),
        (
            lambda x, n: _cut(x, n).permute(2, 0, 1),
            "that is (d_k, T, h): the wrong two axes were swapped",
        ),
        (
            lambda x, n: _cut(x, n).transpose(0, 2),
            "that is (d_k, h, T): the wrong two axes were swapped",
        ),
        (_interleaved, "that is (T, d_k, h): interleaved, and the transpose is missing"),
        (
            lambda x, n: x.mT.reshape(n, -1, len(x)),
            "that is (h, d_k, T): positions come before columns",
        ),
        (
            lambda x, n: x.mT.reshape(n, len(x), -1),
            "the numbers of one head are out of order: cut the columns, then swap two axes",
        ),
        (lambda x, n: x, "nothing was split: d_model is still one axis"),
        (
            lambda x, n: _cut(x, n).transpose(0, 1).flip(0),
            "the heads are there, in reversed order",
        ),
    ],
)
def split(x, n_heads):
    """(T, d_model) into (h, T, d_k): head i holds the columns i·d_k to (i + 1)·d_k."""
    return heads.split_heads(x, n_heads)


def _split_tokens(T: int, h: int, d_k: int) -> torch.Tensor:
    return heads.split_heads(_tokens(T, h, d_k), h)


@function(
    # What plain attention returns lies head after head in memory; a view of the tokens does not.
    [(_split_tokens(*sizes).contiguous(),) for sizes in _SIZES] + [(_split_tokens(*_SIZES[0]),)],
    mistakes=[
        *(
            (
                answer,
                "the first row now holds several tokens of head 0: transpose back before the "
                "reshape",
            )
            for answer in (lambda x: x.reshape(x.shape[1], -1), lambda x: x.view(x.shape[1], -1))
        ),
        (
            lambda x: x.permute(1, 2, 0).reshape(x.shape[1], -1),
            "interleaved heads: the columns of one head should be neighbours",
        ),
        (lambda x: x.transpose(0, 1), "that is (T, h, d_k): the last two axes are not yet one"),
        (
            lambda x: x.reshape(-1, x.shape[-1]),
            "the heads stand below each other; they belong side by side",
        ),
        (lambda x: x.sum(0), "the heads are added up; they belong side by side"),
        (lambda x: x.mean(0, dtype=torch.float64), "that is the mean of the heads; merge them"),
        *(
            (
                lambda x, axis=axis: x.transpose(axis, 2).reshape(x.shape[1], -1),
                "the wrong two axes were swapped: the head comes after the position",
            )
            for axis in (0, 1)
        ),
        (lambda x: x[0], "that is head 0 alone"),
        (lambda x: x, "nothing was merged: three axes went in, three came out"),
        (
            lambda x: x.flip(0).transpose(0, 1).reshape(x.shape[1], -1),
            "the heads stand in reversed order",
        ),
    ],
)
def merge(x):
    """(h, T, d_k) back into (T, d_model)."""
    return heads.merge_heads(x)


def _layer_parts() -> tuple[torch.Tensor, torch.Tensor]:
    """Per-head outputs (h, T, d_k) and an output projection (d_model, d_model), small integers."""
    generator = torch.Generator().manual_seed(6)
    outputs = torch.randint(-3, 4, (3, 5, 2), generator=generator).double()
    W_O = torch.randint(-3, 4, (6, 6), generator=generator).double()
    return outputs, W_O


@function(
    [_layer_parts()],
    mistakes=[
        (
            lambda x, W: heads.merge_heads(x),
            "the heads stand side by side and never meet: W_O is missing",
        ),
        (
            lambda x, W: heads.merge_heads(x) @ W.T,
            "that is W_O transposed: here out = merged @ W_O",
        ),
        (
            lambda x, W: x.reshape(x.shape[1], -1) @ W,
            "reshape before W_O without a transpose: its rows mix positions; merge the heads",
        ),
        (
            lambda x, W: x.reshape(x.shape[1], -1),
            "reshape without a transpose mixes positions; and W_O is missing",
        ),
        (
            lambda x, W: x.permute(1, 2, 0).reshape(x.shape[1], -1) @ W,
            "interleaved heads: the columns of one head should be neighbours",
        ),
        (
            lambda x, W: x.reshape(x.shape[1], -1) @ W.T,
            "reshape before W_O without a transpose mixes positions; and W_O is transposed",
        ),
        (
            lambda x, W: x.transpose(1, 2).reshape(x.shape[1], -1) @ W,
            "reshape before W_O after the wrong transpose: head and position change places",
        ),
        (
            lambda x, W: (heads.merge_heads(x) @ W) @ W,
            "W_O was applied twice",
        ),
        (
            lambda x, W: x @ W[: x.shape[-1]],
            "each head meets the same rows of W_O, and the heads are not added up",
        ),
        (
            lambda x, W: (x @ W[: x.shape[-1]]).sum(0),
            "each head has rows of W_O of its own; here all of them meet the first",
        ),
        (
            lambda x, W: x @ W.reshape(x.shape[0], -1, W.shape[-1]),
            "those are the contributions of the heads, one by one: their sum is missing",
        ),
        (lambda x, W: heads.merge_heads(x) * W[0], "* multiplies entry by entry; a product is @"),
    ],
)
def with_output_projection(head_outputs, W_O):
    """Merge the heads (h, T, d_k) and let W_O mix them."""
    return heads.merge_heads(head_outputs) @ W_O


def _padded_cases() -> list[tuple]:
    generator = torch.Generator().manual_seed(11)
    cases = []
    # With B = h = T every wrong alignment runs, and is wrong; the second case has it crash. In the
    # third no text is as long as the tensor.
    for B, h, T, lengths in ((3, 3, 3, [2, 3, 2]), (2, 3, 5, [2, 5]), (2, 3, 5, [2, 4])):
        q, k, v = torch.randn(3, B, h, T, 7, generator=generator, dtype=torch.float64)
        cases.append((q, k, v, torch.tensor(lengths)))
    # Real scores far below 0: what is filled in must lie below them still. Padded ones far above:
    # no number that is added outweighs them.
    low = -1e36 * q.abs(), k.abs(), v, torch.tensor(lengths)
    padding = ~_real(q, torch.tensor(lengths))[:, None, :, None]
    high = q, torch.where(padding, 1e12 * k, k), v, torch.tensor(lengths)
    return [*cases, low, high]


def _scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


def _real(q, lengths):
    return torch.arange(q.shape[-2]) < lengths[:, None]  # (B, T)


def _weigh(q, k, v, mask, fill: float = -torch.inf):
    return torch.softmax(_scores(q, k).masked_fill(~mask, fill), -1) @ v


def _divided(weights):
    return weights / weights.sum(-1, keepdim=True)


def _by_mask(arranged, fill: float = -torch.inf):
    return lambda q, k, v, lengths: _weigh(q, k, v, arranged(_real(q, lengths)), fill)


_WRONG_AXIS = "(B, T) lines up with (queries, keys): query i got the mask of sequence i"
_HEADS = "(B, 1, T) lines up with (heads, queries, keys): head i got the mask of sequence i"
_QUERIES = "that masks queries: mask the padded keys"
_FAR_ABOVE = "NaN where padded scores are far above the real ones: put −∞ in their place first"
_NOT_FORBIDDEN = "the mask is inverted: it lets only the padding through"


@function(
    _padded_cases(),
    mistakes=[
        (_by_mask(lambda m: m), _WRONG_AXIS + "; it needs (B, 1, 1, T)"),
        (_by_mask(lambda m: m[:, None]), _HEADS + "; it needs (B, 1, 1, T)"),
        (_by_mask(lambda m: m[None, None]), _WRONG_AXIS + "; it needs (B, 1, 1, T)"),
        (_by_mask(lambda m: m[None, :, None]), _HEADS + "; it needs (B, 1, 1, T)"),
        (
            _by_mask(lambda m: m[:, :, None]),
            "(B, T, 1) lines up with (heads, queries, keys); it needs (B, 1, 1, T)",
        ),
        (_by_mask(lambda m: m[:, None, :, None]), _QUERIES),
        (
            lambda q, k, v, n: (
                _weigh(q, k, v, torch.ones(1).bool()) * _real(q, n)[:, None, :, None]
            ),
            _QUERIES,
        ),
        (_by_mask(lambda m: m[:, None, :, None] & m[:, None, None]), _QUERIES + ", and only those"),
        (_by_mask(lambda m: ~m[:, None, None]), _NOT_FORBIDDEN),
        (
            lambda q, k, v, n: torch.nan_to_num(_by_mask(lambda m: ~m[:, None, None])(q, k, v, n)),
            _NOT_FORBIDDEN,
        ),
        (
            _by_mask(lambda m: m[:, None, None], 0.0),
            "zero for −∞: 0 is a score like any other, the padding keeps a share",
        ),
        (
            lambda q, k, v, n: (
                _divided(_scores(q, k).exp().masked_fill(~_real(q, n)[:, None, None], 0.0)) @ v
            ),
            "NaN where all real scores are far below 0, since every exp is 0: use a softmax, or "
            "subtract the largest first",
        ),
        (
            _by_mask(lambda m: m[:, None, None], -1e9),
            "a negative number is not −∞: real scores may lie below it",
        ),
        (
            lambda q, k, v, n: (
                torch.softmax(_scores(q, k) - 100.0 * ~_real(q, n)[:, None, None], -1) @ v
            ),
            "a number was added to the padded scores, and a large one outweighs it: replace them",
        ),
        (
            lambda q, k, v, n: (
                _divided(torch.softmax(_scores(q, k), -1) * _real(q, n)[:, None, None]) @ v
            ),
            _FAR_ABOVE,
        ),
        (
            lambda q, k, v, n: _divided(_scores(q, k).exp() * _real(q, n)[:, None, None]) @ v,
            _FAR_ABOVE,
        ),
        (
            lambda q, k, v, n: torch.softmax(_scores(q, k), -1) * _real(q, n)[:, None, None] @ v,
            "the padding had its share in the softmax, and what is left does not sum to 1",
        ),
        (
            _by_mask(lambda m: m[:, None, None] & masking.causal_mask(m.shape[-1])),
            "that is causal as well; only the padding is to be masked",
        ),
        (
            lambda q, k, v, n: _weigh(q, k, v, torch.ones(1).bool()),
            "nothing is masked: the padding keeps its share",
        ),
        (
            lambda q, k, v, n: _weigh(
                q, k, v, (torch.arange(q.shape[-2]) <= n[:, None])[:, None, None]
            ),
            "off by one: the first padded key is still seen; keys 0 to length − 1 are real",
        ),
        (
            lambda q, k, v, n: _weigh(q, k, v, _real(q, n - 1)[:, None, None]),
            "off by one: the last real key is masked too; keys 0 to length − 1 are real",
        ),
        (
            lambda q, k, v, n: _weigh(q * math.sqrt(q.shape[-1]), k, v, _real(q, n)[:, None, None]),
            "the scores are not divided by √d_k",
        ),
        (
            lambda q, k, v, n: _weigh(q / math.sqrt(q.shape[-1]), k, v, _real(q, n)[:, None, None]),
            "divided by d_k, or by √d_k twice: once by √d_k",
        ),
        (
            lambda q, k, v, n: (
                torch.softmax(
                    _scores(q, k).masked_fill(~_real(q, n)[:, None, None], -torch.inf), -2
                )
                @ v
            ),
            "the softmax runs along the wrong axis, the queries: a padded column is NaN",
        ),
        (
            lambda q, k, v, n: (
                torch.softmax(
                    _scores(q, k).masked_fill(~_real(q, n)[:, None, None], -torch.inf), -2
                ).nan_to_num()
                @ v
            ),
            "the softmax runs along the wrong axis, the queries",
        ),
        (
            lambda q, k, v, n: (
                _weigh(q, k, v, _real(q, n)[:, None, None]) * _real(q, n)[:, None, :, None]
            ),
            "the outputs of padded queries are 0: they look at the real keys too; mask keys only",
        ),
        (
            lambda q, k, v, n: torch.softmax(_scores(q, k) + _real(q, n)[:, None, None], -1) @ v,
            "a mask of zeros and ones is added to the scores: keep it boolean",
        ),
        (
            lambda q, k, v, n: _weigh(q, k, v, _real(q, n)[:, None, None]).transpose(1, 2),
            "that is (B, T, h, d_v): leave the axes as they are",
        ),
    ],
)
def padded_attention(q, k, v, lengths):
    """Attention (B, h, T, d_v) in which every query of sequence b sees its first lengths[b] keys.

    ``q``, ``k`` and ``v`` are (B, h, T, d_k), ``lengths`` holds B integers from 1 to T.
    """
    return _weigh(q, k, v, _real(q, lengths)[:, None, None])


@value(
    mistakes=[
        (1600 * 64, "that is one matrix; a head has its own part of three"),
        (3 * 1600 * 1600, "those are the three matrices of all heads together"),
        (4 * 1600 * 1600, "that is the whole layer: W_O too, and all heads"),
        (3 * 1600 * 64 + 3 * 64, "the matrices only: biases were not asked for"),
        (4 * 1600 * 64, "W_O is not asked for: three matrices"),
        (3 * 64 * 64, "a head's matrix starts from the full width: d_model × d_k"),
        (3 * 768 * 64, "that is GPT-2 small, of width 768"),
        (1600 * 1600, "that is one matrix of all heads together"),
        (2 * 1600 * 64, "those are two matrices; there are W_Q, W_K and W_V"),
        (3 * 64, "a head's matrix has d_model rows as well: its width is one side only"),
        (3 * 1600 * 25, "a head is 64 wide; 25 is how many heads there are"),
    ]
)
def per_head_parameters():
    """Parameters of W_Q, W_K and W_V that belong to one head of GPT-2 XL."""
    return 3 * 1600 * 64


def _visible(T: int, m: int, diagonal: int) -> torch.Tensor:
    return torch.ones(m, T).tril(diagonal).bool()


@function(
    [(T, m) for T, m in ((7, 2), (5, 1), (3, 3), (11, 5))],
    mistakes=[
        (
            lambda T, m: _visible(T, m, 0),
            "its diagonal begins in the upper left corner, but the new queries are the last ones",
        ),
        (
            lambda T, m: torch.ones(m, T).bool(),
            "with more than one new query that looks ahead: they must not see each other's future",
        ),
        (
            lambda T, m: _visible(T, m, T - m - 1),
            "the diagonal is off by one: a query sees its own token too",
        ),
        (
            lambda T, m: _visible(T, m, T - m + 1),
            "the diagonal is off by one: a query sees the token after it",
        ),
        (
            lambda T, m: torch.ones(m, m).tril().bool(),
            "that is (m, m): the new queries see the old keys too, all T",
        ),
        (lambda T, m: ~_visible(T, m, T - m), "that is inverted: True = may attend"),
        (lambda T, m: masking.causal_mask(T), "that is a row for every token, (T, T)"),
        (lambda T, m: masking.causal_mask(T)[-m], "that is one row only: [-m:] with a colon"),
        (
            lambda T, m: _visible(T, m, T - m) & (torch.arange(T) >= T - m),
            "the new queries see each other, but none of the old keys",
        ),
        (
            lambda T, m: masking.causal_mask(T)[:, -m:],
            "those are the last m columns: keys, not queries",
        ),
        (lambda T, m: to_add(_visible(T, m, T - m)), ADDITIVE),
    ],
    look=must_be_boolean,
)
def last_rows(T, m):
    """The mask of the last m of T queries, (m, T)."""
    return _visible(T, m, T - m)
