# Divides by the length of the vector instead of its square.
def projection(states, vector):
    share = states @ vector / vector.norm()
    return states - share.unsqueeze(-1) * vector
