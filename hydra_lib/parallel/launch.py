"""Start ranks on this machine from a notebook or a test, and see to it that they end."""

import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from hydra_lib import _checks
from hydra_lib.parallel.ranks import backend, mesh_of_ranks

__all__ = ["RankFailedError", "run"]

MOMENT = 1.0  # who waits for a dead rank fails too, and may be heard of before it; seconds


class RankFailedError(RuntimeError):
    """A rank raised an error or died; the others were ended."""


def run(function: Callable, ranks: int, *args: Any, timeout: float | int = 120.0) -> list:
    """Call ``function(mesh, *args)`` on ``ranks`` new processes; a list of what each returned.

    ``mesh`` is a :class:`torch.distributed.device_mesh.DeviceMesh` of all ranks; the backend is
    :func:`hydra_lib.parallel.ranks.backend`'s. The function must stand in a module that can be
    imported: what is defined in a notebook cannot. A script must call this below
    ``if __name__ == "__main__":``, since every rank imports it. Arguments and results are pickled.
    Each rank computes with its share of the processor's threads.

    All processes have ended when this returns or raises, after ``timeout`` seconds at the latest.
    Raises RankFailedError, with the rank's own words, when one raises or dies; TimeoutError when
    the ranks take longer; TypeError for what is no function, ValueError for one that cannot be
    imported, arguments that cannot be pickled, ``ranks`` that are not a positive integer and a
    ``timeout`` that is not above 0 and at most 10⁶. Cost: seconds, to import torch, the first time;
    tenths later.
    """
    ranks, timeout = _checks.integer("ranks", ranks), _checks.finite("timeout", timeout)
    if not 0 < timeout <= 1e6:  # what the system's own clocks take is not much more
        raise ValueError(f"timeout must be above 0 and at most 10⁶, in seconds, got {timeout}")
    _check_importable(function)
    try:
        packed = pickle.dumps(args)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise ValueError(f"arguments must be what can be pickled: {error}") from None
    # A server that has imported torch once forks a rank in no time; a notebook, with its threads,
    # must not be forked itself. torch imports _dynamo when the first DTensor is used.
    method = "forkserver" if "forkserver" in mp.get_all_start_methods() else "spawn"
    if method == "forkserver":
        needed = ["torch._dynamo", "torch.distributed.tensor.parallel", function.__module__]
        mp.get_context(method).set_forkserver_preload([__name__, *needed])
    with tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        # As bytes: of a tensor itself, torch would share the memory between the ranks and us.
        about = (function, ranks, folder, timeout, packed)
        deadline = time.monotonic() + timeout
        started = mp.start_processes(_rank, about, ranks, join=False, start_method=method)
        try:
            while going := [p.sentinel for p in started.processes if p.exitcode is None]:
                left = deadline - time.monotonic()
                if left <= 0 or any(p.exitcode for p in started.processes):
                    break
                wait(going, left)
            if any(p.exitcode for p in started.processes):
                until = time.monotonic() + MOMENT
                for process in started.processes:
                    process.join(max(0.0, until - time.monotonic()))
        finally:
            codes = [p.exitcode for p in started.processes]
            for process in started.processes:
                process.kill()  # a rank that waits for a dead one hears nothing else
                process.join()
        if any(codes):
            raise RankFailedError(_what_failed(codes, Path(folder)))
        if None in codes:
            raise TimeoutError(f"{ranks} ranks did not end within {timeout:g} s and were killed")
        for rank in range(ranks):
            if not Path(folder, str(rank)).exists():
                raise RankFailedError(f"rank {rank} of {ranks} ended without a result")
        return [torch.load(f"{folder}/{rank}", weights_only=False) for rank in range(ranks)]


def _check_importable(function: Any) -> None:
    """Ranks get a function by its name, and import it."""
    _checks.function("function", function)
    name, module = getattr(function, "__qualname__", "<>"), function.__module__
    interactive = module == "__main__" and not hasattr(sys.modules["__main__"], "__file__")
    if "<" in name or interactive:
        raise ValueError(
            "function must stand at the top of a module that ranks can import, got "
            f"{_checks.shown(function)}"
        )


def _rank(
    rank: int, function: Callable, ranks: int, folder: str, timeout: float | int, packed: bytes
) -> None:
    """The life of one rank."""
    try:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // ranks))
        name, kind = backend(ranks)
        if kind == "cuda":
            torch.cuda.set_device(rank)
        os.environ["TORCH_DIST_INIT_BARRIER"] = "1"  # or one may leave while another still connects
        store = dist.FileStore(f"{folder}/store", ranks)
        limit = timedelta(seconds=timeout)
        dist.init_process_group(name, store=store, rank=rank, world_size=ranks, timeout=limit)
        result = function(mesh_of_ranks(), *pickle.loads(packed))
        dist.destroy_process_group()
        torch.save(result, f"{folder}/{rank}")
    except (Exception, SystemExit):
        Path(folder, f"{rank}.error").write_text(traceback.format_exc(), "utf-8")
        raise SystemExit(1) from None


def _what_failed(codes: list, folder: Path) -> str:
    """The first failure. Who waits for a dead rank fails too, with words; the dead one has none."""
    for rank, code in enumerate(codes):
        if code and code < 0:
            return f"rank {rank} of {len(codes)} was ended by {signal.Signals(-code).name}"
    for rank, code in enumerate(codes):
        if code and not (folder / f"{rank}.error").exists():
            return f"rank {rank} of {len(codes)} ended with exit code {code}"
    told = sorted(folder.glob("*.error"), key=lambda path: path.stat().st_mtime_ns)
    return f"rank {told[0].stem} of {len(codes)} failed:\n{told[0].read_text('utf-8').strip()}"
