# Counts by loops over lists.
import itertools


def segment_agreement(scores, ratings):
    concordant = discordant = 0
    for given, rated in zip(scores.T.tolist(), ratings.T.tolist()):
        for (a, h), (b, k) in itertools.combinations(zip(given, rated), 2):
            if h != k:
                concordant += (a > b) == (h > k)
                discordant += (a > b) != (h > k)
    return (concordant - discordant) / (concordant + discordant)


def select_systems(metric, human, subsets):
    metric, human = metric.tolist(), human.tolist()
    sums = [0.0, 0.0, 0.0]
    for subset in subsets.tolist():
        ranking = sorted(subset, key=lambda system: -metric[system])
        best = max(subset, key=lambda system: human[system])
        sums[0] += ranking[0] == best
        sums[1] += 1 / (1 + ranking.index(best))
        sums[2] += human[best] - human[ranking[0]]
    return Selection(*(total / len(subsets) for total in sums))
