import pytest
from unhindered import HINDRANCES, unhindered

from hydra_lib.matmul import blas


@pytest.fixture
def free(monkeypatch):
    for name in HINDRANCES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return monkeypatch


def test_the_kernels_are_named(free):
    free.setattr(blas, "kernels", lambda: "Zen")
    assert unhindered() == {"openblas": "with kernels for Zen"}
    free.setattr(blas, "kernels", lambda: None)
    assert unhindered() == {}


@pytest.mark.parametrize("name", HINDRANCES)
def test_what_holds_a_library_back_is_refused(free, name):
    free.setenv(name, "2")
    with pytest.raises(SystemExit, match=f"choose for themselves: unset {name}=2$"):
        unhindered()


@pytest.mark.parametrize("threads", ["2", None])
def test_threads_that_cannot_be_taken_back_are_refused(free, threads):
    free.delenv("OMP_NUM_THREADS")
    if threads:
        free.setenv("OMP_NUM_THREADS", threads)
    with pytest.raises(SystemExit, match=r"set OMP_NUM_THREADS=1$"):
        unhindered()
