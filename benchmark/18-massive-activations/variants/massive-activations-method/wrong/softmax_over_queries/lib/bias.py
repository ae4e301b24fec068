# Normalises over the queries.
def attention_weights(query, key):
    return (query @ key.transpose(-2, -1) / query.size(-1) ** 0.5).softmax(dim=-2)
