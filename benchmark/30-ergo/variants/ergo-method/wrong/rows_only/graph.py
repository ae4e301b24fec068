# Neighbours share the first event, or they share the second.
def criss_cross_mask(pairs):
    return (pairs[:, None] == pairs[None]).any(dim=2)
