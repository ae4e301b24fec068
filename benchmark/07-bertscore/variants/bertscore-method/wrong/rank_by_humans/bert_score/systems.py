# Takes the rank that humans give to the system that the metric prefers.
def select_systems(metric, human, subsets):
    hits, ranks, differences = 0.0, 0.0, 0.0
    for subset in subsets:
        scores, ratings = metric[subset], human[subset]
        chosen, best = scores.argmax(), ratings.argmax()
        hits += float(chosen == best)
        ranks += 1 / float(1 + (ratings > ratings[chosen]).sum())
        differences += float(ratings[best] - ratings[chosen])
    return Selection(hits / len(subsets), ranks / len(subsets), differences / len(subsets))
