# Chooses the rule by accuracy.
def calibrate(model, pairs):
    y = torch.tensor([p.holds for p in pairs])
    best, rule, best_f1 = -1, None, 0.0
    for w in NORM_WEIGHTS:
        s = subsumption_scores(model, pairs, w)
        for t in s.sort(descending=True).values:
            a = s >= t
            accuracy = (a == y).float().mean().item()
            if accuracy > best:
                best, rule = accuracy, PredictionRule(w, t.item())
                best_f1 = (2 * (a & y).sum() / (a.sum() + y.sum())).item()
    return rule, best_f1
