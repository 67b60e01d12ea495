"""The ladder on this machine: one causal attention, from Python loops to torch's fused kernel.

Every kernel is checked against float64, then timed on one thread in float32, in pairs with all
heads at once. Run from the root of the repository, ``OMP_NUM_THREADS=1 python
benchmarks/ladder.py``, because NumPy takes its threads at the start. Takes three minutes on a quiet
machine, and writes ``hydra_lib/records/ladder.json``, whose rows are those of
``benchmarks/gpu.py`` (:mod:`hydra_lib.records.schema`), in these groups:

- ladder: every rung for 12 heads of 64, one sequence; also forward+backward. Python's
  loops run at T = 32 and 64 only, and nothing is concluded from them for longer sequences.
- memory kept: the same rungs at the longer lengths, while the C library keeps freed memory for the
  next call. Otherwise it gives large blocks back to the system, and every call fetches them anew,
  page by page, which counts in its time.
- skipping: torch's attention over the pairs that the mask allows, beside the same over all pairs.
  Where the first takes no less time, the kernel skips nothing.
- loop: twelve heads one after the other, beside one call for all of them, with memory kept: their
  projection, and their attention by torch's function
- page faults: how many pages one call of a rung fetches at T = 1024, as given and with memory kept
- head_dim: torch's attention as it is called without a word about backends, 16 to 128 in steps of 8

Beside ``environment`` and ``rows``: ``ceilings`` ("float32"), ``mistakes`` made on this CPU, and
``missing``: what did not run, and why.
"""

import resource
from dataclasses import asdict

import torch
import torch.nn.functional as F
from unhindered import unhindered

from hydra_lib.heads import split_heads
from hydra_lib.records import FOLDER, write
from hydra_lib.timing.accuracy import check
from hydra_lib.timing.environment import environment_of, keep_memory
from hydra_lib.timing.ladder import LADDER, Rung
from hydra_lib.timing.measurement import compare
from hydra_lib.timing.mistakes import make_all
from hydra_lib.timing.roofline import measure_ceilings
from hydra_lib.timing.rows import pair_rows
from hydra_lib.timing.sizes import AttentionSize
from hydra_lib.timing.verified import climb, measure_pair

OUT = FOLDER / "ladder.json"
LENGTHS = (32, 64, 256, 1024)
WITH_BACKWARD = (64, 256, 1024)
HEAD_DIMS = range(16, 129, 8)

EAGER = LADDER["all heads at once"]
DEFAULT = Rung(
    "SDPA default", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)
)


def page_faults(memory: str) -> list[dict]:
    """Pages fetched by one call of each rung, warmed up: a row each."""
    *heads, _ = AttentionSize(1, 12, 1024, 64).tensors(torch.float32)
    rows = []
    for name in ("one head at a time", "all heads at once", "SDPA math", "SDPA flash"):
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            _result = LADDER[name].attend(*heads)
            count = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
            del _result
        rows.append({"group": "page faults", "rung": name, "T": 1024, "memory": memory})
        rows[-1] |= {"count": count, "page_bytes": resource.getpagesize()}
        print(rows[-1], flush=True)
    return rows


def skipping(T: int) -> list[dict]:
    """torch's attention over all pairs, and over those that the mask allows."""
    size = AttentionSize(1, 12, T, 64)
    *heads, _ = size.tensors(torch.float32)
    every, causal = F.scaled_dot_product_attention, DEFAULT.attend
    wide = [x.double() for x in heads]
    errors = [check("SDPA", [f(*heads)], [f(*wide)]) for f in (every, causal)]
    # Two different functions: each was checked against its own result, and they need not agree.
    found = compare(every, causal, tuple(heads), exact=lambda q, k, v: v, tolerance=1e9, budget=3.0)
    rows = pair_rows("skipping", ("SDPA, all pairs", "SDPA, causal"), asdict(size), found)
    return [row | {"error": error} for row, error in zip(rows, errors, strict=True)]


def loops(batch: int, length: int) -> list[dict]:
    """Reference: one small product a head. Candidate: one product for all heads."""
    h, width = 12, 768
    generator = torch.Generator().manual_seed(0)
    x, *wide = torch.randn(4, batch, length, width, generator=generator)
    weight = torch.randn(width, width, generator=generator) / width**0.5
    heads = tuple(split_heads(x, h) for x in wide)
    attend = F.scaled_dot_product_attention

    def project_by_head(x, weight):
        return [F.linear(x, w) for w in weight.chunk(h)]

    def project_at_once(x, weight):
        return F.linear(x, weight).unflatten(-1, (h, -1)).unbind(-2)

    def attend_by_head(q, k, v):
        return [attend(*x) for x in zip(q.split(1, 1), k.split(1, 1), v.split(1, 1), strict=True)]

    def attend_at_once(q, k, v):
        return attend(q, k, v).split(1, 1)

    sizes, rows = asdict(AttentionSize(batch, h, length, width // h)), []
    for name, by_head, at_once, inputs in (
        ("projection", project_by_head, project_at_once, (x, weight)),
        ("attention", attend_by_head, attend_at_once, heads),
    ):
        found = compare(by_head, at_once, inputs, budget=1.0)
        names = (f"{name}, one head at a time", f"{name}, all heads at once")
        rows += pair_rows("loop", names, sizes, found)
    return rows


def show(rows: list[dict]) -> None:
    for r in rows:
        ratio = "" if r["ratio"] is None else f"ratio {r['ratio']:6.3f} ± {r['spread']:.0%}"
        print(
            f"{r['group']:8} T={r['T']:<5} head_dim={r['head_dim']:<4} {r['pass']:16} "
            f"{r['kernel']:20} {1e3 * r['p50']:9.3f} ms {ratio}",
            flush=True,
        )


def main() -> None:
    kernels = unhindered()
    torch.set_num_threads(1)
    about = environment_of()
    about["versions"] |= kernels
    record = {
        "what": "Causal attention of 12 heads on one CPU thread, verified, then timed in pairs",
        "environment": about,
        "ceilings": {"float32": measure_ceilings("cpu", torch.float32, budget=3.0).as_record()},
        "rows": [],
        "mistakes": [],
        "missing": [],
    }
    for backward, lengths in ((False, LENGTHS), (True, WITH_BACKWARD)):
        for T in lengths:
            size = AttentionSize(1, 12, T, 64)
            rows, missing = climb(size, torch.float32, backward=backward, budget=6.0)
            show(rows)
            record["rows"] += rows
            record["missing"] += missing
    for d in HEAD_DIMS:
        size = AttentionSize(1, 12, 512, d)
        rows = measure_pair("head_dim", EAGER, DEFAULT, size, torch.float32, budget=5.0)
        show(rows)
        record["rows"] += rows
    for T in LENGTHS:
        rows = skipping(T)
        show(rows)
        record["rows"] += rows
    made, reasons = make_all()
    record["mistakes"] = [asdict(x) for x in made]
    record["missing"] += [
        {"group": "mistakes", "what": name, "reason": reason} for name, reason in reasons.items()
    ]
    # From here on freed memory is kept, which nothing before must see.
    record["rows"] += page_faults("as given")
    keep_memory()
    record["rows"] += page_faults("kept")
    for batch, length in ((1, 1), (1, 16), (1, 128), (1, 512), (8, 128)):
        rows = loops(batch, length)
        show(rows)
        record["rows"] += rows
    for T, backward in ((256, False), (1024, False), (1024, True)):
        size = AttentionSize(1, 12, T, 64)
        rows, _ = climb(size, torch.float32, backward=backward, budget=6.0)
        rows = [r | {"group": "memory kept"} for r in rows]
        show(rows)
        record["rows"] += rows
    write(record, OUT)
    print(OUT, OUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
