import torch.nn.functional as F


def similarity_matrix(features):
    directions = F.normalize(features - features.mean(dim=1, keepdim=True))
    return directions @ directions.T
