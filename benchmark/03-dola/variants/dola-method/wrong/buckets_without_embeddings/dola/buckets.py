# Counts layers from 1 to N, so that the embeddings are no candidate and the last layer may be one.
def layer_buckets(num_layers, count):
    return [
        [layer for layer in range(2, num_layers + 1, 2) if b * num_layers < layer * count <= (b + 1) * num_layers]
        for b in range(count)
    ]
