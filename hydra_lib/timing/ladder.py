"""One causal attention, computed ever better: from Python loops to a fused kernel.

Every rung is a function of q, k and v, each (B, h, T, d_k), and gives the same (B, h, T, d_k) up
to rounding. What lies around it in a layer, the projections, is the same for all. A rung is there
to be timed, and so checks nothing: :func:`refusal` does, before.
"""

import math
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from hydra_lib import _checks
from hydra_lib.timing.exact import Heads, attend_causally, check_heads

__all__ = [
    "LADDER",
    "Rung",
    "all_at_once",
    "attend_one_head",
    "one_by_one",
    "python_loops",
    "refusal",
    "sdpa",
    "triton_attention",
]

# Multiply-adds that Python's loops are given: about half a second.
LOOP_LIMIT = 2**22


def python_loops(q: Heads, k: Heads, v: Heads) -> Heads:
    """One number after the other, in Python's own floats: the sums as they are written down."""
    heads = zip(*(x.flatten(0, 1).tolist() for x in (q, k, v)), strict=True)
    out = [attend_one_head(*one) for one in heads]
    return torch.tensor(out, dtype=q.dtype, device=q.device).view(q.shape)


def attend_one_head(q: list, k: list, v: list) -> list:
    """Causal attention of one head over lists of lists of Python floats."""
    tau, out = math.sqrt(len(q[0])), []
    for i, query in enumerate(q):
        scores = []
        for key in k[: i + 1]:  # the future is not even looked at
            product = sum(x * y for x, y in zip(query, key, strict=True))
            scores.append(product / tau)
        top = max(scores)
        weights = [math.exp(s - top) for s in scores]
        total, row = sum(weights), [0.0] * len(v[0])
        for weight, value in zip(weights, v, strict=False):
            for c, number in enumerate(value):
                row[c] += weight / total * number
        out.append(row)
    return out


def one_by_one(q: Heads, k: Heads, v: Heads) -> Heads:
    """One head after the other: two matrix products each, and what lies between them."""
    size = q.shape[:2]
    heads = zip(*(x.flatten(0, 1).unbind() for x in (q, k, v)), strict=True)
    return torch.stack([attend_causally(*one) for one in heads]).unflatten(0, size)


def all_at_once(q: Heads, k: Heads, v: Heads) -> Heads:
    """All heads in one batched product; all their (T, T) matrices stand in memory."""
    return attend_causally(q, k, v)


def sdpa(q: Heads, k: Heads, v: Heads, backend: SDPBackend) -> Heads:
    """torch's ``scaled_dot_product_attention``, held to one ``backend``.

    Raises torch's RuntimeError where the backend refuses.
    """
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def triton_attention(q: Heads, k: Heads, v: Heads, split_queries: bool = True) -> Heads:
    """This book's own kernel; with ``split_queries`` a program for each block of query rows.

    Raises as ``hydra_lib.kernels.flash_attention``, which checks what it is given.
    """
    from hydra_lib.kernels import flash_attention  # Triton is optional

    return flash_attention(q, k, v, causal=True, split_queries=split_queries)


@dataclass(frozen=True)
class Rung:
    """A way to compute attention: its name, its function of (q, k, v), and what it keeps.

    ``passes``: how often at least the (T, T) matrix goes to memory or comes from it, in a forward
    pass, and in forward and backward together; see
    :meth:`hydra_lib.timing.sizes.AttentionSize.bytes`.
    """

    name: str
    attend: Callable
    passes: tuple[int, int] = (0, 0)


# Counted in what each runs: torch's operations, each as if it read its inputs and wrote its output
# once. A masked_fill runs a copy, which counts, and a fill of what is masked, which does not.
_RUNGS = (
    Rung("Python loops", python_loops),
    Rung("one head at a time", one_by_one, (8, 19)),
    Rung("all heads at once", all_at_once, (8, 19)),
    Rung("SDPA math", partial(sdpa, backend=SDPBackend.MATH), (9, 16)),
    Rung("SDPA efficient", partial(sdpa, backend=SDPBackend.EFFICIENT_ATTENTION)),
    Rung("SDPA flash", partial(sdpa, backend=SDPBackend.FLASH_ATTENTION)),
    Rung("SDPA cuDNN", partial(sdpa, backend=SDPBackend.CUDNN_ATTENTION)),
    Rung("Triton, one program a head", partial(triton_attention, split_queries=False)),
    Rung("Triton", triton_attention),
)
LADDER = {rung.name: rung for rung in _RUNGS}
"""Every :class:`Rung` by its name, from Python's loops to the kernels of a GPU.

:meta hide-value:
"""

_ON_CUDA = ("SDPA efficient", "SDPA cuDNN", "Triton, one program a head", "Triton")


def refusal(name: str, q: Heads, k: Heads, v: Heads) -> str | None:
    """Why a rung does not run on these tensors, or None: it was called once, and it does.

    The reason is the kernel's own where it gives one. Memory that does not suffice is a reason
    too, and so is the time that Python's loops would take.

    Raises ValueError for a name that is no rung, and unless q, k and v are of one shape
    (B, h, T, d_k), dtype and device; TypeError for what is no floating tensor.

    >>> refusal("SDPA cuDNN", *torch.ones(3, 1, 1, 2, 4))
    'needs CUDA, got cpu'
    """
    _checks.one_of("name", name, LADDER)
    check_heads(q=q, k=k, v=v)
    B, h, T, d = q.shape
    # Without CUDA, Triton's kernels run in its interpreter, and only if that was asked for.
    interpreted = name.startswith("Triton") and os.environ.get("TRITON_INTERPRET") == "1"
    if name in _ON_CUDA and q.device.type != "cuda" and not interpreted:
        return f"needs CUDA, got {q.device}"
    if name == "Python loops" and (steps := B * h * T * (T + 1) * d) > LOOP_LIMIT:
        return f"would take {steps:.1e} multiply-adds in Python, allowed {LOOP_LIMIT:.1e}"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")  # torch warns why each backend refuses
        try:
            out = LADDER[name].attend(q, k, v)
            if q.requires_grad and not out.requires_grad:
                return "has no gradient"
            if q.device.type == "cuda":
                torch.cuda.synchronize(q.device)
        except torch.cuda.OutOfMemoryError as error:
            return f"out of memory: {_first_line(error)}"
        except (ImportError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            reasons = [_first_line(w.message) for w in said]
            own = [r for r in reasons if "runtime disabled" not in r and "not used" not in r]
            return "; ".join(dict.fromkeys([*own, f"{type(error).__name__}: {_first_line(error)}"]))
    return None


def _first_line(message: object) -> str:
    return str(message).partition("\n")[0].partition(" (Triggered")[0]
