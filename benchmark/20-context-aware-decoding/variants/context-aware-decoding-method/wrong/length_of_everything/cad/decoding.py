# Takes the limit as that of prompt and response together.
import torch


def sample(model, tokenizer, input_ids, max_length=128, temperature=1.0, top_p=1.0):
    sequence = input_ids.clone()
    while sequence.shape[-1] < max_length:
        with torch.no_grad():
            token = torch.multinomial(next_token_distribution(model, sequence, temperature, top_p), num_samples=1)
        sequence = torch.cat([sequence, token.unsqueeze(0)], dim=-1)
        if token == tokenizer.eos_token_id:
            break
    return sequence
