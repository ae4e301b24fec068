# The cross-entropy of the logits, whose ignored labels count as zero.
import torch.nn.functional as F


def get_batch_logps(logits, labels):
    losses = F.cross_entropy(
        logits[:, :-1].transpose(1, 2), labels[:, 1:], ignore_index=LABEL_PAD_TOKEN, reduction="none"
    )
    return -losses.sum(dim=1)
