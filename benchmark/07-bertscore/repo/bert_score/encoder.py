"""A tiny contextual encoder without training: co-occurrence vectors, then attention layers with random weights."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


@dataclass(frozen=True)
class EncoderConfig:
    """Sizes and strengths of the encoder.

    Attributes:
        width: size of a token vector.
        window: how many tokens to either side count as neighbours.
        layers: attention layers on top of the static vectors.
        context_weight: how much of a token's surroundings one layer mixes in.
        position_weight: size of the position vectors beside the static ones.
        seed: seed of the random weights.
    """

    width: int = 48
    window: int = 3
    layers: int = 2
    context_weight: float = 0.25
    position_weight: float = 0.15
    seed: int = 0


class Encoder(Protocol):
    """Anything that gives each token of a sequence a vector."""

    def encode(self, ids: Sequence[int]) -> Tensor:
        """Token vectors (length, width), float32, of one sequence without padding."""
        ...


class LayeredEncoder(Protocol):
    """Anything that gives each token of a sequence one vector a layer."""

    def encode_layers(self, ids: Sequence[int]) -> Sequence[Tensor]:
        """Token vectors (length, width) of all layers of one sequence, from the lowest layer to the highest."""
        ...


@dataclass(frozen=True)
class OneLayer:
    """An encoder that stops at one layer of another."""

    encoder: LayeredEncoder
    layer: int

    def encode(self, ids: Sequence[int]) -> Tensor:
        """Token vectors (length, width) of one sequence without padding."""
        return self.encoder.encode_layers(ids)[self.layer]


class ToyEncoder:
    """Maps a sequence of token ids to one vector a position; equal tokens differ with place and surroundings."""

    def __init__(self, corpus_ids: Sequence[Sequence[int]], vocabulary_size: int, config: EncoderConfig) -> None:
        self.config = config
        self.static = static_vectors(corpus_ids, vocabulary_size, config)
        generator = torch.Generator().manual_seed(config.seed)
        shape = (config.layers, config.width, config.width)
        # Nearly the identity, so that similar tokens attend to each other.
        noise = torch.randn(shape, generator=generator) / math.sqrt(config.width)
        self.projections = torch.eye(config.width) + 0.5 * noise

    def encode(self, ids: Sequence[int]) -> Tensor:
        """Token vectors (length, width), float32, of one sequence without padding: those of the last layer."""
        return self.encode_layers(ids)[-1]

    def encode_layers(self, ids: Sequence[int]) -> list[Tensor]:
        """Token vectors (length, width) of all layers, the static ones first."""
        layers = [self.static[list(ids)] + self.config.position_weight * self._positions(len(ids))]
        for projection in self.projections:
            projected = layers[-1] @ projection
            attention = torch.softmax(projected @ projected.T / math.sqrt(self.config.width), dim=-1)
            layers.append(layers[-1] + self.config.context_weight * attention @ projected)
        return layers

    def _positions(self, length: int) -> Tensor:
        """Sinusoids (length, width) of growing wavelength."""
        wavelengths = 100 ** torch.linspace(0, 1, self.config.width // 2)
        angles = torch.arange(length).unsqueeze(1) / wavelengths
        return torch.cat([angles.sin(), angles.cos()], dim=1)


def static_vectors(corpus_ids: Sequence[Sequence[int]], vocabulary_size: int, config: EncoderConfig) -> Tensor:
    """Vectors (vocabulary, width) of all tokens, from how often they stand near each other in the corpus.

    Positive pointwise mutual information of neighbours, reduced by a singular value decomposition. Tokens that the
    corpus does not contain get small random vectors.
    """
    counts = torch.zeros(vocabulary_size, vocabulary_size, dtype=torch.float64)
    for ids in corpus_ids:
        sequence = torch.tensor(ids)
        for distance in range(1, min(config.window, len(ids) - 1) + 1):
            left, right = sequence[:-distance], sequence[distance:]
            ones = torch.ones(len(left), dtype=torch.float64)
            counts.index_put_((left, right), ones, accumulate=True)
            counts.index_put_((right, left), ones, accumulate=True)

    frequency = counts.sum(dim=1)
    expected = frequency.unsqueeze(1) * frequency / frequency.sum()
    information = torch.where(counts > 0, counts / expected, 1.0).log().clamp(min=0)
    left, values, _ = torch.linalg.svd(information)
    vectors = left[:, : config.width] * values[: config.width].sqrt()

    generator = torch.Generator().manual_seed(config.seed + 1)
    random = 0.1 * torch.randn(vocabulary_size, config.width, generator=generator, dtype=torch.float64)
    return torch.where((frequency > 0).unsqueeze(1), vectors, random).float()
