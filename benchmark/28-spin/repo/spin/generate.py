"""The opponent's side of the game: answers sampled from a language model."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from spin.data import END_TOKEN


def draw(probabilities: Tensor, numbers: Tensor) -> Tensor:
    """Draw one token in each row: the first whose cumulative probability exceeds the row's number.

    Args:
        probabilities: (B, V), at least 0; rows need not sum to 1.
        numbers: (B,) uniform numbers in [0, 1).

    Returns:
        (B,) int64 tokens.
    """
    cumulative = probabilities.cumsum(dim=1)
    return (cumulative <= numbers.unsqueeze(1) * cumulative[:, -1:]).sum(dim=1)


@torch.no_grad()
def generate_answers(
    model: nn.Module, prompts: Sequence[list[int]], max_new_tokens: int, numbers: Tensor
) -> list[list[int]]:
    """Sample one answer to each prompt, token by token, with `draw`.

    Args:
        model: maps (B, T) tokens to (B, T, V) logits.
        prompts: B prompts of the same number of tokens.
        max_new_tokens: an answer that has not ended by then is cut off, without an end token.
        numbers: (B, max_new_tokens), what `draw` takes for token k of answer b at [b, k].

    Returns:
        B lists of tokens, up to and with the end token.
    """
    input_ids = torch.tensor(prompts)
    for step in range(max_new_tokens):
        probabilities = model(input_ids)[:, -1].softmax(dim=-1)
        tokens = draw(probabilities, numbers[:, step])
        input_ids = torch.cat([input_ids, tokens.unsqueeze(1)], dim=1)
    return [up_to_end(answer) for answer in input_ids[:, len(prompts[0]) :].tolist()]


def up_to_end(answer: list[int]) -> list[int]:
    """An answer without what follows its first end token."""
    return answer[: answer.index(END_TOKEN) + 1] if END_TOKEN in answer else answer
