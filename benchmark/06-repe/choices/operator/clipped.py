def piecewise(states, vector):
    share = (states @ vector / vector.square().sum()).clamp(-1, 1)
    return states + share.unsqueeze(-1) * vector
