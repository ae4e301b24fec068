import torch.nn.functional as F


def representation_loss(current, target, mask):
    distances = mask * (1 - F.cosine_similarity(current, target, dim=-1))
    return (distances.sum(dim=1) / mask.sum(dim=1)).mean()
