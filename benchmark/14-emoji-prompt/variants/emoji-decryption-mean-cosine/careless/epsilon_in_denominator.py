# Adds 1e-8 to the product of lengths instead of treating zero vectors apart.
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
        similarity = float(u @ v / (length + 1e-8))
        total += similarity
    return total / len(enc_dec_pairs)
