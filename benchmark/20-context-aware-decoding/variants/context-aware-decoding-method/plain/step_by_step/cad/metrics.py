# Two tables and a set of articles.
import string


def exact_match(prediction, reference):
    def clean(text):
        letters = "".join(c for c in text.lower() if c not in string.punctuation)
        return [word for word in letters.split() if word not in {"a", "an", "the"}]

    return 1.0 if clean(prediction) == clean(reference) else 0.0


def rouge_l(prediction, reference):
    x = prediction.lower().split()
    y = reference.lower().split()
    if len(x) == 0 or len(y) == 0:
        return 0.0
    previous = [0] * (len(y) + 1)
    for xi in x:
        row = [0]
        for j, yj in enumerate(y):
            row.append(previous[j] + 1 if xi == yj else max(row[-1], previous[j + 1]))
        previous = row
    lcs = previous[-1]
    precision = lcs / len(x)
    recall = lcs / len(y)
    if precision + recall == 0:
        return 0.0
    return 2 * precision * recall / (precision + recall)
