"""Generated 16x16 images of eight patterns; colours, position and size are random and say nothing about the class."""

from collections.abc import Callable

import torch
from torch import Tensor

IMAGE_SIZE = 16

#: Where a pattern has its foreground, given coordinates u (right) and v (down) in units of the pattern's size.
PATTERNS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "rows": lambda u, v: torch.sin(torch.pi * v) > 0,
    "columns": lambda u, v: torch.sin(torch.pi * u) > 0,
    "diagonals": lambda u, v: torch.sin(torch.pi * (u + v) / 2**0.5) > 0,
    "checks": lambda u, v: torch.sin(torch.pi * u) * torch.sin(torch.pi * v) > 0,
    "disc": lambda u, v: u**2 + v**2 < 1,
    "ring": lambda u, v: ((u**2 + v**2).sqrt() - 0.9).abs() < 0.3,
    "square": lambda u, v: torch.maximum(u.abs(), v.abs()) < 0.9,
    "plus": lambda u, v: (torch.minimum(u.abs(), v.abs()) < 0.25) & (torch.maximum(u.abs(), v.abs()) < 1.2),
}


def pattern_images(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Draw images whose classes are spread evenly.

    Returns:
        images: (count, 3, IMAGE_SIZE, IMAGE_SIZE) float32 in [0, 1].
        labels: (count,) int64, index into PATTERNS.
    """
    generator = torch.Generator().manual_seed(seed)

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(count, 1, 1, generator=generator)

    axis = torch.linspace(-1, 1, IMAGE_SIZE)
    size, mirror = uniform(0.35, 0.6), torch.sign(uniform(-1, 1))
    u = mirror * (axis.view(1, 1, -1) - uniform(-0.3, 0.3)) / size
    v = (axis.view(1, -1, 1) - uniform(-0.3, 0.3)) / size
    u, v = u.expand(-1, IMAGE_SIZE, -1), v.expand(-1, -1, IMAGE_SIZE)

    labels = torch.arange(count) % len(PATTERNS)
    foreground = torch.zeros(count, IMAGE_SIZE, IMAGE_SIZE, dtype=torch.bool)
    for label, pattern in enumerate(PATTERNS.values()):
        chosen = labels == label
        foreground[chosen] = pattern(u[chosen], v[chosen])

    colours = torch.rand(2, count, 3, 1, 1, generator=generator)
    images = torch.where(foreground.unsqueeze(1), colours[0], colours[1])
    noise = 0.08 * torch.randn(images.shape, generator=generator)
    return (images + noise).clamp(0, 1), labels
