# Takes the difference of the scores by the metric.
def select_systems(metric, human, subsets):
    hits, ranks, differences = 0.0, 0.0, 0.0
    for subset in subsets:
        scores, ratings = metric[subset], human[subset]
        chosen, best = scores.argmax(), ratings.argmax()
        hits += float(chosen == best)
        ranks += 1 / float(1 + (scores > scores[best]).sum())
        differences += float(scores[chosen] - scores[best])
    return Selection(hits / len(subsets), ranks / len(subsets), differences / len(subsets))
