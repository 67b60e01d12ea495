import numpy as np

from hydra_lib.records import check
from hydra_lib.timing.environment import environment_of
from hydra_lib.timing.measurement import Comparison, Timing
from hydra_lib.timing.rows import pair_rows, row
from tests.refusal import refuses, unhooked

SIZES = {"B": 2, "h": 3, "T": 5, "head_dim": 7}


def timed(p50, spread=0.25):
    about = {"dtype": "bfloat16", "flush": True, "flops": 3e12, "bytes": 10**9}
    return Timing(p50 / 2, p50, p50 * 2, spread, 9, **about, environment=environment_of())


def test_a_row_by_hand():
    assert row("forward", "mine", SIZES, timed(0.5), 1e-3) == {
        "group": "forward",
        "kernel": "mine",
        "B": 2,
        "h": 3,
        "T": 5,
        "head_dim": 7,
        "dtype": "bfloat16",
        "pass": "forward",
        "p20": 0.25,
        "p50": 0.5,
        "p80": 1.0,
        "samples": 9,
        "flops": 3e12,
        "bytes": 10**9,
        "reference": None,
        "ratio": None,
        "ratio_p20": None,
        "ratio_p80": None,
        "spread": 0.25,
        "error": 1e-3,
        "peak_bytes": None,
    }


def test_sizes_are_python_s_numbers():
    with unhooked():
        made = row("forward", "mine", {"T": np.int64(5)}, timed(0.5))
    assert type(made["T"]) is int
    with refuses(ValueError, "T must be an integer, 0 or more, got 5.0"):
        row("forward", "mine", {"T": 5.0}, timed(0.5))


def test_a_pair_by_hand():
    pair = Comparison(0.9, 1.25, 1.5, 0.125, timed(2.0), timed(1.0), 0.1, 0.2)
    first, second = pair_rows("g", ("other", "k"), {"n": 7}, pair, backward=True)
    assert first == row("g", "other", {"n": 7}, timed(2.0), 0.1, backward=True)
    assert first["pass"] == "forward+backward"
    own = {"reference": "other", "ratio": 1.25, "ratio_p20": 0.9, "ratio_p80": 1.5, "spread": 0.125}
    assert second == row("g", "k", {"n": 7}, timed(1.0), 0.2, backward=True) | own


def test_rows_are_what_a_record_wants():
    pair = Comparison(0.9, 1.25, 1.5, 0.125, timed(2.0), timed(1.0), 0.1, 0.2)
    rows = [row("alone", "mine", SIZES, timed(0.5)), *pair_rows("g", ("a", "b"), {}, pair)]
    check({"what": "Made up", "environment": environment_of(), "rows": rows})
