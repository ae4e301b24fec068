# As short as it goes.
import re


def norm(s):
    s = re.sub(r"[^\w\s]", "", s.lower())
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", s).split())


def exact_match(prediction, reference):
    return float(norm(prediction) == norm(reference))


def rouge_l(prediction, reference):
    a, b = prediction.lower().split(), reference.lower().split()
    t = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a)):
        for j in range(len(b)):
            t[i + 1][j + 1] = t[i][j] + 1 if a[i] == b[j] else max(t[i][j + 1], t[i + 1][j])
    l = t[-1][-1]
    if l == 0:
        return 0.0
    p, r = l / len(a), l / len(b)
    return 2 * p * r / (p + r)
