import numpy as np
import torch
from emd import emd
from preprocess import POOLED_LAYERS, is_counted


def pool_layers(embedding):
    embedding = embedding / embedding.norm(dim=-1, keepdim=True)
    top = embedding[-POOLED_LAYERS:]
    return torch.cat([top.min(0).values, top.mean(0), top.max(0).values], dim=-1)


def word_mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens):
    ref_pooled, hyp_pooled = pool_layers(ref_embedding), pool_layers(hyp_embedding)
    scores = []
    for b in range(len(ref_tokens)):
        ref_keep = [k for k, token in enumerate(ref_tokens[b]) if is_counted(token)]
        hyp_keep = [k for k, token in enumerate(hyp_tokens[b]) if is_counted(token)]
        vectors = torch.cat([ref_pooled[b, ref_keep], hyp_pooled[b, hyp_keep]])
        vectors = vectors / vectors.norm(dim=-1, keepdim=True)
        cost = torch.cdist(vectors, vectors) ** 2
        p = np.zeros(len(vectors))
        q = np.zeros(len(vectors))
        p[: len(ref_keep)] = ref_idf[b, ref_keep].numpy()
        q[len(ref_keep) :] = hyp_idf[b, hyp_keep].numpy()
        scores.append(1 - emd(p / p.sum(), q / q.sum(), cost.numpy()))
    return scores
