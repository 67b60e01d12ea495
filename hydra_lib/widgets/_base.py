"""What the widget classes share: the style, the name in the URL, and settings with their limits.

The limits of a setting stand in its class, once: Python holds every change to them, and they
travel with the state to the page, where ``static/limits.js`` holds links to them.
"""

import inspect
import json
import math
import numbers
import re
from typing import Any

import anywidget
import traitlets

from hydra_lib import _checks
from hydra_lib.widgets._bundle import STATIC

__all__ = ["MOST", "Data", "Setting", "SettingError", "Text", "Widget", "inside", "proposed"]

CSS = (STATIC / "ui.css").read_text(encoding="utf-8")
MOST = 10**6  # a larger number says no more in a picture, and products of these stay finite


class SettingError(traitlets.TraitError, ValueError):
    """A setting that does not fit; traitlets takes the whole change back."""


class Setting(traitlets.TraitType):
    """A number, a word, or a list or matrix of them, within limits that the page knows as well.

    A value is one of ``options`` or, with ``low`` and ``high``, a number between them, both
    included, an integer if ``whole``. ``shape`` gives the most rows and columns, () for one value;
    with ``exact`` there must be as many. NumPy's and torch's numbers and arrays become plain ones
    here; what travels is JSON, which has no infinities, so they travel as strings.

    Raises SettingError with the name, what was expected and what came.
    """

    def __init__(
        self,
        default,
        *,
        low=None,
        high=None,
        whole=False,
        options=(),
        shape=(),
        exact=False,
        **others,
    ):
        super().__init__(default, **others)
        self.low, self.high, self.whole = low, high, whole
        self.options, self.shape, self.exact = options, shape, exact
        self.tag(sync=True, to_json=lambda x, _: encode(x), from_json=lambda x, _: decode(x))

    def validate(self, obj, value):
        try:
            return self._fit(plain(value), self.shape)
        except (ValueError, RuntimeError):  # torch's own, of a tensor without values or not dense
            got = _checks.shown(value)
            raise SettingError(f"{self.name} must be {self.expected()}, got {got}") from None

    def _fit(self, value: Any, shape: tuple) -> Any:
        if shape:
            least = shape[0] if self.exact else 1
            if not isinstance(value, list) or not least <= len(value) <= shape[0]:
                raise ValueError
            parts = [self._fit(part, shape[1:]) for part in value]
            if shape[1:] and len({len(part) for part in parts}) > 1:
                raise ValueError
            return parts
        if any(value == option and type(value) is type(option) for option in self.options):
            return value
        kind: Any = numbers.Integral if self.whole else numbers.Real
        if self.low is None or isinstance(value, bool) or not isinstance(value, kind):
            raise ValueError
        if not self.low <= value <= self.high:  # nor is NaN
            raise ValueError
        return int(value) if self.whole else float(value)

    def expected(self) -> str:
        kind = "an integer" if self.whole else "a number"
        numbers = [] if self.low is None else [f"{kind} from {self.low:,} to {self.high:,}"]
        entry = " or ".join(numbers + [str(option) for option in self.options])
        sizes = " × ".join(map(str, self.shape))
        form = ("", "a row", "a matrix")[len(self.shape)]
        most = "" if self.exact else "at most "
        return f"{form} of {most}{sizes}, each {entry}" if form else entry

    def limits(self) -> dict:
        """As ``static/limits.js`` reads them."""
        bounds = {"min": self.low, "max": self.high, "integer": self.whole}
        sizes = {"shape": list(self.shape), "exact": self.exact}
        return {**bounds, **sizes, "options": encode(list(self.options))}


class Text(traitlets.Unicode):
    """A text; raises SettingError for anything else."""

    def validate(self, obj, value):
        if not isinstance(value, str):
            raise SettingError(f"{self.name} must be a string, got {_checks.shown(value)}")
        return value


class Data(traitlets.Dict):
    """A dictionary that can travel as JSON; raises SettingError for anything else."""

    def validate(self, obj, value):
        try:
            if isinstance(value, dict) and json.dumps(value, allow_nan=False):
                return value
        except (TypeError, ValueError):
            pass
        raise SettingError(f"{self.name} must be a dictionary for JSON, got {_checks.shown(value)}")


class Widget(anywidget.AnyWidget):
    """A widget whose settings are checked; raises TypeError and AttributeError for unknown ones."""

    _css = CSS
    name = Text().tag(sync=True)
    """Key of the widget's setting in the URL fragment; give two widgets of a page two names."""

    limits = traitlets.Dict(read_only=True).tag(sync=True)
    """What each setting may be, but for those that are read only."""

    def __init_subclass__(cls, **how):
        """What a reader who asks for help is shown: the arguments, then every setting by name."""
        super().__init_subclass__(**how)
        own = [p for p in inspect.signature(cls.__init__).parameters.values() if p.name != "self"]
        first = {p.name: p for p in own if p.kind is p.POSITIONAL_OR_KEYWORD}
        traits = {n: t for base in reversed(cls.__mro__) for n, t in vars(base).items()}
        rest = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_Shown(t.default_value))
            for name, t in traits.items()
            if name not in first and isinstance(t, Setting | Text) and not t.read_only
        ]
        rest.sort(key=lambda parameter: parameter.name == "name")
        cls.__signature__ = inspect.Signature([*first.values(), *rest])

    def __new__(cls, *args, **traits):
        taken = set(inspect.signature(cls.__init__).parameters) | set(cls.class_trait_names())
        if unknown := [name for name in traits if name not in taken]:
            raise TypeError(f"{cls.__name__} has no {unknown[0]}; it has {_settings(cls)}")
        return super().__new__(cls, *args, **traits)

    def __setattr__(self, name, value):
        if not name.startswith("_") and not hasattr(type(self), name):
            cls = type(self)
            raise AttributeError(f"{cls.__name__} has no {name}; it has {_settings(cls)}")
        super().__setattr__(name, value)

    @traitlets.default("limits")
    def _limits(self):
        settings = ((n, t) for n, t in self.traits().items() if isinstance(t, Setting))
        return {name: trait.limits() for name, trait in settings if not trait.read_only}

    @traitlets.validate("name")
    def _check_name(self, proposal):
        name = proposal["value"]
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise SettingError(f"name must be letters, digits, - and _, got {_checks.shown(name)}")
        return name


class _Shown:
    """A default as a signature has room for it."""

    def __init__(self, value: object):
        self.text = repr(value)

    def __repr__(self) -> str:
        return self.text if len(self.text) <= 20 else "…"


def _settings(cls: type[Widget]) -> str:
    return ", ".join(inspect.signature(cls).parameters)


def plain(value: object) -> object:
    """Nested lists of Python's own values out of lists, tuples, arrays and tensors."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [plain(x) for x in value] if isinstance(value, list | tuple | range) else value


def encode(x: object) -> object:
    if isinstance(x, list):
        return [encode(y) for y in x]
    return str(x) if isinstance(x, float) and math.isinf(x) else x


def decode(x: object) -> object:
    if isinstance(x, list):
        return [decode(y) for y in x]
    return float(x) if x in ("inf", "-inf") else x


def proposed(proposal: dict, *names: str) -> dict:
    """These settings as they would be with what a validator is asked about."""
    settings = {name: getattr(proposal["owner"], name) for name in names}
    return settings | {proposal["trait"].name: proposal["value"]}


def inside(name: str, value: int, size: int) -> int:
    """An index, counted from 0; SettingError where there is nothing of this number."""
    if not 0 <= value < size:
        raise SettingError(f"{name} must lie in 0 … {size - 1}, got {value}")
    return value
