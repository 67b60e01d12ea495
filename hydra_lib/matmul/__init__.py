"""How many multiplications a matrix product takes, and what fewer of them are worth.

:mod:`hydra_lib.matmul.counting` counts them; :mod:`hydra_lib.matmul.bilinear` writes an algorithm
as three small tensors and proves it, :mod:`hydra_lib.matmul.schemes` holds four of them.
:func:`hydra_lib.matmul.recursion.strassen` is Strassen's algorithm, written to be read;
:func:`hydra_lib.matmul.fast.strassen_fast` is Winograd's form of it, written to be used, where
:func:`hydra_lib.matmul.crossover.choose_levels` says that it pays;
:mod:`hydra_lib.matmul.blas` has the libraries that multiply its blocks.
"""

from hydra_lib.matmul.bilinear import BilinearAlgorithm, compose
from hydra_lib.matmul.counting import Counted, Tally, counted, triple_loop
from hydra_lib.matmul.crossover import choose_levels
from hydra_lib.matmul.fast import strassen_fast
from hydra_lib.matmul.recursion import strassen
from hydra_lib.matmul.schemes import LADERMAN, STRASSEN, WINOGRAD, naive

__all__ = [
    "LADERMAN",
    "STRASSEN",
    "WINOGRAD",
    "BilinearAlgorithm",
    "Counted",
    "Tally",
    "choose_levels",
    "compose",
    "counted",
    "naive",
    "strassen",
    "strassen_fast",
    "triple_loop",
]
