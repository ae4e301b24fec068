"""A plain implementation of Cohen's kappa."""

from collections import Counter
from typing import Any


def cohen(pairs: list[tuple[Any, Any]]) -> float | None:
    """Return (observed - expected) / (1 - expected) agreement (Cohen 1960)."""
    if len({label for pair in pairs for label in pair}) < 2:
        return None
    observed = sum(a == b for a, b in pairs) / len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(first[label] * second[label] for label in first) / len(pairs) ** 2
    return (observed - chance) / (1 - chance)
