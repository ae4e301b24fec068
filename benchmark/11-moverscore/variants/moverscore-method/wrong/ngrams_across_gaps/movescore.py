# Gives tokens that do not count a weight of 0 and lets them fill places inside of n-grams.
import torch
from preprocess import is_counted


def mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens, n=None):
    sides = [(pool_layers(ref_embedding), ref_idf, ref_tokens), (pool_layers(hyp_embedding), hyp_idf, hyp_tokens)]
    scores = []
    for i in range(len(ref_tokens)):
        parts = []
        for pooled, idf, tokens in sides:
            length = len(tokens[i])
            weights = idf[i, :length] * torch.tensor([is_counted(token) for token in tokens[i]])
            size = length if n is None else min(n, length)
            parts += [ngram_vectors(pooled[i, :length], weights, size), ngram_weights(weights, size)]
        scores.append(similarity(text_distance(*parts)))
    return scores
