# Averages precision and recall.
def combine(precision, recall):
    return (precision + recall) / 2
