# Leaves pairs with a zero vector out of the mean.
def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    if not enc_dec_pairs:
        raise ValueError("no pairs")
    total, count = 0.0, 0
    for original, recovered in enc_dec_pairs.items():
        x = original.split(config.value_separator)[1]
        y = recovered.split(config.value_separator)[1]
        u = embed_text(x, config.embedding_dim).astype(np.float64)
        v = embed_text(y, config.embedding_dim).astype(np.float64)
        length = np.sqrt(u @ u) * np.sqrt(v @ v)
        if length == 0:
            continue
        count += 1
        similarity = float(u @ v / length)
        total += similarity
    return total / count if count else 0.0
