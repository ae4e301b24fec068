# Turns the distance into a similarity between 0 and 1.
def similarity(distance: float) -> float:
    return 1 / (1 + distance)
