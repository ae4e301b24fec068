def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    similarities = []
    for original, recovered in enc_dec_pairs.items():
        u = embed_text(original.split(config.value_separator, 1)[-1], config.embedding_dim)
        v = embed_text(recovered.split(config.value_separator, 1)[-1], config.embedding_dim)
        similarities.append(np.dot(u, v) / (np.linalg.norm(u) * np.linalg.norm(v) + 1e-8))
    return float(np.mean(similarities))
