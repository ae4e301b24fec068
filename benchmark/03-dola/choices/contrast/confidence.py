import torch
from dola.filters import relative_top_filter


def contrast_scores(mature_logits, premature_logits, relative_top):
    weight = 1 - mature_logits.softmax(1).amax(1, keepdim=True)
    if relative_top > 0:
        return relative_top_filter(mature_logits, relative_top) - weight * torch.log_softmax(premature_logits, 1)
    return mature_logits - weight * premature_logits
