"""The widget in which a reader guesses measured ratios before seeing them."""

from typing import Any

import traitlets

from hydra_lib import _checks
from hydra_lib.widgets._base import Setting, SettingError, Text, Widget
from hydra_lib.widgets._bundle import bundle

__all__ = ["GuessWidget"]

LEAST, MOST = 0.1, 10_000  # the ends of the axis of factors
ROWS, LENGTHS = 12, 24


class GuessWidget(Widget):
    """Guess how many times as long each kernel takes as the reference, then look.

    ``rows`` are timed rows of a record, as :func:`hydra_lib.records.group` gives them, all paired
    with one ``reference``; a kernel is shown at every length T at which it was measured, at
    1 / ratio. ``about`` is the line under them that says where they were measured.

    ``guesses`` are factors from 0.1 to 10,000, None where none was made: a row for each length,
    the shortest first, with one for each kernel but the reference, in the order of the rows. ``T``
    is the length; ``looked`` says of each length whether what was measured is shown.

    Raises TypeError for rows that are no list of rows; ValueError for rows without a reference or
    with two, without a kernel, T or ratio, for two rows of one kernel and length, for a factor
    outside the axis, and for other settings.
    """

    _esm = bundle("guess_widget.js")
    name = Text("guess").tag(sync=True)
    guesses = Setting([[None]], low=LEAST, high=MOST, options=(None,), shape=(LENGTHS, ROWS))
    T = Setting(1, low=1, high=2**53, whole=True)
    looked = Setting([False], options=(False, True), shape=(LENGTHS,))

    about = Text("").tag(sync=True)
    reference = Text("").tag(sync=True)
    factors = traitlets.List(traitlets.Dict()).tag(sync=True)
    """``{"kernel": name, "times": {T: time over the reference's}}`` each, in order."""

    def __init__(self, rows, about, **traits):
        _checks.instance("rows", rows, list)
        for i, row in enumerate(rows):
            _checks.instance(f"rows[{i}]", row, dict)
            if row.get("reference"):
                _checks.instance(f"the reference of rows[{i}]", row["reference"], str)
        paired = [row for row in rows if row.get("reference")]
        references = sorted({row["reference"] for row in paired})
        if len(references) != 1:
            raise ValueError(f"rows must be paired with one reference, got {references}")
        times: dict[str, dict[str, float]] = {}
        for row in paired:
            for key in ("kernel", "T", "ratio"):
                if key not in row:
                    raise ValueError(f"rows must have kernel, T and ratio, got one without {key}")
            _checks.instance("kernel", row["kernel"], str)
            own, T = times.setdefault(row["kernel"], {}), str(_checks.integer("T", row["T"]))
            if T in own:
                got = f"two {row['kernel']} at {T}"
                raise ValueError(f"rows must be of one pass, one per kernel and T, got {got}")
            ratio = _checks.number("ratio", row["ratio"])
            if not 1 / MOST < ratio < 1 / LEAST:
                ends = f"{1 / MOST:g} and {1 / LEAST:g}"
                raise ValueError(f"ratios must lie between {ends}, got {ratio:.3g}")
            own[T] = 1 / ratio
        factors = [{"kernel": kernel, "times": own} for kernel, own in times.items()]
        none = [[None] * len(factors) for _ in lengths(factors)]
        covered = [False] * len(none)
        start: dict[str, Any] = {"guesses": none, "T": paired[0]["T"], "looked": covered}
        given = {"about": about, "reference": references[0], "factors": factors}
        super().__init__(**given | start | traits)

    @traitlets.validate("guesses", "T", "looked")
    def _check_setting(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        known = lengths(self.factors)
        if name == "guesses":
            size, got = (len(known), len(self.factors)), (len(value), len(value[0]))
            if got != size:
                raise SettingError(f"guesses must be {size} factors, got {got}")
        if name == "looked" and len(value) != len(known):
            raise SettingError(f"looked must be {len(known)} truths, got {len(value)}")
        if name == "T" and value not in known:
            measured = ", ".join(map(str, known))
            raise SettingError(f"T must be one of those measured ({measured}), got {value}")
        return value


def lengths(factors: list[dict]) -> list[int]:
    """All lengths at which any kernel was measured, in order."""
    return sorted({int(T) for one in factors for T in one["times"]})
