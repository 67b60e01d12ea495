"""Hydra: one operation, ``weights @ values``, from a running sum to a GPU kernel.

The top level holds the functions of chapters 1 to 8. Beside it are rooms, each named for its
subject and loaded when it is first asked for: ``sentence`` (the book's), ``toy`` (a language and a
model whose heads can be examined), ``matmul`` (Strassen), ``timing``, ``kernels`` (Triton),
``parallel`` (several devices), ``exercises``, ``widgets``, ``figures``, ``notebook``, ``records``.

The core takes torch tensors and gives torch tensors of the same dtype and device; a list or a NumPy
array is refused with a sentence, never converted. Plain numbers may be Python's or NumPy's. Bad
input is a TypeError or ValueError that names the argument, what was expected and what came.

Under ``torch.autocast`` matrix products are taken in its 16 bits, here as everywhere in torch: what
is said of dtypes and errors holds outside of it.
"""

from importlib import import_module

from hydra_lib.aggregation import (
    aggregate,
    aggregate_by_loops,
    decay,
    running_mean,
    running_sum,
    window_mean,
)
from hydra_lib.attention import Trace, fused_attention, scaled_dot_product_attention, trace
from hydra_lib.backward import (
    AttentionGradients,
    attention_backward,
    backward_flops,
    gradients_from_weights,
    multi_head_backward,
)
from hydra_lib.boltzmann import (
    entropy,
    free_energy,
    heat_capacity,
    jacobian,
    log_partition,
    mean_energy,
    probabilities,
)
from hydra_lib.heads import (
    HeadConfig,
    merge_heads,
    split_heads,
)
from hydra_lib.masking import apply_mask, causal_mask, padding_mask, window_mask
from hydra_lib.multihead import MultiHeadAttention, MultiHeadTrace
from hydra_lib.recompute import InputGradients, attention_backward_recomputed
from hydra_lib.rotary import RotaryAttention, rotate
from hydra_lib.scaling import (
    MeasuredMoments,
    Moments,
    dot_product_moments,
    measure_moments,
    sample_scores,
)

__all__ = [
    "AttentionGradients",
    "HeadConfig",
    "InputGradients",
    "MeasuredMoments",
    "Moments",
    "MultiHeadAttention",
    "MultiHeadTrace",
    "RotaryAttention",
    "Trace",
    "aggregate",
    "aggregate_by_loops",
    "apply_mask",
    "attention_backward",
    "attention_backward_recomputed",
    "backward_flops",
    "causal_mask",
    "decay",
    "dot_product_moments",
    "entropy",
    "free_energy",
    "fused_attention",
    "gradients_from_weights",
    "heat_capacity",
    "jacobian",
    "log_partition",
    "mean_energy",
    "measure_moments",
    "merge_heads",
    "multi_head_backward",
    "padding_mask",
    "probabilities",
    "rotate",
    "running_mean",
    "running_sum",
    "sample_scores",
    "scaled_dot_product_attention",
    "split_heads",
    "trace",
    "window_mask",
    "window_mean",
]

_ROOMS = (
    *("exercises", "figures", "kernels", "matmul", "notebook", "parallel", "records"),
    *("sentence", "timing", "toy", "widgets"),
)
# What people reach for from here although it lives in a room.
_HOME = {
    "bench": "timing",
    "compare": "timing",
    "strassen": "matmul",
    "strassen_fast": "matmul",
}


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROOMS, *_HOME])
