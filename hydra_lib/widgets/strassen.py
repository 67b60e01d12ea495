"""The boards of seven products for eight; its arithmetic is ``static/bilinear.js``."""

import traitlets

from hydra_lib.matmul.schemes import STRASSEN, WINOGRAD, naive
from hydra_lib.widgets._base import Setting, SettingError, Text, Widget, proposed
from hydra_lib.widgets._bundle import bundle

__all__ = ["StrassenWidget"]

FACTORS = {
    name: {
        "U": algorithm.U.tolist(),
        "V": algorithm.V.tolist(),
        "W": algorithm.W.tolist(),
        "additions": list(algorithm.additions()),
    }
    for name, algorithm in (
        ("naive", naive(2, 2, 2)),
        ("strassen", STRASSEN),
        ("winograd", WINOGRAD),
    )
}
MOST_PRODUCTS = max(len(factors["U"]) for factors in FACTORS.values())


class StrassenWidget(Widget):
    """Paint the 64 cells of a 2 × 2 algorithm product by product, until the strays have cancelled.

    ``algorithm`` is one of naive, strassen, winograd; ``product``, counted from 0, is the last one
    painted. Raises ValueError for a product that the algorithm does not have.
    """

    _esm = bundle("strassen_widget.js")
    name = Text("strassen").tag(sync=True)
    algorithms = traitlets.Dict(FACTORS, read_only=True).tag(sync=True)
    algorithm = Setting("strassen", options=tuple(FACTORS))
    product = Setting(0, low=0, high=MOST_PRODUCTS - 1, whole=True)

    @traitlets.validate("algorithm", "product")
    def _check_product(self, proposal):
        algorithm, product = proposed(proposal, "algorithm", "product").values()
        rank = len(FACTORS[algorithm]["U"])
        if not 0 <= product < rank:
            raise SettingError(f"product must lie in 0 … {rank - 1} for {algorithm}, got {product}")
        return proposal["value"]
