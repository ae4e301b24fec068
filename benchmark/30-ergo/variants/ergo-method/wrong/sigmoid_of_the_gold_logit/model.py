# A sigmoid of the gold logit in place of the softmax.
import torch.nn.functional as F


def pair_log_probs(logits, gold):
    return F.logsigmoid(logits.gather(1, gold.unsqueeze(1)).squeeze(1))
