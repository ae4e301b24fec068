# The harmonic mean of averaged precision and averaged recall.
def macro_f1(labels, answers):
    precision, recall = 0.0, 0.0
    for label in LABELS:
        found = [answer == label for answer in answers]
        true = [truth == label for truth in labels]
        hits = sum(f and t for f, t in zip(found, true))
        precision += hits / max(sum(found), 1) / len(LABELS)
        recall += hits / max(sum(true), 1) / len(LABELS)
    return 2 * precision * recall / max(precision + recall, 1e-12)
