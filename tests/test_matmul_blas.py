"""Both libraries give the same products, whatever the memory order, and neither is a must."""

import ctypes
import os
import platform
import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib.matmul import blas
from hydra_lib.matmul.fast import strassen_fast
from tests.refusal import refuses

CPU = torch.device("cpu")
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)
here = pytest.mark.skipif(len(blas.libraries()) < 2, reason="NumPy brings no OpenBLAS here")


@pytest.fixture(params=blas.libraries())
def library(request):
    return request.param


@pytest.fixture
def without(monkeypatch):
    """A machine whose NumPy stands on another library."""
    monkeypatch.setattr(blas, "_openblas", dict)


def drawn(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=dtype)


def test_no_kernels_without_openblas(without):
    assert blas.kernels() is None


@pytest.mark.slow
@here
@pytest.mark.skipif(platform.machine() != "x86_64", reason="kernels of another processor")
def test_a_variable_takes_the_choice_of_kernels_away():
    command = [sys.executable, "-c", "from hydra_lib.matmul import blas; print(blas.kernels())"]
    older = os.environ | {"OPENBLAS_CORETYPE": "Nehalem"}  # than any that would choose it itself
    told = subprocess.run(command, env=older, check=True, capture_output=True, text=True)
    assert told.stdout.strip() == "Nehalem"


def test_by_hand(library):
    a, b = torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[4.0], [5.0], [6.0]])
    c = torch.full((1, 1), float("nan"))
    blas.multiply(library, a, b, c)
    assert c.item() == 32
    blas.multiply(library, a, b, c, start=torch.tensor([[100.0]]))
    assert c.item() == 132
    blas.multiply(library, a, b, c, start=c)
    assert c.item() == 164


@here
@given(
    st.permutations(PRIMES).map(lambda sides: sides[:3]),
    st.tuples(*[st.sampled_from(["rows", "columns", "wide rows", "wide columns", "steps"])] * 3),
    st.sampled_from([torch.float32, torch.float64]),
    st.booleans(),
)
def test_both_agree_to_rounding(sides, orders, dtype, add):
    m, k, n = sides
    laid = [
        lay(drawn(*shape, dtype=dtype), order)
        for shape, order in zip(((m, k), (k, n), (m, n)), orders, strict=True)
    ]
    a, b, out = laid
    start = out.clone()
    blas.multiply("OpenBLAS", a, b, out, start=out if add else None)
    torch.testing.assert_close(out, a @ b + add * start)


def lay(x, order):
    """The same numbers in another order, or in the upper corner of something larger."""
    if order == "steps":
        return torch.empty(2 * x.shape[0], 2 * x.shape[1], dtype=x.dtype)[::2, ::2].copy_(x)
    rows, columns = (side + 9 * order.startswith("wide") for side in x.shape)
    room = torch.empty(rows, columns, dtype=x.dtype)
    room = room.mT.contiguous().mT if order.endswith("columns") else room
    return room[: x.shape[0], : x.shape[1]].copy_(x)


@pytest.mark.parametrize(
    "sides", [(1, 1, 1), (1, 5, 1), (5, 1, 3), (1, 1, 7), (3, 5, 1), (1, 5, 3)]
)
def test_single_rows_and_columns(library, sides):
    """Of an axis of length one any step is right, and torch gives any."""
    m, k, n = sides
    a, b = drawn(m, k), drawn(k, n)
    for x, y in ((a, b), (a.mT.contiguous().mT, b.mT.contiguous().mT)):
        c = torch.empty(m, n, dtype=a.dtype)
        blas.multiply(library, x, y, c)
        torch.testing.assert_close(c, a @ b)


def test_what_openblas_does_not_take_is_torchs(library):
    whole = torch.arange(6).reshape(2, 3)
    c = torch.empty(2, 2, dtype=whole.dtype)
    blas.multiply(library, whole, whole.mT, c)
    assert c.tolist() == [[5, 14], [14, 50]]
    row = torch.tensor([[1.0, 2.0, 3.0]])
    c = torch.empty(2, 2)
    blas.multiply(library, row.expand(2, 3), row.expand(2, 3).mT, c)
    assert c.tolist() == [[14, 14], [14, 14]]
    turned = torch.tensor([[1 + 2j, 3 - 5j]]).conj().imag
    assert turned.is_neg()
    c = torch.empty(1, 1)
    blas.multiply(library, turned, turned.resolve_neg().mT, c)
    assert c.item() == 29


def test_what_is_not_finite_in_out_is_overwritten(library):
    c = torch.full((3, 5), float("nan"))
    blas.multiply(library, torch.ones(3, 2), torch.ones(2, 5), c)
    assert (c == 2).all()


def test_neighbours_are_left_alone(library):
    frame, a, b = torch.full((20, 30), 7.0, dtype=torch.float64), drawn(11, 13), drawn(13, 17)
    blas.multiply(library, a, b, frame[4:15, 6:23])
    torch.testing.assert_close(frame[4:15, 6:23], a @ b)
    frame[4:15, 6:23] = 7.0
    assert (frame == 7.0).all()


def test_a_gradient_is_not_computed_from_what_was_overwritten(library):
    """torch sees the change, as it does after its own products in place."""
    x = drawn(3, 3).requires_grad_()
    kept = x.detach().clone()
    y = (x * kept).sum()
    blas.multiply(library, kept.clone(), kept.clone(), kept)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_inference_mode(library):
    with torch.inference_mode():
        c = torch.empty(2, 2)
        blas.multiply(library, torch.ones(2, 3), torch.ones(3, 2), c)
    assert (c == 3).all()


@here
@pytest.mark.parametrize(("library", "levels", "inside"), [("OpenBLAS", 1, 1), ("OpenBLAS", 0, 2)])
def test_while_openblas_multiplies_blocks_torch_adds_on_one_thread(
    monkeypatch, library, levels, inside
):
    """And has its own number of threads again afterwards, come what may."""
    before = torch.get_num_threads()
    a, seen = drawn(8, 8), []

    def watched(library, a, b, out, start=None, threads=None):
        seen.append((torch.get_num_threads(), threads))
        if len(seen) == 7:
            raise RuntimeError("broken off")

    monkeypatch.setattr(blas, "multiply", watched)
    try:
        torch.set_num_threads(2)
        if levels:
            with pytest.raises(RuntimeError, match="broken off"):
                strassen_fast(a, a, levels=levels, library=library)
        else:
            strassen_fast(a, a, levels=levels, library=library)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [(inside, 2)] * (7 if levels else 1)


@here
def test_threads_are_torchs_and_numpys_stay(monkeypatch):
    found, asked = blas._openblas(), []
    before = found["threads"]()
    watched = found | {"set_threads": lambda n: asked.append(n) or found["set_threads"](n)}
    monkeypatch.setattr(blas, "_openblas", lambda: watched)
    monkeypatch.setattr(torch, "get_num_threads", lambda: before + 1)
    c = torch.empty(2, 2)
    blas.multiply("OpenBLAS", torch.ones(2, 3), torch.ones(3, 2), c)
    assert asked == [before + 1, before]
    assert found["threads"]() == before
    assert (c == 3).all()


# --- the choice -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("side", "dtype", "device"),
    [(511, torch.float32, "cpu"), (999, torch.int64, "cpu"), (999, torch.float32, "cuda")],
)
def test_torch_without_a_question(monkeypatch, side, dtype, device):
    monkeypatch.setattr(blas, "_race", lambda *_: pytest.fail("asked"))
    assert blas.fastest(side, side, side, dtype, torch.device(device)) == "torch"


@here
@pytest.mark.parametrize("winner", ["torch", "OpenBLAS"])
def test_the_faster_one_wins(monkeypatch, winner):
    """The clock is made up: a product costs one second by the winner, two by the other."""
    now = [0.0]
    for clock in ("process_time", "perf_counter"):
        monkeypatch.setattr(blas.time, clock, lambda: now[0])

    def multiply(library, *_):
        now[0] += 1 if library == winner else 2

    monkeypatch.setattr(blas, "multiply", multiply)
    assert blas._race.__wrapped__(torch.float32, 1) == winner
    monkeypatch.setattr(blas, "_race", lambda *_: winner)
    assert blas.fastest(513, 512, 512, torch.float32, CPU) == winner


def test_without_openblas(without):
    assert blas.libraries() == ("torch",)
    assert blas.fastest(999, 999, 999, torch.float32, CPU) == "torch"
    with refuses(ValueError, "library must be one of torch, got 'OpenBLAS'"):
        strassen_fast(torch.ones(2, 2), torch.ones(2, 2), library="OpenBLAS")


def test_a_numpy_that_stands_on_another_library(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda path: object())
    assert blas._openblas.__wrapped__() == {}

    def missing(path):
        raise OSError("no such file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert blas._openblas.__wrapped__() == {}


# --- in Strassen's algorithm ------------------------------------------------------------------


@pytest.mark.parametrize("levels", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(8, 8, 8), (11, 13, 17), (64, 31, 40), (139, 130, 150)])
def test_strassen_by_each_library(library, shape, levels):
    m, k, n = shape
    a, b = drawn(m, k), drawn(k, n)
    for x, y in ((a, b), (a.mT.contiguous().mT, b), (a, b.mT.contiguous().mT)):
        out = torch.empty(n, m, dtype=a.dtype).mT
        assert strassen_fast(x, y, out, levels, library) is out
        torch.testing.assert_close(out, a @ b, rtol=0, atol=1e-11)
    torch.testing.assert_close(strassen_fast(a, b, None, levels, library), a @ b)


@pytest.mark.parametrize("levels", [0, 1])
@pytest.mark.parametrize(
    "shapes", [((3, 7, 8), (3, 8, 9)), ((5, 3, 7, 8), (8, 9)), ((0, 7, 8), (8, 9))]
)
def test_batches_by_each_library(library, shapes, levels):
    a, b = (drawn(*shape) for shape in shapes)
    torch.testing.assert_close(strassen_fast(a, b, None, levels, library), a @ b)


def test_nothing_to_sum(library):
    assert not strassen_fast(torch.ones(2, 0), torch.ones(0, 3), None, 0, library).any()


@pytest.mark.parametrize("levels", range(5))
def test_the_error_is_within_the_bound(library, levels):
    """Higham (2002), (23.19), as for torch's blocks."""
    n = 128
    a, b = drawn(n, n, dtype=torch.float32), drawn(n + 1, n + 1, dtype=torch.float32)[:n, :n]
    c = strassen_fast(a, b, levels=levels, library=library)
    error = (c.double() - a.double() @ b.double()).abs().max()
    leaf, unit = n / 2**levels, torch.finfo(torch.float32).eps / 2
    growth = 18**levels * (leaf**2 + 6 * leaf) - 6 * n if levels else n**2
    assert 0 < error < growth * unit * a.abs().max() * b.abs().max()


def test_refuses_another_library():
    expected = ", ".join(blas.libraries())
    with refuses(ValueError, f"library must be one of {expected}, got 'MKL'"):
        strassen_fast(torch.ones(2, 2), torch.ones(2, 2), library="MKL")
