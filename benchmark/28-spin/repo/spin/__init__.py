"""Self-play fine-tuning of a tiny language model: data, model, sampling from the opponent, training."""
