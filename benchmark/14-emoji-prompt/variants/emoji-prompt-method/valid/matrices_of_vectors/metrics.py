# Counts common words by removing them, and writes the harmonic mean in one fraction.
def token_f1(reference, candidate):
    left, right, common = reference.split(), candidate.split(), 0
    total = len(left) + len(right)
    for word in right:
        if word in left:
            left.remove(word)
            common += 1
    return 2 * common / total if total else 0.0
