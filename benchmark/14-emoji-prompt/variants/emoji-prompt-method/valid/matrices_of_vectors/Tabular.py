# Embeds all values first and normalises rows.
import numpy as np


def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    def unit_rows(levels):
        values = [level.split(config.value_separator)[1] for level in levels]
        matrix = np.stack([embed_text(value, config.embedding_dim) for value in values]).astype(np.float64)
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        return matrix / np.where(norms > 0, norms, 1.0)

    originals, recovered = unit_rows(enc_dec_pairs.keys()), unit_rows(enc_dec_pairs.values())
    return float(np.einsum("ij,ij->i", originals, recovered).mean())
