import torch


def vector_penalty(vectors):
    identity = torch.eye(len(vectors), dtype=vectors.dtype, device=vectors.device)
    return (vectors @ vectors.T - identity).abs().sum()
