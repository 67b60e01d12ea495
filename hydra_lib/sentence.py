"""The sentence that runs through the book: seven words whose values are colours.

A value is a colour, red, green and blue from 0 to 1, so ``weights @ VALUES`` mixes paint: each
output row is a colour the eye can check. Queries and keys are arrows in a plane, made by hand so
that “it” finds “cat”; nothing here is learned. Chapter 7 looks into heads that are.
"""

import math

import torch

__all__ = [
    "FEATURES",
    "HEAD_KEYS",
    "HEAD_QUERIES",
    "KEYS",
    "QUERIES",
    "VALUES",
    "WORDS",
    "W_K",
    "W_Q",
    "X",
]

WORDS = ("the", "cat", "slept", "because", "it", "was", "tired")
"""The seven words, in their order."""

VALUES = torch.tensor(
    [
        [0.80, 0.80, 0.78],  # the
        [0.93, 0.52, 0.16],  # cat: orange
        [0.20, 0.45, 0.78],  # slept: blue
        [0.80, 0.80, 0.78],  # because
        [0.88, 0.88, 0.86],  # it: nearly white, before it takes a colour
        [0.80, 0.80, 0.78],  # was
        [0.55, 0.33, 0.70],  # tired: violet
    ]
)
"""One colour a word, (7, 3)."""

QUERIES = torch.tensor(
    [[-1, -0.5], [0.2, 0.3], [2.4, 0.2], [0.3, 2.0], [3.2, -0.4], [0.6, 2.2], [2.7, 0.9]]
)
"""What each word asks for, (7, 2): its score for a key is their dot product."""

KEYS = torch.tensor(
    [[-1.6, -0.9], [2.1, 0.3], [0.1, 2.2], [-1.3, 1.3], [0.8, -1.6], [-2.0, 0.4], [1.1, 1.5]]
)
"""What each word can be found by, (7, 2)."""

FEATURES = ("thing", "deed", "stand-in", "small word")
"""What a word can be, the columns of ``X``."""

X = torch.tensor(
    [
        [0.0, 0, 0, 1],  # the
        [1, 0, 0, 0],  # cat
        [0, 1, 0, 0],  # slept
        [0, 0, 0, 1],  # because
        [0.5, 0, 1, 0],  # it: stands for a thing
        [0, 0.5, 0, 1],  # was
        [0.5, 1, 0, 0],  # tired: a state, of a thing
    ]
)
"""What each word is, (7, 4), from 0 to 1."""

W_Q = torch.tensor([[0.4, -0.8], [2.7, 0.8], [3.1, -1.6], [-0.6, 1.9]])
"""What each feature asks for, (4, 2). The weights of ``X @ W_Q`` and ``X @ W_K`` under a causal
mask differ by less than 0.1 from those of ``QUERIES`` and ``KEYS``."""

W_K = torch.tensor([[1.9, 0.3], [0.1, 2.0], [-1.1, -1.5], [-1.4, 0.0]])
"""What each feature can be found by, (4, 2)."""


def _circle(first: int) -> torch.Tensor:
    """An arrow for each position, a seventh of a turn apart, from the angle of ``first`` on."""
    angles = 2 * math.pi / 7 * torch.arange(first, first + 7)
    return 3.6 * torch.stack([angles.cos(), angles.sin()], dim=1)


# Head 1 is the one above. Head 2 asks for the position before its own. Head 3 asks for content.
_CONTENT = torch.tensor([0, 1, 1, 0, 0, 0, 1])
HEAD_QUERIES = torch.stack([QUERIES, _circle(-1), torch.tensor([[2.5, 0.0]]).expand(7, 2)])
"""Queries of three heads of ``head_dim`` 2, (3, 7, 2)."""

HEAD_KEYS = torch.stack(
    [KEYS, _circle(0), torch.stack([3 * _CONTENT - 1, 0 * _CONTENT], dim=1).float()]
)
"""Keys of three heads, (3, 7, 2). Head i mixes column i of ``VALUES``: red, green and blue."""
