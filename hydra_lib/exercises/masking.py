"""Checks of the exercises of chapter 2."""

import torch

from hydra_lib import boltzmann, masking
from hydra_lib.exercises import progress
from hydra_lib.exercises.compare import function, value
from hydra_lib.exercises.differences import alike, text
from hydra_lib.exercises.reader import Wrong, boolean, numbers
from hydra_lib.exercises.tried import copies, in_some_form
from hydra_lib.exercises.verdict import Verdict

__all__ = [
    "gradient_pairs",
    "masked_weights",
    "packed",
    "predicted_leak",
    "progress",
    "strictly_before",
]


def must_be_boolean(tried, case) -> str | None:
    return None if boolean(tried.returned) else "expected a boolean tensor, True = may attend"


def to_add(mask: torch.Tensor) -> torch.Tensor:
    return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)


def _before(T: int, diagonal: int = -1) -> torch.Tensor:
    return torch.ones(T, T).tril(diagonal)


ADDITIVE = "that is 0 and −∞, a mask to add; expected a boolean tensor, True = may attend"


@value(
    mistakes=[
        (1 / 7, "each single position gets 1/7; the future of the third row has four of them"),
        (0.0, "with −∞ nothing leaks; with a score of 0, e^0 = 1 takes a share like any other"),
        (3 / 7, "that stays with the past and the position itself; or you counted rows from 0"),
        (5 / 7, "a position is not in its own future: that has four of the seven"),
        (1.0, "the third row keeps a share: it sees three positions"),
        (4 / 5, "that was the first row of five"),
        (4 / 6, "that is four of six; the row has seven positions"),
        (3 / 6, "that is three of six; four of the seven positions are in the future"),
        (3 / 5, "0.6 is the share in one digit: take two (three of five would be a miscount)"),
        (4, "that counts the positions; the question is their share of the weight"),
        (57, "that is per cent; the share is a number from 0 to 1"),
        (400 / 7, "that is per cent; the share is a number from 0 to 1"),
    ],
    within=0.005,
)
def predicted_leak():
    """Weight of the future in the third row of 7 when forbidden scores become 0, all scores 0."""
    return 4 / 7


@function(
    [(T,) for T in (2, 3, 5, 7)],
    mistakes=[
        (masking.causal_mask, "that is the causal mask: it lets every position see itself"),
        (
            lambda T: _before(T).mT,
            "that looks ahead: row i is the query, and it sees the columns j < i",
        ),
        (lambda T: _before(T, -2), "the diagonal is off by one: i − 1 is before i too"),
        (lambda T: torch.ones(T, T), "that forbids nothing"),
        (
            lambda T: ~torch.eye(T).bool(),
            "it forbids the position itself, but not those after it: it looks ahead",
        ),
        (lambda T: torch.diag(torch.ones(T - 1), -1), "that is only the one before, not all"),
        (lambda T: to_add(_before(T).bool()), ADDITIVE),
    ],
    look=must_be_boolean,
)
def strictly_before(T):
    """A mask in which position i sees only positions j < i."""
    return _before(T).bool()


def _inside(documents):
    return documents[:, None] == documents


def _packed(documents):
    return _inside(documents) & masking.causal_mask(len(documents))


@function(
    [(torch.tensor(ids),) for ids in ([0, 0, 1, 1, 1, 2], [0, 1], [3, 3, 3, 1, 1])],
    mistakes=[
        (_inside, "it looks ahead: within a document it is not causal"),
        (lambda ids: masking.causal_mask(len(ids)), "it looks across the boundary"),
        (
            lambda ids: _inside(ids) | masking.causal_mask(len(ids)),
            "with | either condition is enough; both must hold: &",
        ),
        (
            lambda ids: _inside(ids) & _before(len(ids)).bool(),
            "no position sees itself: the diagonal is off by one",
        ),
        (
            lambda ids: ids[:, None] == (ids & masking.causal_mask(len(ids))),
            "& binds tighter than ==: the comparison needs brackets",
        ),
        (lambda ids: ~_inside(ids) & masking.causal_mask(len(ids)), "it sees only other documents"),
        (
            lambda ids: _inside(ids) & masking.causal_mask(len(ids)).mT,
            "it looks ahead, and not back: that is the transpose",
        ),
        (lambda ids: to_add(_packed(ids)), ADDITIVE),
    ],
    look=must_be_boolean,
)
def packed(documents):
    """A mask (T, T): causal, and only inside the own document."""
    return _packed(documents)


def _masked_weights_cases() -> list[tuple]:
    generator = torch.Generator().manual_seed(2)
    masks = [masking.causal_mask(T) for T in (3, 5, 7)] + [masking.window_mask(5, 3).mT]
    return [(torch.randn(m.shape, generator=generator, dtype=torch.float64), m) for m in masks]


def _exactly_zero(tried, case) -> str | Verdict | None:
    scores, mask = copies(case)
    if tried.got.reshape(mask.shape)[~mask].any():
        return "a forbidden weight is small, but not zero"
    mask[1] = False
    found = in_some_form(tried.answer, [(scores, mask)], numbers)[0].got
    says = "a row with nothing to see gets zero weights"
    if isinstance(found, Wrong):
        return f"{says}; with one, {found}"
    if found.numel() < mask.numel():
        return "a row is missing: one with nothing to see stays, as zeros"
    row = found.flatten()[len(mask) : 2 * len(mask)]
    if row.isnan().any():
        return f"{says}, here it is NaN"
    if row.any():
        return f"{says}, here it is {text(row)}: is a large negative number in place of −∞?"
    if not alike(found, boltzmann.probabilities(masking.apply_mask(scores, mask))):
        return f"{says}, and the rows beside it keep theirs"
    for more, cure in (
        (1000.0, "mask first, then softmax"),
        (1e12, "a large negative number is not −∞"),
    ):
        again = in_some_form(tried.answer, [(scores + more * ~mask, mask)], numbers)[0].got
        if isinstance(again, Wrong) or not alike(again, found):
            return f"with forbidden scores {more:g} higher other weights come out: {cure}"
    return _far_below(tried.answer, scores, mask)


def _far_below(answer, scores, mask) -> str | Verdict | None:
    """Softmax asks only how far apart scores are; a number in place of −∞ is near to some."""
    for below in (300.0, 1e6):
        lower = scores - below
        found = in_some_form(answer, [(lower, mask)], numbers)[0].got
        if isinstance(found, Wrong) or not alike(
            found, boltzmann.probabilities(masking.apply_mask(lower, mask))
        ):
            break
    else:
        return None
    if below > 300 and not isinstance(found, Wrong) and found.isnan().any():
        return Verdict(True, _EXP)
    return (
        f"with all scores {below:g} lower other weights come out: is there a number in place of "
        "−∞, or one added to the sum?"
    )


_EXP = (
    "Right. (Where all scores are below −745, though, every exp is 0 and this divides 0 by 0: "
    "torch.softmax takes the largest score off first.)"
)


def _softmax(scores, dim=-1):
    return torch.softmax(scores, dim)


_INVERTED = "the mask is inverted: True means may attend, and those are the ones you forbid"
_AFTER = "masked after the softmax: a row must sum to 1 over what is allowed"


def _filled(number: float):
    return lambda s, m: _softmax(s.masked_fill(~m, number))


@function(
    _masked_weights_cases(),
    mistakes=[
        (lambda s, m: _softmax(s) * m, _AFTER),
        (lambda s, m: s.exp() * m / s.exp().sum(-1, keepdim=True), _AFTER),
        (lambda s, m: _softmax(s).masked_fill(~m, -torch.inf), _AFTER),
        (
            lambda s, m: boltzmann.probabilities(s.masked_fill(~m, -torch.inf)).log(),
            "those are logarithms of the weights",
        ),
        (lambda s, m: _softmax(s * m), "zero for −∞: 0 is a score like any other, e^0 = 1"),
        (lambda s, m: _softmax(s.masked_fill(m, -torch.inf)), _INVERTED),
        (lambda s, m: boltzmann.probabilities(s.masked_fill(m, -torch.inf)), _INVERTED),
        (lambda s, m: _softmax(s * m) * m, f"zero for −∞, and {_AFTER}"),
        (
            lambda s, m: _softmax(s.masked_fill(~m.mT, -torch.inf)),
            "the mask is transposed: its rows are queries",
        ),
        (lambda s, m: _softmax(s * ~m), f"{_INVERTED}; and 0 takes the place of −∞"),
        (lambda s, m: _softmax(s.masked_fill(m, -1e9)), _INVERTED),
        *(
            (_filled(number), "a negative number is not −∞: its exponential is not zero")
            for number in (-1.0, -5.0, -10.0)
        ),
        (
            lambda s, m: _softmax(s.masked_fill(~m, -torch.inf), 0),
            "the softmax runs along the wrong axis: each column sums to 1, a row must",
        ),
        (lambda s, m: _softmax(s), "nothing is masked"),
        (
            lambda s, m: _softmax(s.masked_fill(~masking.causal_mask(len(s)), -torch.inf)),
            "that is a causal mask of your own: use the mask that was given",
        ),
        (lambda s, m: s.masked_fill(~m, -torch.inf), "masked, but the softmax is missing"),
        (lambda s, m: _softmax(s + m), "adding or subtracting 1 forbids nothing; only −∞ does"),
        (
            lambda s, m: s.exp() * m / (s.exp() * m).sum(),
            "sum() over everything: a row must sum to 1",
        ),
        (
            lambda s, m: s.exp() * m / (s.exp() * m).sum(-1),
            "column j is divided by the sum of row j: keepdim=True is missing",
        ),
        (lambda s, m: s.exp() * m, "a row must sum to 1: nothing was divided"),
        (
            lambda s, m: boltzmann.probabilities(masking.apply_mask(-s, m)),
            "the sign: a larger score gets more weight",
        ),
        (
            lambda s, m: boltzmann.probabilities(masking.apply_mask(s, m), 0),
            "the best key takes all: that is τ = 0, hard and not soft (the second argument of "
            "probabilities is τ, not the axis)",
        ),
        (
            lambda s, m: _softmax(s + ~m * -torch.inf),
            "0 · −∞ is NaN: put −∞ in place with masked_fill or where",
        ),
    ],
    look=_exactly_zero,
)
def masked_weights(scores, mask):
    """Softmax over what is allowed, mask True = may attend."""
    return boltzmann.probabilities(masking.apply_mask(scores, mask))


@value(
    mistakes=[
        (49, "49 counts the pairs (i, j) with j > i too; no gradient flows there"),
        (21, "21 leaves out the diagonal; a position sees itself"),
        (42, "those are all pairs of different positions; no gradient flows from the future"),
        (15, "that is for five positions; there are seven"),
        (7, "those are the pairs (i, i) only; the past counts too"),
        (36, "that is for eight positions; there are seven"),
        (56, "7 · 8 is twice what 1 to 7 add up to"),
        (24.5, "half of 49 pairs: but the diagonal counts whole"),
    ]
)
def gradient_pairs():
    """Pairs (output i, value j) with a non-zero gradient under the causal mask, T = 7."""
    return 28
