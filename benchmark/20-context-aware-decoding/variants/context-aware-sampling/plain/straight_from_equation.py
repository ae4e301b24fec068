def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=1e-14):
    context_length = context_ids.shape[1]
    generated = input_ids
    for _ in range(max_length):
        logits_context = model(generated).logits[:, -1, :]
        logits_prior = model(generated[:, context_length:]).logits[:, -1, :]
        logits = (1 + alpha) * logits_context - alpha * logits_prior
        probs = torch.softmax(logits / temperature, dim=-1)
        next_token = torch.multinomial(probs, num_samples=1)
        generated = torch.cat([generated, next_token], dim=1)
        if next_token.item() == tokenizer.eos_token_id:
            break
    return generated
