"""The opponent's side of the game: answers sampled from a language model."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from spin.data import END_TOKEN


@torch.no_grad()
def generate_answers(
    model: nn.Module, prompts: Sequence[list[int]], max_new_tokens: int, generator: torch.Generator
) -> list[list[int]]:
    """Sample one answer to each prompt, at temperature 1 from the whole vocabulary.

    Args:
        model: maps (B, T) tokens to (B, T, V) logits.
        prompts: B prompts of the same number of tokens.
        max_new_tokens: an answer that has not ended by then is cut off, without an end token.
        generator: source of randomness.

    Returns:
        B lists of tokens, up to and with the end token.
    """
    input_ids = torch.tensor(prompts)
    for _ in range(max_new_tokens):
        probabilities = model(input_ids)[:, -1].softmax(dim=-1)
        tokens = torch.multinomial(probabilities, num_samples=1, generator=generator)
        input_ids = torch.cat([input_ids, tokens], dim=1)
    return [_up_to_end(answer) for answer in input_ids[:, len(prompts[0]) :]]


def _up_to_end(answer: Tensor) -> list[int]:
    tokens = answer.tolist()
    return tokens[: tokens.index(END_TOKEN) + 1] if END_TOKEN in tokens else tokens
