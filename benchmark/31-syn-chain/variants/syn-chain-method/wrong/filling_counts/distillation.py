# Divides by the length of the longest answer of the batch.
def answer_loss(logits, answers):
    log_probabilities = logits.log_softmax(dim=-1).gather(-1, answers.unsqueeze(-1)).squeeze(-1)
    return -(log_probabilities * (answers != PAD)).mean(dim=1)
