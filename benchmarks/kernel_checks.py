"""Every Triton kernel against float64, at sizes that fit no tile: what comes before any timing.

Most of a check is the compiler's time, so on a GPU the checks run in several processes at once.
What they compile stays in Triton's cache on disk, where the process that measures finds it.
"""

import json
import multiprocessing
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from hydra_lib.attention import scaled_dot_product_attention
from hydra_lib.masking import causal_mask, padding_mask
from hydra_lib.timing.exact import forward_and_backward
from hydra_lib.timing.sizes import AttentionSize
from hydra_lib.timing.verified import verify

__all__ = ["CHECKS", "Check", "run_checks"]


@dataclass(frozen=True)
class Check:
    """One call of a kernel: "attention", "matmul" or "softmax", of a dtype and a shape.

    The shape is (B, h, T, head_dim), or (m, k, n), or (rows, columns). ``padded``: sequences of
    different lengths, one of them 0. ``split``: as for the attention kernel. Without ``verify`` the
    call is made and its result is not looked at, so that it is compiled.
    """

    kernel: str
    dtype: str
    shape: tuple
    causal: bool = True
    padded: bool = False
    split: bool = True
    backward: bool = True
    verify: bool = True

    def run(self, device: str) -> float | None:
        """The largest relative error, None without ``verify``.

        Raises :class:`hydra_lib.timing.accuracy.FailedCheckError` for a wrong result, and what the
        kernel raises.
        """
        call, exact_call, tensors = getattr(self, f"_{self.kernel}")(device)
        results = call(*tensors)
        if not self.verify:
            return None
        wide = [x.detach().double().requires_grad_(x.requires_grad) for x in tensors]
        return verify(self.kernel, results, exact_call(*wide), getattr(torch, self.dtype))

    def _attention(self, device: str) -> tuple:
        from hydra_lib.kernels import flash_attention  # Triton is optional

        size = AttentionSize(*self.shape)
        *heads, gradient = size.tensors(getattr(torch, self.dtype), device)
        lengths, mask = None, None
        if self.padded:
            lengths = [(size.T, 0, size.T // 2 + 1)[b % 3] for b in range(size.B)]
            lengths = torch.tensor(lengths, device=device)
            mask = padding_mask(lengths, size.T)[:, None]  # (B, 1, 1, T)
        if self.causal:
            causal = causal_mask(size.T).to(device)
            mask = causal if mask is None else causal & mask

        def attend(q, k, v):
            return flash_attention(
                q, k, v, causal=self.causal, lengths=lengths, split_queries=self.split
            )

        def exact(q, k, v):
            return scaled_dot_product_attention(q, k, v, mask)

        if not self.backward:
            return attend, exact, heads
        heads = [x.detach().requires_grad_() for x in heads]
        return forward_and_backward(attend), forward_and_backward(exact), [*heads, gradient]

    def _matmul(self, device: str) -> tuple:
        from hydra_lib.kernels import tiled_matmul

        m, k, n = self.shape
        return tiled_matmul, torch.mm, [self._random(device, m, k), self._random(device, k, n)]

    def _softmax(self, device: str) -> tuple:
        from hydra_lib.kernels import online_softmax

        def exact(x):
            return torch.softmax(x / 0.5, -1)

        return lambda x: online_softmax(x, 0.5), exact, [self._random(device, *self.shape)]

    def _random(self, device: str, *shape: int) -> torch.Tensor:
        generator = torch.Generator(device).manual_seed(0)
        x = torch.randn(shape, generator=generator, device=device)
        return x.to(getattr(torch, self.dtype))


CHECKS = (
    Check("attention", "bfloat16", (2, 3, 67, 64)),
    Check("attention", "bfloat16", (1, 3, 193, 128)),
    Check("attention", "bfloat16", (2, 3, 67, 64), causal=False),
    Check("attention", "bfloat16", (3, 2, 131, 64), padded=True),
    Check("attention", "bfloat16", (2, 3, 131, 64), split=False),
    Check("attention", "bfloat16", (1, 2, 97, 72)),
    Check("attention", "bfloat16", (1, 2, 97, 40), causal=False),
    Check("attention", "bfloat16", (1, 2, 83, 256)),
    Check("attention", "bfloat16", (1, 2, 1, 16)),
    Check("attention", "float16", (1, 2, 131, 128)),
    Check("attention", "float16", (3, 2, 67, 64), padded=True, causal=False),
    Check("attention", "float32", (1, 2, 67, 64)),
    Check("attention", "float32", (3, 1, 131, 24), padded=True),
    *(Check("matmul", dtype, (129, 67, 83)) for dtype in ("bfloat16", "float16", "float32")),
    *(Check("softmax", dtype, (7, 1031)) for dtype in ("bfloat16", "float32")),
    Check("softmax", "float32", (3, 40961)),
)


def run_checks(
    checks: list[Check], device: str, workers: int = 0, seconds: int | float = 120
) -> list[dict]:
    """Run all checks: for each its fields, ``error``, and ``failure``, which is None if it passed.

    ``workers`` processes share them, 0 runs them in this one. What is not done after ``seconds`` is
    stopped, and a failure; so is what a process that died did not report.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{i}.jsonl" for i in range(workers or 1)]
        if workers:
            processes = multiprocessing.get_context("spawn")
            shares = [checks[i::workers] for i in range(workers)]
            running = [
                processes.Process(target=_work, args=(share, device, file), daemon=True)
                for share, file in zip(shares, files, strict=True)
            ]
            for process in running:
                process.start()
            end = time.perf_counter() + seconds
            for process in running:
                process.join(max(0.0, end - time.perf_counter()))
                if process.is_alive():
                    process.kill()
                    process.join()
        else:
            _work(checks, device, files[0], seconds)
        lines = [x for f in files if f.exists() for x in f.read_text("utf-8").splitlines()]
    known = {}
    for found in map(json.loads, lines):
        known[_key(found)] = found
    silent = {"error": None, "failure": f"not done after {seconds} s, or its process died"}
    about = [json.loads(json.dumps(asdict(check))) for check in checks]  # tuples become lists
    return [known.get(_key(one), one | silent) for one in about]


def _key(found: dict) -> str:
    return json.dumps({k: v for k, v in found.items() if k not in ("error", "failure")})


def _work(
    checks: list[Check], device: str, file: Path, seconds: int | float = float("inf")
) -> None:
    """Run checks one by one and write a line for each: what is written outlives the process."""
    end = time.perf_counter() + seconds
    with file.open("w", encoding="utf-8") as out:
        for check in checks:
            if time.perf_counter() > end:
                return
            error, failure = None, None
            try:
                error = check.run(device)
                if device != "cpu":
                    torch.cuda.synchronize()
            except Exception as problem:  # whatever it is, it is reported, and the next one runs
                failure = f"{type(problem).__name__}: {problem}"
            print(
                json.dumps(asdict(check) | {"error": error, "failure": failure}),
                file=out,
                flush=True,
            )
