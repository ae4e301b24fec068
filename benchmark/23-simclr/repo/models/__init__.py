"""The encoder that is trained."""
