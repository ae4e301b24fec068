import numpy as np
import torch

from cad.prefix import check_prefix


def _last_logits(model, tokens: list[int]) -> np.ndarray:
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0, -1].float().numpy().astype(np.float64)


def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=1e-14):
    check_prefix(input_ids, context_ids)
    if temperature <= 0:
        raise ValueError("temperature must be above 0")
    with_context = input_ids[0].tolist()
    without_context = with_context[context_ids.shape[-1] :]
    for _ in range(max_length):
        scores = (1 + alpha) * _last_logits(model, with_context) - alpha * _last_logits(model, without_context)
        weights = np.exp((scores - scores.max()) / temperature)
        token = int(np.random.choice(len(weights), p=weights / weights.sum()))
        with_context.append(token)
        without_context.append(token)
        if token == tokenizer.eos_token_id:
            break
    return torch.tensor([with_context], dtype=torch.long)
