"""Collectives, counted while the code runs: what was sent around, and how large it was."""

from typing import Any, NamedTuple

from torch import Tensor
from torch._ops import OpOverload
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

__all__ = ["Collective", "Collectives"]


class Collective(NamedTuple):
    """One call: ``name`` as in torch ("all_reduce"), ``bytes`` of what went in."""

    name: str
    bytes: int


class Collectives(TorchDispatchMode):
    """``with Collectives() as seen:`` makes ``seen.calls`` the collectives that ran within.

    Those of this rank that go through ``torch.distributed``'s functional collectives, as all of a
    DTensor's do; of a backward pass too. torch's ``CommDebugMode`` counts the same, without sizes,
    and tests compare the two.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Collective] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # it says first what it is made of, and then comes back
        if isinstance(func, OpOverload) and func.namespace == "_c10d_functional":
            name = func._opname
            if not name.startswith(("wait", "_")):  # what waits and wraps sends nothing
                # One tensor, or several at once where it is "coalesced".
                sent = [x.nbytes for x in tree_leaves(args) if isinstance(x, Tensor)]
                self.calls.append(Collective(name, sum(sent)))
        return func(*args, **(kwargs or {}))
