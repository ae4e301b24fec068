"""Context-aware sampling: contrast what a model says with the context and without it."""

from typing import Protocol

import torch

from cad.prefix import check_prefix


class ModelOutput(Protocol):
    """What a forward pass returns."""

    logits: torch.Tensor


class CausalLM(Protocol):
    """Any causal language model: ids (1, L) in, logits (1, L, vocab) out."""

    def __call__(self, input_ids: torch.Tensor) -> ModelOutput: ...


class Tokenizer(Protocol):
    """The one thing that decoding needs to know of a tokenizer."""

    eos_token_id: int


def context_aware_sampling(
    model: CausalLM,
    tokenizer: Tokenizer,
    input_ids: torch.Tensor,
    context_ids: torch.Tensor,
    alpha: float = 0.9,
    max_length: int = 128,
    temperature: float = 1e-14,
) -> torch.Tensor:
    """Sample a continuation of a prompt from the context-contrasted next-token distribution.

    Args:
        model: causal language model, called as `model(ids)` with ids (1, L); its `.logits` are (1, L, vocab).
        tokenizer: its `eos_token_id` ends the generation.
        input_ids: LongTensor (1, Lc + Lq), the context followed by a non-empty query. Never changed.
        context_ids: LongTensor (1, Lc), the context that `input_ids` starts with.
        alpha: strength of the contrast; any float.
        max_length: the largest number of new tokens, prompt not counted.
        temperature: temperature of the softmax over the vocabulary, above 0; the tiny default makes sampling greedy.

    Returns:
        LongTensor (1, Lc + Lq + new): the prompt and the new tokens, the last of them the end token if it was drawn.

    Raises:
        ValueError: the prompt does not pass `check_prefix`, or `temperature` is not above 0.
    """
    check_prefix(input_ids, context_ids)
    if temperature <= 0:
        raise ValueError(f"temperature must be above 0, not {temperature}")
    _, context_length = context_ids.shape
    sequence = input_ids.clone()
    for _ in range(max_length):
        with torch.no_grad():
            # Half-precision logits would overflow when divided by a tiny temperature.
            with_context = model(sequence).logits[:, -1].float()
            without_context = model(sequence[:, context_length:]).logits[:, -1].float()
        contrasted = (1 + alpha) * with_context - alpha * without_context
        probabilities = torch.softmax(contrasted / temperature, dim=-1)
        next_token = torch.multinomial(probabilities, num_samples=1)
        sequence = torch.hstack([sequence, next_token])
        if next_token == tokenizer.eos_token_id:
            break
    return sequence
