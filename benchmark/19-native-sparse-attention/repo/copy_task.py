"""A generated recall task: repeat a pattern that lies far behind a stretch of noise."""

from dataclasses import dataclass

import torch
from torch import Tensor

IGNORED = -100


@dataclass(frozen=True)
class CopyTask:
    """Sequences `pattern, noise, pattern`; only the second pattern is to be predicted.

    Pattern and noise are drawn from the same symbols, so nothing but the distance tells them apart: each answer lies
    `pattern_length + noise_length` tokens back.
    """

    symbols: int = 16
    pattern_length: int = 16
    noise_length: int = 32

    @property
    def length(self) -> int:
        """Number of tokens in a sequence."""
        return 2 * self.pattern_length + self.noise_length

    def sample(self, batch_size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw a batch.

        Returns:
            Tokens (B, T), int64, and next-token targets (B, T), int64, which are -100 wherever the next token is not
            part of the second pattern.
        """
        prefix = (batch_size, self.pattern_length + self.noise_length)
        tokens = torch.randint(self.symbols, prefix, generator=generator)
        tokens = torch.cat([tokens, tokens[:, : self.pattern_length]], dim=1)
        targets = torch.full_like(tokens, IGNORED)
        targets[:, -self.pattern_length - 1 : -1] = tokens[:, -self.pattern_length :]
        return tokens, targets
