# The formula of the paper.
def rescale(scores, baseline):
    return (scores - baseline) / (1 - baseline)
