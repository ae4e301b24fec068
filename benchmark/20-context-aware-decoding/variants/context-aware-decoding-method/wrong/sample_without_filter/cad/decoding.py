# Ignores top_p while it draws.
import torch


def sample(model, tokenizer, input_ids, max_length=128, temperature=1.0, top_p=1.0):
    sequence = input_ids.clone()
    for _ in range(max_length):
        with torch.no_grad():
            probabilities = next_token_distribution(model, sequence, temperature, 1.0)
        next_token = torch.multinomial(probabilities, num_samples=1)
        sequence = torch.hstack([sequence, next_token.unsqueeze(0)])
        if next_token == tokenizer.eos_token_id:
            break
    return sequence
