"""Random distortions of colours, given the random numbers."""

import torch
from torch import Tensor

#: Random numbers that the distortion of one image takes.
NUMBERS = 5


def to_grey(images: Tensor) -> Tensor:
    """(N, 3, H, W) images to their luminance (N, 1, H, W)."""
    weights = images.new_tensor([0.299, 0.587, 0.114])
    return (images * weights.view(3, 1, 1)).sum(dim=1, keepdim=True)


def distort_colours(images: Tensor, numbers: Tensor, strength: float) -> Tensor:
    """Distort the colours of each image as the paper does.

    Args:
        images: (N, 3, H, W) red, green and blue in [0, 1].
        numbers: (N, NUMBERS) uniform numbers u_1, ..., u_5 of the paper for each image, in [0, 1).
        strength: s of the paper, from 0 to 1.

    Returns:
        (N, 3, H, W) in [0, 1], in the dtype of `images`.
    """
    u = numbers.to(images.dtype).view(len(images), NUMBERS, 1, 1, 1)
    brightness, contrast, saturation = (1 + 0.8 * strength * (2 * u[:, k] - 1) for k in range(3))
    jittered = (brightness * images).clamp(0, 1)
    mean = to_grey(jittered).mean(dim=(2, 3), keepdim=True)
    jittered = (mean + contrast * (jittered - mean)).clamp(0, 1)
    grey = to_grey(jittered)
    jittered = (grey + saturation * (jittered - grey)).clamp(0, 1)
    views = torch.where(u[:, 3] < 0.8, jittered, images)
    return torch.where(u[:, 4] < 0.2, to_grey(views), views)
