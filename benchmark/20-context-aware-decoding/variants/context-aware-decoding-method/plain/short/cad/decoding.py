# As short as it goes.
def prior_input(sequence, context_length):
    return sequence[:, context_length:]


def contrast(with_context, without_context, alpha):
    return (1 + alpha) * with_context - alpha * without_context


class ContextAwareLM:
    @torch.no_grad()
    def __call__(self, input_ids):
        a = self.model(input_ids).logits[:, -1:]
        b = self.model(prior_input(input_ids, self.context_length)).logits[:, -1:]
        return LMOutput(contrast(a, b, self.alpha))


def next_token_distribution(model, sequence, temperature=1.0, top_p=1.0):
    logits = model(sequence).logits[0, -1] / temperature
    if top_p < 1:
        logits = top_p_filter(logits, top_p)
    return logits.softmax(-1)


def sample(model, tokenizer, input_ids, max_length=128, temperature=1.0, top_p=1.0):
    seq = input_ids
    for _ in range(max_length):
        with torch.no_grad():
            p = next_token_distribution(model, seq, temperature, top_p)
        tok = torch.multinomial(p, 1)
        seq = torch.cat([seq, tok[None]], 1)
        if tok.item() == tokenizer.eos_token_id:
            break
    return seq


def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=1e-14):
    check_prefix(input_ids, context_ids)
    if temperature <= 0:
        raise ValueError("temperature")
    return sample(ContextAwareLM(model, context_ids.shape[1], alpha), tokenizer, input_ids, max_length, temperature)
