def similarity(distance):
    return 1 / (1 + distance)
