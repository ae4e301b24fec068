import torch
import torch.nn.functional as F


def value_of(level, config):
    return level.rpartition(config.value_separator)[2].strip()


def compute_mean_cosine_similarity(enc_dec_pairs, config=DEFAULT_CONFIG):
    originals = [embed_text(value_of(level, config), dim=config.embedding_dim) for level in enc_dec_pairs]
    recovered = [embed_text(value_of(level, config), dim=config.embedding_dim) for level in enc_dec_pairs.values()]
    u, v = torch.from_numpy(np.stack(originals)), torch.from_numpy(np.stack(recovered))
    return F.cosine_similarity(u, v, dim=1).mean().item()
