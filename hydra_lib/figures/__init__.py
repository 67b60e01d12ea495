"""Figures that follow the page's theme, with a text for readers who do not see them.

``figure`` and ``themed`` turn matplotlib's drawings into inline SVG (:mod:`hydra_lib.figures.ink`);
``matrices`` prints matrices in a line, ``shades`` is the image of one
(:mod:`hydra_lib.figures.tables`); ``graph`` draws what is made of what
(:mod:`hydra_lib.figures.graphs`). They need matplotlib.
"""

from hydra_lib.figures.graphs import graph
from hydra_lib.figures.ink import COLORS, Picture, figure, themed
from hydra_lib.figures.tables import matrices, shades

__all__ = ["COLORS", "Picture", "figure", "graph", "matrices", "shades", "themed"]
