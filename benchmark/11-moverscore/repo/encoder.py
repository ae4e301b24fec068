"""A tiny 12-layer contextual encoder without training: co-occurrence vectors under random attention layers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class LayeredEncoder(Protocol):
    """Anything that gives every token of a sequence one vector a layer."""

    def encode(self, tokens: Sequence[str]) -> Tensor:
        """Vectors (layers, length, width), float32, from the lowest layer to the highest."""
        ...


@dataclass(frozen=True)
class EncoderConfig:
    """Sizes and strengths of the encoder.

    Attributes:
        width: size of a token vector.
        window: how many tokens to either side count as neighbours.
        layers: attention layers on top of the static vectors, which are one more layer of the output.
        context_weight: how much of a token's surroundings one layer mixes in.
        position_weight: size of the position vectors beside the static ones.
        seed: seed of the random weights.
    """

    width: int = 40
    window: int = 3
    layers: int = 12
    context_weight: float = 0.06
    position_weight: float = 0.1
    seed: int = 0


class ToyEncoder:
    """Static vectors first; each layer then adds a little of what a token attends to."""

    def __init__(self, corpus: Sequence[Sequence[str]], pieces: Sequence[str], config: EncoderConfig) -> None:
        """Learn the static vectors of `pieces` from the tokenized texts of `corpus`."""
        self.config = config
        self.ids = {piece: index for index, piece in enumerate(pieces)}
        self.static = static_vectors([[self.ids[token] for token in text] for text in corpus], len(pieces), config)
        generator = torch.Generator().manual_seed(config.seed)
        noise = torch.randn(config.layers, config.width, config.width, generator=generator) / math.sqrt(config.width)
        # Nearly the identity, so that similar tokens attend to each other.
        self.projections = torch.eye(config.width) + 0.4 * noise

    def encode(self, tokens: Sequence[str]) -> Tensor:
        """Vectors (config.layers + 1, length, width) of one sequence of known pieces."""
        static = self.static[[self.ids[token] for token in tokens]]
        layers = [static + self.config.position_weight * self._positions(len(tokens))]
        for projection in self.projections:
            projected = layers[-1] @ projection
            attention = torch.softmax(projected @ projected.T / math.sqrt(self.config.width), dim=-1)
            layers.append(layers[-1] + self.config.context_weight * attention @ projected)
        return torch.stack(layers)

    def _positions(self, length: int) -> Tensor:
        """Sinusoids (length, width) of growing wavelength."""
        wavelengths = 100 ** torch.linspace(0, 1, self.config.width // 2)
        angles = torch.arange(length).unsqueeze(1) / wavelengths
        return torch.cat([angles.sin(), angles.cos()], dim=1)


def static_vectors(texts: Sequence[Sequence[int]], vocabulary_size: int, config: EncoderConfig) -> Tensor:
    """Vectors (vocabulary, width) from how often tokens stand near each other.

    Positive pointwise mutual information of neighbours, reduced by a singular value decomposition. Tokens that are not
    in the texts get small random vectors.
    """
    counts = torch.zeros(vocabulary_size, vocabulary_size, dtype=torch.float64)
    for text in texts:
        for place, token in enumerate(text):
            for neighbour in text[place + 1 : place + 1 + config.window]:
                counts[token, neighbour] += 1
                counts[neighbour, token] += 1

    frequency = counts.sum(dim=1)
    expected = frequency.unsqueeze(1) * frequency / frequency.sum()
    information = torch.where(counts > 0, counts / expected, 1.0).log().clamp(min=0)
    left, values, _ = torch.linalg.svd(information)
    vectors = left[:, : config.width] * values[: config.width].sqrt()

    generator = torch.Generator().manual_seed(config.seed + 1)
    random = 0.1 * torch.randn(vocabulary_size, config.width, generator=generator, dtype=torch.float64)
    return torch.where((frequency > 0).unsqueeze(1), vectors, random).float()
