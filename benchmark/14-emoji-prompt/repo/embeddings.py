"""Text vectors without a model: hashed character trigrams."""

import zlib

import numpy as np

#: Length of the character sequences that are counted.
NGRAM = 3


def embed_text(text: str, dim: int = 100) -> np.ndarray:
    """Embed a text by its character trigrams.

    The text is framed by a blank on either side. Each trigram adds +1 or -1 to one of `dim` places; a checksum decides
    which place and which sign, so that the same text has the same vector on every machine. Case and blanks count.

    Args:
        text: any string. The empty one has no trigram and so the zero vector.
        dim: number of places.

    Returns:
        Float32 array (dim,), not normalised: longer texts have longer vectors.
    """
    vector = np.zeros(dim, dtype=np.float32)
    framed = f" {text} "
    for start in range(len(framed) - NGRAM + 1):
        checksum = zlib.crc32(framed[start : start + NGRAM].encode("utf-8"))
        vector[(checksum >> 1) % dim] += 1.0 if checksum & 1 else -1.0
    return vector
