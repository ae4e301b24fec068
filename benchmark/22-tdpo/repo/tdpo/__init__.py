"""The parts that the trainers work on: data, batches, a tiny language model, log-probabilities."""
