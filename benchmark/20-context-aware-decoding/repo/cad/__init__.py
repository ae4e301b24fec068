"""Context-aware decoding: let a language model trust the context over what it remembers."""
