# Measured from the top.
def rescale(scores, baseline):
    return 1 - (1 - scores) / (1 - baseline)
