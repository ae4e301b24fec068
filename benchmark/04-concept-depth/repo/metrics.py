"""At which depth a concept is acquired: variation rate, jumping point and converging point (Section 4.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

JUMP = 1.1
CONVERGED = 0.03


@dataclass(frozen=True)
class Depth:
    """Depths are relative, in [0, 1); None if no layer fulfils the condition."""

    peak: float
    jumping_point: float | None
    converging_point: float | None

    def __str__(self) -> str:
        jump, converged = (
            "none" if point is None else f"{point:.2f}" for point in (self.jumping_point, self.converging_point)
        )
        return f"peak accuracy {self.peak:.3f}, jumping point {jump}, converging point {converged}"


def variation_rates(accuracies: Sequence[float]) -> list[float]:
    """beta of the paper for layers 1, 2, ..., from the accuracies of all layers; infinite after an accuracy of 0."""
    return [
        after / before if before else float("inf")
        for before, after in zip(accuracies[:-1], accuracies[1:], strict=True)
    ]


def jumping_point(accuracies: Sequence[float]) -> float | None:
    """Jumping point of the paper from the accuracies of all layers; None if no layer fulfils its condition."""
    layers = [layer for layer, rate in enumerate(variation_rates(accuracies), start=1) if rate >= JUMP]
    return layers[0] / len(accuracies) if layers else None


def converging_point(accuracies: Sequence[float]) -> float | None:
    """Converging point of the paper from the accuracies of all layers; None if no layer fulfils its condition."""
    rates = variation_rates(accuracies)
    layers = [layer for layer, rate in enumerate(rates, start=1) if abs(rate - 1) < CONVERGED]
    return layers[-1] / len(accuracies) if layers else None


def concept_depth(accuracies: Sequence[float]) -> Depth:
    """The three numbers that sum up a curve of at least one layer."""
    return Depth(max(accuracies), jumping_point(accuracies), converging_point(accuracies))
