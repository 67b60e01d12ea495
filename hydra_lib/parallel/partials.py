"""Partial softmaxes: summaries of some keys for a query, and how two of them merge.

A kernel that visits keys tile by tile, and ranks that hold slices of one sequence, do the same sum
in pieces. It can be done in any grouping and any order, since the merge is addition written in
another way.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float

from hydra_lib import _checks
from hydra_lib._steps import shape_table
from hydra_lib.attention import check_inputs, forbid, scores_of, widened

__all__ = ["Partial", "attention_of", "merge", "partial_softmax"]


class Partial(NamedTuple):
    """The softmax of each query over some keys, not yet divided. Printed, it is a table of shapes.

    ``m`` is the largest score, ``l = Σ_j exp(s_j − m)`` and ``o = Σ_j exp(s_j − m) v_j``. Of no
    keys, or none that may be attended to: m = −∞, l = 0, o = 0.
    """

    m: Float[torch.Tensor, "*batch Tq"]
    l: Float[torch.Tensor, "*batch Tq"]
    o: Float[torch.Tensor, "*batch Tq d_v"]

    def __repr__(self) -> str:
        return shape_table(self)


def partial_softmax(
    q: Float[torch.Tensor, "*q_batch Tq d_k"],
    k: Float[torch.Tensor, "*k_batch Tk d_k"],
    v: Float[torch.Tensor, "*v_batch Tk d_v"],
    mask: Bool[torch.Tensor, "*mask"] | None = None,
) -> Partial:
    """What the queries find among these keys: ``s = q kᵀ / √d_k``, then m, l and o as above.

    Arguments, masks and errors as :func:`hydra_lib.attention.scaled_dot_product_attention`, but
    that a query may well have no key here: others may hold its keys. 16-bit inputs give a float32
    result. Gradients flow through l and o; m is a constant to them, since no output depends on it.
    Cost: that of the attention of these keys.

    >>> q, k, v = torch.zeros(1, 1), torch.zeros(3, 1), torch.tensor([[3.0], [0.0], [0.0]])
    >>> partial_softmax(q, k, v).l, partial_softmax(q, k, v).o
    (tensor([3.]), tensor([[3.]]))
    """
    tau = check_inputs(q, k, v, mask, False, None)
    q, k, v = widened(q, k, v)
    scaled = forbid(scores_of(q, k), mask, False) / tau  # (..., Tq, Tk)
    m = scaled.detach().amax(-1)  # (..., Tq, Tk) -> (..., Tq)
    weights = (scaled - _finite(m)[..., None]).exp()
    o = weights @ v  # v may have leading axes that q and k have not
    return Partial(m.expand(o.shape[:-1]), weights.sum(-1).expand(o.shape[:-1]), o)


def merge(a: Partial, b: Partial) -> Partial:
    """What the same queries find among the keys of both, which must be different keys.

    With ``m = max(m_a, m_b)``: ``l = e^(m_a − m) l_a + e^(m_b − m) l_b``, and ``o`` likewise.

    Associative and commutative, with the Partial of no keys as its identity: (e^m l, e^m o) is
    added, entry by entry, and m only keeps it in range. m is exact; l and o are rounded as sums
    are. No exponent is positive, so nothing overflows. Raises TypeError for what is no Partial,
    ValueError for two shapes, and both for another dtype or device. Cost: 3 (d_v + 1) FLOPs and two
    exponentials a query. Source: Milakov and Gimelshein (2018), section 3.1; Dao et al. (2022),
    section 3.1.

    >>> one = Partial(torch.tensor([0.0]), torch.tensor([1.0]), torch.tensor([[3.0]]))
    >>> two = Partial(torch.tensor([0.0]), torch.tensor([2.0]), torch.tensor([[0.0]]))
    >>> attention_of(merge(one, two))
    tensor([[1.]])
    """
    for name, part in (("a", a), ("b", b)):
        _check(name, part)
    for field, x, y in zip(Partial._fields, a, b, strict=True):
        _checks.like(f"b.{field}", y, f"a.{field}", x, x.shape)
    m = torch.maximum(a.m, b.m)
    (l_a, o_a), (l_b, o_b) = measured_from(m, a), measured_from(m, b)
    return Partial(m, l_a + l_b, o_a + o_b)


def attention_of(part: Partial) -> Float[torch.Tensor, "*batch Tq d_v"]:
    """The output of attention, ``o / l``, once all keys are merged; zeros where there was none.

    >>> attention_of(Partial(torch.tensor([7.0]), torch.tensor([4.0]), torch.tensor([[2.0]])))
    tensor([[0.5000]])
    """
    _check("part", part)
    return part.o / part.l.masked_fill(part.l == 0, 1.0)[..., None]


def _check(name: str, part: Partial) -> None:
    _checks.instance(name, part, Partial)
    _checks.floating(f"{name}.m", part.m)
    _checks.like(f"{name}.l", part.l, f"{name}.m", part.m, part.m.shape)
    _checks.like(f"{name}.o", part.o, f"{name}.m", part.m)
    if part.o.shape[:-1] != part.m.shape or part.o.ndim == 0:
        expected = f"shape {tuple(part.m.shape)} and one axis more"
        raise ValueError(f"{name}.o must have {expected}, got {tuple(part.o.shape)}")


def measured_from(m: torch.Tensor, part: Partial) -> tuple[torch.Tensor, torch.Tensor]:
    """l and o with the exponents counted from ``m``, which is not below the part's own."""
    fade = (part.m - _finite(m)).exp()
    return fade * part.l, fade[..., None] * part.o


def _finite(m: torch.Tensor) -> torch.Tensor:
    """−∞ − (−∞) would be NaN; −∞ minus any number is −∞, and e^−∞ is 0."""
    return m.masked_fill(m == -torch.inf, 0.0)
