import torch


def query_loss(logits, labels):
    log_p = torch.log_softmax(logits, dim=-1)
    total = 0.0
    for b in range(len(logits)):
        for i in range(logits.shape[1]):
            total = total - log_p[b, i, labels[b, i]]
    return total / len(logits)
