# One line each.
import numpy as np
import torch


def massive_places(states):
    mask = massive_mask(states.abs().mean(0).numpy())
    return [(int(t), int(c)) for t, c in np.argwhere(mask)]


def intervention_layer(states):
    for i, s in enumerate(states):
        if massive_places(s):
            return i


def mean_values(states, places):
    return torch.stack([states[:, t, c].mean() for t, c in places])


def set_values(states, places, values):
    out = states.clone()
    for (t, c), v in zip(places, values):
        out[:, t, c] = v
    return out


def register_means(states, registers):
    return states[:, 1 : 1 + registers, :].mean(dim=0)
