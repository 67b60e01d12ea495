import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib.timing.accuracy import (
    FailedCheckError,
    as_tensor,
    check,
    leaves,
    relative_error,
    to_float64,
    tolerance_for,
)
from tests.refusal import refuses

INF, NAN = float("inf"), float("nan")


def test_leaves_walks_nested_results_in_order():
    a, b = torch.ones(2), np.ones(3)
    found = leaves(([a, None], {"x": (b, "text"), "y": 2.5}))
    assert found[0] is a
    assert found[1] is b
    assert found[2:] == [2.5]
    assert leaves(None) == leaves([]) == leaves(object()) == []


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_to_float64_widens_without_changing_a_value(dtype):
    x = torch.arange(7, dtype=dtype, requires_grad=True)
    wide = to_float64(x)
    assert wide.dtype == torch.float64
    assert wide.tolist() == x.tolist()
    assert wide.requires_grad
    assert wide.is_leaf


def test_to_float64_of_other_arguments():
    assert to_float64(torch.ones(1, dtype=torch.complex64)).dtype == torch.complex128
    assert to_float64(np.ones(1, dtype=np.float32)).dtype == np.float64
    assert to_float64(np.ones(1, dtype=np.complex64)).dtype == np.complex128
    mask, n = torch.tensor([True]), np.arange(3)
    assert to_float64(mask) is mask
    assert to_float64(n) is n
    assert to_float64("mean") == "mean"


def test_as_tensor_takes_what_torch_alone_refuses():
    backwards = np.arange(3)[::-1]
    assert as_tensor(backwards).tolist() == [2, 1, 0]
    assert as_tensor(np.broadcast_to(1.0, (2,))).tolist() == [1.0, 1.0]  # read-only
    assert as_tensor(0.1).item() == 0.1  # in float32 it would be 0.10000000149
    assert as_tensor(np.float32(0.5)).dtype == torch.float32


@pytest.mark.parametrize(
    ("result", "exact", "error"),
    [
        ([1.0, 2.0], [1.0, 4.0], 0.5),
        ([1.0, -4.0], [1.0, 4.0], 2.0),
        ([3.0], [0.0], 3.0),  # nothing to be relative to
        ([INF, 1.0], [INF, 2.0], 0.5),
        ([-INF], [-INF], 0.0),
        ([INF], [-INF], INF),
        ([INF], [1.0], INF),
        ([1.0], [INF], INF),
        ([7, 9], [7, 10], 0.1),
        ([True, False], [True, True], 1.0),
        ([3 + 4j], [0j], 5.0),
    ],
)
def test_relative_error_by_hand(result, exact, error):
    exact = torch.tensor(exact)
    assert relative_error(torch.tensor(result), to_float64(exact)) == pytest.approx(error)


@pytest.mark.parametrize(("result", "exact"), [(NAN, 1.0), (1.0, NAN), (NAN, NAN), (NAN, INF)])
def test_nan_is_never_right(result, exact):
    results, truth = torch.tensor([1.0, result]), torch.tensor([1.0, exact]).double()
    assert relative_error(results, truth) != relative_error(results, truth)
    with pytest.raises(FailedCheckError):
        check("f", [results], [truth], tolerance=1e9)


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_relative_error_has_no_unit(shift, unit):
    exact = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)
    result = exact + torch.tensor([0.0, shift, 0.0], dtype=torch.float64)
    expected = pytest.approx(abs(shift) / 5, abs=1e-12)
    assert relative_error(result, exact) == expected
    assert relative_error(unit * result, unit * exact) == expected


def test_relative_error_refuses_what_it_cannot_judge():
    with pytest.raises(ValueError, match=re.escape("shape of exact, (2,), got (1,)")):
        relative_error(torch.ones(1), torch.ones(2).double())
    text = "exact must be float64, complex128 or integers, got torch.float32"
    with pytest.raises(TypeError, match=text):
        relative_error(torch.ones(1), torch.ones(1))


def test_tolerance_by_dtype():
    assert tolerance_for(torch.float64) == 32 * 2.0**-52
    assert tolerance_for(torch.complex64) == 32 * 2.0**-23
    assert tolerance_for(torch.float16) == 4 * 2.0**-10
    assert tolerance_for(torch.bfloat16) == 4 * 2.0**-7
    assert tolerance_for(torch.int32) == tolerance_for(torch.bool) == 0.0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_matmul_meets_the_tolerance_of_its_dtype(dtype):
    a, b = torch.randn(2, 512, 512, generator=torch.Generator().manual_seed(0)).to(dtype)
    truth = a.double() @ b.double()
    assert check("f", [a @ b], [truth]) < tolerance_for(dtype)


def test_tf32_does_not_pass_as_float32():
    a, b = torch.randn(2, 512, 512, generator=torch.Generator().manual_seed(0))
    # TF32 keeps 10 of the 23 stored bits; clearing the others rounds towards zero.
    short = [(x.view(torch.int32) & ~0x1FFF).view(torch.float32) for x in (a, b)]
    with pytest.raises(FailedCheckError, match=r"f is wrong: error .*e-04 .* allowed 3\.81e-06"):
        check("f", [short[0] @ short[1]], [a.double() @ b.double()])


def test_check_takes_the_largest_error_of_all_results():
    exact = [torch.tensor([4.0]).double(), 8.0]
    assert check("f", [torch.tensor([3.0]), 8.0], exact, tolerance=0.25) == 0.25
    with pytest.raises(FailedCheckError):
        check("f", [torch.tensor([3.0]), 8.0], exact, tolerance=0.24)


@pytest.mark.parametrize(
    ("results", "text"),
    [
        ([1.0], "f returned 1 results, the float64 computation 2"),
        ([1.0, np.ones(2)], "f returned shape (2,), the float64 computation ()"),
        ([1.0, 4.0], "f is wrong: error 1.00e+00 against float64, allowed 7.11e-15"),
        ([1, 3], "f is wrong: error 5.00e-01 against float64, allowed 0.00e+00"),
    ],
)
def test_check_says_what_is_wrong(results, text):
    with pytest.raises(FailedCheckError, match=f"^{re.escape(text)}$"):
        check("f", results, [1.0, 2.0])


@pytest.mark.parametrize(
    ("result", "exact", "difference"),
    [
        (2**60 + 1, 2**60, 1),
        (2**60, 2**60 + 1, 1),
        (-(2**60) - 1, -(2**60), 1),
        (2**62, -(2**62), 2**63),
        (2**63 - 1, -(2**63), 2**64 - 1),
        (float(2**60), 2**60 + 1, 1),
        (float(2**60), 2**60, 0),
        (0.25, -1, 1.25),
        (np.uint64(2**64 - 1), np.uint64(2**64 - 2), 1),
        (np.uint64(2**63 + 1), np.uint64(2**63 + 1), 0),
        (-1, np.uint64(2**63), 2**63 + 1),
    ],
)
def test_integers_of_64_bits(result, exact, difference):
    """float64 would keep 53 bits of them, and 2^60 + 1 would be 2^60."""
    assert relative_error(result, exact) == pytest.approx(difference / abs(int(exact)), rel=1e-12)


@pytest.mark.parametrize(
    ("result", "exact", "error", "message"),
    [
        ("1", 1.0, TypeError, "result must be a tensor, an array or a number, got str"),
        (1.0, [1.0], TypeError, "exact must be a tensor, an array or a number, got list"),
        (
            np.ones((0, 3)),
            np.ones((0, 3)),
            ValueError,
            "exact must have an element, got shape (0, 3)",
        ),
        (2**70, 1.0, TypeError, "result must hold numbers that torch has, got object"),
        (
            torch.ones(3, device="meta"),
            1.0,
            ValueError,
            "result must hold numbers, got a meta tensor",
        ),
        (
            1.0,
            torch.eye(3).to_sparse(),
            TypeError,
            "exact must be a dense torch tensor, got torch.sparse_coo",
        ),
    ],
)
def test_what_holds_no_numbers(result, exact, error, message):
    with refuses(error, message):
        relative_error(result, exact)
