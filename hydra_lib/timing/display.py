"""Measured numbers as a person reads them: three digits, a prefix, and what goes with them."""

import math

__all__ = ["percent", "quantity"]

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))


def quantity(unit: str, *values: float) -> list[str]:
    """Values with the prefix and the decimals that give the first three digits.

    The first carries the unit. Seconds have no prefix above 1.

    >>> quantity("s", 0.00231, 0.0024)
    ['2.31 ms', '2.40']
    """
    first = float(f"{abs(values[0]):.3g}")  # 999.9 is written as 1000
    usual = [p for p in _PREFIXES if unit != "s" or p[0] <= 1]
    scale, prefix = next((p for p in usual if p[0] <= first), (1e-9, "n"))
    digits = 2 - math.floor(math.log10(first / scale)) if 0 < first < math.inf else 2
    texts = [f"{value / scale:.{max(0, digits)}f}" for value in values]
    return [f"{texts[0]} {prefix}{unit}", *texts[1:]]


def percent(share: float) -> str:
    """A relative half-width.

    >>> percent(0.00712), percent(1.23)
    ('± 0.71 %', '± 120 %')
    """
    return f"± {float(f'{100 * share:.2g}'):g} %"
