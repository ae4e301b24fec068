"""Accuracy over relative depth, drawn with characters."""

from collections.abc import Sequence

COLUMNS_A_LAYER = 6


def draw_curve(accuracies: Sequence[float], low: float = 0.4, high: float = 1.0, rows: int = 7) -> str:
    """A chart with one mark a layer; values outside of [low, high] are drawn on its edge."""
    step = (high - low) / (rows - 1)
    heights = [round((min(max(value, low), high) - low) / step) for value in accuracies]
    lines = []
    for row in reversed(range(rows)):
        marks = "".join(("*" if height == row else " ").center(COLUMNS_A_LAYER) for height in heights)
        lines.append(f"  {low + row * step:5.2f} |{marks.rstrip()}")
    lines.append("        +" + "-" * (COLUMNS_A_LAYER * len(accuracies)))
    depths = "".join(f"{layer / len(accuracies):.2f}".center(COLUMNS_A_LAYER) for layer in range(len(accuracies)))
    lines.append("         " + depths.rstrip() + "   relative depth")
    return "\n".join(lines)
