"""The widget in which a reader puts the waits into a stopwatch for a device's queue."""

from hydra_lib.widgets._base import Setting, Text, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["MissingWaitWidget"]

PLACES = 4


class MissingWaitWidget(Widget):
    """A stopwatch around one launch, with four places for a wait; it runs on the reader's device.

    ``waits`` says for each place whether the page waits for the device there: before the clock
    starts, before the launch, before the clock stops, and after. Earlier work is in the queue when
    it begins. Nothing leaves the page.

    Raises ValueError unless ``waits`` are four values, each True or False.
    """

    _esm = bundle("missing_wait_widget.js")
    name = Text("missing_wait").tag(sync=True)
    waits = Setting([False] * PLACES, options=(False, True), shape=(PLACES,), exact=True)
