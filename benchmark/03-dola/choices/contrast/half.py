import torch
from dola.filters import relative_top_filter


def contrast_scores(mature_logits, premature_logits, relative_top):
    if relative_top > 0:
        return relative_top_filter(mature_logits, relative_top) - 0.5 * torch.log_softmax(premature_logits, 1)
    return mature_logits - 0.5 * premature_logits
