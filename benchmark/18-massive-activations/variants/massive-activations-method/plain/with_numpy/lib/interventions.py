# NumPy for the places, and the mean of the whole state.
import numpy as np
import torch


def massive_places(states):
    mag = np.abs(states.detach().numpy()).mean(axis=0)
    tokens, channels = np.where(massive_mask(mag))
    return list(zip(tokens.tolist(), channels.tolist()))


def mean_values(states, places):
    mean_state = torch.mean(states, dim=0)
    return torch.tensor([mean_state[t, c].item() for t, c in places], dtype=states.dtype)
