# One row at a time.
import torch


def nt_xent(logits, labels):
    losses = [-torch.log_softmax(row, dim=0)[label] for row, label in zip(logits, labels.tolist())]
    return sum(losses) / len(losses)


def semi_hard(similarities, labels, margin):
    chosen = torch.zeros(similarities.shape, dtype=torch.bool)
    for row, (values, label) in enumerate(zip(similarities.tolist(), labels.tolist())):
        band = [j for j, value in enumerate(values) if values[label] - margin < value < values[label]]
        if band:
            chosen[row, max(band, key=values.__getitem__)] = True
    return chosen


def margin_triplet(similarities, labels, used, margin):
    losses = []
    for row, label, mask in zip(similarities, labels.tolist(), used):
        terms = torch.relu(row[mask] - row[label] + margin)
        losses.append(terms.mean() if len(terms) else row.sum() * 0)
    return torch.stack(losses).mean()
