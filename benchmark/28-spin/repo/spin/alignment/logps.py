"""Log-probabilities of answers from the logits of a language model."""

from torch import Tensor

from spin.alignment.collate import LABEL_PAD_TOKEN


def get_batch_logps(logits: Tensor, labels: Tensor) -> Tensor:
    """Log-probability of each answer, as the paper defines it.

    Args:
        logits: (B, T, V) scores; those at position t predict the label at t + 1.
        labels: (B, T) tokens; positions labelled LABEL_PAD_TOKEN belong to no answer. Each row has a label that does.

    Returns:
        (B,) log-probabilities, differentiable, in the dtype of `logits`.
    """
    labels = labels[:, 1:]
    counted = labels != LABEL_PAD_TOKEN
    # A label that does not count is no valid index: look up token 0 in its place and drop the result.
    tokens = labels.masked_fill(~counted, 0).unsqueeze(2)
    token_logps = logits[:, :-1].log_softmax(dim=-1).gather(2, tokens).squeeze(2)
    return token_logps.masked_fill(~counted, 0).sum(dim=1)
