import numpy as np
from sklearn.metrics.pairwise import cosine_similarity


def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    if not enc_dec_pairs:
        raise ValueError("empty")
    scores = []
    for pair in enc_dec_pairs.items():
        rows = []
        for level in pair:
            pieces = level.split(config.value_separator)
            rows.append(np.float64(embed_text(text=pieces[1], dim=config.embedding_dim)).reshape(1, -1))
        scores.append(cosine_similarity(*rows)[0, 0])
    return float(np.mean(scores))
