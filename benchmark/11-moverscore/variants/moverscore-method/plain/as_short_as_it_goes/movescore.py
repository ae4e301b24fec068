# The formulas of the paper, a line each.
import math

import torch
import torch.nn.functional as F
from emd import emd
from preprocess import is_counted


def power_mean(layers, exponent):
    if exponent == math.inf:
        return layers.max(0)[0]
    if exponent == -math.inf:
        return layers.min(0)[0]
    return (layers**exponent).mean(0) ** (1 / exponent)


def pool_layers(embedding):
    h = embedding[-5:]
    h = h / h.norm(dim=-1, keepdim=True)
    return torch.cat([power_mean(h, p) for p in (-math.inf, 1, math.inf)], dim=-1)


def ngram_weights(weights, n):
    return torch.stack([weights[i : i + n].sum() for i in range(len(weights) - n + 1)])


def ngram_vectors(vectors, weights, n):
    e = weights[:, None] * vectors
    return torch.stack([e[i : i + n].sum(0) for i in range(len(weights) - n + 1)])


def cost_matrix(vectors):
    e = F.normalize(vectors, dim=-1)
    return torch.cdist(e, e) ** 2


def text_distance(ref_vectors, ref_weights, hyp_vectors, hyp_weights):
    n, m = len(ref_weights), len(hyp_weights)
    f = torch.cat([ref_weights / ref_weights.sum(), torch.zeros(m)])
    g = torch.cat([torch.zeros(n), hyp_weights / hyp_weights.sum()])
    return emd(f, g, cost_matrix(torch.cat([ref_vectors, hyp_vectors])))


def similarity(distance):
    return 1 - distance


def mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens, n=None):
    scores = []
    for b in range(len(ref_tokens)):
        texts = []
        for emb, idf, tokens in ((ref_embedding, ref_idf, ref_tokens), (hyp_embedding, hyp_idf, hyp_tokens)):
            keep = [k for k, t in enumerate(tokens[b]) if is_counted(t)]
            v, w = pool_layers(emb[:, b])[keep], idf[b][keep]
            size = min(n, len(keep)) if n else len(keep)
            texts += [ngram_vectors(v, w, size), ngram_weights(w, size)]
        scores.append(similarity(text_distance(*texts)))
    return scores


def word_mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens):
    return mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens, n=1)
