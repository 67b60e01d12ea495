import sys

import pytest
import torch
from torch.nn.attention import SDPBackend
from torch.profiler import profile
from torch.utils._python_dispatch import TorchDispatchMode

from hydra_lib.attention import scaled_dot_product_attention
from hydra_lib.masking import causal_mask
from hydra_lib.records import record, records
from hydra_lib.timing import ladder
from hydra_lib.timing.exact import forward_and_backward
from hydra_lib.timing.ladder import (
    LADDER,
    Rung,
    all_at_once,
    one_by_one,
    python_loops,
    refusal,
    sdpa,
)
from hydra_lib.timing.sizes import AttentionSize
from tests.refusal import refuses

SAFE_SOFTMAX = {"_softmax": 2, "isneginf": 1, "all": 0, "where": 2}
MASKED_FILL = ["masked_fill", "clone", "copy_", "masked_fill_"]


class Passes(TorchDispatchMode):
    """Counts the arrays of ``numel`` numbers that operations read and write; a view is neither.

    Of masks, which take a byte a number, none is counted. What a safe softmax runs does not come by
    here; the copy of a masked_fill counts as that one operation does.
    """

    def __init__(self, numel):
        super().__init__()
        self.numel, self.count = numel, 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        out = operation(*args, **(kwargs or {}))
        tensors = ([x for x in xs if isinstance(x, torch.Tensor)] for xs in (args, [out]))
        read, written = (
            [x for x in xs if x.numel() == self.numel and x.is_floating_point()] for xs in tensors
        )
        if operation is torch.ops.aten._safe_softmax.default:
            self.count += sum(SAFE_SOFTMAX.values())
        elif not {x.data_ptr() for x in read} & {x.data_ptr() for x in written}:
            self.count += len(read) + len(written)
        return out


@pytest.mark.parametrize(
    ("name", "B", "h"),
    [("one head at a time", 1, 1), ("all heads at once", 2, 3), ("SDPA math", 2, 3)],
)
def test_passes_over_the_matrix_are_counted(name, B, h):
    T, D = 61, 5
    q, k, v = torch.randn(3, B, h, T, D).requires_grad_().unbind()
    with Passes(B * h * T * T) as forward:
        out = LADDER[name].attend(q, k, v)
    with Passes(B * h * T * T) as backward:
        out.backward(torch.ones_like(out))
    assert LADDER[name].passes == (forward.count, forward.count + backward.count)


@pytest.mark.parametrize(
    ("operation", "argument", "expected"),
    [
        (torch.ops.aten._safe_softmax, (-1,), ["_safe_softmax", "softmax", *SAFE_SOFTMAX]),
        (torch.masked_fill, (torch.ones(7, 11, dtype=torch.bool), -1.0), MASKED_FILL),
    ],
)
def test_what_one_operation_runs_as_several(operation, argument, expected):
    scores = torch.randn(7, 11)
    with profile(record_shapes=True) as profiled:
        operation(scores, *argument)
    whole = [e.name.removeprefix("aten::") for e in profiled.events() if [7, 11] in e.input_shapes]
    assert [name for name in whole if name not in ("to", "empty_like")] == expected


@pytest.mark.parametrize("name", ["ladder", *records("gpu-")])
def test_a_record_counts_what_is_counted_here(name):
    rows = [row for row in record(name)["rows"] if row.get("kernel") in LADDER and row["bytes"]]
    assert rows
    for row in rows:
        size = AttentionSize(*(row[key] for key in ("B", "h", "T", "head_dim")))
        dtype, backward = getattr(torch, row["dtype"]), row["pass"] != "forward"
        counted = size.bytes(dtype, backward, LADDER[row["kernel"]].passes[backward])
        assert (row["bytes"], row["flops"]) == (counted, size.flops(backward)), row


ON_CPU = ("Python loops", "one head at a time", "all heads at once", "SDPA math", "SDPA flash")


def heads(dtype=torch.float32, size=(2, 3, 7, 5), **options):
    return AttentionSize(*size).tensors(dtype, **options)[:3]


@pytest.fixture
def without_triton(monkeypatch):
    monkeypatch.setitem(sys.modules, "hydra_lib.kernels", None)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("name", ON_CPU)
def test_every_rung_gives_the_same(name, packed, dtype):
    q, k, v = (x.contiguous() if packed else x for x in heads(dtype))
    out = LADDER[name].attend(q, k, v)
    assert out.shape == (2, 3, 7, 5)
    assert out.dtype == dtype
    plain = scaled_dot_product_attention(*(x.double() for x in (q, k, v)), causal_mask(7))
    scale = 16 if dtype == torch.bfloat16 else 64
    assert (out - plain).abs().max() < scale * torch.finfo(dtype).eps


@pytest.mark.parametrize("name", ON_CPU[1:])
def test_every_rung_but_the_loops_has_the_gradient(name):
    *q, gradient = AttentionSize(2, 3, 7, 5).tensors(torch.float64)
    q = [x.detach().requires_grad_() for x in q]
    found = forward_and_backward(LADDER[name].attend)(*q, gradient)
    plain = forward_and_backward(lambda *x: scaled_dot_product_attention(*x, causal_mask(7)))
    for x, y in zip(found, plain(*q, gradient), strict=True):
        torch.testing.assert_close(x, y)


@pytest.mark.parametrize("attend", [python_loops, one_by_one, all_at_once])
def test_by_hand(attend):
    q = torch.tensor([[[[0.0], [0.0]]]])
    v = torch.tensor([[[[4.0], [8.0]]]])
    assert attend(q, q, v).flatten().tolist() == [4.0, 6.0]
    k = torch.tensor([[[[0.0], [500.0]]]])
    assert attend(k, k, v).flatten().tolist() == [4.0, 8.0]  # no overflow


@pytest.mark.parametrize("name", ON_CPU)
@pytest.mark.parametrize(
    ("change", "got"),
    [
        (lambda q, k, v: (q[0], k[0], v[0]), "(3, 7, 5) torch.float32 on cpu, " * 3),
        (
            lambda q, k, v: (q, k[:, :, :2], v),
            "(2, 3, 7, 5) torch.float32 on cpu, (2, 3, 2, 5) torch.float32 on cpu, "
            "(2, 3, 7, 5) torch.float32 on cpu, ",
        ),
        (
            lambda q, k, v: (q, k, v.double()),
            "(2, 3, 7, 5) torch.float32 on cpu, (2, 3, 7, 5) torch.float32 on cpu, "
            "(2, 3, 7, 5) torch.float64 on cpu, ",
        ),
        (lambda *x: [y[:, :0] for y in x], "(2, 0, 7, 5) torch.float32 on cpu, " * 3),
    ],
)
def test_what_no_rung_takes(name, change, got):
    text = (
        "q, k, v must be of one shape (B, h, T, d_k), dtype and device, no axis of length 0, "
        f"got {got.removesuffix(', ')}"
    )
    with refuses(ValueError, text):
        refusal(name, *change(*heads()))
    q, k, v = heads()
    with refuses(TypeError, "k must be a torch tensor, got ndarray"):
        refusal(name, q, k.numpy(), v)
    with refuses(TypeError, "v must be floating point, got torch.int32"):
        refusal(name, q, k, v.int())


def test_the_rungs_stand_in_order():
    assert list(LADDER)[:3] == list(ON_CPU[:3])
    assert list(LADDER)[3:7] == [f"SDPA {b}" for b in ("math", "efficient", "flash", "cuDNN")]
    assert list(LADDER)[7:] == ["Triton, one program a head", "Triton"]
    assert all(rung.name == name for name, rung in LADDER.items())
    assert {n for n, r in LADDER.items() if r.passes[0]} == {
        *("one head at a time", "all heads at once", "SDPA math")
    }


def test_each_sdpa_rung_allows_one_backend(monkeypatch):
    asked = []
    real = ladder.sdpa_kernel
    monkeypatch.setattr(ladder, "sdpa_kernel", lambda b: asked.append(b) or real(b))
    for name in ("SDPA math", "SDPA flash"):
        LADDER[name].attend(*heads())
    with pytest.raises(RuntimeError):
        LADDER["SDPA cuDNN"].attend(*heads())
    with pytest.raises(RuntimeError):
        sdpa(*heads(), SDPBackend.EFFICIENT_ATTENTION)
    assert asked == [
        SDPBackend.MATH,
        SDPBackend.FLASH_ATTENTION,
        SDPBackend.CUDNN_ATTENTION,
        SDPBackend.EFFICIENT_ATTENTION,
    ]


def test_what_runs_here_and_why_not(without_triton):
    reasons = {name: refusal(name, *heads()) for name in LADDER}
    assert tuple(n for n, reason in reasons.items() if reason is None) == ON_CPU
    assert reasons["SDPA efficient"] == reasons["SDPA cuDNN"] == "needs CUDA, got cpu"
    halted = "import of hydra_lib.kernels halted; None in sys.modules"
    assert reasons["Triton"] == f"ModuleNotFoundError: {halted}"
    assert reasons["Triton, one program a head"] == reasons["Triton"]


@pytest.mark.parametrize("name", ["Triton", "Triton, one program a head"])
def test_kernels_are_interpreted_only_where_that_was_asked_for(monkeypatch, name):
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    assert refusal(name, *heads()) == "needs CUDA, got cpu"


def test_loops_are_given_a_moment_only():
    assert refusal("Python loops", *heads(size=(1, 12, 32, 64))) is None
    reason = refusal("Python loops", *heads(size=(1, 12, 128, 64)))
    assert reason == "would take 1.3e+07 multiply-adds in Python, allowed 4.2e+06"


def test_loops_have_no_gradient(without_triton):
    q, k, v = (x.detach().requires_grad_() for x in heads())
    assert refusal("Python loops", q, k, v) == "has no gradient"
    assert refusal("SDPA flash", q, k, v) is None


def test_reasons_are_the_kernels_own(monkeypatch):
    def refuse(q, k, v):
        import warnings

        warnings.warn("Flash attention kernel not used because: (Triggered at 1)", stacklevel=1)
        warnings.warn("Expected a multiple of 8. (Triggered at 2)", stacklevel=1)
        warnings.warn("Expected a multiple of 8. (Triggered at 3)", stacklevel=1)
        warnings.warn("Math has been runtime disabled. (Triggered at 4)", stacklevel=1)
        raise RuntimeError("No available kernel.\nAborting")

    def starve(q, k, v):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried 3 GiB.\nMore text")

    def break_down(q, k, v):
        raise ZeroDivisionError("a bug")

    for name, attend in (("a", refuse), ("b", starve), ("c", break_down)):
        monkeypatch.setitem(LADDER, name, Rung(name, attend))
    assert refusal("a", *heads()) == "Expected a multiple of 8.; RuntimeError: No available kernel."
    assert refusal("b", *heads()) == "out of memory: CUDA out of memory. Tried 3 GiB."
    with pytest.raises(ZeroDivisionError):
        refusal("c", *heads())


def test_a_name_that_is_no_rung():
    text = f"name must be one of {', '.join(LADDER)}, got 'SDPA'; did you mean 'SDPA math'?"
    with refuses(ValueError, text):
        refusal("SDPA", *heads())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_the_ladder_on_cuda():
    q, k, v = heads(torch.bfloat16, (2, 3, 128, 64), device="cuda")
    for name in ("one head at a time", "all heads at once", "SDPA math", "SDPA efficient"):
        assert refusal(name, q, k, v) is None
    # Flash attention takes no float32, and says so.
    q, k, v = heads(torch.float32, (2, 3, 128, 64), device="cuda")
    assert "No available kernel" in refusal("SDPA flash", q, k, v)
