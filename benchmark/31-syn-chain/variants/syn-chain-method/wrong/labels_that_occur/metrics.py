# Averages over the labels that occur.
def macro_f1(labels, answers):
    scores = []
    for label in sorted(set(labels)):
        found = [answer == label for answer in answers]
        true = [truth == label for truth in labels]
        hits = sum(f and t for f, t in zip(found, true))
        scores.append(2 * hits / max(sum(found) + sum(true), 1))
    return sum(scores) / len(scores)
