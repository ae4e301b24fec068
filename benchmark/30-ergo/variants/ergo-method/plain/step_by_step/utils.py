# One pair after the other.
def score(predicted, gold):
    hits = claimed = true = 0
    for p, g in zip(predicted.tolist(), gold.tolist()):
        claimed += p > 0
        true += g > 0
        hits += p > 0 and p == g
    precision = hits / claimed if claimed else 0.0
    recall = hits / true if true else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return Scores(precision, recall, f1)
