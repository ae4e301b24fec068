"""Familiarity (contamination): prior knowledge of a model, by dates, probabilities and canaries."""
