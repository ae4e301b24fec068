# Leaves the end of the answer out of the loss.
def answer_loss(logits, answers):
    log_probabilities = logits.log_softmax(dim=-1).gather(-1, answers.unsqueeze(-1)).squeeze(-1)
    real = (answers != PAD) & (answers != END)
    return -(log_probabilities * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)
