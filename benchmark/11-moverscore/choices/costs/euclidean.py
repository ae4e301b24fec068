import torch.nn.functional as F


def cost_matrix(vectors):
    rows = F.normalize(vectors)
    return (rows.unsqueeze(1) - rows).square().sum(-1).sqrt()
