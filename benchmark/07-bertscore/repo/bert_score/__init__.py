"""A small BERTScore: tokenizer, encoder, token weights, scoring and rescaling."""
