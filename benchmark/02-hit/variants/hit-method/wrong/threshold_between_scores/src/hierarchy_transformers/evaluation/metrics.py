# Puts the threshold halfway to the next score.
def calibrate(model, pairs):
    y = torch.tensor([p.holds for p in pairs])
    best, rule = -1, None
    for w in NORM_WEIGHTS:
        s, order = subsumption_scores(model, pairs, w).sort(descending=True)
        hits = y[order].cumsum(0)
        f1 = 2 * hits / (torch.arange(1, len(pairs) + 1) + hits[-1])
        k = f1.argmax().item()
        if f1[k] > best:
            middle = (s[k] + s[min(k + 1, len(s) - 1)]) / 2
            best, rule = f1[k].item(), PredictionRule(w, middle.item())
    return rule, best
