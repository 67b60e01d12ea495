"""The widget of distributions with one mean energy; its arithmetic is ``static/rivals.js``."""

from hydra_lib.widgets._base import Setting, Text, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["RivalsWidget"]


class RivalsWidget(Widget):
    """Drag a distribution over three keys, and look for one with more entropy than softmax.

    The scores are 2, 1 and 0, so the energies −2, −1 and 0. A distribution is a point of a
    triangle; an upright line holds all of one mean energy ``U``, from −2 to 0, and ``along``, from
    0 to 1, says how far up the line the point lies. ``measure`` says what is compared: "entropy",
    of which softmax has most (Jaynes, 1957), or "gini", ½(1 − Σ q²), of which sparsemax has most
    (Martins and Astudillo, 2016).

    Raises ValueError for other settings.
    """

    _esm = bundle("rivals_widget.js")
    name = Text("rivals").tag(sync=True)
    U = Setting(-1.5, low=-2, high=0)
    along = Setting(0.9, low=0, high=1)
    measure = Setting("entropy", options=("entropy", "gini"))
