# Compares lower-case strings, with articles and punctuation.
def exact_match(prediction, reference):
    return float(prediction.lower().split() == reference.lower().split())
