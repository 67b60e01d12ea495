"""Ranks: heads and keys over 2, 3 and 4 processes against one, counted; ends that are no good."""

import functools
import os
import subprocess
import sys
import time

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from hydra_lib import HeadConfig, MultiHeadAttention, multi_head_backward
from hydra_lib.parallel import (
    NoGroupError,
    RankFailedError,
    attention_over_ranks,
    backend,
    mesh_of_ranks,
    run,
    shard_heads,
)
from tests import parallel_jobs
from tests.conftest import ROOT
from tests.parallel_jobs import B, Tk, Tq
from tests.refusal import refuses, unhooked


@functools.cache
def found(ranks):
    """What all the ranks return; what they compare they have compared there."""
    return run(parallel_jobs.everything, ranks)


every_count = pytest.mark.parametrize("ranks", [2, 3, 4])


@pytest.mark.slow
@every_count
def test_one_all_reduce_forward_and_one_back(ranks):
    """Of the whole output and of the gradient of the whole input, eight bytes a number."""
    for of_rank in found(ranks):
        layers, x = of_rank["layers"], ("all_reduce", B * 11 * 48 * 8)
        assert layers["self"] == layers["rotary"] == ([x], [x])
        query, key = (("all_reduce", B * T * 48 * 8) for T in (Tq, Tk))
        assert layers["cross"][0] == layers["heads"][0] == [query]
        assert sorted(layers["cross"][1]) == sorted([query, key])  # two inputs, two gradients
        assert sorted(layers["heads"][1]) == sorted([query, key, key])
        assert layers["no gradient"] == [x, x]  # a call and a trace
        assert of_rank["counted"] == (2, 2)


@pytest.mark.slow
@every_count
def test_each_rank_keeps_its_heads_only(ranks):
    for of_rank in found(ranks):
        d = 48 // ranks
        assert of_rank["layers"]["config"] == (d, 24 // ranks, 2)
        shapes = of_rank["layers"]["shapes"]
        for name in ("W_q", "W_k", "W_v"):
            assert (shapes[f"{name}.weight"], shapes[f"{name}.bias"]) == ((d, 48), (d,))
        assert (shapes["W_o.weight"], shapes["W_o.bias"]) == ((48, d), (48,))


@pytest.mark.slow
@every_count
def test_findings_are_reduced_twice_and_their_size_knows_no_keys(ranks):
    rows = 2 * 7 * 13
    for of_rank in found(ranks):
        assert of_rank["sequence"] == (
            [("all_reduce", rows * 8), ("all_reduce", rows * (5 + 1) * 8)],
            [("all_reduce", rows * 3 * 8)],
        )


@pytest.mark.slow
@every_count
def test_what_the_chapter_runs(ranks):
    for rank, of_rank in enumerate(found(ranks)):
        for seen in of_rank["demo"]:
            assert seen.rank == rank
            assert seen.place == "gloo on cpu"
            assert max(seen.errors.values()) < 1e-13
        heads, keys = of_rank["demo"]
        assert heads.shapes["W_q.weight"] == (24 // ranks, 24)
        assert [call.bytes for call in heads.forward + heads.backward] == [2 * 11 * 24 * 8] * 2
        assert sum(of_rank["demo"][1].shapes["k"][-2] for of_rank in found(ranks)) == 13
        assert len(keys.forward) == 2


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_the_toy_model_trains_as_on_one_process(ranks):
    for one, many, difference, sent in (of_rank["toy"] for of_rank in found(ranks)):
        assert many == pytest.approx(one, rel=1e-12)
        assert len(set(one)) == 3
        assert difference < 1e-10
        # A step sends what two layers do forward and back; clipping, the length of each tensor.
        layers, lengths = [8 * 16 * 48 * 48] * 4, 8 * 16
        assert [call.bytes for call in sent] == [*layers, lengths] * 3
    for *_, sent in (of_rank["unclipped"] for of_rank in found(ranks)):
        assert [call.bytes for call in sent] == layers


@pytest.mark.slow
def test_the_script_that_readers_start():
    """torchrun's own way: it finds ranks and addresses, and the script tells what it used."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]
    done = subprocess.run(
        [*command, "-m", "hydra_lib.parallel.demo"],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "2 ranks, gloo on cpu: 0 GPUs for 2 ranks here"
    assert "  rank 0 has W_q.weight  (64, 128)" in lines
    assert "  forward  all_reduce of 131,072 bytes" in lines


# --- no good end ----------------------------------------------------------------------------------


def expect_ended(folder, ranks):
    pids = [int((folder / str(rank)).read_text()) for rank in range(ranks)]
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.slow
def test_a_dead_rank_ends_the_job_and_leaves_no_process(tmp_path):
    start = time.monotonic()
    with refuses(RankFailedError, "rank 1 of 3 was ended by SIGKILL"):
        run(parallel_jobs.writes_and_is_killed, 3, tmp_path)
    assert time.monotonic() - start < 60  # and not the 120 s that a collective may take
    expect_ended(tmp_path, 3)


@pytest.mark.slow
def test_an_error_is_told_in_the_words_of_the_rank_that_was_first():
    with pytest.raises(RankFailedError) as raised:
        run(parallel_jobs.raises, 2)
    first, *_, last = str(raised.value).splitlines()
    assert first == "rank 1 of 2 failed:"
    assert last == "ValueError: the second rank has had enough"
    with refuses(RankFailedError, "rank 1 of 2 ended with exit code 3"):
        run(parallel_jobs.leaves, 2)
    with pytest.raises(RankFailedError, match=r"rank 1 of 2 failed:(.|\n)*SystemExit: 0$"):
        run(parallel_jobs.says_good_bye, 2)


@pytest.mark.slow
def test_time_is_bounded(tmp_path):
    with refuses(TimeoutError, "2 ranks did not end within 12 s and were killed"):
        run(parallel_jobs.sleeps, 2, tmp_path, timeout=12)
    expect_ended(tmp_path, 2)


# --- refused --------------------------------------------------------------------------------------


@pytest.fixture
def group():
    """A group of this process alone."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.fixture
def many():
    """Rank 0 of 1,024 that exist in name only: nothing is sent."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=1024)
    yield
    dist.destroy_process_group()


def layer(heads=6):
    return MultiHeadAttention(HeadConfig(12, heads), generator=torch.Generator().manual_seed(0))


NO_GROUP = (
    "expected a process group, got none: start the script with torchrun and call "
    "torch.distributed.init_process_group, or call hydra_lib.parallel.run"
)


def test_no_group():
    with refuses(NoGroupError, NO_GROUP):
        mesh_of_ranks()
    assert issubclass(NoGroupError, ValueError)


def test_a_mesh_whose_group_is_gone(group):
    mesh = mesh_of_ranks()
    dist.destroy_process_group()
    with refuses(NoGroupError, NO_GROUP):
        shard_heads(layer(), mesh)


def test_one_rank_is_a_mesh_too(group):
    whole, x = layer(), torch.ones(2, 5, 12)
    expected = whole(x, x, x)
    torch.testing.assert_close(shard_heads(whole, mesh_of_ranks())(x, x, x), expected)
    for needs_all in (
        lambda: shard_heads(whole, mesh_of_ranks()),
        lambda: whole.contributions(torch.ones(6, 5, 2)),
        whole.to_torch,
        lambda: multi_head_backward(whole, x, x, x, x),
    ):
        with refuses(ValueError, "layer must be whole, got one that is sharded over ranks"):
            needs_all()
    q = torch.ones(5, 3)
    torch.testing.assert_close(attention_over_ranks(q, q, q, mesh_of_ranks()), q)


def test_what_is_no_mesh_and_no_layer(group):
    mesh = mesh_of_ranks()
    with refuses(TypeError, "mesh must be a DeviceMesh, got int"):
        shard_heads(layer(), 2)
    with refuses(TypeError, "layer must be a MultiHeadAttention, got MultiheadAttention"):
        shard_heads(torch.nn.MultiheadAttention(12, 6), mesh)
    q = torch.ones(5, 3)
    with refuses(TypeError, "mesh must be a DeviceMesh, got NoneType"):
        attention_over_ranks(q, q, q, None)
    with refuses(ValueError, "mesh must be of meta ranks, got cpu"):
        shard_heads(layer().to("meta"), mesh)
    flat = "mesh must be one row of ranks, got 1 × 1: give one of its dimensions"
    with refuses(ValueError, flat):
        shard_heads(layer(), init_device_mesh("cpu", (1, 1)))


def test_heads_that_the_ranks_do_not_divide_and_a_mesh_without_this_rank(many):
    mesh = init_device_mesh("cpu", (256, 4), mesh_dim_names=("copies", "heads"))
    with refuses(
        ValueError,
        "ranks must divide n_heads: got n_heads=6 on 4 ranks; these do: 1, 2, 3, 6",
    ):
        shard_heads(layer(), mesh["heads"])
    assert shard_heads(layer(12), mesh["heads"]).config == HeadConfig(3, 3)
    with refuses(
        ValueError, "mesh must be one row of ranks, got 256 × 4: give one of its dimensions"
    ):
        shard_heads(layer(12), mesh)
    others = torch.distributed.device_mesh.DeviceMesh("cpu", [1, 2])
    with refuses(ValueError, "mesh must have this rank in it, got 1, 2 on rank 0"):
        shard_heads(layer(12), others)


def test_what_run_refuses():
    with refuses(ValueError, "ranks must be a positive integer, got 0"):
        run(parallel_jobs.sleeps, 0)
    with refuses(ValueError, "timeout must be above 0 and at most 10⁶, in seconds, got 0"):
        run(parallel_jobs.sleeps, 1, timeout=0)
    with refuses(ValueError, "timeout must be above 0 and at most 10⁶, in seconds, got 1e+300"):
        run(parallel_jobs.sleeps, 1, timeout=1e300)
    with refuses(ValueError, "timeout must be finite, got inf"):
        run(parallel_jobs.sleeps, 1, timeout=float("inf"))


@pytest.mark.long
def test_each_rank_gets_a_copy_of_the_arguments():
    x = torch.zeros(3)
    assert run(parallel_jobs.adds_its_rank, 2, x) == [[1.0] * 3, [2.0] * 3]
    assert x.tolist() == [0.0] * 3


@pytest.mark.long
def test_a_tensor_with_a_graph_and_a_generator_can_be_sent():
    x = torch.ones(3, requires_grad=True) * 2
    assert run(parallel_jobs.doubles, 1, x) == [[4.0] * 3]
    generator = torch.Generator().manual_seed(5)
    expected = torch.rand(1, generator=torch.Generator().manual_seed(5)).item()
    assert run(parallel_jobs.draws, 1, generator) == [expected]


def test_arguments_that_cannot_be_sent():
    text = "arguments must be what can be pickled: "
    with unhooked(), pytest.raises(ValueError, match=f"^{text}.*lambda"):
        run(parallel_jobs.sleeps, 2, lambda: 1)


@pytest.mark.long
def test_a_rank_that_ends_without_a_result():
    with refuses(RankFailedError, "rank 0 of 1 ended without a result"):
        run(parallel_jobs.leaves_in_silence, 1)  # of two, one may hear first that the other left


def test_a_function_that_ranks_cannot_import(monkeypatch):
    text = "function must stand at the top of a module that ranks can import, got "
    for function in (lambda mesh: mesh, functools.partial(parallel_jobs.raises)):
        with unhooked(), pytest.raises(ValueError, match=f"^{text}"):
            run(function, 2)
    with refuses(TypeError, "function must be a function, got 2"):
        run(2, 2)

    def of_a_notebook(mesh):
        return mesh

    of_a_notebook.__module__, of_a_notebook.__qualname__ = "__main__", "of_a_notebook"
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    with unhooked(), pytest.raises(ValueError, match=text + "<function of_a_notebook"):
        run(of_a_notebook, 2)


def test_gloo_where_there_are_fewer_gpus_than_ranks(monkeypatch):
    monkeypatch.setattr(dist, "is_nccl_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert backend(2) == ("nccl", "cuda")
    assert backend(3) == ("gloo", "cpu")
    monkeypatch.setattr(dist, "is_nccl_available", lambda: False)
    assert backend(2) == ("gloo", "cpu")
