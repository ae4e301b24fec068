# Loops.
def segment_agreement(scores, ratings):
    con = dis = 0
    S, N = scores.shape
    for i in range(N):
        for a in range(S):
            for b in range(a):
                d = (ratings[a, i] - ratings[b, i]) * (scores[a, i] - scores[b, i])
                con += int(d > 0)
                dis += int(d < 0)
    return (con - dis) / (con + dis)


def select_systems(metric, human, subsets):
    hits = mrr = diff = 0.0
    for subset in subsets:
        m, h = metric[subset], human[subset]
        best, first = int(h.argmax()), int(m.argmax())
        rank = m.argsort(descending=True).tolist().index(best) + 1
        hits += best == first
        mrr += 1 / rank
        diff += float(h[best] - h[first])
    n = len(subsets)
    return Selection(hits / n, mrr / n, diff / n)
