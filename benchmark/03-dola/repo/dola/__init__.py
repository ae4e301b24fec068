"""Decoding by contrasting layers: next tokens from the log-ratio of a late and an early layer of one model."""
