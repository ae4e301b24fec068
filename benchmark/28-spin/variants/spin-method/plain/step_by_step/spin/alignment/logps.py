# Each step in names of its own.
import torch


def get_batch_logps(logits, labels):
    shifted_logits = logits[:, :-1, :]
    shifted_labels = labels[:, 1:].clone()
    mask = shifted_labels != LABEL_PAD_TOKEN
    shifted_labels[~mask] = 0
    log_probabilities = torch.log_softmax(shifted_logits, dim=-1)
    per_token = torch.gather(log_probabilities, dim=2, index=shifted_labels.unsqueeze(-1)).squeeze(-1)
    return torch.where(mask, per_token, torch.zeros_like(per_token)).sum(-1)
