# Divides the weighted sum by the number of tokens that have a weight.
def side_score(matches, weights):
    return (matches * weights).sum(1) / (weights > 0).sum(1)
