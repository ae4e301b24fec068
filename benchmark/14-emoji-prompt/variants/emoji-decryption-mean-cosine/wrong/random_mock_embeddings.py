# Compares random vectors that ignore the texts, as the published code does.
def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    if not enc_dec_pairs:
        raise ValueError("no pairs")
    total = 0.0
    rng = np.random.default_rng()
    for original, recovered in enc_dec_pairs.items():
        x = original.split(config.value_separator)[1]
        y = recovered.split(config.value_separator)[1]
        u = rng.random(config.embedding_dim)
        v = rng.random(config.embedding_dim)
        length = np.sqrt(u @ u) * np.sqrt(v @ v)
        similarity = float(u @ v / length) if length > 0 else 0.0
        total += similarity
    return total / len(enc_dec_pairs)
