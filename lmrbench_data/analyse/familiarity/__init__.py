"""Familiarity (contamination): what a model may have known beforehand, by dates, probabilities and canaries."""
