# Takes the candidate that is farthest in any single row of the batch.
def choose_premature_layer(layer_logits, mature_layer, candidates):
    distances = {layer: divergence(layer_logits[mature_layer], layer_logits[layer]).max() for layer in candidates}
    return max(distances, key=distances.__getitem__)
