"""Checks of the exercises of chapter 10."""

import torch

from hydra_lib.exercises import check, same

__all__ = ["Stream", "bytes_moved", "least_time", "merged", "stopwatch", "tile_mask"]


class Stream:
    """A GPU's queue of work, with a clock that only moves when somebody works or waits.

    ``clock()`` is the host's time in seconds. ``launch()`` queues a kernel and returns at once, at
    the cost of 5 µs to the host. ``synchronize()`` waits until the queue is empty.
    """

    LAUNCH = 5e-6

    def __init__(self, kernel: float, pending: float = 0.0):
        self._now, self._done, self._kernel = 0.0, pending, kernel

    def clock(self) -> float:
        return self._now

    def launch(self) -> None:
        self._now += self.LAUNCH
        self._done = max(self._done, self._now) + self._kernel

    def synchronize(self) -> None:
        self._now = max(self._now, self._done)


@check
def stopwatch(answer) -> str | None:
    """``answer(stream)``: how long one kernel of the stream takes, launch included."""
    for kernel, pending in ((0.003, 0.0), (0.001, 0.5)):
        got = float(answer(Stream(kernel, pending)))
        if abs(got - Stream.LAUNCH) < 1e-9:
            return "5 µs: that is the launch. The kernel was still waiting in the queue"
        if pending and abs(got - pending - kernel) < 1e-4:
            return (
                "the queue was not empty when the clock started: this time holds half a second "
                "of somebody else's work"
            )
        if abs(got - kernel - Stream.LAUNCH) > 1e-9:
            return f"the kernel takes {kernel} s and its launch 5 µs, you measured {got:.6g} s"
    return None


@check
def bytes_moved(answer) -> str | None:
    """Bytes a fused kernel must move: q, k, v and the output, (8, 12, 1024, 64) in float16."""
    array = 8 * 12 * 1024 * 64
    if same(answer, torch.tensor(4.0 * array)) is None:
        return "those are numbers; a float16 takes two bytes"
    if same(answer, torch.tensor(6.0 * array)) is None:
        return "the output has to be written too"
    return same(answer, torch.tensor(8.0 * array))


@check
def least_time(answer) -> str | None:
    """``answer(flops, bytes, peak, bandwidth)``: seconds that no kernel can undercut."""
    for flops, moved in ((8e12, 1e9), (1e9, 8e9), (4e12, 2e10)):
        peak, bandwidth = 1e14, 2e12
        compute, memory = flops / peak, moved / bandwidth
        got = float(answer(flops, moved, peak, bandwidth))
        if abs(got - compute - memory) < 1e-12:
            return "computing and moving go on at the same time: the longer of the two counts"
        if abs(got - min(compute, memory)) < 1e-12:
            return "the shorter of the two is not enough: both have to be done"
        if abs(got - max(compute, memory)) > 1e-12:
            return f"for {flops:.0e} FLOPs and {moved:.0e} bytes you said {got:.3g} s"
    return None


@check
def tile_mask(answer) -> str | None:
    """``answer(first_row, first_column, rows, columns, length)``: the causal mask of a tile."""
    for first_row, first_column, length in ((0, 0, 3), (4, 0, 99), (4, 4, 6), (8, 4, 10)):
        row = torch.arange(4)[:, None] + first_row
        column = torch.arange(5) + first_column
        expected = (column <= row) & (column < length)
        got = torch.as_tensor(answer(first_row, first_column, 4, 5, length))
        where = f"for the tile at row {first_row}, column {first_column}, length {length}: "
        wrong = same(got, expected)
        if wrong and got.shape == (4, 5):
            own = torch.arange(5) <= torch.arange(4)[:, None]
            if not same(got, column <= row):
                return where + f"keys from {length} on are padding, or not there at all"
            if not same(got, own):
                return where + "a tile has its own numbering, the mask belongs to the whole matrix"
        if wrong:
            return where + wrong
    return None


@check
def merged(answer) -> str | None:
    """``answer(m1, l1, o1, m2, l2, o2)``: (m, l, o) of both tiles of keys together.

    m is the largest score, l the sum of exp(s − m), o the sum of exp(s − m) times the values.
    """
    generator = torch.Generator().manual_seed(10)
    for shift in (0.0, 9.0, -9.0):
        s = torch.randn(2, 6, generator=generator, dtype=torch.float64)
        s[1] += shift
        v = torch.randn(2, 6, 3, generator=generator, dtype=torch.float64)
        m = s.amax(1)
        p = (s - m[:, None]).exp()
        l, o = p.sum(1), (p[..., None] * v).sum(1)
        new_m = m.max()
        fade = (m - new_m).exp()
        expected = torch.cat([new_m[None], (fade @ l)[None], fade @ o])
        parts = answer(m[0], l[0], o[0], m[1], l[1], o[1])
        got = torch.cat([torch.as_tensor(x).double().reshape(-1) for x in parts])
        plain = torch.cat([new_m[None], l.sum()[None], o.sum(0)])
        if not same(got, plain) and same(got, expected):
            return "the sums were made with different maxima: bring both to the larger one first"
        if wrong := same(got, expected):
            return wrong
    return None
