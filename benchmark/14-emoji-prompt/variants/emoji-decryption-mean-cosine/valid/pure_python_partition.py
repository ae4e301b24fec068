import math


def _value(level, separator):
    _, found, rest = level.partition(separator)
    if not found:
        raise IndexError(f"no {separator!r} in {level!r}")
    return rest.partition(separator)[0]


def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    if not enc_dec_pairs:
        raise ValueError("enc_dec_pairs is empty")
    similarities = []
    for original, recovered in enc_dec_pairs.items():
        u, v = (
            embed_text(_value(level, config.value_separator), config.embedding_dim).tolist()
            for level in (original, recovered)
        )
        if any(u) and any(v):
            dot = math.fsum(a * b for a, b in zip(u, v))
            similarities.append(dot / (math.hypot(*u) * math.hypot(*v)))
        else:
            similarities.append(0.0)
    return math.fsum(similarities) / len(similarities)
