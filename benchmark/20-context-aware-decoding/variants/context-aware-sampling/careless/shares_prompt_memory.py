# Starts from input_ids itself, so that with max_length 0 the prompt is returned and not a copy.
import torch

from cad.prefix import check_prefix


def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=1e-14):
    check_prefix(input_ids, context_ids)
    if temperature <= 0:
        raise ValueError("temperature must be above 0")
    context_length = context_ids.shape[-1]
    ids = input_ids
    for _ in range(max_length):
        with torch.no_grad():
            full = model(ids).logits[:, -1].float()
            prior = model(ids[:, context_length:]).logits[:, -1].float()
        logits = (1 + alpha) * full - alpha * prior
        probabilities = torch.softmax(logits / temperature, dim=-1)
        token = torch.multinomial(probabilities, num_samples=1)
        ids = torch.cat([ids, token], dim=-1)
        if token.item() == tokenizer.eos_token_id:
            break
    return ids
