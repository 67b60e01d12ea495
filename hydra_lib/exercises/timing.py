"""Checks of the exercises of chapter 10."""

import math
from collections.abc import Callable

import torch

from hydra_lib.exercises import check, progress
from hydra_lib.exercises.compare import function, value
from hydra_lib.exercises.differences import how_many
from hydra_lib.exercises.reader import Wrong, call, numbers, require_function

__all__ = [
    "Stream",
    "bytes_moved",
    "least_time",
    "progress",
    "stopwatch",
    "times_as_long",
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
            return f"expected one number, the seconds, got {how_many(got)}"
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
        return "a time lies between two looks at stream.clock(), before and after"
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
    if near(stream.clock()):
        return "that is the clock at the end: minus the start"
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
            "each job is divided by its own speed first, then the longer time counts",
        ),
        (
            lambda f, b, peak, width: max(f, b) / max(peak, width),
            "each job is divided by its own speed first, then the longer time counts",
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


def _rounds() -> list[tuple]:
    # In each case another number of rounds, and some that something else slowed.
    first = ([2.0, 8.7, 4.0, 30.0, 3.0], [1.0, 1.5, 40.0, 2.0, 8.0, 1.2, 1.1])
    second = ([1.0, 2.9, 8.0, 20.0, 2.5], [3.0, 2.0, 50.0, 9.0, 12.0, 4.0, 6.0])
    return [
        tuple(torch.tensor(times, dtype=torch.float64) for times in case)
        for case in zip(first, second, strict=True)
    ]


def _in_the_median_round(times: Callable):
    """The ratio in the round whose ``times(first, second)`` is the median."""
    return lambda a, b: (a / b)[times(a, b).argsort()[len(a) // 2]]


_ONE_ROUND = "the ratio in the round of median time: take every round's, then the median of these"


@function(
    _rounds(),
    mistakes=[
        (lambda a, b: (b / a).median(), "upside down: how many times as long the first takes"),
        (
            lambda a, b: a.median() / b.median(),
            "the ratio of two medians: these come from different rounds; take the ratio first",
        ),
        (
            lambda a, b: b.median() / a.median(),
            "upside down, and the ratio of two medians: take the ratio of each round first",
        ),
        (
            lambda a, b: (a / b).mean(),
            "the mean of the ratios: one round that was disturbed moves it; take the median",
        ),
        (lambda a, b: a.mean() / b.mean(), "the ratio of two means: one slow round decides both"),
        (lambda a, b: a.min() / b.min(), "the ratio of two minima, of different rounds"),
        (lambda a, b: (a - b).median(), "a difference in seconds: the question is how many times"),
        (lambda a, b: a / b, "a ratio for every round: which one number stands for all?"),
        (_in_the_median_round(lambda a, b: a), _ONE_ROUND),
        (_in_the_median_round(lambda a, b: b), _ONE_ROUND),
        (
            lambda a, b: (a / b).median() - 1,
            "how much longer it takes; how many times as long is 1 more",
        ),
        (
            lambda a, b: (a / b)[len(a) // 2],
            "that stands in the middle of the list: the median is in the middle once it is sorted",
        ),
        *(
            (
                lambda a, b, digits=digits: round((a / b).median().item(), digits),
                "rounded: return it with all its digits",
            )
            for digits in (1, 2, 3)
        ),
    ],
)
def times_as_long(first, second):
    """The median over the rounds of first / second."""
    return (first / second).median()
