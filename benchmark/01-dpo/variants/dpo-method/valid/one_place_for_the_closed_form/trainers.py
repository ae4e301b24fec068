# Two-class cross-entropy for the loss of a pair.
import torch
import torch.nn.functional as F


def pair_loss(margin):
    scores = torch.stack([margin, torch.zeros_like(margin)], dim=-1)
    return scores.logsumexp(-1) - scores[..., 0]


def concatenated_forward(model, batch):
    inputs, labels = concatenated_inputs(batch)
    logps = get_batch_logps(model(inputs).logits, labels, average_log_prob=True)
    logps = logps * (labels[:, 1:] != IGNORE_LABEL).sum(dim=1)
    count = batch.chosen_labels.size(0)
    return logps[:count], logps[count:]
