def side_score(matches, weights):
    squares = weights.square()
    return (matches * squares).sum(1) / squares.sum(1)
