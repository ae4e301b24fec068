"""Context-aware sampling: contrast what a model says with the context and without it."""

from typing import Protocol

import torch

from cad.filters import top_p_filter
from cad.prefix import check_prefix
from cad.toy_lm import LMOutput


class ModelOutput(Protocol):
    """What a forward pass returns."""

    logits: torch.Tensor


class CausalLM(Protocol):
    """Any causal language model: ids (1, L) in, logits (1, L, vocab) out."""

    def __call__(self, input_ids: torch.Tensor) -> ModelOutput: ...


class Tokenizer(Protocol):
    """The one thing that decoding needs to know of a tokenizer."""

    eos_token_id: int


def prior_input(sequence: torch.Tensor, context_length: int) -> torch.Tensor:
    """Sequence that the model reads to show its prior knowledge.

    Args:
        sequence: LongTensor (1, L): the context, a non-empty query, and the new tokens so far.
        context_length: the number of context tokens, 0 or more.

    Returns:
        LongTensor (1, L'), not empty.
    """
    return sequence[:, context_length:]


def contrast(with_context: torch.Tensor, without_context: torch.Tensor, alpha: float) -> torch.Tensor:
    """Logits of the adjusted distribution, from those of the model with and without the context.

    Args:
        with_context, without_context: (..., vocab), finite logits of one dtype, float32 or float64.
        alpha: strength of the contrast; any float.

    Returns:
        (..., vocab), in the same dtype; only their softmax matters.
    """
    return (1 + alpha) * with_context - alpha * without_context


class ContextAwareLM:
    """The adjusted distribution as a causal language model, for prompts that begin with one context.

    Args:
        model: causal language model, called as `model(ids)` with ids (1, L); its `.logits` are (1, L, vocab).
        context_length: the number of tokens at the start of each sequence that are the context.
        alpha: strength of the contrast.
    """

    def __init__(self, model: CausalLM, context_length: int, alpha: float) -> None:
        self.model = model
        self.context_length = context_length
        self.alpha = alpha

    @torch.no_grad()
    def __call__(self, input_ids: torch.Tensor) -> LMOutput:
        """Logits of the next token.

        Args:
            input_ids: LongTensor (1, L): the context, a non-empty query, and the new tokens so far.

        Returns:
            Output with logits (1, 1, vocab): the next token after the last one, in float32, or float64 if the model's
            logits are.
        """
        outputs = [self.model(ids) for ids in (input_ids, prior_input(input_ids, self.context_length))]
        # Half-precision logits would overflow when divided by a tiny temperature.
        dtype = torch.promote_types(outputs[0].logits.dtype, torch.float32)
        with_context, without_context = (output.logits[:, -1:].to(dtype) for output in outputs)
        return LMOutput(contrast(with_context, without_context, self.alpha))


def next_token_distribution(
    model: CausalLM, sequence: torch.Tensor, temperature: float = 1.0, top_p: float = 1.0
) -> torch.Tensor:
    """Distribution from which the next token is drawn.

    Args:
        model: causal language model; the last of its logits are those of the next token.
        sequence: LongTensor (1, L), the tokens so far.
        temperature: above 0.
        top_p: see `top_p_filter`; 1 keeps every token.

    Returns:
        (vocab,) probabilities that add up to 1, zero for tokens that the filter drops.
    """
    logits = model(sequence).logits[0, -1] / temperature
    return torch.softmax(top_p_filter(logits, top_p) if top_p < 1 else logits, dim=-1)


def sample(
    model: CausalLM,
    tokenizer: Tokenizer,
    input_ids: torch.Tensor,
    max_length: int = 128,
    temperature: float = 1.0,
    top_p: float = 1.0,
) -> torch.Tensor:
    """Sample a continuation of a prompt from any causal language model, without gradients.

    Args:
        model, temperature, top_p: as for `next_token_distribution`.
        tokenizer: its `eos_token_id` ends the generation.
        input_ids: LongTensor (1, L), not empty. Never changed.
        max_length: the largest number of new tokens.

    Returns:
        LongTensor (1, L + new): the prompt and the new tokens, the last of them the end token if it was drawn.
    """
    sequence = input_ids.clone()
    for _ in range(max_length):
        with torch.no_grad():
            probabilities = next_token_distribution(model, sequence, temperature, top_p)
        next_token = torch.multinomial(probabilities, num_samples=1)
        sequence = torch.hstack([sequence, next_token.unsqueeze(0)])
        if next_token == tokenizer.eos_token_id:
            break
    return sequence


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
    adjusted = ContextAwareLM(model, context_ids.shape[-1], alpha)
    return sample(adjusted, tokenizer, input_ids, max_length, temperature)
