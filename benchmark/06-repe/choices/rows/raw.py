def pair_differences(states):
    return states[::2] - states[1::2]
