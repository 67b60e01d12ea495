"""The work of causal attention: its size, what must be computed and moved, and the right answer."""

import dataclasses
from collections.abc import Callable

import torch
from jaxtyping import Float

from hydra_lib.heads import split_heads
from hydra_lib.machine import NoCudaError

__all__ = [
    "AttentionSize",
    "attend_causally",
    "exact_attention",
    "exact_gradients",
    "forward_and_backward",
    "peak_bytes",
    "row_error",
]


@dataclasses.dataclass(frozen=True)
class AttentionSize:
    """The size of one causal attention: q, k and v are (B, h, T, head_dim).

    Raises ValueError when one of the four is not a positive integer.

    >>> AttentionSize(B=8, h=12, T=1024, head_dim=64).d_model
    768
    """

    B: int
    h: int
    T: int
    head_dim: int

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a positive integer, got {value!r}")

    @property
    def d_model(self) -> int:
        return self.h * self.head_dim

    def flops(self, backward: bool = False) -> int:
        """FLOPs that causal attention needs; a multiplication and an addition are two.

        A query at position i meets i keys, so a head has ``T (T + 1) / 2`` pairs. The scores and
        the mix take 2 · head_dim FLOPs a pair each. ``backward`` adds five such products (the
        scores again, and the gradients of weights, q, k and v), which makes 7 in place of 2. The
        softmax is left out. This is the same for all kernels: one that also computes the pairs
        behind the mask does work that nobody asked for, and reaches fewer FLOP/s by this count.

        >>> AttentionSize(1, 1, 2, 8).flops()  # 3 pairs, 4 · 8 each
        96
        """
        products = 7 if backward else 2
        return products * self.B * self.h * self.T * (self.T + 1) * self.head_dim

    def bytes(self, dtype: torch.dtype, backward: bool = False, passes: int = 0) -> int:
        """Bytes that must be moved: what comes in is read once, what goes out is written once.

        Forward that is q, k, v and the output. ``backward`` reads those and the output's gradient,
        and writes three gradients: 12 arrays in place of 4. ``passes`` counts how often the whole
        (T, T) matrix of every head goes to memory or comes from it, 0 where it is never kept.

        >>> AttentionSize(1, 1, 2, 8).bytes(torch.float32)
        256
        """
        arrays = 12 if backward else 4
        numbers = arrays * self.T * self.head_dim + passes * self.T**2
        return self.B * self.h * numbers * dtype.itemsize

    def tensors(
        self,
        dtype: torch.dtype,
        device: str | torch.device = "cpu",
        packed: bool = False,
        seed: int = 0,
    ) -> tuple:
        """Normal q, k, v and a gradient of the output, in the layout that a layer gives.

        That is a view of (B, T, d_model), whose rows lie d_model numbers apart; ``packed`` makes
        each head contiguous.

        >>> AttentionSize(1, 3, 2, 5).tensors(torch.float32)[0].stride()
        (30, 5, 15, 1)
        """
        generator = torch.Generator(device).manual_seed(seed)
        shape = (self.B, self.T, self.d_model)
        wide = [torch.randn(shape, generator=generator, device=device).to(dtype) for _ in range(4)]
        heads = [split_heads(x, self.h) for x in wide]
        return tuple(x.contiguous() if packed else x for x in heads)


def attend_causally(
    q: Float[torch.Tensor, "*batch T d_k"],
    k: Float[torch.Tensor, "*batch T d_k"],
    v: Float[torch.Tensor, "*batch T d_v"],
) -> Float[torch.Tensor, "*batch T d_v"]:
    """``softmax(q kᵀ / √d_k, causal) v``, one operation after the other, nothing checked.

    The (T, T) matrix goes to memory or comes from it eight times: written, read and written by
    the scaling, by the mask and by the softmax, read by the mix.

    >>> attend_causally(*torch.ones(3, 2, 4)).shape
    torch.Size([2, 4])
    """
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (..., T, d_k) x (..., d_k, T) -> (..., T, T)
    future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    weights = scores.masked_fill(future, float("-inf")).softmax(-1)
    return weights @ v  # (..., T, T) x (..., T, d_v) -> (..., T, d_v)


def exact_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Causal attention in float64, one (T, T) matrix in memory at a time.

    >>> exact_attention(*torch.ones(3, 1, 1, 2, 4)).dtype
    torch.float64
    """
    out = torch.empty(q.shape, dtype=torch.float64, device=q.device)
    with torch.no_grad():
        for b, i in ((b, i) for b in range(q.shape[0]) for i in range(q.shape[1])):
            out[b, i] = attend_causally(*(x[b, i].double() for x in (q, k, v)))
    return out


def exact_gradients(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, gradient: torch.Tensor
) -> tuple:
    """The output in float64, and the gradients of q, k and v for that ``gradient`` of it.

    >>> len(exact_gradients(*torch.ones(4, 1, 1, 2, 4)))
    4
    """
    new = [torch.empty(q.shape, dtype=torch.float64, device=q.device) for _ in range(4)]
    for b, i in ((b, i) for b in range(q.shape[0]) for i in range(q.shape[1])):
        wide = [x[b, i].detach().double().requires_grad_() for x in (q, k, v)]
        found = forward_and_backward(attend_causally)(*wide, gradient[b, i].double())
        for x, value in zip(new, found, strict=True):
            x[b, i] = value
    return tuple(new)


def forward_and_backward(attend: Callable) -> Callable:
    """A function of q, k, v and the output's gradient: the output and the three gradients."""

    def run(q, k, v, gradient):
        out = attend(q, k, v)
        return out.detach(), *torch.autograd.grad(out, (q, k, v), gradient)

    return run


def row_error(result: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest ``‖result − exact‖ / max(‖exact‖, m)`` of all rows, m the median ‖exact‖.

    Later rows of causal attention are means of many values and therefore small: the largest error
    of all elements would not see that they are missing. Rows of almost nothing, such as the
    gradient of the first query, are measured by m, which rows of nothing do not lower; where all
    are, the error is absolute. NaN if there is one.

    >>> row_error(torch.tensor([[9.0], [0.0], [1.0]]), torch.tensor([[9.0], [1.0], [1.0]]))
    1.0
    """
    difference = (result.detach().double() - exact.double()).norm(dim=-1)
    size = exact.double().norm(dim=-1)
    some = size[size > 0]
    least = some.median() if some.numel() else torch.ones_like(size).max()
    return float((difference / size.clamp_min(least)).max())


def peak_bytes(fn: Callable, *args: object, device: str | torch.device = "cuda") -> int:
    """Most bytes of CUDA memory that one call holds at once beside what was held before it.

    The arguments do not count, the result does, and what the backward pass keeps.

    Raises :class:`hydra_lib.machine.NoCudaError` where torch does not keep these books.
    """
    if torch.device(device).type != "cuda" or not torch.cuda.is_available():
        raise NoCudaError(f"peak memory is counted on CUDA only: got {device}")
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    _result = fn(*args)  # still held when the books are read
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before
