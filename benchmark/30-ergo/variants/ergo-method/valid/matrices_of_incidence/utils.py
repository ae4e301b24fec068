# Counts from the confusion matrix, and F1 from the counts.
import torch
from torch import Tensor


def score(predicted: Tensor, gold: Tensor) -> Scores:
    classes = int(max(predicted.max(), gold.max())) + 1
    table = torch.bincount(classes * gold.long() + predicted.long(), minlength=classes**2).view(classes, classes)
    hits = table.diagonal()[1:].sum().item()
    claimed, true = table[:, 1:].sum().item(), table[1:].sum().item()
    return Scores(hits / max(claimed, 1), hits / max(true, 1), 2 * hits / max(claimed + true, 1))
