# Operators in other words: a product with the outer product, and an if by torch.where.
import torch


def linear_combination(states, vector):
    return torch.add(states, vector)


def piecewise(states, vector):
    along = (states * vector).sum(dim=-1, keepdim=True)
    return torch.where(along >= 0, states + vector, states - vector)


def projection(states, vector):
    axis = vector / vector.norm()
    return states - states @ torch.outer(axis, axis)
