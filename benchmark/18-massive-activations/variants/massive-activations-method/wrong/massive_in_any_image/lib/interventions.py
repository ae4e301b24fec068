# Collects what is massive in any of the images.
import numpy as np


def massive_places(states):
    mask = np.any([massive_mask(state.abs().numpy()) for state in states], axis=0)
    return [(int(token), int(channel)) for token, channel in zip(*mask.nonzero(), strict=True)]
