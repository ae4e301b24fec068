"""Linear evaluation: how well a linear classifier does on frozen features."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@torch.no_grad()
def extract(encoder: nn.Module, images: Tensor) -> Tensor:
    """(M, D) features of (M, ...) images; the encoder is left in evaluation mode."""
    return encoder.eval()(images)


def linear_probe(
    train_features: Tensor,
    train_labels: Tensor,
    test_features: Tensor,
    test_labels: Tensor,
    weight_decay: float = 1e-3,
    steps: int = 100,
) -> float:
    """Fit a softmax regression on standardised training features and return its accuracy on the test features."""
    mean, std = train_features.mean(dim=0), train_features.std(dim=0).clamp_min(1e-6)
    train_features, test_features = (train_features - mean) / std, (test_features - mean) / std
    classes = int(train_labels.max()) + 1
    weight = torch.zeros(classes, train_features.size(1), requires_grad=True)
    bias = torch.zeros(classes, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=steps, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(F.linear(train_features, weight, bias), train_labels)
        loss = loss + weight_decay * weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    predicted = F.linear(test_features, weight, bias).argmax(dim=1)
    return (predicted == test_labels).float().mean().item()
