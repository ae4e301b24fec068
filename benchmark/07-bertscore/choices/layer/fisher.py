import torch


def layer_quality(scores, ratings):
    correlations = [pearson(*pair).abs() for pair in zip(scores, ratings, strict=True)]
    return torch.stack(correlations).atanh().mean().tanh()
