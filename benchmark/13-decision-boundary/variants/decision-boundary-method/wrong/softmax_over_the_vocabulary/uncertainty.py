# Takes the probabilities of the label words over the whole vocabulary, without normalising them.
import numpy as np


def class_probabilities(logits, label_ids):
    logits = np.asarray(logits, dtype=np.float64)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True))[:, list(label_ids)]
