# Weighs each original value once, however many levels have it.
import numpy as np


def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    by_value = {}
    for levels in enc_dec_pairs.items():
        texts = [level.split(config.value_separator)[1] for level in levels]
        u, v = (embed_text(text, config.embedding_dim).astype(np.float64) for text in texts)
        by_value.setdefault(texts[0], []).append(float(u @ v / (np.linalg.norm(u) * np.linalg.norm(v))))
    return float(np.mean([np.mean(similarities) for similarities in by_value.values()]))
