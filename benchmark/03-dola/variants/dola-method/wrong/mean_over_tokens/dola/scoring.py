# Averages over the tokens, so that long answers are not at a disadvantage.
def answer_score(log_probs):
    return log_probs.mean()
