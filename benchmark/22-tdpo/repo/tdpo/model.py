"""A tiny recurrent language model, and sampling from it."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tdpo.batching import END_TOKEN, PAD_TOKEN


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the network."""

    width: int
    layers: int


class RecurrentLM(nn.Module):
    """Causal language model: token embedding, gated recurrent units, linear output layer.

    There is no padding mask: sequences are padded on the right, and no position sees what stands to its right.
    """

    def __init__(self, config: ModelConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, config.width)
        self.recurrence = nn.GRU(config.width, config.width, config.layers, batch_first=True)
        self.head = nn.Linear(config.width, vocabulary_size)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Score the next token at each position.

        Args:
            input_ids: (B, T) tokens.

        Returns:
            (B, T, V) logits; those at position t score the token at t + 1.
        """
        hidden, _ = self.recurrence(self.embedding(input_ids))
        return self.head(hidden)

    @torch.no_grad()
    def sample(self, prompts: Tensor, max_new_tokens: int, generator: torch.Generator) -> Tensor:
        """Continue prompts of one length by ancestral sampling.

        Args:
            prompts: (B, T) tokens without padding.
            max_new_tokens: after so many tokens a continuation ends, with or without an end token.
            generator: source of randomness.

        Returns:
            (B, max_new_tokens) continuations; behind an end token there is nothing but padding.
        """
        hidden, state = self.recurrence(self.embedding(prompts))
        finished = torch.zeros(prompts.size(0), dtype=torch.bool)
        continuation = []
        for _ in range(max_new_tokens):
            probabilities = self.head(hidden[:, -1]).softmax(dim=-1)
            tokens = torch.multinomial(probabilities, 1, generator=generator).squeeze(1)
            tokens = tokens.masked_fill(finished, PAD_TOKEN)
            finished = finished | (tokens == END_TOKEN)
            continuation.append(tokens)
            hidden, state = self.recurrence(self.embedding(tokens.unsqueeze(1)), state)
        return torch.stack(continuation, dim=1)
