"""The contrast of two colours, as WCAG defines it."""

RGB = tuple[float, float, float]


def contrast(one: RGB, other: RGB) -> float:
    """Return the contrast, from 1 to 21, of two colours in sRGB (0 to 255)."""
    light, dark = sorted(map(_luminance, (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: RGB) -> float:
    parts = (part / 255 for part in colour)
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
