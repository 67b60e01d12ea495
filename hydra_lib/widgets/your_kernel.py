"""The widget in which a reader writes the inner loop of the fused kernel, in WGSL."""

from hydra_lib.widgets._base import Text, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["YourKernelWidget"]


class YourKernelWidget(Widget):
    """A field for the inner loop of ``attention_fused.wgsl``, a button that checks and times it.

    The reader's text is searched for forgotten barriers, compiled, run on the reader's own device
    at sizes that nothing divides, compared with float64, and with what the usual mistakes give. A
    right one is timed in pairs with the book's. ``code`` is the reader's text, "" for what the page
    offers to begin with. Nothing leaves the page.
    """

    _esm = bundle("your_kernel_widget.js")
    name = Text("your_kernel").tag(sync=True)
    code = Text("").tag(sync=True)
