"""Optimisation of the encoder: layer-wise rates, and the learning rate over a run."""
