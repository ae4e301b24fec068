# One line each.
import numpy as np
import torch


@torch.no_grad()
def get_hidden_states(model, tokenizer, prompts, hidden_layers, batch_size=64):
    batches = [prompts[i : i + batch_size] for i in range(0, len(prompts), batch_size)]
    states = [model(tokenizer(b)).hidden_states for b in batches]
    return {layer: torch.cat([s[layer][:, -1] for s in states]).numpy() for layer in hidden_layers}


def pair_differences(states):
    d = states[0::2] - states[1::2]
    return d / np.linalg.norm(d, axis=1)[:, None]
