import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hydra_lib.matmul import blas, crossover
from hydra_lib.matmul.crossover import choose_levels
from hydra_lib.records import record
from tests.refusal import refuses

CPU = torch.device("cpu")
BOTH = {"whole": 100, "peeled": 100}
TABLE = {
    "cpu": {
        "torch": {"float32": BOTH, "int64": {"whole": 100}, "int32": {}},
        "OpenBLAS": {"float32": {"whole": 300, "peeled": 450}},
    },
    "cuda": {},
}


@pytest.fixture
def measured(monkeypatch):
    monkeypatch.setattr(crossover, "_measured", lambda: TABLE)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)


@pytest.mark.parametrize(
    ("side", "levels"), [(0, 0), (1, 0), (98, 0), (99, 1), (196, 1), (197, 2), (393, 2), (1600, 5)]
)
def test_halves_while_it_pays(measured, side, levels):
    assert choose_levels(side, side, side, torch.float32, CPU) == levels


@pytest.mark.parametrize(("side", "levels"), [(98, 0), (99, 1), (196, 1), (197, 2)])
def test_the_smallest_side_decides(measured, side, levels):
    for shape in ((side, 500, 700), (700, side, 500), (500, 700, side)):
        assert choose_levels(*shape, torch.float32, CPU) == levels


@pytest.mark.parametrize(
    ("dtype", "device"), [(torch.float64, "cpu"), (torch.float32, "cuda"), (torch.float32, "mps")]
)
def test_what_was_not_measured_is_left_alone(measured, dtype, device):
    assert choose_levels(9999, 9999, 9999, dtype, torch.device(device)) == 0


@pytest.fixture
def with_both(measured, monkeypatch):
    monkeypatch.setattr(blas, "libraries", lambda: ("torch", "OpenBLAS"))


@pytest.mark.parametrize(
    ("shape", "levels"),
    [
        ((300, 300, 300), 1),
        ((301, 301, 301), 0),
        ((443, 443, 443), 0),
        ((444, 444, 445), 1),  # 444 (1 + 1/64) is just above 450
        ((300, 300, 301), 0),
        ((592, 592, 592), 2),
        ((594, 594, 594), 2),  # two halvings leave a strip of two
        ((400, 400, 402), 1),
    ],
)
def test_a_strip_that_is_peeled_off_must_be_earned(with_both, shape, levels):
    assert choose_levels(*shape, torch.float32, CPU, "OpenBLAS") == levels


def test_no_gain_at_odd_sides_is_none(measured):
    assert [choose_levels(n, n, n, torch.int64, CPU) for n in (100, 101, 9999)] == [1, 0, 0]
    assert choose_levels(9999, 9999, 9999, torch.int32, CPU) == 0


def test_each_library_has_its_own(with_both):
    both = [choose_levels(*3 * (300,), torch.float32, CPU, x) for x in ("torch", "OpenBLAS")]
    assert both == [2, 1]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1, 2.5, 3, torch.float32, CPU), ValueError, "k must be an integer, 0 or more, got 2.5"),
        ((1, 2, -3, torch.float32, CPU), ValueError, "n must be an integer, 0 or more, got -3"),
        (
            (1, 2, 3, torch.float32, "cpu"),
            TypeError,
            "device must be a torch.device, got str",
        ),
        (
            (1, 2, 3, "float32", CPU),
            TypeError,
            "dtype must be a torch.dtype, got str",
        ),
    ],
)
def test_refuses(arguments, error, message):
    with refuses(error, message):
        choose_levels(*arguments)


def test_threads_raise_the_crossover(measured, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    sides = [choose_levels(n, n, n, torch.float32, CPU) for n in (393, 394, 788)]
    assert sides == [0, 1, 2]


@given(st.tuples(*[st.integers(0, 5000)] * 3))
def test_more_work_is_never_halved_less(shape):
    m, k, n = shape
    small = choose_levels(m, k, n, torch.float32, CPU)
    assert small <= choose_levels(2 * m, 2 * k, 2 * n, torch.float32, CPU)
    assert small == 0 or min(shape) >> small >= 1


def test_the_shipped_table():
    table = record("strassen")["settings"]["crossover"]
    assert set(table) <= {"cpu", "cuda"}
    for libraries in table.values():
        assert set(libraries) <= {"torch", "OpenBLAS"}
        for dtype, sides in (x for dtypes in libraries.values() for x in dtypes.items()):
            assert isinstance(getattr(torch, dtype), torch.dtype)
            assert set(sides) <= {"whole", "peeled"}
            assert all(isinstance(side, int) and side >= 32 for side in sides.values())
    # A single pass of a 768-wide model over a short text must stay with BLAS.
    assert choose_levels(64, 768, 768, torch.float32, CPU) == 0
