"""The widget of seven products for eight; its arithmetic is ``static/bilinear.js``."""

import traitlets

from hydra_lib.matmul.schemes import STRASSEN, WINOGRAD, naive
from hydra_lib.widgets._base import Widget
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


class StrassenWidget(Widget):
    """Step through the products of a 2 × 2 algorithm: what enters each, and where it lands.

    ``algorithm`` is one of naive, strassen, winograd; ``product`` is counted from 0; ``levels`` is
    the depth of the recursion that is counted, from 0 to 12, for matrices of side 2^levels.

    Raises ValueError for a product that the algorithm does not have, traitlets.TraitError for any
    other setting outside these ranges.
    """

    _esm = bundle("strassen_widget.js")
    name = traitlets.Unicode("strassen").tag(sync=True)
    algorithms = traitlets.Dict(FACTORS, read_only=True).tag(sync=True)
    algorithm = traitlets.Enum(list(FACTORS), "strassen").tag(sync=True)
    product = traitlets.Int(0).tag(sync=True)
    levels = traitlets.Int(3, min=0, max=12).tag(sync=True)

    @traitlets.validate("algorithm", "product")
    def _check_product(self, proposal):
        setting = {"algorithm": self.algorithm, "product": self.product}
        setting[proposal["trait"].name] = proposal["value"]
        algorithm, product = setting["algorithm"], setting["product"]
        rank = len(FACTORS[algorithm]["U"])
        if not 0 <= product < rank:
            raise ValueError(f"product must lie in 0 … {rank - 1} for {algorithm}, got {product}")
        return proposal["value"]
