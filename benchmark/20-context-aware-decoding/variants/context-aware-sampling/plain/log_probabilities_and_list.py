import torch


def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=1e-14):
    model.eval()
    query_ids = input_ids[:, context_ids.shape[-1] :]
    tokens = []
    with torch.no_grad():
        while len(tokens) < max_length:
            new = torch.tensor([tokens], dtype=torch.long)
            logp_context = torch.log_softmax(model(torch.cat([input_ids, new], dim=-1)).logits[0, -1], dim=-1)
            logp_query = torch.log_softmax(model(torch.cat([query_ids, new], dim=-1)).logits[0, -1], dim=-1)
            score = logp_context + alpha * (logp_context - logp_query)
            if temperature < 1e-6:
                token = int(score.argmax())
            else:
                token = int(torch.multinomial(torch.softmax(score / temperature, dim=-1), 1))
            tokens.append(token)
            if token == tokenizer.eos_token_id:
                break
    return torch.cat([input_ids, torch.tensor([tokens], dtype=torch.long)], dim=-1)
