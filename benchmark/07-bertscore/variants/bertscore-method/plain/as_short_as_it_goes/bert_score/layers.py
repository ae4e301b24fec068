# With SciPy.
import torch
from scipy.stats import pearsonr


def layer_quality(scores, ratings):
    return torch.tensor([abs(pearsonr(s.numpy(), r.numpy())[0]) for s, r in zip(scores, ratings)]).mean()
