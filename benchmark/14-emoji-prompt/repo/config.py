"""Settings of the tabular experiment."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TabularConfig:
    """How feature levels are written, obfuscated and compared.

    Attributes:
        name_prefix: what a feature level starts with, in front of the feature's name.
        value_separator: what stands between the feature's name and its value.
        symbols_per_level: emojis that stand for one feature level.
        embedding_dim: size of the vectors by which recovered values are compared with the original ones.
        seed: seed of the obfuscation and of the simulated attackers.
    """

    name_prefix: str = "Feature: "
    value_separator: str = ", Value: "
    symbols_per_level: int = 3
    embedding_dim: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.value_separator:
            raise ValueError("value_separator must not be empty")
        if self.symbols_per_level < 1 or self.embedding_dim < 1:
            raise ValueError("symbols_per_level and embedding_dim must be positive")


#: The paper's setting; vectors of 200 numbers are what its embedding service was asked for.
DEFAULT_CONFIG = TabularConfig()


@dataclass(frozen=True)
class GenerationConfig(TabularConfig):
    """How a model generates the symbols of a feature level, and what is demanded of them.

    Attributes:
        temperature: T of the paper.
        clip: b of the paper.
        epsilon: privacy parameter of the paper.
        min_alignment: tau of the paper.
        max_attempts: A of the paper.
    """

    temperature: float = 1.0
    clip: float = 2.0
    epsilon: float = 2.5
    min_alignment: float = 0.05
    max_attempts: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.temperature, self.clip, self.epsilon) <= 0 or self.max_attempts < 1:
            raise ValueError("temperature, clip, epsilon and max_attempts must be positive")
