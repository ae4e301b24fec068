# Takes the layer with the largest activation.
def intervention_layer(states):
    found = [number for number, state in enumerate(states) if massive_places(state)]
    return max(found, key=lambda number: states[number].abs().max().item(), default=None)
