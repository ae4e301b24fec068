"""A small convolutional encoder with a projection head on top."""

import torch.nn.functional as F
from torch import Tensor, nn


class ProjectionHead(nn.Module):
    """The projection head g.

    Attributes:
        hidden, output: the linear layers W^(1) and W^(2) of the paper, with biases.
    """

    def __init__(self, representation_dim: int, projection_dim: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(representation_dim, representation_dim)
        self.output = nn.Linear(representation_dim, projection_dim)

    def forward(self, representations: Tensor) -> Tensor:
        """(B, representation_dim) representations h to (B, projection_dim) projections z."""
        return self.output(F.relu(self.hidden(representations)))


class ContrastiveEncoder(nn.Module):
    """Base encoder f and projection head g: the contrastive objective sees g(f(x)), later tasks use f(x).

    Args:
        width: channels of the first convolution; f(x) has four times as many numbers.
        projection_dim: size of g(f(x)). The head puts out vectors of any length: it does not normalise them.
    """

    def __init__(self, width: int = 16, projection_dim: int = 32) -> None:
        super().__init__()
        representation_dim = 4 * width
        self.backbone = nn.Sequential(
            convolution(3, width, kernel_size=5, stride=2),
            convolution(width, 2 * width, kernel_size=3, stride=1),
            convolution(2 * width, representation_dim, kernel_size=3, stride=2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.projection_head = ProjectionHead(representation_dim, projection_dim)

    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) images to (B, projection_dim) projections."""
        return self.projection_head(self.backbone(images))


def convolution(channels_in: int, channels_out: int, kernel_size: int, stride: int) -> nn.Sequential:
    """Convolution that pads its input, batch normalisation and ReLU."""
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, kernel_size, stride, padding=kernel_size // 2, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(),
    )
