import torch
from torch.distributions import Categorical

from cad.prefix import check_prefix


def _step(model, sequences: list[torch.Tensor], weights: list[float], temperature: float) -> torch.Tensor:
    """Draw from the product of the distributions after each sequence, raised to its weight: shape (1,)."""
    rows = [model(sequence).logits[:, -1, :].to(torch.float32) for sequence in sequences]
    combined = sum(weight / temperature * row.log_softmax(dim=-1) for weight, row in zip(weights, rows, strict=True))
    return Categorical(logits=combined).sample()


@torch.inference_mode()
def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=1e-14):
    check_prefix(input_ids, context_ids)
    if temperature <= 0:
        raise ValueError("temperature must be above 0")
    sequences = [input_ids.clone(), input_ids[:, context_ids.shape[1] :].clone()]
    remaining = max_length
    while remaining > 0:
        token = _step(model, sequences, [1 + alpha, -alpha], temperature)
        sequences = [torch.hstack([sequence, token[None]]) for sequence in sequences]
        remaining = 0 if token.item() == tokenizer.eos_token_id else remaining - 1
    return sequences[0]
