# Averages over the group.
def group_scores(scores):
    return scores.mean(dim=3)
