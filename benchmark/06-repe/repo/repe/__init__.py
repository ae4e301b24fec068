"""Representation engineering: reading directions from the hidden states of a language model, and steering with them."""
