def update_factor(alpha, rank):
    return alpha / rank.sqrt()
