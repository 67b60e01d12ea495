"""The size of one causal attention, and what it takes: operations, bytes, tensors to try it on."""

import dataclasses

import torch

from hydra_lib import _checks
from hydra_lib.heads import split_heads
from hydra_lib.timing.environment import check_device

__all__ = ["AttentionSize"]


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
            object.__setattr__(self, name, _checks.integer(name, value))

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
        products = 7 if _checks.flag("backward", backward) else 2
        return products * self.B * self.h * self.T * (self.T + 1) * self.head_dim

    def bytes(self, dtype: torch.dtype, backward: bool = False, passes: int = 0) -> int:
        """Bytes that must be moved: what comes in is read once, what goes out is written once.

        Forward that is q, k, v and the output. ``backward`` reads those and the output's gradient,
        and writes three gradients: 12 arrays in place of 4. ``passes`` counts how often the whole
        (T, T) matrix of every head goes to memory or comes from it, 0 where it is never kept.

        >>> AttentionSize(1, 1, 2, 8).bytes(torch.float32)
        256
        """
        _checks.instance("dtype", dtype, torch.dtype)
        passes = _checks.integer("passes", passes, 0)
        arrays = 12 if _checks.flag("backward", backward) else 4
        numbers = arrays * self.T * self.head_dim + passes * self.T**2
        return self.B * self.h * numbers * dtype.itemsize

    def tensors(self, dtype: torch.dtype, device: str | torch.device = "cpu") -> tuple:
        """Normal q, k, v and a gradient of the output, in the layout that a layer gives.

        That is a view of (B, T, d_model), whose rows lie d_model numbers apart. They are the same
        at every call. Raises TypeError for a dtype that is not floating or has fewer than 16 bits.

        >>> AttentionSize(1, 3, 2, 5).tensors(torch.float32)[0].stride()
        (30, 5, 15, 1)
        """
        _checks.floating_dtype("dtype", dtype)
        generator = torch.Generator(check_device(device)).manual_seed(0)
        shape = (self.B, self.T, self.d_model)
        _checks.fits("B, T and d_model of size", *shape)
        wide = [torch.randn(shape, generator=generator, device=device).to(dtype) for _ in range(4)]
        return tuple(split_heads(x, self.h) for x in wide)
