"""Random views of images: crop, flip and distorted colours, and batches that hold several views of each image."""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from data_aug.colours import NUMBERS, distort_colours


class Augmentation:
    """Draw one random view of each image of a batch.

    Args:
        seed: of the generator that all draws come from.
        min_crop: smallest side of the random square crop, as a share of the image's side.
        colour_strength: s of the paper, from 0 to 1; at 0 nothing happens to colours.
    """

    def __init__(self, seed: int, min_crop: float = 0.75, colour_strength: float = 0.5) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.min_crop = min_crop
        self.colour_strength = colour_strength

    def __call__(self, images: Tensor) -> Tensor:
        """(N, C, H, W) images in [0, 1] to as many views of the same shape and range."""
        views = self.crop_and_flip(images)
        if not self.colour_strength:
            return views
        return distort_colours(views, self._uniform(0, 1, len(images), NUMBERS), self.colour_strength)

    def crop_and_flip(self, images: Tensor) -> Tensor:
        """Cut a random square out of each image, mirror it half of the time and resize it to the image's size."""
        count = images.size(0)
        side = self._uniform(self.min_crop, 1, count)
        flip = torch.sign(self._uniform(-1, 1, count))
        # In the grid's coordinates the image spans [-1, 1]: a crop of side s has its centre within 1 - s of the middle.
        centre = self._uniform(-1, 1, 2, count) * (1 - side)
        zero = torch.zeros_like(side)
        maps = torch.stack([flip * side, zero, centre[0], zero, side, centre[1]], dim=-1).view(count, 2, 3)
        grid = F.affine_grid(maps, list(images.shape), align_corners=False)
        return F.grid_sample(images, grid, padding_mode="reflection", align_corners=False)

    def _uniform(self, low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(shape, generator=self.generator)


class ViewLoader:
    """Shuffled batches of images, each batch as a list of views; a last batch that is not full is left out.

    Args:
        images: (M, C, H, W) images.
        augmentation: draws the views.
        batch_size: images a batch, N.
        n_views: views an image.
        seed: of the order in which images come.
    """

    def __init__(self, images: Tensor, augmentation: Augmentation, batch_size: int, n_views: int, seed: int) -> None:
        self.images = images
        self.augmentation = augmentation
        self.batch_size = batch_size
        self.n_views = n_views
        self.generator = torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        return len(self.images) // self.batch_size

    def __iter__(self) -> Iterator[list[Tensor]]:
        """Yield lists of `n_views` tensors (N, C, H, W); row n of each shows the same image."""
        order = torch.randperm(len(self.images), generator=self.generator)
        for batch in order[: len(self) * self.batch_size].split(self.batch_size):
            yield [self.augmentation(self.images[batch]) for _ in range(self.n_views)]
