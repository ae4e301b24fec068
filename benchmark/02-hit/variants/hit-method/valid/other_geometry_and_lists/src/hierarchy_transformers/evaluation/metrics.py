# Counts hits for each rule on its own.
def calibrate(model, pairs):
    best = None
    for norm_weight in NORM_WEIGHTS:
        scores = subsumption_scores(model, pairs, norm_weight).tolist()
        for threshold in sorted(scores, reverse=True):
            accepted = [score >= threshold for score in scores]
            hits = sum(flag and pair.holds for flag, pair in zip(accepted, pairs))
            if not hits:
                continue
            precision, recall = hits / sum(accepted), hits / sum(pair.holds for pair in pairs)
            f1 = 2 / (1 / precision + 1 / recall)
            if best is None or f1 > best[0]:
                best = f1, PredictionRule(norm_weight, threshold)
    return best[1], best[0]
