# Splits at the default separator whatever the configuration says.
def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    if not enc_dec_pairs:
        raise ValueError("no pairs")
    total = 0.0
    for original, recovered in enc_dec_pairs.items():
        x = original.rpartition(", Value: ")[2]
        y = recovered.rpartition(", Value: ")[2]
        u = embed_text(x, config.embedding_dim).astype(np.float64)
        v = embed_text(y, config.embedding_dim).astype(np.float64)
        length = np.sqrt(u @ u) * np.sqrt(v @ v)
        similarity = float(u @ v / length) if length > 0 else 0.0
        total += similarity
    return total / len(enc_dec_pairs)
