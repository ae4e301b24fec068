"""Decision maps as text."""

import numpy as np

#: Shades for the probability of class 1, from low to high.
SHADES = " .:+#"


def render_map(
    probabilities: np.ndarray, context_x: np.ndarray, context_y: np.ndarray, width: int = 50, height: int = 20
) -> str:
    """Draw a decision map (g, g) over the square from 0 to 100, with examples (n, 2) as `o` and `x` (class 0, 1).

    Rows of the map are values of the first feature, which is drawn from left to right; the second one goes upwards.
    """
    size = len(probabilities)
    columns = np.linspace(0, size - 1, width).round().astype(int)
    rows = np.linspace(size - 1, 0, height).round().astype(int)
    shades = np.minimum((probabilities * len(SHADES)).astype(int), len(SHADES) - 1)
    canvas = [[SHADES[shades[column, row]] for column in columns] for row in rows]
    for (first, second), label in zip(context_x, context_y, strict=True):
        column, row = round(first / 100 * (width - 1)), round((1 - second / 100) * (height - 1))
        canvas[row][column] = "ox"[label]
    edge = "+" + "-" * width + "+"
    return "\n".join([edge, *("|" + "".join(line) + "|" for line in canvas), edge])
