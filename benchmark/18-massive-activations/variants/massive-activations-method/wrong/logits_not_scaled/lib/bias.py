# Leaves out the root of the width.
def attention_weights(query, key):
    return (query @ key.transpose(-2, -1)).softmax(dim=-1)
