"""The reader's answer: is it there, can it be called, what did it give, where did it crash."""

import dis
import functools
import inspect
import os
import traceback
from collections.abc import Callable

import numpy as np
import torch

from hydra_lib.exercises.watch import Call, watched

__all__ = [
    "Wrong",
    "boolean",
    "call",
    "is_blank",
    "kind",
    "numbers",
    "require_function",
    "require_order",
    "told",
]

_INNER = (
    "the inner sizes of a matrix product differ: a transpose missing or one too many, the order, "
    "a slice or a merge?"
)
POWER = "a power is ** in Python; ^ is something else"
_WHOLE = "/ gives a fraction, // gives whole numbers"

# Crashes whose cause the error's own words do not tell.
_CAUSES = (
    (
        "view size is not compatible",
        "view never copies, and after a transpose the numbers no longer lie in that order: "
        "use reshape, or contiguous first",
    ),
    ("cannot be multiplied", _INNER),
    ("Expected size for first two dimensions of batch2", _INNER),
    (
        "must match the size of tensor",
        "sizes are lined up from the right, and must be equal or 1. A matrix product is @; "
        ".mT swaps the last two axes only",
    ),
    ("but got float", _WHOLE),
    ("slice indices must be integers", _WHOLE),
    ("'float' object cannot be interpreted as an integer", _WHOLE),
    ("'torch.return_types", "there are values and their indices: take .values"),
    ("for ^", POWER),
    (
        "is ambiguous",
        "many numbers are no single True or False: combine masks as (a) & (b), brackets and all; "
        "no and, or, not, and no chain as a < b < c",
    ),
)
_COMPLEX = "expected real numbers, got complex ones"


class Wrong(Exception):
    """What is wrong with an answer, in words; ``expected`` is for those who ask."""

    def __init__(self, says: str, expected: str = ""):
        super().__init__(says)
        self.expected = expected


def is_blank(answer) -> bool:
    """True for an answer not given yet: ``...``, None, or a function whose body is ``...``."""
    if answer is ... or answer is None:
        return True
    if not inspect.isfunction(answer):
        return False
    steps = [s for s in dis.get_instructions(answer) if s.opname not in ("RESUME", "NOP")]
    returned = steps[0].argval if steps[-1].opname.startswith("RETURN") and len(steps) <= 2 else 0
    return returned is None or returned is ...


def require_function(answer, model: Callable) -> None:
    """Refuse an answer that cannot be called as the function ``model`` can."""
    names = list(inspect.signature(model).parameters)
    if not callable(answer):
        raise Wrong(
            f"expected a function of ({', '.join(names)}), got {kind(answer)}: hand over the "
            "function itself, without calling it"
        )
    try:
        signature = inspect.signature(answer)
    except ValueError:  # written in C; it will say so itself
        return
    try:
        signature.bind(*names)
    except TypeError:
        raise _called_otherwise(answer, model) from None


def require_order(answer: Callable, model: Callable) -> None:
    """Refuse an answer whose parameters have the names of the ``model``'s in another order."""
    try:
        own, names = (list(inspect.signature(f).parameters) for f in (answer, model))
    except ValueError:
        return
    if own != names and sorted(own) == sorted(names):
        raise _called_otherwise(answer, model)


def _called_otherwise(answer: Callable, model: Callable) -> Wrong:
    own = getattr(answer, "__name__", "")  # the reader's name for it
    name = own if own.isidentifier() else model.__name__
    wanted = f"{name}({', '.join(inspect.signature(model).parameters)})"
    return Wrong(f"it is called as {wanted}, but your function takes {inspect.signature(answer)}")


def call(answer: Callable, arguments: tuple) -> tuple[object, list[Call]]:
    """What ``answer`` returns and the torch calls it made.

    Raises :class:`Wrong` with the line of the reader's that crashed.
    """
    try:
        result, calls = watched(answer, *arguments)
    except Exception as error:
        raise Wrong(told(error, answer)) from error
    if result is None:
        raise Wrong("your function returned None: did you forget return?")
    if callable(result):
        raise Wrong("your function returned a function: call it")
    return result, calls


def told(error: Exception, answer: object) -> str:
    """An error of the reader's code, with the last line that the reader wrote."""
    words = str(error).partition("\n")[0]
    says = f"your code raised {type(error).__name__}" + (f": {words}" if words else "")
    # What the reader wrote lies where the answer does; frames elsewhere are libraries.
    code = getattr(_written(answer), "__code__", told.__code__)
    place = os.path.dirname(code.co_filename)
    steps = traceback.extract_tb(error.__traceback__)
    frames = [f for f in steps if os.path.dirname(f.filename) == place]
    if frames and code is not told.__code__:
        last = frames[-1]
        says += f"; in your line {last.lineno}" + (f": {last.line}" if last.line else "")
    for symptom, cause in _CAUSES:
        if symptom in str(error):
            says += f". That is: {cause}"
    return says


def _written(answer):
    """The function that the reader wrote, out of what may be wrapped around it."""
    while isinstance(answer, functools.partial):
        answer = answer.func
    if isinstance(answer, torch.nn.Module):
        answer = answer.forward
    if callable(answer) and not inspect.isroutine(answer) and not hasattr(answer, "__wrapped__"):
        answer = type(answer).__call__
    return inspect.unwrap(answer)


def numbers(thing) -> torch.Tensor:
    """Any way of writing numbers as a float64 tensor: tensors, arrays, lists of them, scalars."""
    if isinstance(thing, torch.Tensor):
        if thing.is_complex():
            raise Wrong(_COMPLEX)
        return thing.detach().cpu().to_dense().double()
    if isinstance(thing, np.ndarray | np.generic | complex) and np.iscomplexobj(thing):
        raise Wrong(_COMPLEX)
    if callable(thing):
        raise Wrong("expected a value, got a function: call it")
    if thing is None:
        raise Wrong("expected numbers, got None: did you forget return?")
    if isinstance(thing, tuple) and hasattr(thing, "indices"):  # as torch's median returns
        raise Wrong("expected numbers, got values and their indices: take .values")
    if isinstance(thing, list | tuple | range) and len(thing):
        parts = [numbers(part) for part in thing]
        if len({part.shape for part in parts}) > 1:
            shapes = ", ".join(str(tuple(part.shape)) for part in parts)
            raise Wrong(f"expected numbers in rows of one length, got parts of shapes {shapes}")
        return torch.stack(parts)
    try:
        if isinstance(thing, str | bytes | set | dict):
            raise TypeError
        return torch.from_numpy(np.array(thing, dtype=np.float64))
    except (OverflowError, TypeError, ValueError):
        made = ": make a list of it" if hasattr(thing, "__next__") else ""
        raise Wrong(f"expected numbers, got {kind(thing)}{made}") from None


def boolean(thing) -> bool:
    """Is it, or does it begin with, True or False?"""
    while isinstance(thing, list | tuple) and thing:
        thing = thing[0]
    return str(getattr(thing, "dtype", type(thing).__name__)).removeprefix("torch.") == "bool"


def kind(thing) -> str:
    """What ``thing`` is, in a few words."""
    if isinstance(thing, torch.Tensor | np.ndarray):
        name = "a tensor" if isinstance(thing, torch.Tensor) else "an array"
        return f"{name} of shape {tuple(thing.shape)}"
    if isinstance(thing, str):
        return f"the text {thing!r}"
    name = type(thing).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
