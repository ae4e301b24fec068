from sklearn.metrics.pairwise import cosine_similarity


def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    if not enc_dec_pairs:
        return 0.0

    def embed(levels):
        return np.array(
            [
                embed_text(x[x.index(config.value_separator) + len(config.value_separator) :], config.embedding_dim)
                for x in levels
            ]
        )

    return float(np.diag(cosine_similarity(embed(enc_dec_pairs.keys()), embed(enc_dec_pairs.values()))).mean())
