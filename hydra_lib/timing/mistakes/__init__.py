"""Mistakes of timing, each made on purpose, beside the same thing done right.

Nothing here is to be imitated: :func:`hydra_lib.timing.measurement.bench` makes none of them.
"""

from collections.abc import Callable
from subprocess import SubprocessError

from hydra_lib.timing.environment import check_device
from hydra_lib.timing.mistakes._mistake import Mistake
from hydra_lib.timing.mistakes.clock import cold_start, no_synchronize, one_sample, unpaired
from hydra_lib.timing.mistakes.work import allocation, cached_inputs, tf32, threads

__all__ = [
    "MISTAKES",
    "Mistake",
    "allocation",
    "cached_inputs",
    "cold_start",
    "make_all",
    "no_synchronize",
    "one_sample",
    "tf32",
    "threads",
    "unpaired",
]

MISTAKES: dict[str, Callable[..., Mistake]] = {
    "no synchronize": no_synchronize,
    "cold start": cold_start,
    "TF32": tf32,
    "allocation": allocation,
    "cached inputs": cached_inputs,
    "one sample": one_sample,
    "unpaired": unpaired,
    "threads": threads,
}
"""What makes each mistake, by its name: a function of the device.

:meta hide-value:
"""


def make_all(device: str = "cpu") -> tuple[list[Mistake], dict[str, str]]:
    """Every mistake on one device; and for those that cannot be made there, the reason.

    Raises :class:`NoCudaError` for CUDA where there is none.
    """
    device = str(check_device(device))
    made, reasons = [], {}
    for name, make in MISTAKES.items():
        try:
            made.append(make(device))
        except (ValueError, RuntimeError, SubprocessError) as error:  # NoCudaError is the first
            reasons[name] = str(error)
    return made, reasons
