# Moves the hidden states the other way.
def linear_combination(states, vector):
    return states - vector
