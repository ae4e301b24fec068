import torch


def local_rate(weight, gradient, weight_decay, trust):
    norm = torch.linalg.vector_norm(weight)
    return trust * (norm / (torch.linalg.vector_norm(gradient) + weight_decay * norm)).sqrt()
