import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib.matmul.recursion import strassen
from tests.refusal import refuses

SHAPES = [(8, 8, 8), (7, 11, 13), (16, 5, 3), (2, 3, 5), (17, 1, 19), (1, 7, 1), (32, 31, 33)]
REAL = [np.float16, np.float32, np.float64, np.longdouble]
DTYPES = [*REAL, np.complex64, np.complex128, np.int8, np.uint8, np.int32, np.int64, np.uint64]
TORCH = [torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.complex64, torch.int8]
TORCH += [torch.uint8, torch.int32, torch.int64]


def pair(m, k, n, scale=1):
    rng = np.random.default_rng(0)
    return scale * rng.normal(size=(m, k)), scale * rng.normal(size=(k, n))


@pytest.mark.parametrize("leaf", [1, 2, 3, 64])
@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_the_product(shape, leaf):
    a, b = pair(*shape)
    np.testing.assert_allclose(strassen(a, b, leaf), a @ b, rtol=0, atol=1e-11)


@pytest.mark.parametrize("n", [65, 128, 129])
def test_default_leaf(n):
    a, b = pair(n, n, n)
    c = strassen(a, b)
    np.testing.assert_allclose(c, a @ b, rtol=0, atol=1e-11)
    assert (c != a @ b).any()  # rounding shows that the recursion was taken
    np.testing.assert_array_equal(c, strassen(a, b, leaf=64))


def test_at_the_leaf_it_is_the_product():
    a, b = pair(64, 64, 64)
    np.testing.assert_array_equal(strassen(a, b), a @ b)


def test_one_short_side_is_enough_to_stop():
    a, b = pair(3, 70, 90)
    np.testing.assert_array_equal(strassen(a, b, leaf=3), a @ b)


def test_by_hand():
    a = np.array([[1, 2], [3, 4]])
    b = np.array([[5, 6], [7, 8]])
    assert strassen(a, b, leaf=1).tolist() == [[19, 22], [43, 50]]


@given(st.tuples(*[st.integers(0, 20)] * 3), st.integers(1, 5), st.integers(0, 99))
def test_integers_exactly(shape, leaf, seed):
    m, k, n = shape
    rng = np.random.default_rng(seed)
    # Full range: sums and products wrap around as they do in a @ b.
    a, b = (rng.integers(-(2**63), 2**63, size) for size in ((m, k), (k, n)))
    c = strassen(a, b, leaf)
    assert c.shape == (m, n)
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_numpy_dtypes(dtype):
    """Float32 in is never float64 out (claim H14)."""
    exact = np.dtype(dtype).kind in "iu"
    a, b = (x.astype(dtype) for x in pair(6, 7, 9, scale=20 if exact else 1))
    c = strassen(a, b, leaf=1)
    assert type(c) is np.ndarray
    assert c.dtype == (a @ b).dtype == dtype
    tolerance = 0 if exact else 200 * np.finfo(dtype).eps
    np.testing.assert_allclose(c, a @ b, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", TORCH, ids=str)
def test_torch_dtypes(dtype):
    exact = not (dtype.is_floating_point or dtype.is_complex)
    a, b = (torch.from_numpy(x).to(dtype) for x in pair(6, 7, 9, scale=20 if exact else 1))
    c = strassen(a, b, leaf=1)
    assert c.dtype == (a @ b).dtype == dtype
    tolerance = 0 if exact else 200 * torch.finfo(dtype).eps
    torch.testing.assert_close(c, a @ b, rtol=0, atol=tolerance)


def test_views_are_neither_copied_nor_changed():
    a, b = pair(14, 11, 9)
    before = a.copy(), b.copy()
    c = strassen(a[::-2], b[:, ::3], leaf=1)
    np.testing.assert_allclose(c, a[::-2] @ b[:, ::3], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])


@pytest.mark.long
def test_torch_differentiates_it():
    a, b = (torch.from_numpy(x).requires_grad_() for x in pair(5, 6, 7))
    assert torch.autograd.gradcheck(lambda a, b: strassen(a, b, leaf=1), (a, b))


def test_other_devices():
    a = torch.empty(6, 7, device="meta")
    assert strassen(a, a.mT, leaf=1).device.type == "meta"


ones, tensor = np.ones, torch.ones


@pytest.mark.parametrize(
    ("a", "b", "error", "message"),
    [
        (
            [[1]],
            [[1]],
            TypeError,
            "a and b must be two numpy arrays or two torch tensors, got list and list",
        ),
        (
            ones((2, 3)),
            tensor(3, 5),
            TypeError,
            "a and b must be two numpy arrays or two torch tensors, got ndarray and Tensor",
        ),
        (
            ones((2, 3), np.float32),
            ones((3, 5)),
            TypeError,
            "expected a and b of one dtype, got float32 and float64",
        ),
        (
            tensor(2, 3).half(),
            tensor(3, 5),
            TypeError,
            "expected a and b of one dtype, got torch.float16 and torch.float32",
        ),
        (
            ones((2, 3), bool),
            ones((3, 5), bool),
            TypeError,
            "a and b must be integer, floating or complex numbers, got bool",
        ),
        (
            tensor(2, 3).bool(),
            tensor(3, 5).bool(),
            TypeError,
            "a and b must be numbers that torch can multiply, got torch.bool",
        ),
        (
            np.array([["a"]]),
            np.array([["b"]]),
            TypeError,
            "a and b must be integer, floating or complex numbers, got <U1",
        ),
        (
            np.ma.masked_array(ones((2, 2)), [[1, 0], [0, 0]]),
            ones((2, 2)),
            TypeError,
            "a and b must be plain numpy arrays without a mask, got MaskedArray and ndarray",
        ),
        (
            ones((2, 2)),
            ones((2, 2)).view(np.matrix),
            TypeError,
            "a and b must be plain numpy arrays without a mask, got ndarray and matrix",
        ),
        (
            tensor(2, 3),
            tensor(3, 5, device="meta"),
            ValueError,
            "expected a and b on one device, got cpu and meta",
        ),
        (
            ones((2, 3)),
            ones((2, 3)),
            ValueError,
            "expected a (…, m, k) and b (…, k, n) with the same k, got (2, 3) and (2, 3)",
        ),
        (
            ones((2, 3)),
            ones(3),
            ValueError,
            "expected a (…, m, k) and b (…, k, n) with the same k, got (2, 3) and (3,)",
        ),
        (
            ones((7, 2, 3)),
            ones((3, 5)),
            ValueError,
            "a and b must be two matrices, got (7, 2, 3) and (3, 5)",
        ),
    ],
)
def test_refuses(a, b, error, message):
    with refuses(error, message):
        strassen(a, b)


@pytest.mark.parametrize(
    ("leaf", "error", "message"),
    [
        (0, ValueError, "leaf must be a positive integer, got 0"),
        (-3, ValueError, "leaf must be a positive integer, got -3"),
        (math.nan, ValueError, "leaf must be a positive integer, got nan"),
        ("3", ValueError, "leaf must be a positive integer, got '3'"),
    ],
)
def test_refuses_a_leaf(leaf, error, message):
    with refuses(error, message):
        strassen(ones((2, 3)), ones((3, 5)), leaf)
