"""Labelled inputs for adaptive-focal-loss-forward."""

import torch
from lmrbench_cases import compare, core
from model import ErgoModel, focal_loss
from processor import Document, Vocabulary, collate
from torch import Tensor


def random_batch(seed: int, *shape: int, classes: int = 2, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Logits (*shape, classes) and labels of this shape; class 0 is the most frequent one, as in the paper's data."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(*shape, classes, generator=generator, dtype=torch.float64)
    labels = torch.randint(classes, shape, generator=generator) * (torch.rand(shape, generator=generator) < 0.8)
    return logits.to(dtype), labels


def with_gradient(loss: focal_loss, preds: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The loss and its gradient with respect to the logits."""
    preds = preds.detach().clone().requires_grad_()
    value = loss(preds, labels.clone())
    (gradient,) = torch.autograd.grad(value, preds)
    return value.detach(), gradient


@core
@compare(rtol=1e-4, atol=1e-5)
def case_setting_of_the_paper(seed):
    """Two classes; the mean and the sum."""
    batch = random_batch(seed, 40)
    return [with_gradient(focal_loss(0.75, 2, 2, size_average), *batch) for size_average in (True, False)]


@core
@compare(rtol=1e-4, atol=1e-5)
def case_focusing_parameters(seed):
    """From 0, where weighted cross-entropy remains, to large ones."""
    batch = random_batch(seed, 24)
    return {gamma: with_gradient(focal_loss(0.75, gamma, 2), *batch) for gamma in (0, 1, 1.5, 3)}


@core
@compare(rtol=1e-4, atol=1e-5)
def case_class_weights(seed):
    """Other weights of two classes, and of batches in which nearly all pairs are negative."""
    preds, labels = random_batch(seed, 24)
    labels[4:] = 0
    return {alpha: with_gradient(focal_loss(alpha, 2, 2), preds, labels) for alpha in (0.25, 0.5, 0.9)}


@core
@compare(rtol=1e-4, atol=1e-5)
def case_more_classes(seed):
    """Three and five classes, with weights from one number and from lists."""
    results = []
    for classes, alpha in ((3, 0.25), (3, [0.2, 1.5, 3.0]), (5, [2.0, 0.7, 0.5, 1.0, 4.0])):
        batch = random_batch(seed + classes, 30, classes=classes)
        results += [with_gradient(focal_loss(alpha, 2, classes, average), *batch) for average in (True, False)]
    return results


@core
@compare(rtol=1e-4, atol=1e-5)
def case_leading_axes(seed):
    """Pairs in a grid, with labels in the same grid, as the docstring and the instruction say; the mean and the sum."""
    batch = random_batch(seed, 4, 6, classes=3)
    return [with_gradient(focal_loss([0.2, 1.5, 3.0], 2, 3, average), *batch) for average in (True, False)]


@core
@compare(rtol=1e-3, atol=1e-6)
def case_model(seed):
    """Loss and gradients of the whole model on two documents, one of them with a single pair."""
    documents = [
        Document(("storm", "and", "flood", "then", "match", "and", "panic"), (0, 2, 4, 6), frozenset({(0, 1), (3, 0)})),
        Document(("panic", "after", "outbreak"), (0, 2), frozenset({(1, 0)})),
    ]
    vocabulary = Vocabulary(documents)
    model = ErgoModel(len(vocabulary), width=16, class_weight=0.6, gamma=1.5).eval()
    loss, _ = model(collate(documents, vocabulary))
    loss.backward()
    return loss.detach(), model.classifier[1].weight.grad, model.pair_embedding.weight.grad


@compare(rtol=1e-8, atol=1e-12)
def case_shapes(seed):
    """Leading axes of logits and shapes of labels, float64, transposed and sliced; results have the shape ()."""
    loss = focal_loss([0.3, 2.0, 0.05], 2, 3)
    preds, labels = random_batch(seed, 4, 5, classes=3, dtype=torch.float64)
    single, label = random_batch(seed + 1, classes=3, dtype=torch.float64)
    return {
        "(B, M)": with_gradient(loss, preds, labels),
        "flat labels": with_gradient(loss, preds, labels.reshape(-1)),
        "column of labels": with_gradient(loss, preds.reshape(20, 3), labels.reshape(20, 1)),
        "one row": with_gradient(loss, single, label),
        "batch of one": with_gradient(loss, single[None], label.reshape(1)),
        "axes swapped": loss(preds.transpose(0, 1), labels.transpose(0, 1)),
        "every second row": loss(preds[::2], labels[::2]),
    }


@compare(rtol=1e-3, atol=1e-5)
def case_extreme_logits(seed):
    """Logits up to 1000: finite losses and gradients, full where the gold class loses, zero where it wins."""
    gaps = torch.tensor([-1000.0, -400.0, -110.0, -90.0, -30.0, 30.0, 90.0, 110.0, 400.0, 1000.0])
    gaps = gaps * (1 - 0.1 * torch.rand(10, generator=torch.Generator().manual_seed(seed)))
    rows = torch.stack([torch.zeros(10), gaps], dim=1)
    return {
        f"{gamma}, {label}": [with_gradient(focal_loss(0.75, gamma, 2), row, torch.tensor(label)) for row in rows]
        for gamma in (0, 1, 2, 3.5)
        for label in (0, 1)
    }


@compare(exact=True)
def case_empty_batch(seed):
    """A document with a single event has no pairs: the sum of nothing is 0, its mean NaN."""
    empty = torch.empty(0, 2), torch.empty(0, dtype=torch.int64)
    return [abs(focal_loss(0.75, 2, 2, size_average)(*empty)) for size_average in (True, False)]


@compare(rtol=0.05, atol=1e-3)
def case_half_precision(seed):
    """Logits in half precision give a float32 loss."""
    results = []
    for number, dtype in enumerate((torch.float16, torch.bfloat16)):
        preds, _ = random_batch(2 * seed + number, 32, dtype=dtype)
        labels = preds.argmin(dim=1)  # unlikely classes, so that 1 - p keeps its digits
        results.append(focal_loss(0.75, 2 + number, 2)(preds, labels))
    return results


@compare(rtol=1e-6, atol=1e-9)
def case_settings_changed_later(seed):
    """Weights, one of them 0, focusing parameter and reduction at the time of the call; nothing is changed."""
    preds, labels = random_batch(seed, 9, classes=3, dtype=torch.float64)
    loss = focal_loss(num_classes=3)
    results = [loss(preds, labels)]
    loss.alpha, loss.gamma, loss.size_average = torch.tensor([3.0, 0.125, 0.0]), 1.25, False
    results.append(loss(preds, labels))
    return results, preds, labels, loss.alpha
