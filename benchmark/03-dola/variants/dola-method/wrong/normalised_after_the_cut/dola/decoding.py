# Normalises both distributions again over the plausible tokens before they are contrasted.
import torch

from dola.filters import relative_top_filter


def contrast_scores(mature_logits, premature_logits, relative_top):
    if relative_top <= 0:
        return mature_logits - premature_logits
    cut = relative_top_filter(mature_logits, relative_top).isneginf()
    late = torch.log_softmax(mature_logits.masked_fill(cut, -torch.inf), dim=-1)
    early = torch.log_softmax(premature_logits.masked_fill(cut, -torch.inf), dim=-1)
    return (late - early).masked_fill(cut, -torch.inf)
