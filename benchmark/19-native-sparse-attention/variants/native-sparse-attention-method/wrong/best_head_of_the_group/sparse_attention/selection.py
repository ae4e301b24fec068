# Takes the largest score in a group.
def group_scores(scores):
    return scores.amax(dim=3)
