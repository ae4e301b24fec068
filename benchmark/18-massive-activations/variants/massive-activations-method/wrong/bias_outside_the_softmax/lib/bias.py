# Adds the extra value as a constant, with weights that leave the extra key out.
def biased_attention(query, key, value, extra_key, extra_value):
    return attention_weights(query, key) @ value + extra_value.unsqueeze(-2)
