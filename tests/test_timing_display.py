"""What a person reads of a measurement: by hand, and on the page."""

import math
from dataclasses import replace

import pytest

from hydra_lib.records.schema import machine
from hydra_lib.timing import Comparison, Timing
from hydra_lib.timing.display import percent, quantity

HERE = {"device": "AMD EPYC", "cpu": "AMD EPYC", "threads": 1}
TIMING = Timing(0.00228, 0.00231, 0.0024, 0.007, 118, "float32", False, None, None, HERE)
PAIR = Comparison(1.212, 1.253, 1.296, 0.00712, TIMING, TIMING, 0.0, 3.21e-7)


@pytest.mark.parametrize(
    ("unit", "values", "texts"),
    [
        ("s", (1.0, 0.5, 1234.5), ["1.00 s", "0.50", "1234.50"]),
        ("s", (999.4,), ["999 s"]),
        ("s", (54321.0,), ["54321 s"]),
        ("s", (0.0999, 0.1), ["99.9 ms", "100.0"]),
        ("s", (1e-3,), ["1.00 ms"]),
        ("s", (0.9999, 0.9), ["1.00 s", "0.90"]),
        ("s", (9.99e-4,), ["999 µs"]),
        ("s", (2.5e-7,), ["250 ns"]),
        ("s", (0.0, 1e-9), ["0.00 ns", "1.00"]),
        ("B/s", (1.234e10,), ["12.3 GB/s"]),
        ("FLOP/s", (9e11,), ["900 GFLOP/s"]),
        ("FLOP/s", (1e12,), ["1.00 TFLOP/s"]),
        ("FLOP/s", (4.5e3,), ["4.50 kFLOP/s"]),
        ("FLOP/s", (0.0,), ["0.00 nFLOP/s"]),
        ("FLOP/s", (math.inf,), ["inf TFLOP/s"]),
    ],
)
def test_three_digits_of_the_first(unit, values, texts):
    assert quantity(unit, *values) == texts


def test_machine():
    assert machine({**HERE, "threads": 2}) == "AMD EPYC, 2 threads"
    assert machine({**HERE, "device": "NVIDIA H200"}) == "NVIDIA H200"
    assert machine({**HERE, "threads": None}) == "AMD EPYC"
    assert percent(0.0123) == "± 1.2 %"


def test_a_timing_is_a_line():
    assert repr(TIMING) == "2.31 ms (2.28 … 2.40, 118 samples), float32, AMD EPYC, 1 thread"
    counted = replace(TIMING, flops=2_310_000_000, bytes=46_200_000, flush=True)
    assert repr(counted) == (
        "2.31 ms (2.28 … 2.40, 118 samples), float32, 1.00 TFLOP/s, 20.0 GB/s, caches flushed, "
        "AMD EPYC, 1 thread"
    )
    assert "float32, 0.00 nFLOP/s, AMD" in repr(replace(TIMING, flops=0))  # counted, and none


def test_a_comparison_is_a_line():
    assert repr(PAIR) == (
        "candidate 1.25 × as fast as reference (1.21 … 1.30, median of 118 pairs, ± 0.71 % on the "
        "median)"
    )


def test_on_the_page():
    odd = replace(TIMING, environment={**HERE, "device": "<&>"})
    rest = "(2.28 … 2.40, 118 samples), float32"
    shown = f"<strong>2.31 ms</strong> {rest}, &lt;&amp;&gt;"
    assert odd._repr_html_() == f"<p>{shown}</p>"
    assert replace(PAIR, reference=odd)._repr_html_() == (
        f"<p>{PAIR!r}</p><table>"
        f"<tr><th>reference</th><td>{shown}</td><td>error 0.0e+00</td></tr>"
        f"<tr><th>candidate</th><td><strong>2.31 ms</strong> {rest}, AMD EPYC, 1 thread</td>"
        "<td>error 3.2e-07</td></tr></table>"
    )
