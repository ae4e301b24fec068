import numpy as np
import torch.nn.functional as F
from preprocess import POOLED_LAYERS, is_counted
from scipy.optimize import linprog


def words(embedding, idf, tokens):
    rows, weights = [], []
    for k, token in enumerate(tokens):
        if is_counted(token) and idf[k] > 0:
            top = F.normalize(embedding[-POOLED_LAYERS:, k].double(), dim=-1).numpy()
            pooled = np.concatenate([top.min(axis=0), top.mean(axis=0), top.max(axis=0)])
            rows.append(pooled / (np.linalg.norm(pooled) + 1e-8))
            weights.append(float(idf[k]))
    return np.array(rows), np.array(weights) / sum(weights)


def word_mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens):
    scores = []
    for b in range(len(ref_tokens)):
        x, p = words(ref_embedding[:, b], ref_idf[b], ref_tokens[b])
        y, q = words(hyp_embedding[:, b], hyp_idf[b], hyp_tokens[b])
        n, m = len(x), len(y)
        cost = 2 - 2 * x @ y.T
        rows = np.kron(np.eye(n), np.ones(m))
        columns = np.kron(np.ones(n), np.eye(m))
        flow = linprog(cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([p, q]))
        scores.append(float(1 - flow.fun))
    return scores
