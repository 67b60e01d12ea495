"""Checks for the exercises: each tries an answer and says what is right or what went wrong.

A chapter's module holds its checks. ``compare.function``, ``compare.value`` and ``compare.choice``
make a check from the right answer and the known wrong ones; :func:`check` makes one from any test.
:func:`progress` shows what is done.

An answer that is still ``...``, or a function whose body is, is not wrong, just not given yet, so a
chapter runs from top to bottom before the reader has written anything.
"""

from hydra_lib.exercises.verdict import Verdict, check, progress

__all__ = ["Verdict", "check", "progress"]
