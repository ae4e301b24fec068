# Lets no score fall below 0.
def similarity(distance: float) -> float:
    return max(0.0, 1 - distance)
