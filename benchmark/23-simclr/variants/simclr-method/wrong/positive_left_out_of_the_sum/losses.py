# The denominator holds negatives only.
def nt_xent(logits, labels):
    positive = is_positive(logits, labels)
    return (logits.masked_fill(positive, -float("inf")).logsumexp(dim=1) - logits[positive]).mean()
