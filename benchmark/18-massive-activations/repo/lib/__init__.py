"""The vision transformer, its inputs, and what is reported about its hidden states."""
