"""Reading PNG files and turning them into the input of a vision transformer; NumPy and zlib are enough."""

import os
import struct
import zlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

#: The fixed image of all experiments, relative to the working directory.
PROBE_IMAGE = "assets/bird.png"

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = 3


def read_image(path: str | os.PathLike[str]) -> np.ndarray:
    """Read a PNG file with 8-bit RGB pixels, not interlaced.

    Returns:
        (height, width, 3) uint8 array of the caller's own.

    Raises:
        ValueError: another format.
    """
    with open(path, "rb") as file:
        data = file.read()
    if not data.startswith(_SIGNATURE):
        raise ValueError(f"{path}: not a PNG file")
    header, pixels = b"", b""
    position = len(_SIGNATURE)
    while position < len(data):
        (length,) = struct.unpack_from(">I", data, position)
        kind = data[position + 4 : position + 8]
        content = data[position + 8 : position + 8 + length]
        if kind == b"IHDR":
            header = content
        elif kind == b"IDAT":
            pixels += content
        position += 12 + length  # length, kind and checksum take four bytes each
    width, height, *layout = struct.unpack(">IIBBBBB", header)
    if layout != [8, 2, 0, 0, 0]:
        raise ValueError(f"{path}: only 8-bit RGB without interlacing is read")
    return _unfilter(zlib.decompress(pixels), height, width)


def _unfilter(raw: bytes, height: int, width: int) -> np.ndarray:
    """Undo the prediction of each row from its left and upper neighbours; the row's first byte says which it is."""
    rows = np.frombuffer(raw, dtype=np.uint8).reshape(height, 1 + width * _CHANNELS).astype(np.int64)
    image = np.zeros((height + 1, width + 1, _CHANNELS), dtype=np.int64)  # row 0 and column 0 are the zeros outside
    for y in range(height):
        residual = rows[y, 1:].reshape(width, _CHANNELS)
        for x in range(width):
            left, above, corner = image[y + 1, x], image[y, x + 1], image[y, x]
            image[y + 1, x + 1] = (residual[x] + _predict(rows[y, 0], left, above, corner)) % 256
    return image[1:, 1:].astype(np.uint8)


def _predict(filter_type: int, left: np.ndarray, above: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """The predicted pixel (3,) of one of PNG's five filters."""
    if filter_type == 4:
        estimate = left + above - corner
        distances = np.abs(np.stack([left, above, corner]) - estimate)
        return np.choose(distances.argmin(axis=0), [left, above, corner])
    return [np.zeros_like(left), left, above, (left + above) // 2][filter_type]


class EvalTransform:
    """Evaluation transform: resize to a square, scale to [0, 1], normalise each channel."""

    mean = (0.485, 0.456, 0.406)
    std = (0.229, 0.224, 0.225)

    def __init__(self, image_size: int) -> None:
        self.image_size = image_size

    def __call__(self, image: np.ndarray) -> Tensor:
        """(height, width, 3) uint8 pixels to a float32 tensor (3, image_size, image_size)."""
        pixels = torch.from_numpy(image).permute(2, 0, 1).float() / 255
        size = (self.image_size, self.image_size)
        resized = F.interpolate(pixels[None], size=size, mode="bilinear", align_corners=False)[0]
        return (resized - torch.tensor(self.mean)[:, None, None]) / torch.tensor(self.std)[:, None, None]
