# Adds the extra key and value to those of all tokens.
def biased_attention(query, key, value, extra_key, extra_value):
    return attention_weights(query, key + extra_key.unsqueeze(-2)) @ (value + extra_value.unsqueeze(-2))
