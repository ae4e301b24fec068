# Scores 1 where both vectors are zero.
def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    if not enc_dec_pairs:
        raise ValueError("no pairs")
    total = 0.0
    for original, recovered in enc_dec_pairs.items():
        x = original.split(config.value_separator)[1]
        y = recovered.split(config.value_separator)[1]
        u = embed_text(x, config.embedding_dim).astype(np.float64)
        v = embed_text(y, config.embedding_dim).astype(np.float64)
        length = np.sqrt(u @ u) * np.sqrt(v @ v)
        similarity = float(u @ v / length) if length > 0 else float(not u.any() and not v.any())
        total += similarity
    return total / len(enc_dec_pairs)
