"""The widget of split widths; its arithmetic is ``static/heads.js``."""

import traitlets

from hydra_lib.widgets._base import Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["HeadSplitterWidget"]


class HeadSplitterWidget(Widget):
    """Cut a width into heads and follow the shapes; a width that does not divide is refused.

    ``d_model`` and ``n_heads`` are integers from 1 to 65,536. They need not divide: then the widget
    shows the message of :class:`hydra_lib.heads.HeadConfig` and nothing else.

    Raises traitlets.TraitError for a setting outside these ranges.
    """

    _esm = bundle("head_splitter_widget.js")
    name = traitlets.Unicode("head_splitter").tag(sync=True)
    d_model = traitlets.Int(768, min=1, max=65536).tag(sync=True)
    n_heads = traitlets.Int(12, min=1, max=65536).tag(sync=True)
