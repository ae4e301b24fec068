# Counts each word once.
def token_f1(reference, candidate):
    expected, found = set(reference.split()), set(candidate.split())
    common = len(expected & found)
    if common == 0:
        return 0.0
    precision, recall = common / len(found), common / len(expected)
    return 2 * precision * recall / (precision + recall)
