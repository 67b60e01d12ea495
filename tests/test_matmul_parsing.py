"""Algorithms as papers print them: what is read, and that nothing else is."""

import time

import numpy as np
import pytest

from hydra_lib.matmul.bilinear import BilinearAlgorithm
from tests.refusal import refuses


def test_reads_the_factors():
    algorithm = BilinearAlgorithm.parse("p1 = (a12 - a11) b21; p2 = -a11 (b11)", "c11 = -p2 + p1")
    assert algorithm.U.tolist() == [[[-1, 1]], [[-1, 0]]]
    assert algorithm.V.tolist() == [[[0], [1]], [[1], [0]]]
    assert algorithm.W.tolist() == [[[1]], [[-1]]]


def test_reads_products_in_any_order_with_or_without_spaces():
    algorithm = BilinearAlgorithm.parse("p2=(+a11-a22)(-b11+b12)\np1 = a12  b22", "c22 = p2;c11=p1")
    assert algorithm.U.tolist() == [[[0, 1], [0, 0]], [[1, 0], [0, -1]]]
    assert algorithm.V.tolist() == [[[0, 0], [0, 1]], [[-1, 1], [0, 0]]]
    assert algorithm.W.tolist() == [[[1, 0], [0, 0]], [[0, 0], [0, 1]]]


def test_reads_the_minus_of_print():
    printed = BilinearAlgorithm.parse("p1 = (a12 − a11) b21; p2=−a11 b11", "c11 = p1 − p2")
    typed = BilinearAlgorithm.parse("p1 = (a12 - a11) b21; p2=-a11 b11", "c11 = p1 - p2")
    assert all(map(np.array_equal, printed.factors, typed.factors))


def test_a_product_that_is_not_used():
    assert BilinearAlgorithm.parse("p1 = a11 b11; p2 = a11 b11", "c11 = p1").W[1].tolist() == [[0]]


ONE = "p1 = a11 b11"
PRODUCT = "products must be lines like 'p1 = (a11 + a22) b11', got "
TWICE = "products must have each name once, got "
RESULT = "results must be lines like 'c11 = p1 - p2', got "
BAD = [
    ("a11 b11", "c11 = p1", PRODUCT + "'a11 b11'"),
    ("p1 = a11 b11 + a12 b21", "c11 = p1", PRODUCT + "'p1 = a11 b11 + a12 b21'"),
    ("p1 = a11 + a12 b21", "c11 = p1", PRODUCT + "'p1 = a11 + a12 b21'"),
    ("p1 = a11 - b21", "c11 = p1", PRODUCT + "'p1 = a11 - b21'"),
    ("p1 = b11 a11", "c11 = p1", PRODUCT + "'p1 = b11 a11'"),
    ("p1 = a11 a11", "c11 = p1", PRODUCT + "'p1 = a11 a11'"),
    ("p1 = )a11( b11", "c11 = p1", PRODUCT + "'p1 = )a11( b11'"),
    ("p1 = (a11 a12) b11", "c11 = p1", PRODUCT + "'p1 = (a11 a12) b11'"),
    ("p1 = a11", "c11 = p1", PRODUCT + "'p1 = a11'"),
    ("p1 = a1 b11", "c11 = p1", PRODUCT + "'p1 = a1 b11'"),
    ("p1 = a112 b11", "c11 = p1", PRODUCT + "'p1 = a112 b11'"),
    ("p1 = a01 b11", "c11 = p1", PRODUCT + "'p1 = a01 b11'"),
    ("p0 = a11 b11", "c11 = p0", PRODUCT + "'p0 = a11 b11'"),
    ("", "c11 = p1", PRODUCT + "''"),
    (ONE, "", RESULT + "''"),
    (ONE, " ; ", RESULT + "' ; '"),
    (ONE, "11 = p1", RESULT + "'11 = p1'"),
    (ONE, "c1 = p1", RESULT + "'c1 = p1'"),
    (ONE, "c11 = q1 + p1", RESULT + "'c11 = q1 + p1'"),
    (ONE, "c11 = p1 2", RESULT + "'c11 = p1 2'"),
    (ONE, "c11 = p1 p1", RESULT + "'c11 = p1 p1'"),
    (f"{ONE}; p1 = a12 b21", "c11 = p1", TWICE + "'p1 = a12 b21'"),
    (
        "p1 = (a11 - a11) b11",
        "c11 = p1",
        TWICE + "'p1 = (a11 - a11) b11'",
    ),
    (
        "p1 = a11 (b11 + b11)",
        "c11 = p1",
        TWICE + "'p1 = a11 (b11 + b11)'",
    ),
    (ONE, "c11 = p1 + p1", "results must have each name once, got 'c11 = p1 + p1'"),
    (ONE, "c11 = p1; c11 = -p1", "results must have each name once, got 'c11 = -p1'"),
    (ONE, "c11 = p2", "results must be sums of p1 to p1, got p2"),
    ("p1 = a11 b11; p3 = a12 b21", "c11 = p1", "products must be p1 to p2, got p3"),
    ("p100000000 = a11 b11", "c11 = p100000000", "products must be p1 to p1, got p100000000"),
]


@pytest.mark.parametrize(("products", "results", "message"), BAD)
def test_refuses(products, results, message):
    start = time.perf_counter()
    with refuses(ValueError, message):
        BilinearAlgorithm.parse(products, results)
    assert time.perf_counter() - start < 5  # reading p100000000 took all the memory there is


def test_refuses_what_is_no_text():
    message = "products and results must be text, got NoneType and str"
    with refuses(TypeError, message):
        BilinearAlgorithm.parse(None, "c11 = p1")
