"""Compile the kernels for GPUs that are not there, and print what each asks of the GPU.

``test_kernels_compile.py`` runs this in a process of its own, where kernels are not interpreted:

    TRITON_INTERPRET=0 TRITON_DUMP_PTXAS_LOG=1 python -m tests.compile_kernels sm_90 bf16 128

Without QUICK, every tile (many minutes); a kernel, GPU, dtype or width named there must fit.
Prints a JSON line for each kernel, GPU, dtype, width and tile.
"""

import contextlib
import io
import json
import re
import sys
from itertools import product

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from hydra_lib.kernels import (
    attention_backward,
    attention_backward_keys,
    attention_backward_queries,
    attention_forward,
    matmul,
    softmax,
)
from hydra_lib.kernels.tiles import tile_width, units

NAMES = {torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32"}
TYPES = NAMES | {torch.int64: "i64"}
T, HEADS = 1024, 12
ROOM = {75: 64, 80: 163, 90: 227}  # KiB of shared memory that a program may have


def compiled(kernel, arguments: dict, capability: int, config: triton.Config) -> dict:
    """What the compiler says of ``kernel`` launched with ``arguments`` on that GPU."""
    arguments = arguments | config.kwargs
    signature, constants, attributes = {}, {}, {}

    def describe(value, place):
        if value is None or value == 1:
            constants[place] = value
            return "constexpr"
        if isinstance(value, tuple):
            return tuple(describe(x, (*place, i)) for i, x in enumerate(value))
        if isinstance(value, float):
            return "fp32"
        if value % 16 == 0:
            attributes[place] = [["tt.divisibility", 16]]
        return "i32"

    for i, parameter in enumerate(kernel.params):
        value = arguments[parameter.name]
        if parameter.is_constexpr:
            signature[parameter.name], constants[i,] = "constexpr", value
        elif isinstance(value, torch.dtype):  # stands for a tensor
            signature[parameter.name] = f"*{TYPES[value]}"
            attributes[i,] = [["tt.divisibility", 16]]
        elif parameter.do_not_specialize:
            signature[parameter.name] = "i32"
        else:
            signature[parameter.name] = describe(value, (i,))
    with contextlib.redirect_stdout(io.StringIO()) as log:
        result = triton.compile(
            ASTSource(kernel, signature, constants, attributes),
            target=GPUTarget("cuda", capability, 32),
            options={
                "num_warps": config.num_warps,
                "num_stages": config.num_stages,
                "enable_fp_fusion": True,
            },
        )
    said = log.getvalue()
    return {
        "shared": result.metadata.shared,
        "registers": int(re.search(r"Used (\d+) registers", said)[1]),
        "spilled": int(re.search(r"(\d+) bytes spill stores", said)[1]),
        "serialized": "are serialized" in said,
        "wgmma": result.asm["ptx"].count("wgmma.mma_async"),
        "copied_bytes": sorted(
            {
                int(n, 16)
                for n in re.findall(r"cp\.async\.c[ag]\.\S+ .*?, .*?, (0x\w+)", result.asm["ptx"])
            }
        ),
    }


def attention(dtype: torch.dtype, d: int, causal: bool, lengths: bool) -> dict:
    """Arguments by name, for each kernel of attention."""
    layout = torch.empty(2, T, HEADS, d, dtype=dtype, device="meta").transpose(1, 2)
    unit, (strides,) = units(layout)
    names = ["q", "k", "v", "out", "grad", "dq", "dk", "dv"]
    return (
        dict.fromkeys(names, dtype)
        | {f"{name}_strides": strides for name in names}
        | {"lse": torch.float32, "delta": torch.float32, "heads": HEADS, "Tq": T, "Tk": T}
        | {"lengths": torch.int64 if lengths else None, "size": T, "scale": 0.18}
        | {"D": d, "WIDTH": tile_width(d), "CAUSAL": causal, "SPLIT": True, "PRECISION": "ieee"}
        | {"UNIT": unit}
    )


class Pretended:
    """All that the choice of tiles asks of a GPU: compute capability and bytes of shared memory."""

    def __init__(self, capability: int):
        self.arch, self.room = capability, ROOM[capability] * 1024
        self.utils = self

    def get_current_device(self):
        return 0

    def get_current_target(self):
        return self

    def get_device_properties(self, device):
        return {"max_shared_mem": self.room}


def tiles(tuned, arguments: dict) -> list[triton.Config]:
    """The tiles that would be tried."""
    first = tuned.arg_names[0]  # by whose dtype they are chosen
    tensor = torch.empty(0, dtype=arguments[first])
    rest = {name: value for name, value in arguments.items() if name != first}
    return tuned.early_config_prune(tuned.configs, {first: tensor}, **rest)


def cases(quick: bool):
    """(kernel, arguments, capability, dtype, width, tile)"""
    targets = [(90, torch.bfloat16), (75, torch.float16)]
    targets += [] if quick else [(75, torch.float32), (90, torch.float32), (80, torch.float16)]
    for capability, dtype in targets:
        triton.runtime.driver.set_active(Pretended(capability))
        here, most = (capability, dtype), 1 if quick else None
        of_attention = (
            attention_forward.tuned_forward,
            attention_backward_keys.tuned_keys,
            attention_backward_queries.tuned_queries,
        )
        # 72 is no power of two, nor a multiple of the 16 that Triton looks for in a stride.
        some = [72 if capability == 90 else 64]
        for d, tuned in product(some if quick else [16, 32, 64, 72, 128, 256], of_attention):
            arguments = attention(dtype, d, causal=d != 32, lengths=d in (32, 72))
            for tile in tiles(tuned, arguments)[:most]:
                yield tuned.fn, arguments, *here, d, tile
        tile = triton.Config({"BLOCK_M": 32}, num_warps=4, num_stages=3)
        yield attention_backward._row_sums, attention(dtype, 64, True, False), *here, 64, tile
        pairs = {"a": dtype, "b": dtype, "c": dtype, "M": T, "N": T, "K": T, "size": T}
        pairs |= {f"{name}_strides": (T, 1) for name in "abc"} | {"PRECISION": "ieee"}
        for tile in tiles(matmul._tuned, pairs)[:most]:
            yield matmul._matmul, pairs, *here, T, tile
        row = {"scores": dtype, "out": dtype, "row_stride": T, "stride": 1, "n": T, "tau": 0.5}
        for n, one in ((1024, True), (8192, True), (8192, False)):
            limits = {"FROZEN": False, "MOLTEN": False, "BLOCK": n, "ONE_TILE": one}
            tile = triton.Config({}, num_warps=n // 512)
            yield softmax._softmax, row | limits, *here, n, tile


if __name__ == "__main__":
    words = sys.argv[1:]
    for kernel, arguments, capability, dtype, width, tile in cases("QUICK" in words):
        name, gpu = kernel.fn.__name__, f"sm_{capability}"
        if set(words) - {"QUICK", name, str(width), gpu, NAMES[dtype]}:
            continue
        report = compiled(kernel, arguments, capability, tile)
        where = {"kernel": name, "gpu": gpu, "dtype": NAMES[dtype], "width": width}
        room = ROOM[capability] * 1024
        print(json.dumps({**where, "tile": str(tile), "room": room, **report}), flush=True)
