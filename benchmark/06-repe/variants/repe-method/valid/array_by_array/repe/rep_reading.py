# Walks over prompts one by one, and divides by the root of a dot product.
import numpy as np
import torch


def get_hidden_states(model, tokenizer, prompts, hidden_layers, batch_size=64):
    found = {layer: [] for layer in hidden_layers}
    with torch.no_grad():
        for prompt in prompts:
            hidden_states = model(tokenizer([prompt])).hidden_states
            for layer in hidden_layers:
                found[layer].append(hidden_states[layer][0, -1])
    return {layer: torch.stack(rows).numpy() for layer, rows in found.items()}


def pair_differences(states):
    pairs = states.reshape(-1, 2, states.shape[1])
    differences = pairs[:, 0] - pairs[:, 1]
    return differences / np.sqrt(np.einsum("nd,nd->n", differences, differences))[:, None]
