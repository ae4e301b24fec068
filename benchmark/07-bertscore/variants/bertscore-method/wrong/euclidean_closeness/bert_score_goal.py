# Turns the distance of unit vectors into a similarity.
import torch
import torch.nn.functional as F


def similarity_matrix(ref_embedding, hyp_embedding):
    return 1 - torch.cdist(F.normalize(hyp_embedding, dim=-1), F.normalize(ref_embedding, dim=-1)) / 2
