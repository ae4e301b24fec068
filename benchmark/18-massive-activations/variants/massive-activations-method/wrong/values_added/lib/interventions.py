# Adds the values to what is there.
def set_values(states, places, values):
    changed = states.clone()
    for place, value in zip(places, values, strict=True):
        changed[:, place[0], place[1]] += value
    return changed
