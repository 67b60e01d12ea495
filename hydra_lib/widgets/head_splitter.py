"""The widget of split widths; its arithmetic is ``static/heads.js``."""

from hydra_lib.widgets._base import Setting, Text, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["HeadSplitterWidget"]


class HeadSplitterWidget(Widget):
    """Cut a width into heads and follow the shapes; a width that does not divide is refused.

    ``d_model`` and ``n_heads`` are integers from 1 to 65,536. They need not divide: then the widget
    shows the message of :class:`hydra_lib.heads.HeadConfig`, and what is left over.

    Raises ValueError for a setting outside these ranges.
    """

    _esm = bundle("head_splitter_widget.js")
    name = Text("head_splitter").tag(sync=True)
    d_model = Setting(768, low=1, high=65536, whole=True)
    n_heads = Setting(12, low=1, high=65536, whole=True)
