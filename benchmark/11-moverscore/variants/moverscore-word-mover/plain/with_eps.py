from emd import emd
from preprocess import POOLED_LAYERS, is_counted

EPS = 1e-8


def word_mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens):
    scores = []
    for b, (ref_text, hyp_text) in enumerate(zip(ref_tokens, hyp_tokens)):
        vectors, masses = [], []
        for embedding, idf, text in ((ref_embedding, ref_idf, ref_text), (hyp_embedding, hyp_idf, hyp_text)):
            keep = torch.tensor([is_counted(token) for token in text])
            layers = embedding[-POOLED_LAYERS:, b, : len(text)][:, keep]
            layers = layers / (layers.norm(dim=-1, keepdim=True) + EPS)
            pooled = torch.cat([layers.amin(0), layers.mean(0), layers.amax(0)], dim=-1)
            weights = idf[b, : len(text)][keep]
            pooled = pooled * weights[:, None]
            vectors.append(pooled / (pooled.norm(dim=-1, keepdim=True) + EPS))
            masses.append(weights / (weights.sum() + EPS))
        v = torch.cat(vectors)
        cost = ((v[:, None] - v[None]) ** 2).sum(-1)
        p = torch.cat([masses[0], torch.zeros_like(masses[1])])
        q = torch.cat([torch.zeros_like(masses[0]), masses[1]])
        scores.append(1 - emd(p, q, cost))
    return scores
