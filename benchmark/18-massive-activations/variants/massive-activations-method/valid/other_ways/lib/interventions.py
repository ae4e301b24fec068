# Index tensors instead of loops over places.
import torch


def massive_places(states):
    average = states.abs().sum(dim=0) / len(states)
    return [tuple(place) for place in torch.from_numpy(massive_mask(average.numpy())).nonzero().tolist()]


def intervention_layer(states):
    for number, state in enumerate(states):
        if len(massive_places(state)) > 0:
            return number
    return None


def mean_values(states, places):
    tokens, channels = zip(*places, strict=True)
    return states[:, list(tokens), list(channels)].mean(dim=0)


def set_values(states, places, values):
    tokens, channels = (torch.tensor(numbers) for numbers in zip(*places, strict=True))
    changed = states.clone()
    changed[:, tokens, channels] = values.to(states.dtype)
    return changed


def register_means(states, registers):
    return states.mean(dim=0)[1 : registers + 1]
