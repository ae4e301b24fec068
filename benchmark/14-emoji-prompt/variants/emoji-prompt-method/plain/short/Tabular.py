import numpy as np


def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    sims = []
    for a, b in enc_dec_pairs.items():
        u = embed_text(a.split(config.value_separator)[1], config.embedding_dim)
        v = embed_text(b.split(config.value_separator)[1], config.embedding_dim)
        sims.append(np.dot(u, v) / (np.linalg.norm(u) * np.linalg.norm(v)))
    return np.mean(sims)
