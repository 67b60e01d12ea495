import numpy as np
import pytest
import torch

from hydra_lib.matmul.fast import strassen_fast
from hydra_lib.matmul.operands import MULTIPLIED, check_out, check_pair, empty, product_shape
from tests.refusal import refuses


@pytest.mark.parametrize(
    ("a", "b", "shape"),
    [
        ((2, 3), (3, 5), (2, 5)),
        ((7, 2, 3), (3, 5), (7, 2, 5)),
        ((2, 3), (7, 3, 5), (7, 2, 5)),
        ((11, 1, 2, 3), (7, 3, 5), (11, 7, 2, 5)),
        ((0, 2, 3), (1, 3, 5), (0, 2, 5)),
    ],
)
def test_product_shape(a, b, shape):
    a, b = torch.ones(a), torch.ones(b)
    assert product_shape(a, b) == shape == tuple((a @ b).shape)


def test_product_shape_refuses():
    message = "leading axes of a and b must broadcast, got (7, 2, 3) and (11, 3, 5)"
    with refuses(ValueError, message):
        product_shape(torch.ones(7, 2, 3), torch.ones(11, 3, 5))


@pytest.mark.parametrize("dtype", MULTIPLIED, ids=str)
def test_dtypes_that_torch_can_multiply(dtype):
    a = torch.ones(2, 2, dtype=dtype)
    check_pair(a, a)
    assert (a @ a - a == a).all()


@pytest.mark.parametrize("dtype", [torch.uint16, torch.float8_e5m2], ids=str)
def test_dtypes_that_torch_cannot_multiply(dtype):
    a = torch.ones(2, 2).to(dtype)
    with refuses(TypeError, f"a and b must be numbers that torch can multiply, got {dtype}"):
        check_pair(a, a)


def test_empty():
    x = empty(np.ones((2, 3), np.float16), 5, 7)
    assert (type(x), x.shape, x.dtype) == (np.ndarray, (5, 7), np.float16)
    x = empty(torch.ones(2, 3, dtype=torch.int8, device="meta"), 5, 7)
    assert (x.device.type, x.shape, x.dtype) == ("meta", (5, 7), torch.int8)


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (
            torch.empty(2, 5, dtype=torch.float64),
            TypeError,
            "out must be torch.float32 like a, got torch.float64",
        ),
        (
            torch.empty(5, 2),
            ValueError,
            "out must have shape (2, 5), got (5, 2)",
        ),
        (
            torch.empty(2, 5, device="meta"),
            ValueError,
            "out is on meta, a is on cpu",
        ),
        (
            torch.empty(5).expand(2, 5),
            ValueError,
            "out must not overlap a, b or itself, got memory that does",
        ),
    ],
)
def test_check_out_refuses(out, error, message):
    with refuses(error, message):
        check_out(out, torch.ones(2, 3), torch.ones(3, 5))


OVERLAP = "out must not overlap a, b or itself, got memory that does"


@pytest.mark.parametrize("start", [0, 1, 8])
def test_check_out_refuses_shared_memory(start):
    memory, b = torch.zeros(18), torch.ones(3, 3)
    a, out = memory[:9].view(3, 3), memory[start : start + 9].view(3, 3)
    with refuses(ValueError, OVERLAP):
        check_out(out, a, b)
    with refuses(ValueError, OVERLAP):
        check_out(out, b, a)


def test_check_out_does_not_compare_addresses_that_are_none():
    a, b, out = (torch.empty(2, 2, device="meta") for _ in range(3))
    check_out(out, a, b)
    assert strassen_fast(a, b, out) is out


def test_check_out_accepts_neighbours():
    memory, b = torch.zeros(18), torch.ones(3, 3)
    a, out = memory[:9].view(3, 3), memory[9:].view(3, 3)
    check_out(out, a, b)
    check_out(a, out, b)


def test_check_out_refuses_interleaved_rows():
    # They share no number, only the range of addresses: refused, as the docstring says.
    memory = torch.zeros(3, 6)
    with refuses(ValueError, OVERLAP):
        check_out(memory[:, 3:], memory[:, :3], torch.ones(3, 3))


def test_check_out_accepts_what_is_empty():
    memory = torch.zeros(6)
    check_out(memory.view(2, 3), memory[:0].view(2, 0), torch.ones(0, 3))
    check_out(torch.empty(0, 3), torch.ones(0, 2), torch.ones(2, 3))


@pytest.mark.parametrize("strides", [(2, 1), (1, 2), (0, 1), (3, 4)])
def test_check_out_refuses_strides_that_do_not_nest(strides):
    # (3, 4) holds 15 numbers in 15 places, but row after row is not how it does.
    out = torch.zeros(99).as_strided((3, 5), strides)
    with refuses(ValueError, OVERLAP):
        check_out(out, torch.ones(3, 2), torch.ones(2, 5))


@pytest.mark.parametrize("strides", [(5, 1), (1, 3), (6, 1), (2, 6), (99, 1)])
def test_check_out_accepts_strides_that_nest(strides):
    check_out(torch.zeros(999).as_strided((3, 5), strides), torch.ones(3, 2), torch.ones(2, 5))


def test_check_out_accepts_an_axis_of_one():
    check_out(torch.zeros(5).as_strided((1, 5), (0, 1)), torch.ones(1, 2), torch.ones(2, 5))


def test_check_out_accepts_a_column_that_strides():
    check_out(torch.zeros(6, 4)[::2, 1:2], torch.ones(3, 2), torch.ones(2, 1))
