# Takes the cosine of the mean vectors instead of the mean of the cosines.
def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    if not enc_dec_pairs:
        raise ValueError("no pairs")
    means = [0.0, 0.0]
    for original, recovered in enc_dec_pairs.items():
        x = original.split(config.value_separator)[1]
        y = recovered.split(config.value_separator)[1]
        u = embed_text(x, config.embedding_dim).astype(np.float64)
        v = embed_text(y, config.embedding_dim).astype(np.float64)
        means = [means[0] + u / len(enc_dec_pairs), means[1] + v / len(enc_dec_pairs)]
    length = np.linalg.norm(means[0]) * np.linalg.norm(means[1])
    return float(means[0] @ means[1] / length) if length > 0 else 0.0
