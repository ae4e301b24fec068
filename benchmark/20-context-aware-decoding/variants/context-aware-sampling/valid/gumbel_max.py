import torch

from cad.prefix import check_prefix


@torch.no_grad()
def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=1e-14):
    check_prefix(input_ids, context_ids)
    if temperature <= 0:
        raise ValueError("temperature must be above 0")
    query_start = context_ids.size(1)
    generated = input_ids
    finished = False
    while not finished and generated.size(1) < input_ids.size(1) + max_length:
        prior = torch.log_softmax(model(generated[:, query_start:]).logits[0, -1].float(), dim=-1)
        posterior = torch.log_softmax(model(generated).logits[0, -1].float(), dim=-1)
        # PMI form: the ordinary log-probability plus alpha times what the context contributed.
        score = posterior + alpha * (posterior - prior)
        # The noise would be lost beside scores as large as 1e14; with the maximum at 0 it decides between ties.
        score = (score - score.max()) / temperature
        gumbel = -torch.empty_like(score).exponential_().log()
        token = torch.argmax(score + gumbel)
        generated = torch.cat([generated, token.view(1, 1)], dim=1)
        finished = int(token) == tokenizer.eos_token_id
    return generated.clone()
