"""Widgets that compute in the page: traits here, the mathematics in ``static/*.js``.

Each class is a plain anywidget. The same ES module runs in Jupyter, in Colab, and on the published
page, where no kernel exists; so a widget's state is a handful of small traits, from which the
browser computes what is shown. A few carry tables that were computed beforehand. The traits are the
setting: on the published page they are kept in the URL fragment, under the widget's ``name``.
"""

from hydra_lib.widgets.aggregation import AggregationWidget
from hydra_lib.widgets.checkpoints import CheckpointsWidget
from hydra_lib.widgets.devices import DevicesWidget
from hydra_lib.widgets.explorer import ExplorerWidget
from hydra_lib.widgets.freezing import FreezingWidget
from hydra_lib.widgets.gradient import GradientWidget
from hydra_lib.widgets.guess import GuessWidget
from hydra_lib.widgets.head_splitter import HeadSplitterWidget
from hydra_lib.widgets.head_viewer import HeadViewerWidget
from hydra_lib.widgets.learning import LearningWidget
from hydra_lib.widgets.mask import MaskWidget
from hydra_lib.widgets.missing_wait import MissingWaitWidget
from hydra_lib.widgets.pieces import PiecesWidget
from hydra_lib.widgets.projection import ProjectionWidget
from hydra_lib.widgets.recursion import RecursionWidget
from hydra_lib.widgets.rivals import RivalsWidget
from hydra_lib.widgets.rotary import RotaryWidget
from hydra_lib.widgets.scaling import ScalingWidget
from hydra_lib.widgets.sentence import SentenceWidget
from hydra_lib.widgets.strassen import StrassenWidget
from hydra_lib.widgets.stride import StrideWidget
from hydra_lib.widgets.temperature import TemperatureWidget
from hydra_lib.widgets.tiles import TilesWidget
from hydra_lib.widgets.trace import TraceWidget
from hydra_lib.widgets.your_gpu import YourGpuWidget
from hydra_lib.widgets.your_kernel import YourKernelWidget

__all__ = [
    "AggregationWidget",
    "CheckpointsWidget",
    "DevicesWidget",
    "ExplorerWidget",
    "FreezingWidget",
    "GradientWidget",
    "GuessWidget",
    "HeadSplitterWidget",
    "HeadViewerWidget",
    "LearningWidget",
    "MaskWidget",
    "MissingWaitWidget",
    "PiecesWidget",
    "ProjectionWidget",
    "RecursionWidget",
    "RivalsWidget",
    "RotaryWidget",
    "ScalingWidget",
    "SentenceWidget",
    "StrassenWidget",
    "StrideWidget",
    "TemperatureWidget",
    "TilesWidget",
    "TraceWidget",
    "YourGpuWidget",
    "YourKernelWidget",
]
