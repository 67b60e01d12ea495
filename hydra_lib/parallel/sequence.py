"""One sequence over ranks: each holds a slice of the keys and values, and partial softmaxes merge.

Also known as context parallelism. The merge of :mod:`hydra_lib.parallel.partials` is associative
and commutative, which is all that an all-reduce asks of what it adds up.
"""

import torch
from jaxtyping import Bool, Float
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor import Partial as Summand

from hydra_lib.attention import check_inputs
from hydra_lib.parallel.partials import Partial, attention_of, measured_from, partial_softmax
from hydra_lib.parallel.ranks import check_mesh

__all__ = ["attention_over_ranks"]


def attention_over_ranks(
    q: Float[torch.Tensor, "*q_batch Tq d_k"],
    k: Float[torch.Tensor, "*k_batch Tk d_k"],
    v: Float[torch.Tensor, "*v_batch Tk d_v"],
    mesh: DeviceMesh,
    mask: Bool[torch.Tensor, "*mask"] | None = None,
) -> Float[torch.Tensor, "*batch Tq d_v"]:
    """Attention of all queries to keys and values of which each rank holds a slice.

    Each rank finds m, l and o among its own keys. Then ``M = max_r m_r``, and
    ``out = Σ_r e^(m_r − M) o_r / Σ_r e^(m_r − M) l_r``: the merge of all ranks.

    ``q`` (…, Tq, d_k) is the same on every rank; ``k`` (…, Tk, d_k) and ``v`` (…, Tk, d_v) are the
    rank's own, and Tk may differ between ranks, if it is at least 1: a rank without keys takes
    one that its mask forbids. ``mask`` holds the columns of these keys, True =
    may attend; for a causal layer, ``causal_mask(T)[:, first : first + Tk]``. A query that no rank
    has a key for gets zeros. The whole output comes back on every rank, and so does the gradient of
    q; those of k and v are the rank's own.

    Communication: two all-reduces forward, of Tq and of Tq·(d_v + 1) numbers a head, whatever the
    number of keys; backward one, of the gradient of q. Errors as
    :func:`hydra_lib.attention.scaled_dot_product_attention`; as
    :func:`hydra_lib.parallel.heads.shard_heads` for the mesh. Source: Liu, Zaharia and Abbeel
    (2023), *Ring Attention*, where keys travel in place of summaries, and queries are cut as well.

    ``torch.distributed.tensor.experimental.context_parallel`` cuts the queries too, and tests
    compare with it. Told so, on CUDA, it sends keys around a ring and merges by the same formula,
    on o / l and m + log l; in torch 2.13 it gathers all keys otherwise, and on a CPU always.
    """
    check_inputs(q, k, v, mask, False, None, values=False)
    check_mesh(mesh, q.device)
    everywhere, dtype = [Replicate()], q.dtype
    # Each rank's keys contribute to the gradient of the queries: their sum is taken backward.
    q = DTensor.from_local(q, mesh, everywhere, run_check=False)
    q = q.to_local(grad_placements=[Summand()])
    own = partial_softmax(q, k, v, mask)
    largest = DTensor.from_local(own.m, mesh, [Summand("max")], run_check=False)
    m = largest.redistribute(mesh, everywhere).to_local()
    l, o = measured_from(m, own)
    both = torch.cat((l[..., None], o), -1)  # (..., Tq, 1 + d_v): one message in place of two
    summed = DTensor.from_local(both, mesh, [Summand()], run_check=False)
    l, o = summed.redistribute(mesh, everywhere).to_local().split((1, o.shape[-1]), -1)
    return attention_of(Partial(m, l[..., 0], o)).to(dtype)
