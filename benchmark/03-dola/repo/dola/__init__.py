"""Decoding by contrasting layers: next tokens from the contrast of a late and an early layer of one model."""
