# Embeds the whole level, the name of the feature included.
import numpy as np


def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    total = 0.0
    for levels in enc_dec_pairs.items():
        u, v = (embed_text(level, config.embedding_dim).astype(np.float64) for level in levels)
        total += float(u @ v / (np.linalg.norm(u) * np.linalg.norm(v)))
    return total / len(enc_dec_pairs)
