"""Checks of the exercises of chapter 10."""

import math

import torch

from hydra_lib.exercises import check, progress
from hydra_lib.exercises.compare import function, value
from hydra_lib.exercises.reader import Wrong, call, numbers, require_function

__all__ = [
    "Stream",
    "bytes_moved",
    "least_time",
    "merged",
    "progress",
    "stopwatch",
    "tile_mask",
]


class Stream:
    """A GPU's queue of work, with a clock that only moves when somebody works or waits.

    ``clock()`` is the host's time in seconds. ``launch()`` queues a kernel and returns 5 µs later,
    when the kernel may have begun. ``synchronize()`` waits until the queue is empty.
    """

    LAUNCH = 5e-6

    def __init__(self, kernel: float, pending: float = 0.0):
        self._now, self._done, self._kernel, self.launched = 0.0, pending, kernel, 0
        self.looks: list[tuple[int, bool]] = []  # at the clock: launches so far, an empty queue?

    def clock(self) -> float:
        self.looks.append((self.launched, self._done <= self._now))
        return self._now

    def launch(self) -> None:
        self.launched += 1
        self._done = max(self._done, self._now) + self._kernel
        self._now += self.LAUNCH

    def synchronize(self) -> None:
        self._now = max(self._now, self._done)


def _stopwatch(stream):
    """What it is called as."""


_stopwatch.__name__ = "stopwatch"


@check
def stopwatch(answer) -> str | None:
    """``answer(stream)``: how long one kernel of the stream takes, or the mean of several."""
    require_function(answer, _stopwatch)
    for kernel, pending in ((0.003, 0.0), (0.001, 0.5)):
        stream = Stream(kernel, pending)
        got = numbers(call(answer, (stream,))[0])
        if got.numel() != 1:
            return f"expected one number, the seconds, got shape {tuple(got.shape)}"
        wrong = _mistimed(got.item(), kernel, stream)
        if wrong:
            raise Wrong(wrong, f"{kernel:.6g}")
    return None


def _mistimed(got: float, kernel: float, stream: Stream) -> str | None:
    """What is wrong with a time taken of a stream."""

    def near(seconds):
        return abs(got - seconds) < 1e-6 + 1e-3 * abs(seconds)

    if abs(got - kernel) <= 1e-5 * kernel:  # float32 will do
        return None
    if not stream.launched:
        return "nothing was launched"
    if len(stream.looks) < 2:
        return "a time lies between two looks at the clock, before and after"
    (before, empty), (after, _) = stream.looks[0], stream.looks[-1]
    n, launch = after - before, Stream.LAUNCH
    if n and (near(launch) or (near(n * launch) and n * launch < kernel)):
        return (
            "5 µs a launch: that is the launch alone, synchronize() is missing before the clock "
            "stops. The kernel was still waiting in the queue"
        )
    if got < 0:
        return "a negative time: the end minus the start"
    if near(1e3 * kernel) or near(1e6 * kernel):
        return "expected seconds: that is in another unit"
    if not n:
        return (
            "launched before the clock started: by then a kernel may have begun, or be done, and "
            "its time is not all there"
        )
    if not empty:
        return (
            "the queue was not empty when the clock started, a synchronize() is missing there: "
            "this time holds work that was queued before"
        )
    if n > 1 and near(n * kernel):
        return f"that is the time of all {n} launches: divide it by {n}"
    return f"that is not the time of one kernel: you measured {got:.6g} s"


_ARRAY = 8 * 12 * 1024 * 64
_SCORES = 8 * 12 * 1024 * 1024


@value(
    mistakes=[
        (4 * _ARRAY, "half: four arrays move, and each of their numbers takes two bytes"),
        (6 * _ARRAY, "the output has to be written too: it is missing"),
        (2 * _ARRAY, "that is one of the four arrays; q, k, v and the output move"),
        (16 * _ARRAY, "that is float32; a float16 takes two bytes"),
        (8 * _ARRAY + 2 * _SCORES, "a fused kernel never writes the (T, T) weights"),
        (8 * _ARRAY + 4 * _SCORES, "a fused kernel never writes the (T, T) weights"),
        (8 * _ARRAY + 8 * _SCORES, "a fused kernel never writes the (T, T) weights"),
        (2 * _SCORES, "those are the (T, T) weights: a fused kernel never writes them"),
        (8 * _ARRAY / 8, "an eighth: the batch has 8, or four arrays move, of two bytes a number"),
        (8 * _ARRAY / 12, "that is one head; there are 12"),
        (8 * 1024 * 64, "that is one head of one sequence"),
        (
            64 * _ARRAY,
            "those are the bits; or the (T, T) weights, which a fused kernel never writes",
        ),
        (8 * _ARRAY / 1e6, "those are megabytes; give bytes"),
        (8 * _ARRAY / 2**20, "those are mebibytes; give bytes"),
    ]
)
def bytes_moved():
    """Bytes a fused kernel must move: q, k, v and the output, (8, 12, 1024, 64) in float16."""
    return 8 * _ARRAY


@function(
    [
        (8e12, 1e9, 1e14, 2e12),
        (1e9, 8e9, 1e14, 2e12),
        (4e12, 2e10, 3e13, 5e12),
        (8e12, 1e11, 2e14, 1e12),
    ],
    mistakes=[
        (
            lambda f, b, peak, width: f / peak + b / width,
            "the sum: computing and moving go on at the same time; the longer of the two counts",
        ),
        (
            lambda f, b, peak, width: min(f / peak, b / width),
            "the shorter of the two is not enough: both have to be done",
        ),
        (lambda f, b, peak, width: f / peak, "the bytes are missing: they take time too"),
        (lambda f, b, peak, width: b / width, "the FLOPs are missing: they take time too"),
        (
            lambda f, b, peak, width: max(f / width, b / peak),
            "swapped: FLOPs go with the peak, bytes with the bandwidth",
        ),
        (
            lambda f, b, peak, width: max(peak / f, width / b),
            "upside down: seconds are work divided by speed",
        ),
        (
            lambda f, b, peak, width: min(peak / f, width / b),
            "upside down: seconds are work divided by speed",
        ),
        (
            lambda f, b, peak, width: (f / peak + b / width) / 2,
            "that is the mean of the two: the longer one counts",
        ),
        (
            lambda f, b, peak, width: (f + b) / (peak + width),
            "each work is divided by its own speed first, then the longer time counts",
        ),
        (
            lambda f, b, peak, width: max(f, b) / max(peak, width),
            "each work is divided by its own speed first, then the longer time counts",
        ),
        (
            lambda f, b, peak, width: max(f / peak, b / width) * 1e3,
            "those are milliseconds; give seconds",
        ),
        (
            lambda f, b, peak, width: (f / peak) * (b / width),
            "a product of two times is no time: the longer one counts",
        ),
        (
            lambda f, b, peak, width: f / b,
            "that is the intensity, FLOPs a byte; give seconds",
        ),
        (
            lambda f, b, peak, width: math.hypot(f / peak, b / width),
            "no root: computing and moving go on at the same time, the longer one counts",
        ),
    ],
)
def least_time(flops, bytes, peak, bandwidth):
    """Seconds that no kernel can undercut."""
    return max(flops / peak, bytes / bandwidth)


def _tile(i, j, rows, columns, length):
    """Row and column numbers of a tile, and which are real."""
    row = i + torch.arange(rows)[:, None]
    column = j + torch.arange(columns)
    return row, column, column < length


def _by(rule):
    return lambda *tile: rule(*_tile(*tile), *tile)


@function(
    [
        (first_row, first_column, 4, 5, length)
        for first_row, first_column, length in (
            *((0, 0, 3), (4, 0, 99), (4, 4, 6), (8, 4, 10)),
            *((4, 2, 99), (0, 8, 99)),  # the diagonal crosses a tile's side, or lies left of it
            (8, 8, 6),  # nothing but padding
        )
    ],
    mistakes=[
        (
            _by(lambda r, c, real, i, j, *_: c - j <= r - i),
            "that counts from the tile's own corner; the mask counts in the whole matrix; and "
            "padding is not masked",
        ),
        (
            _by(lambda r, c, real, i, j, *_: (c - j <= r - i) & real),
            "that counts from the tile's own corner; the mask counts in the whole matrix",
        ),
        (
            _by(lambda r, c, real, i, j, m, n, T: (c - j <= r - i) & (c - j < T)),
            "that counts from the tile's own corner; the mask counts in the whole matrix",
        ),
        (
            _by(lambda r, c, real, *_: c + 0 * r <= r),
            "keys from length on are padding, or not there at all",
        ),
        (
            _by(lambda r, c, real, *_: real & (r == r)),
            "that masks the padding only: it is not causal",
        ),
        (
            _by(lambda r, c, real, *_: (c < r) & real),
            "the diagonal is off by one: a position sees itself",
        ),
        (
            _by(lambda r, c, real, i, j, m, n, T: (c <= r) & (c <= T)),
            "off by one: key number length is padding already",
        ),
        (
            _by(lambda r, c, real, i, j, m, n, T: (c <= r) & (c - j < T)),
            "length counts in the whole matrix: add first_column before you compare with it",
        ),
        (
            _by(lambda r, c, real, i, j, *_: (c - j <= r) & real),
            "first_column is missing in the causal part: the tile starts there",
        ),
        (
            _by(lambda r, c, real, i, j, *_: (c <= r - i) & real),
            "first_row is missing in the causal part: the tile starts there",
        ),
        (
            _by(lambda r, c, real, i, j, *_: (c - j + i <= r - i + j) & real),
            "first_row and first_column are swapped",
        ),
        (_by(lambda r, c, real, *_: (c >= r) & real), "the wrong triangle: it looks ahead"),
        (_by(lambda r, c, real, *_: (c > r) & real), "the wrong triangle: it looks ahead"),
        (
            _by(lambda r, c, real, *_: (c <= r) | real),
            "with | either condition is enough; both must hold: &",
        ),
        (
            _by(lambda r, c, real, i, j, m, n, T: (c <= r) & (r < T)),
            "length belongs to the keys, the columns: here the queries are cut",
        ),
    ],
)
def tile_mask(first_row, first_column, rows, columns, length):
    """The causal mask of a tile of scores; keys from ``length`` on are padding."""
    row, column, real = _tile(first_row, first_column, rows, columns, length)
    return (column <= row) & real


def _two_tiles() -> list[tuple]:
    generator = torch.Generator().manual_seed(10)
    cases = []
    for both, second in ((0.0, 0.0), (0.0, 9.0), (0.0, -9.0), (800.0, 0.0), (-800.0, 0.0)):
        s = both + torch.randn(2, 6, generator=generator, dtype=torch.float64)
        s[1] += second
        v = torch.randn(2, 6, 3, generator=generator, dtype=torch.float64)
        p = (s - s.amax(1, keepdim=True)).exp()
        parts = zip(s.amax(1), p.sum(1), (p[..., None] * v).sum(1), strict=True)
        cases.append(tuple(x for part in parts for x in part))
    return cases


def _three_parts(result) -> torch.Tensor:
    """(m, l, o) one after the other."""
    if not isinstance(result, list | tuple) or len(result) != 3:
        raise Wrong("expected three things, m, l and o")
    return torch.cat([numbers(part).reshape(-1) for part in result])


def _joined(new_m, fade_l=True, fade_o=True):
    """Merge with another maximum, or with a fading forgotten."""

    def answer(m1, l1, o1, m2, l2, o2):
        m = new_m(m1, m2)
        f1, f2 = torch.exp(m1 - m), torch.exp(m2 - m)
        l = f1 * l1 + f2 * l2 if fade_l else l1 + l2
        return m, l, f1 * o1 + f2 * o2 if fade_o else o1 + o2

    return answer


def _divided(m1, l1, o1, m2, l2, o2):
    m, l, o = merged_parts(m1, l1, o1, m2, l2, o2)
    return m, l, o / l


def _upside_down(m1, l1, o1, m2, l2, o2):
    m = max(m1, m2)
    f1, f2 = torch.exp(m - m1), torch.exp(m - m2)
    return m, f1 * l1 + f2 * l2, f1 * o1 + f2 * o2


def _crossed(m1, l1, o1, m2, l2, o2):
    m = max(m1, m2)
    f1, f2 = torch.exp(m2 - m), torch.exp(m1 - m)
    return m, f1 * l1 + f2 * l2, f1 * o1 + f2 * o2


def _linear(m1, l1, o1, m2, l2, o2):
    m = max(m1, m2)
    return m, (m1 - m) * l1 + (m2 - m) * l2, (m1 - m) * o1 + (m2 - m) * o2


def _by_itself(m1, l1, o1, m2, l2, o2):
    f1, f2, m = m1.exp(), m2.exp(), max(m1, m2)
    return m, (f1 * l1 + f2 * l2) / m.exp(), (f1 * o1 + f2 * o2) / m.exp()


def _averaged(m1, l1, o1, m2, l2, o2):
    m, l, _ = merged_parts(m1, l1, o1, m2, l2, o2)
    return m, l, (o1 / l1 + o2 / l2) / 2


def _larger_tile(m1, l1, o1, m2, l2, o2):
    return (m1, l1, o1) if m1 > m2 else (m2, l2, o2)


def _always(position: int):
    def answer(m1, l1, o1, m2, l2, o2):
        """Fades one tile only."""
        m = max(m1, m2)
        f = [torch.exp(m1 - m), torch.exp(m2 - m)]
        f[position] = 1.0
        return m, f[0] * l1 + f[1] * l2, f[0] * o1 + f[1] * o2

    return answer


merged_parts = _joined(max)


@function(
    _two_tiles(),
    mistakes=[
        (
            _joined(max, False, False),
            "the sums were made with different maxima: bring both to the larger one first",
        ),
        (_by_itself, "e^m itself overflows where m is large: e^(m − the larger one) does not"),
        (_joined(max, True, False), "o was not brought to the larger maximum, only l was"),
        (_joined(max, False, True), "l was not brought to the larger maximum, only o was"),
        (_joined(min), "with the smaller maximum exp can overflow: take the larger"),
        (
            _joined(lambda m1, m2: m1 + m2),
            "the maximum of both tiles is the larger of the two, not the sum",
        ),
        (
            _joined(lambda m1, m2: (m1 + m2) / 2),
            "the maximum of both tiles is the larger of the two, not the mean",
        ),
        (
            _joined(lambda m1, m2: max(m1, m2, torch.zeros_like(m1))),
            "the scores of both tiles may be far below 0: take the larger maximum, whatever it is",
        ),
        (_joined(lambda m1, m2: m1), "the first tile's maximum is kept: take the larger"),
        (_joined(lambda m1, m2: m2), "the second tile's maximum is kept: take the larger"),
        (_upside_down, "the sign in the exponent: exp(old maximum − new one) is at most 1"),
        (_crossed, "crossed over: each tile fades by its own maximum"),
        (_linear, "the exp is missing: a sum fades by exp(old maximum − new one)"),
        (_divided, "o was divided by l: that comes once, at the very end"),
        (_averaged, "o is a sum, not a mean: fade both and add"),
        (
            lambda *parts: (parts[0] + parts[3], *merged_parts(*parts)[1:]),
            "the maximum of both tiles is the larger of the two, not the sum",
        ),
        (lambda *parts: parts[:3], "that is the first tile; the other tile is lost"),
        (lambda *parts: parts[3:], "that is the second tile; the other tile is lost"),
        (_larger_tile, "the other tile is lost: fade both and add"),
        (_always(0), "only the second tile fades; the first may be the one to fade"),
        (_always(1), "only the first tile fades; the second may be the one to fade"),
    ],
    read=_three_parts,
)
def merged(m1, l1, o1, m2, l2, o2):
    """(m, l, o) of both tiles of keys together.

    m is the largest score, l the sum of exp(s − m), o the sum of exp(s − m) times the values.
    """
    return merged_parts(m1, l1, o1, m2, l2, o2)
