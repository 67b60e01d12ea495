"""The right answer: causal attention and its gradients in float64, and the distance from them."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Float64

from hydra_lib import _checks

__all__ = [
    "attend_causally",
    "check_heads",
    "exact_attention",
    "exact_gradients",
    "forward_and_backward",
    "row_error",
]

Heads = Float[torch.Tensor, "B h T d_k"]


def attend_causally(
    q: Float[torch.Tensor, "*batch T d_k"],
    k: Float[torch.Tensor, "*batch T d_k"],
    v: Float[torch.Tensor, "*batch T d_v"],
) -> Float[torch.Tensor, "*batch T d_v"]:
    """``softmax(q kᵀ / √d_k, causal) v``, one operation after the other.

    The (T, T) matrix goes to memory or comes from it eight times: written, read and written by
    the scaling, by the mask and by the softmax, read by the mix. Nothing is checked, because this
    is timed.

    >>> attend_causally(*torch.ones(3, 2, 4)).shape
    torch.Size([2, 4])
    """
    # (..., T, d_k) x (..., d_k, T) -> (..., T, T)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    square = scores.shape[-2:]
    future = torch.ones(square, dtype=torch.bool, device=q.device).triu(1)
    weights = scores.masked_fill(future, float("-inf")).softmax(-1)
    # (..., T, T) x (..., T, d_v) -> (..., T, d_v)
    return weights @ v


def exact_attention(q: Heads, k: Heads, v: Heads) -> Float64[torch.Tensor, "B h T d_k"]:
    """Causal attention in float64, one head at a time, and so a few (T, T) matrices in memory.

    Raises as :func:`check_heads`.

    >>> exact_attention(*torch.ones(3, 1, 1, 2, 4)).dtype
    torch.float64
    """
    check_heads(q=q, k=k, v=v)
    out = torch.empty(q.shape, dtype=torch.float64, device=q.device)
    with torch.no_grad():
        for b, i in ((b, i) for b in range(q.shape[0]) for i in range(q.shape[1])):
            out[b, i] = attend_causally(*(x[b, i].double() for x in (q, k, v)))
    return out


def exact_gradients(q: Heads, k: Heads, v: Heads, gradient: Heads) -> tuple:
    """The output in float64, and the gradients of q, k and v for that ``gradient`` of it.

    Raises as :func:`check_heads`.

    >>> len(exact_gradients(*torch.ones(4, 1, 1, 2, 4)))
    4
    """
    check_heads(q=q, k=k, v=v, gradient=gradient)
    new = [torch.empty(q.shape, dtype=torch.float64, device=q.device) for _ in range(4)]
    for b, i in ((b, i) for b in range(q.shape[0]) for i in range(q.shape[1])):
        wide = [x[b, i].detach().double().requires_grad_() for x in (q, k, v)]
        found = forward_and_backward(attend_causally)(*wide, gradient[b, i].double())
        for x, value in zip(new, found, strict=True):
            x[b, i] = value
    return tuple(new)


def forward_and_backward(attend: Callable) -> Callable:
    """A function of q, k, v and the output's gradient: the output and the three gradients.

    Its q, k and v must require gradients. Raises TypeError for what is no function.
    """
    _checks.function("attend", attend)

    def run(q, k, v, gradient):
        with torch.enable_grad():
            out = attend(q, k, v)
        return out.detach(), *torch.autograd.grad(out, (q, k, v), gradient)

    return run


def row_error(
    result: Float[torch.Tensor, "*rows d"], exact: Float[torch.Tensor, "*rows d"]
) -> float:
    """The largest ``‖result − exact‖ / max(‖exact‖, m)`` of all rows, m the median ‖exact‖.

    Later rows of causal attention are means of many values and therefore small: the largest error
    of all elements would not see that they are missing. Rows of almost nothing, such as the
    gradient of the first query, are measured by m, which rows of nothing do not lower; where all
    are, the error is absolute. NaN if there is one, or ±∞.

    Raises TypeError for anything but floating tensors, ValueError for shapes that differ, no axis
    and an axis of length 0.

    >>> row_error(torch.tensor([[9.0], [0.0], [1.0]]), torch.tensor([[9.0], [1.0], [1.0]]))
    1.0
    """
    for name, x in (("result", result), ("exact", exact)):
        _checks.floating(name, x)
        _checks.has_values(name, x)
    if result.shape != exact.shape or not exact.ndim or not exact.numel():
        got = f"{tuple(result.shape)} and {tuple(exact.shape)}"
        raise ValueError(f"result and exact must have one shape (…, d), no axis 0, got {got}")
    difference = (result.detach().double() - exact.double()).norm(dim=-1)
    size = exact.double().norm(dim=-1)
    some = size[size > 0]
    least = some.median() if some.numel() else torch.ones_like(size).max()
    return float((difference / size.clamp_min(least)).max())


def check_heads(**tensors: torch.Tensor) -> None:
    """Refuse tensors that are not of one shape (B, h, T, d_k), floating dtype and device.

    Raises TypeError for what is no floating tensor, ValueError for other shapes, an axis of length
    0, several dtypes or devices, and meta tensors.
    """
    for name, x in tensors.items():
        _checks.floating(name, x)
        _checks.has_values(name, x)
    about = [(tuple(x.shape), x.dtype, str(x.device)) for x in tensors.values()]
    shape = about[0][0]
    if len(set(about)) > 1 or len(shape) != 4 or 0 in shape:
        got = ", ".join(f"{shape} {dtype} on {device}" for shape, dtype, device in about)
        raise ValueError(
            f"{', '.join(tensors)} must be of one shape (B, h, T, d_k), dtype and device, no axis "
            f"of length 0, got {got}"
        )
