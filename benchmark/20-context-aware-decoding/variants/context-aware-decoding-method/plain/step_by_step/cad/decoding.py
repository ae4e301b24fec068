# Log-probabilities, a clamp against overflow, and separate steps.
import torch
import torch.nn.functional as F


def prior_input(sequence, context_length):
    if context_length == 0:
        return sequence
    return sequence[:, context_length:].contiguous()


def contrast(with_context, without_context, alpha):
    pmi = F.log_softmax(with_context, dim=-1) - F.log_softmax(without_context, dim=-1)
    return with_context + alpha * pmi


class ContextAwareLM:
    @torch.no_grad()
    def __call__(self, input_ids):
        full_logits = self.model(input_ids).logits[:, -1, :]
        prior_logits = self.model(prior_input(input_ids, self.context_length)).logits[:, -1, :]
        if full_logits.dtype in (torch.float16, torch.bfloat16):
            full_logits, prior_logits = full_logits.float(), prior_logits.float()
        adjusted = contrast(full_logits, prior_logits, self.alpha)
        return LMOutput(logits=adjusted[:, None, :])


def next_token_distribution(model, sequence, temperature=1.0, top_p=1.0):
    logits = model(sequence).logits[0, -1, :]
    scaled = logits / temperature
    if top_p < 1.0:
        scaled = top_p_filter(scaled, top_p)
    return F.softmax(scaled, dim=-1)


@torch.no_grad()
def sample(model, tokenizer, input_ids, max_length=128, temperature=1.0, top_p=1.0):
    tokens = input_ids[0].tolist()
    for _ in range(max_length):
        current = torch.tensor(tokens, dtype=torch.long).unsqueeze(0)
        distribution = next_token_distribution(model, current, temperature, top_p)
        token = torch.multinomial(distribution, num_samples=1).item()
        tokens.append(token)
        if token == tokenizer.eos_token_id:
            break
    return torch.tensor(tokens, dtype=torch.long).unsqueeze(0)


def context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha=0.9, max_length=128, temperature=1e-14):
    check_prefix(input_ids, context_ids)
    if temperature <= 0:
        raise ValueError(f"bad temperature {temperature}")
    lm = ContextAwareLM(model, context_ids.size(1), alpha)
    return sample(lm, tokenizer, input_ids, max_length=max_length, temperature=temperature, top_p=1.0)
