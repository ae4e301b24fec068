import torch.nn.functional as F


def target_states(base, positive, negative, reading_vector, alpha, beta):
    contrast = F.normalize(positive - negative, dim=-1) * base.norm(dim=-1, keepdim=True)
    target = base + alpha * contrast
    return target if reading_vector is None else target + beta * reading_vector
