import torch
import torch.nn.functional as F


def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    def embed(level):
        return torch.from_numpy(embed_text(level.split(config.value_separator)[-1], config.embedding_dim)).double()

    pairs = [F.cosine_similarity(embed(a), embed(b), dim=0) for a, b in enc_dec_pairs.items()]
    return torch.stack(pairs).mean().item()
