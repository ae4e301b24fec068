"""How probable a given answer is, and what the context says about it."""

from typing import Protocol

import torch


class ModelOutput(Protocol):
    """What a forward pass returns."""

    logits: torch.Tensor


class CausalLM(Protocol):
    """Any causal language model: ids (1, L) in, logits (1, ..., vocab) out, the last ones those of the next token."""

    def __call__(self, input_ids: torch.Tensor) -> ModelOutput: ...


@torch.no_grad()
def answer_log_probs(model: CausalLM, input_ids: torch.Tensor, answer_ids: torch.Tensor) -> torch.Tensor:
    """Log-probability of each token of a given answer after a prompt.

    Args:
        model: called with sequences (1, L); nothing but its logits for the next token is read.
        input_ids: LongTensor (1, L), the prompt, not empty.
        answer_ids: LongTensor (1, A), A at least 1.

    Returns:
        (A,), in the dtype of the logits.
    """
    results = []
    sequence = input_ids
    for token in answer_ids[0]:
        log_probs = model(sequence).logits[0, -1].log_softmax(dim=-1)
        results.append(log_probs[token])
        sequence = torch.cat([sequence, token.view(1, 1)], dim=-1)
    return torch.stack(results)


def pointwise_information(
    model: CausalLM, context_ids: torch.Tensor, query_ids: torch.Tensor, answer_ids: torch.Tensor
) -> torch.Tensor:
    """PMI of the paper for each token of a given answer, in nats.

    Args:
        model: causal language model, not adjusted.
        context_ids: LongTensor (1, Lc).
        query_ids: LongTensor (1, Lq), not empty; a prompt is the context followed by it.
        answer_ids: LongTensor (1, A), A at least 1.

    Returns:
        (A,), in the dtype of the logits.
    """
    prompt = torch.cat([context_ids, query_ids], dim=-1)
    return answer_log_probs(model, prompt, answer_ids) - answer_log_probs(model, query_ids, answer_ids)
