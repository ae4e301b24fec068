def pair_loss(margin):
    return F.relu(1 - margin).square()
