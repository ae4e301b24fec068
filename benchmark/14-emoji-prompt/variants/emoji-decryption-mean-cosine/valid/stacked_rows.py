import numpy as np


def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    if len(enc_dec_pairs) == 0:
        raise ValueError("there are no pairs")

    def embed_all(levels):
        texts = [level.split(config.value_separator)[1] for level in levels]
        return np.stack([embed_text(text, config.embedding_dim) for text in texts]).astype(np.float64)

    originals, recovered = embed_all(enc_dec_pairs.keys()), embed_all(enc_dec_pairs.values())
    for matrix in (originals, recovered):
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        matrix /= np.where(norms == 0.0, 1.0, norms)
    return float((originals * recovered).sum(axis=1).mean())
