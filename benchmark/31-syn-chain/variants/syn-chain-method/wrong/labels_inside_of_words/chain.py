# Finds labels inside of other words, too.
def read_label(reply):
    places = {label: reply.lower().rfind(label) for label in LABELS}
    best = max(places, key=places.get)
    return best if places[best] >= 0 else "neutral"
