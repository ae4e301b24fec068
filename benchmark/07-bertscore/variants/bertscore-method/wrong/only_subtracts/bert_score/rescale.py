# Subtracts the baseline and does not stretch what is left.
def rescale(scores, baseline):
    return scores - baseline
