# Sums token by token over each response alone, with F.kl_div for the divergence.
import torch
import torch.nn.functional as F


def position_divergence(log_probs, reference_log_probs):
    return F.kl_div(log_probs, reference_log_probs, reduction="none", log_target=True).sum(-1)


def get_batch_statistics(logits, reference_logits, labels):
    margins, divergences = [], []
    for scores, reference_scores, row in zip(logits, reference_logits, labels):
        places = (row[1:] != IGNORE_LABEL).nonzero().squeeze(1)
        policy, reference = scores[places].log_softmax(-1), reference_scores[places].log_softmax(-1)
        tokens = row[places + 1]
        index = torch.arange(len(places))
        margins.append(policy[index, tokens].sum() - reference[index, tokens].sum())
        divergences.append(position_divergence(policy, reference).sum())
    return ResponseStatistics(torch.stack(margins), torch.stack(divergences))
