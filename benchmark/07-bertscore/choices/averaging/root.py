def side_score(matches, weights):
    roots = weights.sqrt()
    return (matches * roots).sum(1) / roots.sum(1)
