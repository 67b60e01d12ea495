"""What a recursion costs, level by level; its arithmetic is ``static/bilinear.js``."""

import traitlets

from hydra_lib.widgets._base import Setting, Text, Widget
from hydra_lib.widgets._bundle import bundle
from hydra_lib.widgets.strassen import FACTORS

__all__ = ["RecursionWidget"]


class RecursionWidget(Widget):
    """Halve two matrices again and again: what is left of the triple loop's work, and at what cost.

    ``algorithm`` is one of naive, strassen, winograd; ``levels`` is the depth of the recursion,
    from 0 to 12, for matrices of side 2^levels that are halved down to numbers; ``addition`` is
    what an addition costs, in multiplications, from 0 to 4. Raises ValueError for any other.
    """

    _esm = bundle("recursion_widget.js")
    name = Text("recursion").tag(sync=True)
    algorithms = traitlets.Dict(FACTORS, read_only=True).tag(sync=True)
    algorithm = Setting("strassen", options=tuple(FACTORS))
    levels = Setting(1, low=0, high=12, whole=True)
    addition = Setting(1, low=0, high=4)
