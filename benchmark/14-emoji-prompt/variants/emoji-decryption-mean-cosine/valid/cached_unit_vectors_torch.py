import torch
from embeddings import embed_text as embed


def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    if not enc_dec_pairs:
        raise ValueError("nothing to average")
    cache = {}

    def unit(level):
        text = level.split(config.value_separator)[1]
        if text not in cache:
            vector = torch.tensor(embed_text(text, dim=config.embedding_dim).tolist(), dtype=torch.float64)
            norm = vector.norm()
            cache[text] = vector / norm if norm > 0 else vector
        return cache[text]

    cosines = torch.stack([torch.dot(unit(k), unit(v)) for k, v in enc_dec_pairs.items()])
    return cosines.mean().item()
