"""The ladder on this machine: one causal attention, from Python loops to torch's fused kernel.

Every kernel is checked against float64, then timed on one thread in float32, in pairs with all
heads at once. Run from the root of the repository: ``python benchmarks/ladder.py``. Takes about
five minutes and writes ``hydra_lib/records/ladder.json``, whose rows are those of
``benchmarks/gpu.py`` (:mod:`hydra_lib.records.schema`), in these groups:

- ladder: every rung for ANDREA-120M's 12 heads of 64, one sequence; also forward+backward. Python's
  loops run at T = 32 and 64 only, and nothing is concluded from them for longer sequences.
- head_dim: torch's attention as it is called without a word about backends, 16 to 128 in steps of 8

Beside ``environment`` and ``rows``: ``ceilings`` ("float32"), ``mistakes`` made on this CPU, and
``missing``: what did not run, and why.
"""

from dataclasses import asdict

import torch
import torch.nn.functional as F

from hydra_lib.records import FOLDER, write
from hydra_lib.timing.environment import environment_of
from hydra_lib.timing.ladder import LADDER, Rung
from hydra_lib.timing.mistakes import make_all
from hydra_lib.timing.roofline import measure_ceilings
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


def show(rows: list[dict]) -> None:
    for r in rows:
        ratio = "" if r["ratio"] is None else f"ratio {r['ratio']:6.3f} ± {r['spread']:.0%}"
        print(
            f"{r['group']:8} T={r['T']:<5} head_dim={r['head_dim']:<4} {r['pass']:16} "
            f"{r['kernel']:20} {1e3 * r['p50']:9.3f} ms {ratio}",
            flush=True,
        )


def main() -> None:
    torch.set_num_threads(1)
    record = {
        "what": "Causal attention of 12 heads on one CPU thread, verified, then timed in pairs",
        "environment": environment_of(),
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
    made, reasons = make_all()
    record["mistakes"] = [asdict(x) for x in made]
    record["missing"] += [
        {"group": "mistakes", "what": name, "reason": reason} for name, reason in reasons.items()
    ]
    write(record, OUT)
    print(OUT, OUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
