# Compares vectors by their inner product, without normalising them.
import torch


def similarity_matrix(ref_embedding, hyp_embedding):
    return torch.einsum("bjd,bkd->bjk", hyp_embedding, ref_embedding)
