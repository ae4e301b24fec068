import torch


def answer_loss(logits, answers):
    result = []
    for row, answer in zip(torch.log_softmax(logits, -1), answers):
        length = int((answer != PAD).sum())
        result.append(-sum(row[t, answer[t]] for t in range(length)) / length)
    return torch.stack(result)
