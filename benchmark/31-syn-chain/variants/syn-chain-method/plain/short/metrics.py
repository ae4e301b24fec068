def macro_f1(labels, answers):
    f1 = []
    for c in LABELS:
        tp = sum(a == c and l == c for a, l in zip(answers, labels))
        fp = sum(a == c and l != c for a, l in zip(answers, labels))
        fn = sum(a != c and l == c for a, l in zip(answers, labels))
        f1.append(2 * tp / (2 * tp + fp + fn) if tp else 0.0)
    return sum(f1) / 3
