"""A small offline parser of English review sentences, with documents and tokens as in spaCy."""
