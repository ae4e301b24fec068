# Written from the paper: terse tensor code.
import torch

from dola.scoring import question_quality


def layer_buckets(num_layers, count):
    n, k = num_layers, count
    return [[j for j in range(n) if j % 2 == 0 and b * n <= k * j < (b + 1) * n] for b in range(k)]


def bucket_scores(model, questions, buckets, mature_layer, relative_top=0.1):
    c = [[question_quality(model, q, mature_layer, None, b, relative_top) for q in questions] for b in buckets]
    return torch.stack([torch.stack(row).mean() for row in c])
