# Each step in names of its own.
import torch


def subsumption_score(manifold, child, parent, norm_weight):
    distance = manifold.dist(child, parent)
    norm_difference = manifold.dist0(parent) - manifold.dist0(child)
    return -(distance + norm_weight * norm_difference)


def calibrate(model, pairs):
    labels = torch.tensor([pair.holds for pair in pairs])
    best_f1 = -1.0
    best_rule = PredictionRule(norm_weight=0.0, threshold=0.0)
    for norm_weight in NORM_WEIGHTS:
        scores = subsumption_scores(model, pairs, norm_weight)
        thresholds, _ = torch.sort(scores, descending=True)
        for threshold in thresholds:
            predictions = scores >= threshold
            true_positives = (predictions & labels).sum().item()
            if true_positives == 0:
                continue
            precision = true_positives / predictions.sum().item()
            recall = true_positives / labels.sum().item()
            f1 = 2 * precision * recall / (precision + recall)
            if f1 > best_f1:
                best_f1 = f1
                best_rule = PredictionRule(norm_weight=norm_weight, threshold=threshold.item())
    return best_rule, best_f1
