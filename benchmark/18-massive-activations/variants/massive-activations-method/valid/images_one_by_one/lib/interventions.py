# Loops over images.
import numpy as np
import torch


def mean_values(states, places):
    return torch.tensor([np.mean([float(s[t, c]) for s in states]) for t, c in places], dtype=states.dtype)


def set_values(states, places, values):
    images = []
    for state in states:
        state = state.clone()
        for (token, channel), value in zip(places, values, strict=True):
            state[token, channel] = float(value)
        images.append(state)
    return torch.stack(images)
