# A confusion matrix.
from collections import Counter


def macro_f1(labels, answers):
    pairs = Counter(zip(labels, answers))
    total = 0.0
    for label in LABELS:
        true = sum(count for (truth, _), count in pairs.items() if truth == label)
        found = sum(count for (_, answer), count in pairs.items() if answer == label)
        if pairs[label, label]:
            precision, recall = pairs[label, label] / found, pairs[label, label] / true
            total += 2 / (1 / precision + 1 / recall)
    return total / 3
