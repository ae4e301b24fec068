# Takes the longest common run of words, without gaps.
def rouge_l(prediction, reference):
    a, b = prediction.lower().split(), reference.lower().split()
    best, row = 0, [0] * (len(b) + 1)
    for word in a:
        new = [0] + [row[j] + 1 if word == other else 0 for j, other in enumerate(b)]
        best, row = max(best, *new), new
    return 2 * best / (len(a) + len(b)) if best else 0.0
