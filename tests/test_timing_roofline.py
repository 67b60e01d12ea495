import json
import math
import re

import numpy as np
import pytest
import torch

from hydra_lib.timing import roofline
from hydra_lib.timing.accuracy import tolerance_for
from hydra_lib.timing.environment import NoCudaError, environment_of
from hydra_lib.timing.measurement import Timing
from hydra_lib.timing.roofline import Ceilings, ceilings_of, measure_ceilings, place
from tests.refusal import refuses, unhooked


def timed(seconds, flops=None, bytes=None):
    return Timing(
        seconds,
        seconds,
        seconds,
        0.0,
        5,
        "float32",
        False,
        flops,
        bytes,
        environment=environment_of(),
    )


# 2 TB/s and 10 TFLOP/s: they meet at 5 FLOP a byte.
CEILINGS = Ceilings(copy=timed(0.5, bytes=1e12), matmul=timed(2.0, flops=20e12))


@pytest.mark.parametrize(
    ("flops", "bytes", "seconds", "bound", "least", "share"),
    [
        (1e12, 1e12, 1.0, "memory", 0.5, 0.5),
        (20e12, 1e12, 4.0, "compute", 2.0, 0.5),
        (0, 2e12, 1.0, "memory", 1.0, 1.0),
        (5e12, 1e12, 1.0, "compute", 0.5, 0.5),  # on the ridge both bind
    ],
)
def test_place_by_hand(flops, bytes, seconds, bound, least, share):
    assert place(CEILINGS, flops, bytes, seconds) == {
        "intensity": flops / bytes,
        "ridge": 5.0,
        "bound": bound,
        "least_seconds": least,
        "share": share,
    }


def test_a_narrow_number_is_a_number():
    """2 · 10⁴ · 10⁴ is no half precision, nor is what 10⁻⁷ divides."""
    with unhooked():
        found = place(CEILINGS, np.float16(2e4), np.float16(1e4), np.float16(6e-8))
    assert found == place(CEILINGS, 2e4, 1e4, float(np.float16(6e-8)))


@pytest.mark.parametrize(("flops", "bytes", "seconds"), [(1, 0, 1.0), (1, 1, 0.0), (-1, 1, 1.0)])
def test_place_refuses(flops, bytes, seconds):
    text = (
        "bytes and seconds must be positive, flops not negative: "
        f"got flops={flops}, bytes={bytes}, seconds={seconds}"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        place(CEILINGS, flops, bytes, seconds)


@pytest.mark.parametrize("name", ["flops", "bytes", "seconds"])
@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_place_takes_finite_numbers(name, value):
    with refuses(ValueError, f"{name} must be finite, got {value}"):
        place(CEILINGS, **{"flops": 1, "bytes": 1, "seconds": 1.0, name: value})


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_ceilings_count_their_bytes_and_flops(monkeypatch, dtype):
    monkeypatch.setattr(roofline, "CPU_SIZES", (4096, 16))
    found = measure_ceilings("cpu", dtype, budget=0)
    assert found.copy.bytes == 2 * 4096
    assert found.matmul.flops == 2 * 16**3
    assert found.copy.dtype == found.matmul.dtype == str(dtype).removeprefix("torch.")
    assert min(found.copy.p50, found.matmul.p50) > 0
    kept = json.loads(json.dumps(found.as_record()))
    assert kept["copy"].keys() == kept["matmul"].keys()
    assert "environment" not in kept["copy"]
    record = {"what": "A test.", "rows": [], "environment": found.copy.environment}
    record |= {"ceilings": {"mine": kept}}
    (again,) = ceilings_of(record).values()
    assert (again.copy, again.matmul.p50) == (found.copy, found.matmul.p50)
    assert place(again, 100, 10, 1.0) == place(found, 100, 10, 1.0)


def test_ceilings_refuse():
    with refuses(TypeError, "dtype must be floating point, got torch.int32"):
        measure_ceilings("cpu", torch.int32)
    with refuses(TypeError, "dtype must have at least 16 bits, got torch.float8_e4m3fn"):
        measure_ceilings("cpu", torch.float8_e4m3fn)
    if not torch.cuda.is_available():
        with pytest.raises(
            NoCudaError, match=r"^device must be one of 0 CUDA devices that torch sees, got cuda$"
        ):
            measure_ceilings("cuda")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_ceilings():
    found = measure_ceilings("cuda", torch.bfloat16, budget=0.5)
    assert found.copy.bytes / found.copy.p50 > 1e11
    assert found.matmul.flops / found.matmul.p50 > 1e12


def test_place_refuses_what_is_no_number_or_was_not_counted():
    copy = Timing(1.0, 1.0, 1.0, 0.0, 9, "float32", False, None, 8, environment_of())
    with refuses(TypeError, "seconds must be a number, got str"):
        place(Ceilings(copy, copy), 1, 1, "1")
    with refuses(TypeError, "ceilings must be a Ceilings, got int"):
        place(3, 1, 1, 1.0)
    with refuses(ValueError, "ceilings must have counted the matmul's flops and the copy's bytes"):
        place(Ceilings(copy, copy), 1, 1, 1.0)
    with refuses(TypeError, "dtype must be a torch.dtype, got str"):
        measure_ceilings("cpu", "float32")
    with refuses(TypeError, "dtype must be a torch.dtype, got str"):
        tolerance_for("float32")
