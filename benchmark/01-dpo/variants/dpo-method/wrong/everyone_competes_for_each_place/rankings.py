# Divides by the sum over all responses at each place.
def ranking_loss(rewards):
    return -rewards.log_softmax(dim=1).sum(dim=1)
