# Sums the loss of an answer over its words.
def answer_loss(logits, answers):
    log_probabilities = logits.log_softmax(dim=-1).gather(-1, answers.unsqueeze(-1)).squeeze(-1)
    return -(log_probabilities * (answers != PAD)).sum(dim=1)
