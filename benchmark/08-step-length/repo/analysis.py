"""How accuracy depends on the number of reasoning steps."""

from collections.abc import Sequence


def linear_trend(counts: Sequence[float], accuracies: Sequence[float]) -> tuple[float, float]:
    """Linear dependence of accuracies on numbers of steps.

    Args:
        counts: numbers of steps, not all equal.
        accuracies: accuracy for each of them, not all equal.

    Returns:
        The gain in accuracy for each additional step, and the correlation of the paper.
    """
    size = len(counts)
    mean_count, mean_accuracy = sum(counts) / size, sum(accuracies) / size
    spread = sum((count - mean_count) ** 2 for count in counts)
    variation = sum((accuracy - mean_accuracy) ** 2 for accuracy in accuracies)
    joint = sum((x - mean_count) * (y - mean_accuracy) for x, y in zip(counts, accuracies, strict=True))
    return joint / spread, joint / (spread * variation) ** 0.5
