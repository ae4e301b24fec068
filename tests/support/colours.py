"""Colours as people see them: WCAG's contrast, and differences under colour blindness.

The simulation is Machado, Oliveira and Fernandes (2009) at full severity, on linear RGB; a difference is CIE76's, the
distance in L*a*b* (D65). A difference of 2 is just visible; of 20, plain side by side.
"""

import itertools
import math

RGB = tuple[float, float, float]

_SIMULATED = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
_WHITE = (0.95047, 1.0, 1.08883)
SIGHTS = tuple(_SIMULATED)


def linear(colour: RGB) -> RGB:
    """Convert a colour from sRGB (0 to 255) to linear RGB (0 to 1)."""
    parts = (part / 255 for part in colour)
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return red, green, blue


def contrast(one: RGB, other: RGB) -> float:
    """WCAG's contrast of two colours."""
    light, dark = sorted((_times(_XYZ, linear(colour))[1] for colour in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def difference(one: RGB, other: RGB, sight: str = "normal") -> float:
    """CIE76's difference of two colours as a person with this colour vision sees them."""
    return math.dist(_lab(one, sight), _lab(other, sight))


def least_difference(colours: list[RGB], sight: str) -> float:
    """The smallest difference of any two colours."""
    return min(difference(one, other, sight) for one, other in itertools.combinations(colours, 2))


def _lab(colour: RGB, sight: str) -> RGB:
    seen = [min(1.0, max(0.0, part)) for part in _times(_SIMULATED[sight], linear(colour))]
    x, y, z = (
        part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116
        for part in (
            value / white for value, white in zip(_times(_XYZ, (seen[0], seen[1], seen[2])), _WHITE, strict=True)
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _times(matrix: tuple[RGB, ...] | tuple[tuple[float, float, float], ...], vector: RGB) -> RGB:
    first, second, third = (sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)
    return first, second, third
