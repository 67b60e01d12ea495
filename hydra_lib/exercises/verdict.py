"""What a check found, and what has been done so far in this kernel."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from importlib import import_module

from hydra_lib import _checks
from hydra_lib.exercises.reader import Wrong, is_blank, told

__all__ = ["Progress", "Verdict", "check", "progress"]

CHAPTERS = (
    *("aggregation", "masking", "softmax", "scaling", "attention", "heads"),
    *("learned", "backward", "strassen", "timing", "kernel", "devices"),
)
TICKS = {True: "✓", False: "✗", None: "·"}
NO_ANSWER = "No answer yet: replace the ... above and run the cell again."
NO_VALUE = "No answer yet: this is None. If it came from a function: did you forget return?"

# Of each exercise: was it solved, tried, or neither. Lives in the kernel.
_seen: dict[str, bool | None] = {}


@dataclass(frozen=True)
class Verdict:
    """What a check found. ``right`` is None for an answer that was not given yet.

    ``expected`` is what stood there in the right answer, for those who ask.
    """

    right: bool | None
    says: str
    expected: str = ""
    exercise: str = field(default="", compare=False)

    def __bool__(self) -> bool:
        return self.right is True

    def __repr__(self) -> str:
        # An exercise counts when its verdict is shown. The asserts of the folded solutions show
        # nothing, so "run all cells" does not solve everything.
        if self.right is not None and not _seen.get(self.exercise):
            _seen[self.exercise] = self.right
        return f"{TICKS[self.right]} {self.says}"

    def _repr_html_(self) -> str:
        return f'<p class="verdict">{escape(repr(self))}</p>'  # wraps on a phone, as text does not


def check(test: Callable[[object], str | Verdict | None]) -> Callable[[object], Verdict]:
    """Turn ``test(answer)``, which returns what is wrong, or None, or a verdict, into a check.

    An answer that raises is a wrong answer, and the reader is shown the error and the line.
    Raises TypeError for a ``test`` that is no function with a name, and later for one that returns
    something else.
    """
    _checks.function("test", test)
    _checks.instance("test.__name__", getattr(test, "__name__", None), str)
    name = f"{test.__module__.rpartition('.')[2]}.{test.__name__}"
    _seen[name] = None

    @functools.wraps(test)
    def run(answer) -> Verdict:
        if is_blank(answer):
            return Verdict(None, NO_VALUE if answer is None else NO_ANSWER)
        expected = ""
        try:
            wrong = test(answer)
        except Wrong as found:
            wrong, expected = str(found), found.expected
        except Exception as error:
            wrong = told(error, answer)
        if not isinstance(wrong, str | Verdict | None) or wrong == "":
            raise TypeError(
                f"{name} must return None, a text or a Verdict, got {_checks.shown(wrong)}"
            )
        if isinstance(wrong, Verdict):
            return Verdict(wrong.right, wrong.says, wrong.expected, name)
        return Verdict(wrong is None, wrong or "Right.", expected, name)

    return run


class Progress(dict):
    """Chapter to {exercise: True if solved, False if tried, None if not}, shown as a table."""

    def _rows(self) -> list[tuple[str, str, str]]:
        return [
            (
                f"{number:02} {chapter}",
                f"{sum(map(bool, done.values()))} of {len(done)}",
                "  ".join(f"{TICKS[right]} {name}" for name, right in done.items()),
            )
            for number, (chapter, done) in enumerate(self.items(), 1)
        ]

    def __repr__(self) -> str:
        return "\n".join(
            f"{chapter:<15}{done:>7}  {names}" for chapter, done, names in self._rows()
        )

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in self._rows())
        head = "<tr><th>chapter</th><th>done</th><th>✓ solved, ✗ tried, · not yet</th></tr>"
        return f"<table>{head}{rows}</table>"


def progress() -> Progress:
    """What is solved (✓), tried (✗) and open (·) in this kernel, chapter by chapter.

    An exercise counts when its verdict is shown. Nothing is stored: a new kernel starts anew.
    """
    table = Progress()
    for chapter in CHAPTERS:
        import_module(f"hydra_lib.exercises.{chapter}")  # its checks enter themselves
        own = {key: right for key, right in _seen.items() if key.startswith(chapter + ".")}
        table[chapter] = {key.partition(".")[2]: right for key, right in own.items()}
    return table
