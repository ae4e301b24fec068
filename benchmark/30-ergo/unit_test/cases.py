"""Labelled inputs for adaptive-focal-loss-forward.

Most cases use float64, where honest reorderings of the arithmetic agree to many digits and mistakes do not.
"""

import itertools

import torch
from lmrbench_cases import compare
from model import ErgoModel, focal_loss
from processor import Document, Vocabulary, collate
from torch import Tensor


def random_batch(
    seed: int, *shape: int, classes: int = 2, scale: float = 2.0, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    """Logits (*shape, classes) and labels of this shape; class 0 is the most frequent one, as in the paper's data."""
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(*shape, classes, generator=generator, dtype=torch.float64)
    labels = torch.randint(classes, shape, generator=generator) * (torch.rand(shape, generator=generator) < 0.6)
    return logits.to(dtype), labels


def with_gradient(loss: focal_loss, preds: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The loss and its gradient with respect to the logits."""
    preds = preds.detach().clone().requires_grad_()
    value = loss(preds, labels)
    (gradient,) = torch.autograd.grad(value, preds)
    return value.detach(), gradient


@compare(rtol=1e-8, atol=1e-12)
def case_binary_batches(seed):
    """The paper's setting and others, both reductions, batches of one pair and of many."""
    return {
        f"N={size}, alpha={alpha}, size_average={size_average}": focal_loss(alpha, 2, 2, size_average)(
            *random_batch(seed + size, size)
        )
        for size in (1, 2, 5, 64)
        for alpha in (0.75, 0.25, 0.5, 0.9)
        for size_average in (True, False)
    }


@compare(rtol=1e-4, atol=1e-6)
def case_float32_batch(seed):
    results = {}
    for size_average in (True, False):
        loss = focal_loss(0.75, 2, 2, size_average)
        results[str(size_average)] = with_gradient(loss, *random_batch(seed, 40, dtype=torch.float32))
    return results


@compare(rtol=1e-8, atol=1e-12)
def case_focusing_parameters(seed):
    """From 0, where weighted cross-entropy remains, over fractions to large ones; ints and floats."""
    preds, labels = random_batch(seed, 24)
    return {
        repr(gamma): with_gradient(focal_loss(0.75, gamma, 2), preds, labels)
        for gamma in (0, 0.0, 0.5, 1, 1.0, 1.7, 2, 2.0, 3, 5)
    }


@compare(rtol=1e-8, atol=1e-12)
def case_more_classes(seed):
    """Three and five classes, weights from one number and from lists, whose sums are not 1."""
    results = {}
    for classes, alpha in (
        (3, 0.75),
        (3, [0.2, 1.5, 3.0]),
        (5, 0.1),
        (5, [2.0, 0.0, 0.5, 1.0, 4.0]),
        (1, [0.6]),
    ):
        preds, labels = random_batch(seed + classes, 30, classes=classes)
        for gamma, size_average in itertools.product((0, 2), (True, False)):
            loss = focal_loss(alpha, gamma, classes, size_average)
            results[f"{alpha}, {classes}, {gamma}, {size_average}"] = with_gradient(loss, preds, labels)
    return results


@compare(rtol=1e-8, atol=1e-12)
def case_one_class_only(seed):
    """Batches in which all labels are equal: a mean over the sum of the weights would lose the weight."""
    preds, _ = random_batch(seed, 12, classes=3)
    return {
        f"{label}, {size_average}": focal_loss([0.3, 2.0, 0.05], 2, 3, size_average)(preds, torch.full((12,), label))
        for label in range(3)
        for size_average in (True, False)
    }


@compare(rtol=1e-8, atol=1e-12)
def case_shapes(seed):
    """Leading axes of logits and shapes of labels; results are scalars of shape ()."""
    results = {}
    for size_average in (True, False):
        loss = focal_loss([0.3, 2.0, 0.05], 2, 3, size_average)
        preds, labels = random_batch(seed, 4, 5, classes=3)
        single, label = random_batch(seed + 1, classes=3)
        deep, deep_labels = random_batch(seed + 2, 2, 3, 2, classes=3)
        results[str(size_average)] = {
            "(B, M)": with_gradient(loss, preds, labels),
            "flat labels": with_gradient(loss, preds, labels.reshape(-1)),
            "column of labels": with_gradient(loss, preds.reshape(20, 3), labels.reshape(20, 1)),
            "labels of flat logits": with_gradient(loss, preds.reshape(20, 3), labels),
            "row of labels": with_gradient(loss, preds, labels.reshape(1, 20)),
            "three axes": with_gradient(loss, deep, deep_labels),
            "one row": with_gradient(loss, single, label),
            "one row, label (1,)": with_gradient(loss, single, label.reshape(1)),
            "batch of one": with_gradient(loss, single[None], label.reshape(1)),
            "batch of one, label (1, 1)": with_gradient(loss, single[None], label.reshape(1, 1)),
            # As many rows as classes: a softmax over the wrong axis has the right shape.
            "N = C": with_gradient(loss, preds[0, :3], labels[0, :3]),
        }
    return results


@compare(rtol=1e-8, atol=1e-12)
def case_non_contiguous(seed):
    """Transposed and sliced logits and labels."""
    loss = focal_loss([0.3, 2.0, 0.05], 2, 3)
    preds, labels = random_batch(seed, 6, 4, classes=3)
    classes_first = preds.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    wide, _ = random_batch(seed, 6, 4, classes=8)
    return {
        "axes swapped": loss(preds.transpose(0, 1), labels.transpose(0, 1)),
        "axes swapped, contiguous labels": loss(preds.transpose(0, 1), labels.t().contiguous()),
        "classes first in memory": loss(classes_first, labels),
        "columns": loss(wide[..., 1:7:2], labels),
        "every second row": loss(preds[::2], labels[::2]),
        "reversed labels": loss(preds, labels.flip(0, 1)),
        "expanded": loss(preds[:1].expand(6, 4, 3), labels),
    }


@compare(rtol=1e-3, atol=1e-5)
def case_extreme_logits(seed):
    """Float32 logits up to 1000: finite losses and gradients, full where the gold class loses, zero where it wins."""
    gaps = [-1000.0, -400.0, -110.0, -90.0, -30.0, 30.0, 90.0, 110.0, 400.0, 1000.0]
    rows = torch.stack([torch.zeros(len(gaps)), torch.tensor(gaps)], dim=1)
    results = {}
    for gamma in (0, 1, 2, 3.5):
        for label in (0, 1):
            loss = focal_loss(0.75, gamma, 2, size_average=False)
            results[f"{gamma}, {label}"] = [
                with_gradient(loss, preds, torch.tensor([label]))
                for row in rows
                for preds in (row[None], row[None] - row.mean())
            ]
    three = torch.tensor([[200.0, -200.0, 0.0], [-1000.0, 1000.0, 999.0], [0.0, -700.0, -701.0]])
    results["three classes"] = [
        with_gradient(focal_loss(0.75, 2, 3), three, torch.full((3,), label)) for label in range(3)
    ]
    return results


@compare(rtol=1e-6, atol=1e-10)
def case_gradient_of_each_row(seed):
    """Gradients where the gold class is likely, unlikely and in between, also beyond the first order."""
    generator = torch.Generator().manual_seed(seed)
    gaps = torch.linspace(-6, 6, 13, dtype=torch.float64) + 0.1 * torch.rand(13, generator=generator).double()
    results = {}
    for gamma in (0.5, 1, 2, 3):
        preds = torch.stack([torch.zeros_like(gaps), gaps], dim=1).requires_grad_()
        value = focal_loss(0.75, gamma, 2, size_average=False)(preds, torch.arange(13) % 2)
        (gradient,) = torch.autograd.grad(value, preds, create_graph=True)
        (second,) = torch.autograd.grad((gradient**2).sum(), preds)
        results[str(gamma)] = gradient.detach(), second
    return results


@compare(exact=True)
def case_empty_batch(seed):
    """The sum of nothing is 0, its mean NaN; float64 and float32."""
    results = {}
    for dtype, shape in itertools.product((torch.float32, torch.float64), ((0, 2), (0, 5, 2), (3, 0, 2))):
        for size_average in (True, False):
            preds = torch.empty(shape, dtype=dtype)
            value = focal_loss(0.75, 2, 2, size_average)(preds, torch.empty(shape[:-1], dtype=torch.int64))
            results[f"{dtype}, {shape}, {size_average}"] = abs(value)  # whether zero has a sign is nobody's business
    return results


@compare(rtol=0.05, atol=1e-3)
def case_half_precision(seed):
    """Logits in half precision give a float32 loss and gradients in half precision."""
    results = {}
    for dtype in (torch.float16, torch.bfloat16):
        preds, _ = random_batch(seed, 32, scale=1.0, dtype=dtype)
        labels = preds.argmin(dim=1)  # unlikely classes, so that 1 - p keeps its digits
        value, gradient = with_gradient(focal_loss(0.75, 2, 2, size_average=False), preds, labels)
        results[str(dtype)] = value, str(gradient.dtype), gradient.float()
    return results


@compare(exact=True)
def case_any_device(seed):
    """Logits on the meta device, weights on the CPU: shape, dtype and device of the result.

    Nothing here depends on the seed, and PyTorch's first operation on that device takes a second: so once is enough.
    """
    facts = {}
    for dtype, size_average in itertools.product((torch.float32, torch.float64, torch.bfloat16), (True, False)):
        if seed > 0:
            break
        preds = torch.empty(4, 5, 3, dtype=dtype, device="meta", requires_grad=True)
        labels = torch.empty(4, 5, dtype=torch.int64, device="meta")
        value = focal_loss(0.75, 2, 3, size_average)(preds, labels)
        facts[f"{dtype}, {size_average}"] = tuple(value.shape), str(value.dtype), value.device.type
    return facts


@compare(rtol=1e-8, atol=1e-12)
def case_settings_changed_later(seed):
    """Weights, focusing parameter and reduction are those at the time of the call."""
    preds, labels = random_batch(seed, 9, classes=3)
    loss = focal_loss(num_classes=3)
    results = [loss(preds, labels)]
    loss.size_average = False
    results.append(loss(preds, labels))
    loss.gamma = 1.25
    results.append(loss(preds, labels))
    loss.alpha = torch.tensor([3.0, 0.125, 0.0])
    results.append(loss(preds, labels))
    loss.size_average = True
    results.append(loss(preds, labels))
    # Weights that are a view with strides of its own.
    loss.alpha = torch.arange(12.0).view(4, 3)[:, 1][:3]
    results.append(loss(preds, labels))
    return results


@compare(exact=True)
def case_what_stays_and_what_trains(seed):
    """Arguments and settings are as before, only the logits take part in the graph, and the module has no state."""
    facts = []
    for size_average in (True, False):
        loss = focal_loss([0.5, 2.0, 1.0], 2, 3, size_average)
        preds, labels = random_batch(seed, 3, 4, classes=3)
        for trains in (True, False):
            given = preds.clone().requires_grad_(trains)
            value = loss(given, labels)
            facts += [value.requires_grad, given.detach().clone(), labels.clone(), loss.alpha.clone()]
            facts += [loss.alpha.requires_grad, loss.gamma, loss.size_average, len(loss.state_dict())]
            with torch.no_grad():
                facts.append(loss(given, labels).requires_grad)
    return facts


@compare(rtol=1e-8, atol=1e-12)
def case_arguments_by_keyword(seed):
    preds, labels = random_batch(seed, 7)
    return focal_loss(num_classes=2)(labels=labels, preds=preds), focal_loss(num_classes=2).forward(preds, labels)


@compare(rtol=1e-3, atol=1e-6)
def case_model(seed):
    """Loss and gradients of the whole model on two documents, one of them with a single pair."""
    torch.manual_seed(seed)
    documents = [
        Document(("storm", "and", "flood", "then", "match", "and", "panic"), (0, 2, 4, 6), frozenset({(0, 1), (3, 0)})),
        Document(("panic", "after", "outbreak"), (0, 2), frozenset({(1, 0)})),
    ]
    vocabulary = Vocabulary(documents)
    model = ErgoModel(len(vocabulary), width=16, class_weight=0.6, gamma=1.5).eval()
    loss, _ = model(collate(documents, vocabulary))
    loss.backward()
    return loss.detach(), model.classifier[1].weight.grad, model.pair_embedding.weight.grad
