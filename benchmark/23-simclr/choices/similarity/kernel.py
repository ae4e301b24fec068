import torch.nn.functional as F


def similarity_matrix(features):
    directions = F.normalize(features)
    # The squared distance of two unit vectors is 2 - 2 cos.
    return (2 * (directions @ directions.T) - 2).exp()
