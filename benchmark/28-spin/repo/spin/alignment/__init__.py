"""Training against the opponent: pairs of real and generated answers, their log-probabilities, the trainer."""
