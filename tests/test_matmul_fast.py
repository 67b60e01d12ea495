import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from hydra_lib.matmul import crossover
from hydra_lib.matmul.blocks import empty, split
from hydra_lib.matmul.fast import strassen_fast
from tests.refusal import refuses, unhooked

SHAPES = [(8, 8, 8), (11, 13, 17), (23, 8, 9), (64, 31, 40), (8, 40, 15)]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]


def pair(m, k, n, dtype=torch.float64, seed=0, batch=(), batch_b=()):
    g = torch.Generator().manual_seed(seed)
    if dtype in INTEGERS:
        # Full range, so that sums and products wrap around.
        info = torch.iinfo(dtype)
        sizes = ((*batch, m, k), (*batch_b, k, n))
        return [torch.randint(info.min, info.max, s, generator=g, dtype=dtype) for s in sizes]
    wide = torch.complex128 if dtype.is_complex else torch.float64
    a = torch.randn(*batch, m, k, dtype=wide, generator=g).to(dtype)
    return a, torch.randn(*batch_b, k, n, dtype=wide, generator=g).to(dtype)


def reorder(matrices, flips):
    """The same matrices, stored by columns where ``flips`` says so."""
    both = zip(matrices, flips, strict=True)
    return [x.mT.contiguous().mT if flip else x for x, flip in both]


class Watch(TorchDispatchMode):
    """Counts calls by name, and the numbers for which memory was taken, by whom."""

    def __init__(self):
        super().__init__()
        self.calls, self.taken, self.known = [], {}, set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        before = {
            x.untyped_storage()._cdata
            for x in (*args, *(kwargs or {}).values())
            if isinstance(x, torch.Tensor)
        }
        out = func(*args, **(kwargs or {}))
        self.calls.append(name)
        if isinstance(out, torch.Tensor) and out.untyped_storage()._cdata not in before:
            self.taken.setdefault(name, []).append(out.untyped_storage().nbytes())
        return out


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_the_product(shape, levels):
    a, b = pair(*shape)
    torch.testing.assert_close(strassen_fast(a, b, levels=levels), a @ b, rtol=0, atol=1e-11)


def test_blocks_that_blas_is_quick_on():
    """An odd side is cut to blocks that 8 divides, if they are large; an even one is not cut."""
    assert split(139, 130, 150, 1) == (128, 128, 144)
    assert split(138, 130, 150, 1) == (138, 130, 150)
    assert split(139, 127, 150, 1) == (138, 126, 150)
    assert split(139, 130, 150, 2) == (136, 128, 148)
    a, b = pair(139, 130, 150)
    torch.testing.assert_close(strassen_fast(a, b, levels=1), a @ b, rtol=0, atol=1e-11)


def test_by_hand():
    a, b = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5, 6], [7, 8]])
    assert strassen_fast(a, b, levels=1).tolist() == [[19, 22], [43, 50]]


@settings(deadline=None, max_examples=60)  # 343 products take their time
@given(st.tuples(*[st.integers(1, 20)] * 3), st.data())
def test_integers_exactly(shape, data):
    """Any shape, depth, memory order and integer width: the very numbers of a @ b."""
    levels = data.draw(st.integers(0, min(3, int(math.log2(min(shape))))))
    dtype = data.draw(st.sampled_from(INTEGERS))
    order = data.draw(st.tuples(*[st.booleans()] * 3))
    a, b = pair(*shape, dtype)
    out = torch.empty(shape[0], shape[2], dtype=dtype)
    a, b, out = reorder((a, b, out), order)
    assert strassen_fast(a, b, out, levels) is out
    assert torch.equal(out, a @ b)


@pytest.mark.parametrize(
    "dtype",
    [torch.bfloat16, torch.float16, torch.float32, torch.complex64, torch.complex128],
    ids=str,
)
def test_dtypes(dtype):
    a, b = pair(22, 20, 21, dtype)
    c = strassen_fast(a, b, levels=2)
    assert c.dtype == dtype
    wide = torch.complex128 if dtype.is_complex else torch.float64
    tolerance = 1000 * torch.finfo(dtype).eps
    torch.testing.assert_close(c.to(wide), a.to(wide) @ b.to(wide), rtol=0, atol=tolerance)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_seven_products_a_level(levels):
    a, b = pair(24, 32, 40)
    with Watch() as watch:
        strassen_fast(a, b, levels=levels)
    products = watch.calls.count("mm") + watch.calls.count("addmm")
    assert products == 7**levels
    # BLAS adds four of the last level's products itself; the rest of the 15 are block additions,
    # one of them the copy that addmm makes of the sum it starts from.
    additions = watch.calls.count("add") + watch.calls.count("sub")
    additions += watch.calls.count("add_") + watch.calls.count("sub_")
    inner = sum(7**i for i in range(levels - 1))
    assert additions == 15 * inner + 11 * 7 ** (levels - 1)


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("shape", [(64, 64, 64), (40, 128, 72), (67, 41, 103)])
def test_workspace(shape, levels):
    """A quarter of A, B and (but for the last level) C a level; nothing else takes memory."""
    a, b = pair(*shape, torch.float32)
    out = torch.empty(shape[0], shape[2])
    with Watch() as watch:
        strassen_fast(a, b, out, levels)
    assert set(watch.taken) == {"new_empty"}
    m, k, n = (side >> levels for side in shape)
    blocks = [4**i for i in range(levels)]
    room = sum(blocks) * (m * k + k * n + m * n) - m * n
    padding = 16 * sum(blocks) * (2 * m + k)  # a cache line a row: 16 numbers
    assert 4 * room < sum(watch.taken["new_empty"]) <= 4 * (room + padding)
    assert room <= (shape[0] * shape[1] + shape[1] * shape[2] + shape[0] * shape[2]) / 3


def test_inputs_and_neighbours_are_left_alone():
    a, b = pair(11, 13, 17)
    before, frame = (a.clone(), b.clone()), torch.full((20, 30), 7.0, dtype=torch.float64)
    strassen_fast(a, b, frame[4:15, 6:23], 2)
    torch.testing.assert_close(frame[4:15, 6:23], a @ b, rtol=0, atol=1e-11)
    frame[4:15, 6:23] = 7.0
    assert (frame == 7.0).all()
    assert torch.equal(a, before[0])
    assert torch.equal(b, before[1])


@pytest.mark.parametrize("flips", list(itertools.product([False, True], repeat=3)))
def test_views(flips):
    """Every second row and column, or transposed, or conjugated."""
    g = torch.Generator().manual_seed(0)
    a = torch.randn(44, 26, dtype=torch.complex128, generator=g)[::2, ::2]
    b = torch.randn(34, 26, dtype=torch.complex128, generator=g).mT[::2].conj()
    out = torch.empty(22, 34, dtype=torch.complex128)
    a, b, out = reorder((a, b, out), flips)
    strassen_fast(a, b, out, 2)
    torch.testing.assert_close(out, a @ b, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("batch", "batch_b"),
    [
        ((3,), (3,)),
        ((5, 3), ()),
        ((), (3,)),
        ((5, 1), (3,)),
        ((1,), (3,)),
        ((0,), ()),
        ((3, 0), ()),
    ],
)
@pytest.mark.parametrize("given_out", [False, True])
@pytest.mark.parametrize("levels", [None, 0, 2])
def test_batches(batch, batch_b, given_out, levels):
    a, b = pair(7, 8, 9, batch=batch, batch_b=batch_b)
    expected = a @ b
    out = torch.empty_like(expected) if given_out else None
    c = strassen_fast(a, b, out, levels)
    assert c.shape == expected.shape
    assert out is None or c is out
    torch.testing.assert_close(c, expected, rtol=0, atol=1e-11)


def test_a_batch_times_one_matrix_is_one_product():
    """As a projection is: (B, T, d) by (d, d). The rows are stacked, so T may be 1."""
    a, b = pair(1, 8, 8, batch=(5, 4))
    with Watch() as watch:
        c = strassen_fast(a, b, levels=1)
    assert watch.calls.count("mm") + watch.calls.count("addmm") == 7
    torch.testing.assert_close(c, a @ b, rtol=0, atol=1e-11)


@pytest.mark.parametrize("levels", [None, 0, 1])
def test_a_batch_times_one_matrix_into_a_transposed_out(levels):
    a, b = pair(2, 3, 5, batch=(7,))
    out = torch.zeros(7, 5, 2, dtype=a.dtype).mT
    assert strassen_fast(a, b, out, levels) is out
    torch.testing.assert_close(out, a @ b, rtol=0, atol=1e-11)


@pytest.mark.parametrize("strided", ["a", "out"])
def test_a_strided_batch_times_one_matrix(strided):
    """As attention heads are, before and after they are merged: views, not to be copied."""
    a, b = pair(8, 4, 8, batch=(4,))
    out = torch.zeros(4, 8, 8, dtype=a.dtype)
    if strided == "a":
        a = a.transpose(0, 1).contiguous().transpose(0, 1)
    else:
        out = out.mT
    with Watch() as watch:
        c = strassen_fast(a, b, out, levels=1)
    assert c is out
    torch.testing.assert_close(out, a @ b, rtol=0, atol=1e-11)
    assert set(watch.taken) == {"new_empty"}


def test_temporaries_are_stored_in_the_order_of_the_operand():
    rows = torch.empty(6, 4)
    for like, inner in ((rows, -1), (rows.mT, -2), (rows[:, :1], -1), (rows[::2, ::2], -1)):
        block = empty(like, 5, 7, depth=2)
        assert block.shape == (2, 2, 2, 2, 5, 7)
        assert block.stride(inner) == 1
        # Rows begin on a cache line of 16 numbers, and not where the last one ended.
        assert block.stride(-3 - inner) == 16


@pytest.mark.parametrize(
    "shape", [(0, 3, 5), (2, 0, 5), (2, 3, 0), (0, 0, 0), (1, 1, 1), (1, 7, 1)]
)
def test_small_and_empty(shape):
    a, b = pair(*shape)
    assert torch.equal(strassen_fast(a, b), a @ b)


def test_below_the_crossover_it_is_the_product():
    a, b = pair(64, 96, 80, torch.float32)
    with Watch() as watch:
        c = strassen_fast(a, b)
    assert torch.equal(c, a @ b)
    assert watch.calls == ["mm"]


def test_above_the_crossover_it_recurses(monkeypatch):
    both = {"whole": 8, "peeled": 8}
    monkeypatch.setattr(crossover, "_measured", lambda: {"cpu": {"torch": {"int64": both}}})
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    a, b = pair(16, 17, 19, torch.int64)
    with Watch() as watch:
        c = strassen_fast(a, b)
    assert torch.equal(c, a @ b)
    # 49 products, and the three that finish peeled sides (k, n; m = 16 has nothing left).
    assert watch.calls.count("mm") + watch.calls.count("addmm") + watch.calls.count("addmm_") == 51


@pytest.mark.parametrize("levels", range(5))
def test_error_is_within_the_bound(levels):
    """Higham (2002), (23.19): max|C − Ĉ| ≤ ((n/n₀)^log₂18 (n₀² + 6 n₀) − 6n) u max|A| max|B|."""
    n = 128
    a, b = pair(n, n, n, torch.float32)
    error = (strassen_fast(a, b, levels=levels).double() - a.double() @ b.double()).abs().max()
    leaf, unit = n / 2**levels, torch.finfo(torch.float32).eps / 2
    bound = (18**levels * (leaf**2 + 6 * leaf) - 6 * n) * unit * a.abs().max() * b.abs().max()
    if levels == 0:
        bound = n**2 * unit * a.abs().max() * b.abs().max()
    assert 0 < error < bound
    # Rounding grows with the levels (claim H13), but stays far from wrong.
    plain = ((a @ b).double() - a.double() @ b.double()).abs().max()
    assert (1 if levels else 0.99) < error / plain < 4.5**levels + 1e-9


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_spreads_to_rows_of_the_same_remainder(bad, levels):
    m, k, n = 22, 13, 19
    a, b = pair(m, k, n)
    clean = strassen_fast(a, b, levels=levels)
    a[6, 5] = bad
    c = strassen_fast(a, b, levels=levels)
    reach = torch.arange(m) % (m >> levels) == 6 % (m >> levels)
    assert torch.equal(c[~reach], clean[~reach])
    lost = c.isnan().any(1)
    assert not (lost & ~reach).any()
    assert lost.sum() > 1  # in a @ b it is row 6 alone
    assert (a @ b).isfinite().all(1).sum() == m - 1
    # An infinity meets its own negative and ends as NaN somewhere.
    assert c[6].isnan().any()


@pytest.mark.parametrize("levels", [1, 2])
def test_what_is_not_finite_in_b_spreads_to_columns(levels):
    m, k, n = 13, 11, 18
    a, b = pair(m, k, n)
    clean = strassen_fast(a, b, levels=levels)
    b[3, 7] = math.nan
    c = strassen_fast(a, b, levels=levels)
    reach = torch.arange(n) % (n >> levels) == 7 % (n >> levels)
    assert torch.equal(c[:, ~reach], clean[:, ~reach])
    assert c.isnan().any(0).sum() > 1


def test_finite_entries_may_overflow_in_a_sum():
    large = 0.75 * torch.finfo(torch.float32).max
    a, b = torch.tensor([[0.0, 0.0], [large, large]]), 0.1 * torch.eye(2)
    assert (a @ b).isfinite().all()
    assert not strassen_fast(a, b, levels=1).isfinite().all()


def test_meta_tensors_pass_through():
    """Nothing looks at the numbers, so nothing waits for a device."""
    a = torch.empty(64, 48, device="meta")
    c = strassen_fast(a, a.mT, levels=3)
    assert (c.device.type, c.shape) == ("meta", (64, 64))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("levels", [None, 1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_cuda(dtype, levels):
    a, b = (x.cuda() for x in pair(517, 520, 523, dtype))
    c = strassen_fast(a, b, levels=levels)
    assert c.device == a.device
    tolerance = 4000 * torch.finfo(dtype).eps
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=0, atol=tolerance)


def test_gradients_are_refused_not_lost():
    a, b = pair(4, 4, 4)
    message = "a, b and out must be detached, got one that requires a gradient"
    for x in (a, b):
        x.requires_grad_()
        with refuses(ValueError, message):
            strassen_fast(a, b)
        with torch.no_grad():
            torch.testing.assert_close(strassen_fast(a, b, levels=1), a @ b)
        x.requires_grad_(False)


ones = torch.ones


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            (ones(2, 3).numpy(), ones(3, 5).numpy()),
            TypeError,
            "a and b must be torch tensors, got numpy arrays",
        ),
        (
            (ones(2, 3), ones(3, 5).double()),
            TypeError,
            "expected a and b of one dtype, got torch.float32 and torch.float64",
        ),
        (
            (ones(2, 3), ones(2, 3)),
            ValueError,
            "expected a (…, m, k) and b (…, k, n) with the same k, got (2, 3) and (2, 3)",
        ),
        (
            (ones(2, 3), ones(3)),
            ValueError,
            "expected a (…, m, k) and b (…, k, n) with the same k, got (2, 3) and (3,)",
        ),
        (
            (ones(7, 2, 3), ones(5, 3, 5)),
            ValueError,
            "leading axes of a and b must broadcast, got (7, 2, 3) and (5, 3, 5)",
        ),
        (
            (ones(2, 3), ones(3, 5, device="meta")),
            ValueError,
            "expected a and b on one device, got cpu and meta",
        ),
        (
            (ones(2, 3), ones(3, 5), ones(2, 4)),
            ValueError,
            "out must have shape (2, 5), got (2, 4)",
        ),
        (
            (ones(4, 3), ones(3, 5), None, 2),
            ValueError,
            "levels must leave no side below 1: got levels=2 for sides 4, 3, 5",
        ),
        (
            (ones(4, 3), ones(3, 5), None, -1),
            ValueError,
            "levels must be an integer, 0 or more, got -1",
        ),
        (
            (ones(4, 1), ones(1, 5), None, 1),
            ValueError,
            "levels must leave no side below 1: got levels=1 for sides 4, 1, 5",
        ),
        (
            (ones(4, 4), ones(4, 4), None, 10**9),
            ValueError,
            "levels must leave no side below 1: got levels=1000000000 for sides 4, 4, 4",
        ),
        (
            (ones(4, 4), ones(4, 4), None, 1.5),
            ValueError,
            "levels must be an integer, 0 or more, got 1.5",
        ),
        (
            (ones(4, 4), ones(4, 4), None, True),
            ValueError,
            "levels must be an integer, 0 or more, got True",
        ),
        (
            (ones(3), ones(3, 5)),
            ValueError,
            "expected a (…, m, k) and b (…, k, n) with the same k, got (3,) and (3, 5)",
        ),
        (
            (ones(2, 3).to_sparse(), ones(3, 5)),
            TypeError,
            "a must be a dense torch tensor, got torch.sparse_coo",
        ),
        (
            (ones(2, 3), ones(3, 5), ones(2, 5).numpy()),
            TypeError,
            "out must be a torch tensor, got ndarray",
        ),
        (
            (ones(2, 3), ones(3, 5), ones(2, 5).to_sparse()),
            TypeError,
            "out must be a dense torch tensor, got torch.sparse_coo",
        ),
        (
            (torch.nested.nested_tensor([ones(2, 3)], layout=torch.jagged), ones(3, 5)),
            TypeError,
            "a must be a dense torch tensor, got nested",
        ),
    ],
)
def test_refuses(arguments, error, message):
    with refuses(error, message):
        strassen_fast(*arguments)


def test_refuses_an_out_that_is_read():
    a = ones(4, 4)
    with refuses(ValueError, "out must not overlap a, b or itself, got memory that does"):
        strassen_fast(a, ones(4, 4), a)


def test_refuses_an_out_whose_rows_overlap():
    """Row i + 1 begins inside row i, by whole blocks, which torch does not notice."""
    a, b = pair(8, 8, 8)
    out = torch.zeros(64, dtype=a.dtype).as_strided((8, 8), (4, 1))
    with refuses(ValueError, "out must not overlap a, b or itself, got memory that does"):
        strassen_fast(a, b, out, 1)


def test_numpy_integers_are_integers():
    a, b = pair(8, 8, 8, torch.int64)
    with unhooked():
        assert torch.equal(strassen_fast(a, b, levels=np.int64(2)), a @ b)
