# Takes the hidden state at the token before the last.
import numpy as np
import torch


@torch.no_grad()
def get_hidden_states(model, tokenizer, prompts, hidden_layers, batch_size=64):
    parts = {layer: [] for layer in hidden_layers}
    for start in range(0, len(prompts), batch_size):
        hidden_states = model(tokenizer(list(prompts[start : start + batch_size]))).hidden_states
        for layer in hidden_layers:
            parts[layer].append(hidden_states[layer][:, -2].numpy())
    return {layer: np.concatenate(arrays) for layer, arrays in parts.items()}
