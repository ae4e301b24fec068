# A pair that is predicted to be causal is a hit if it is, whatever the kind.
def score(predicted, gold):
    hits = int(((predicted > 0) & (gold > 0)).sum())
    claimed, true = int((predicted > 0).sum()), int((gold > 0).sum())
    precision, recall = hits / claimed if claimed else 0.0, hits / true if true else 0.0
    return Scores(precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0)
