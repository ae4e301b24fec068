import torch
from torch.nn import functional as F


@torch.no_grad()
def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=1e-14):
    sequence = input_ids
    start = context_ids.shape[-1]
    for _ in range(max_length):
        p_context = F.softmax(model(sequence).logits[:, -1], dim=-1)
        p_prior = F.softmax(model(sequence[:, start:]).logits[:, -1], dim=-1)
        adjusted = p_context * (p_context / (p_prior + 1e-12)) ** alpha
        token = torch.multinomial(F.softmax(torch.log(adjusted) / temperature, dim=-1), num_samples=1)
        sequence = torch.cat([sequence, token], dim=-1)
        if (token == tokenizer.eos_token_id).all():
            break
    return sequence
