# Each step in names of its own.
import torch
import torch.nn.functional as F


def nt_xent(logits, labels):
    log_probabilities = F.log_softmax(logits, dim=1)
    return F.nll_loss(log_probabilities, labels)


def semi_hard(similarities, labels, margin):
    result = torch.zeros_like(similarities, dtype=torch.bool)
    for row in range(similarities.shape[0]):
        positive = similarities[row, labels[row]]
        candidates = (similarities[row] < positive) & (similarities[row] > positive - margin)
        if candidates.any():
            masked = torch.where(candidates, similarities[row], torch.tensor(float("-inf")).to(similarities))
            result[row, masked.argmax()] = True
    return result


def margin_triplet(similarities, labels, used, margin):
    positive = similarities.gather(1, labels[:, None])
    terms = torch.clamp(similarities - positive + margin, min=0.0)
    losses = []
    for row in range(similarities.shape[0]):
        if used[row].any():
            losses.append(terms[row][used[row]].mean())
        else:
            losses.append(terms.new_zeros(()))
    return torch.stack(losses).mean()
