"""How long something takes, reported so that it can be trusted.

:mod:`hydra_lib.timing.measurement` is the front: ``bench`` times one function, ``compare`` checks
two against float64 and times them in pairs. Below it stand the clock
(:mod:`hydra_lib.timing.sampling`), the check (:mod:`hydra_lib.timing.accuracy`) and the machine
(:mod:`hydra_lib.timing.environment`). Built on it are the roofline, the ladder of ways to compute
one attention, the rows of a record, and the mistakes that all this avoids, made on purpose.
"""

from hydra_lib.timing.accuracy import FailedCheckError, relative_error, tolerance_for
from hydra_lib.timing.environment import NoCudaError, environment_of
from hydra_lib.timing.exact import (
    exact_attention,
    exact_gradients,
    forward_and_backward,
    row_error,
)
from hydra_lib.timing.ladder import (
    LADDER,
    Rung,
    refusal,
)
from hydra_lib.timing.measurement import Comparison, Timing, bench, compare
from hydra_lib.timing.memory import peak_bytes
from hydra_lib.timing.roofline import Ceilings, ceilings_of, measure_ceilings, place
from hydra_lib.timing.rows import pair_rows, row
from hydra_lib.timing.sampling import EmptyWorkloadError, NothingToWaitForError
from hydra_lib.timing.sizes import AttentionSize
from hydra_lib.timing.verified import climb, measure, measure_pair

__all__ = [
    "LADDER",
    "AttentionSize",
    "Ceilings",
    "Comparison",
    "EmptyWorkloadError",
    "FailedCheckError",
    "NoCudaError",
    "NothingToWaitForError",
    "Rung",
    "Timing",
    "bench",
    "ceilings_of",
    "climb",
    "compare",
    "environment_of",
    "exact_attention",
    "exact_gradients",
    "forward_and_backward",
    "measure",
    "measure_ceilings",
    "measure_pair",
    "pair_rows",
    "peak_bytes",
    "place",
    "refusal",
    "relative_error",
    "row",
    "row_error",
    "tolerance_for",
]
