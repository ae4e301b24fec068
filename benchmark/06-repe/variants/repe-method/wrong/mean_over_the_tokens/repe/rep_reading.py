# Averages the hidden states over all positions.
import numpy as np
import torch


@torch.no_grad()
def get_hidden_states(model, tokenizer, prompts, hidden_layers, batch_size=64):
    parts = {layer: [] for layer in hidden_layers}
    for start in range(0, len(prompts), batch_size):
        tokens = tokenizer(list(prompts[start : start + batch_size]))
        real = (tokens != tokenizer.PAD).unsqueeze(-1)
        hidden_states = model(tokens).hidden_states
        for layer in hidden_layers:
            parts[layer].append(((hidden_states[layer] * real).sum(1) / real.sum(1)).numpy())
    return {layer: np.concatenate(arrays) for layer, arrays in parts.items()}
