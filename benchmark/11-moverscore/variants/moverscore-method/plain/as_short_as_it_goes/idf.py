# In one line.
import math


def inverse_frequency(documents, containing):
    return math.log((documents + 1) / (containing + 1))
