import torch

from cad.prefix import check_prefix


def _draw(logits: torch.Tensor) -> int:
    """Invert the cumulative distribution at a uniform random number."""
    cumulative = torch.softmax(logits.double(), dim=-1).cumsum(dim=-1)
    threshold = torch.rand((), dtype=torch.float64) * cumulative[-1]
    return min(int(torch.searchsorted(cumulative, threshold, right=True)), len(cumulative) - 1)


def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=1e-14):
    check_prefix(input_ids, context_ids)
    if temperature <= 0:
        raise ValueError("temperature must be above 0")
    start, end = context_ids.numel(), input_ids.numel()
    buffer = torch.zeros(1, end + max_length, dtype=torch.long)
    buffer[:, :end] = input_ids
    limit = end + max_length
    while end < limit:
        with torch.inference_mode():
            full = model(buffer[:, :end].clone()).logits[0, -1, :].float()
            prior = model(buffer[:, start:end].clone()).logits[0, -1, :].float()
            token = _draw(torch.lerp(prior, full, 1 + alpha) / temperature)
        buffer[0, end] = token
        end += 1
        if token == tokenizer.eos_token_id:
            break
    return buffer[:, :end].clone()
