import torch
from emd import emd
from preprocess import POOLED_LAYERS, is_counted
from torch import Tensor


def word_mover_score(
    ref_embedding: Tensor,
    ref_idf: Tensor,
    ref_tokens: list[list[str]],
    hyp_embedding: Tensor,
    hyp_idf: Tensor,
    hyp_tokens: list[list[str]],
) -> list[float]:
    scores = []
    for b in range(len(ref_tokens)):
        texts = []
        for embedding, idf, tokens in (
            (ref_embedding[:, b], ref_idf[b], ref_tokens[b]),
            (hyp_embedding[:, b], hyp_idf[b], hyp_tokens[b]),
        ):
            first_layer = max(0, len(embedding) - POOLED_LAYERS)
            words = []
            for k, token in enumerate(tokens):
                if is_counted(token):
                    weight = idf[k].item()
                    units = embedding[first_layer:, k] / embedding[first_layer:, k].norm(dim=-1).unsqueeze(-1)
                    means = torch.hstack([units.amax(0), units.mean(0), units.amin(0)]) * weight / (weight + 1e-5)
                    words.append((means / (means.norm() + 1e-6), weight))
            texts.append(words or [(torch.zeros(3 * embedding.shape[-1], dtype=embedding.dtype), 0.0)])
        vectors = [vector for words in texts for vector, _ in words]
        cost = [[float((x - y).dot(x - y)) for y in vectors] for x in vectors]
        totals = [sum(mass for _, mass in words) + 1e-5 for words in texts]
        p = [mass / totals[0] for _, mass in texts[0]] + [0.0] * len(texts[1])
        q = [0.0] * len(texts[0]) + [mass / totals[1] for _, mass in texts[1]]
        scores.append(1.0 - emd(p, q, cost))
    return scores
