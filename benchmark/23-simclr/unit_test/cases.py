"""Labelled inputs for simclr-info-nce-logits.

Most cases use float64, where honest reorderings of the arithmetic agree to many digits and mistakes do not.
"""

import torch
import torch.nn.functional as F
from lmrbench_cases import compare, outcome
from simclr import SimCLR
from torch import Tensor, nn
from utils import Config


class GradientDescent:
    """As much of an optimiser as the trainer needs; making one of torch.optim loads modules for a second."""

    learning_rate = 0.5

    def __init__(self, model: nn.Module) -> None:
        self.parameters = list(model.parameters())

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for parameter in self.parameters:
            parameter -= self.learning_rate * parameter.grad


class NoSchedule:
    """A learning rate that stays."""

    def step(self) -> None:
        pass


def make_trainer(images: int, views: int = 2, temperature: float = 0.5, model: nn.Module | None = None) -> SimCLR:
    """A trainer with these settings; the model matters only where a case trains it."""
    model = model or nn.Identity()
    args = Config(batch_size=images, n_views=views, temperature=temperature, epochs=2)
    return SimCLR(args=args, model=model, optimizer=GradientDescent(model), scheduler=NoSchedule())


def random_features(seed: int, rows: int, dim: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Rows of clearly different lengths, none of them 1; drawn in float64 whatever the dtype."""
    generator = torch.Generator().manual_seed(seed)
    lengths = 0.25 + 4 * torch.rand(rows, 1, generator=generator, dtype=torch.float64)
    return (lengths * torch.randn(rows, dim, generator=generator, dtype=torch.float64)).to(dtype)


def with_gradients(trainer: SimCLR, features: Tensor, seed: int) -> dict[str, object]:
    """Outputs, the cross-entropy, its gradient, and the gradient of a random projection of the logits."""
    features = features.clone().requires_grad_()
    logits, labels = trainer.info_nce_loss(features)
    loss = F.cross_entropy(logits, labels)
    weights = torch.randn(logits.shape, generator=torch.Generator().manual_seed(1000 + seed), dtype=torch.float64)
    projection = (logits * weights.to(logits.dtype)).sum()
    return {
        "logits": logits.detach(),
        "labels": labels,
        "loss": loss.detach(),
        "loss_gradient": torch.autograd.grad(loss, features, retain_graph=True)[0],
        "projection_gradient": torch.autograd.grad(projection, features)[0],
    }


@compare(rtol=1e-8, atol=1e-9)
def case_two_views(seed):
    """Batches of 1 to 9 images, in more and in fewer dimensions than rows."""
    return {
        f"N={images}, d={dim}": make_trainer(images).info_nce_loss(random_features(seed + images, 2 * images, dim))
        for images in (1, 2, 3, 4, 9)
        for dim in (3, 24)
    }


@compare(rtol=1e-8, atol=1e-9)
def case_more_views(seed):
    """Three to five views, also as many as images: the positives of a row stand on both sides of it."""
    return {
        f"N={images}, v={views}": make_trainer(images, views).info_nce_loss(
            random_features(seed + 10 * images + views, views * images, 7)
        )
        for images, views in ((3, 3), (2, 3), (5, 3), (2, 4), (4, 4), (3, 5))
    }


@compare(rtol=1e-8, atol=1e-9)
def case_one_image(seed):
    """No negatives at all: one column for two views, two for three, and a loss of zero for two."""
    return {
        f"v={views}": with_gradients(make_trainer(1, views), random_features(seed + views, views, 5), seed)
        for views in (2, 3, 4)
    }


@compare(rtol=1e-8, atol=1e-9)
def case_temperatures(seed):
    """Below, at and above 1, and an integer."""
    features = random_features(seed, 12, 6)
    return {
        f"tau={temperature}, v={views}": make_trainer(12 // views, views, temperature).info_nce_loss(features)
        for temperature in (0.01, 0.07, 0.5, 1.0, 2, 30.0)
        for views in (2, 3)
    }


@compare(rtol=1e-8, atol=1e-9)
def case_loss_of_equation_one(seed):
    """The mean cross-entropy of the result, as the trainer's criterion computes it, and its terms row by row."""
    results = {}
    for images, views, temperature in ((1, 2, 0.1), (6, 2, 0.07), (6, 2, 1.0), (4, 3, 0.5)):
        trainer = make_trainer(images, views, temperature)
        logits, labels = trainer.info_nce_loss(random_features(seed, images * views, 8))
        terms = F.cross_entropy(logits, labels, reduction="none")
        results[f"N={images}, v={views}, tau={temperature}"] = {
            "mean": trainer.criterion(logits, labels),
            "rows": terms,
        }
    return results


@compare(rtol=1e-7, atol=1e-9)
def case_gradients(seed):
    """Through both factors of each product, positive or negative, and through the normalisation."""
    return {
        f"N={images}, v={views}, tau={temperature}": with_gradients(
            make_trainer(images, views, temperature), random_features(seed + images, images * views, 5), seed
        )
        for images, views, temperature in ((4, 2, 0.5), (2, 2, 0.07), (3, 3, 1.0))
    }


@compare(rtol=1e-4, atol=1e-5)
def case_float32_batch(seed):
    """Sizes and temperature of real training."""
    features = random_features(seed, 96, 32, torch.float32)
    return with_gradients(make_trainer(48, temperature=0.1), features, seed)


@compare(exact=True)
def case_axis_aligned_rows(seed):
    """Rows along the axes, with lengths that are powers of two: similarities -1, 0 and 1 whatever the arithmetic."""
    generator = torch.Generator().manual_seed(seed)
    axes = torch.randint(3, (12,), generator=generator)
    signs = 1 - 2 * torch.randint(2, (12,), generator=generator)
    lengths = 2.0 ** torch.randint(-3, 4, (12,), generator=generator)
    features = torch.eye(3)[axes] * (signs * lengths).unsqueeze(1)
    results = {}
    for views in (2, 3, 4, 6, 12):
        results[f"v={views}"] = make_trainer(12 // views, views, temperature=0.25).info_nce_loss(features)
    return results


@compare(rtol=1e-8, atol=1e-9)
def case_duplicated_images(seed):
    """The same image twice in a batch, and views that equal each other: all of them count as separate rows."""
    distinct = random_features(seed, 3, 5)
    return {
        "images": make_trainer(4).info_nce_loss(distinct[[0, 1, 0, 2, 0, 1, 0, 2]]),
        "views": make_trainer(3, 3).info_nce_loss(distinct.repeat(3, 1)),
        "everything": make_trainer(4).info_nce_loss(distinct[:1].repeat(8, 1)),
        "opposite views": make_trainer(3).info_nce_loss(torch.cat([distinct, -2 * distinct])),
    }


@compare(rtol=1e-7, atol=1e-9)
def case_lengths_do_not_matter(seed):
    """Factors from 1e-4 to 1e4 on rows; the gradient of a row falls as its length grows."""
    features = random_features(seed, 8, 6)
    factors = 10.0 ** torch.linspace(-4, 4, 8, dtype=torch.float64)[torch.tensor([3, 7, 0, 5, 1, 6, 2, 4])]
    outputs = with_gradients(make_trainer(4), features * factors.unsqueeze(1), seed)
    gradients = {name: outputs.pop(name) * factors.unsqueeze(1) for name in ("loss_gradient", "projection_gradient")}
    return outputs | gradients


@compare(rtol=1e-6, atol=1e-9)
def case_short_rows(seed):
    """Norms of 1e-6 to 1e-11 are divided out, shorter ones are divided by 1e-12, and zero stays zero."""
    directions = F.normalize(random_features(seed, 8, 4), dim=1)
    norms = torch.tensor([1.0, 1e-6, 0.0, 1e-9, 1e-11, 2.0, 4e-13, 1e-16], dtype=torch.float64)
    features = (directions * norms.unsqueeze(1)).requires_grad_()
    logits, labels = make_trainer(4).info_nce_loss(features)
    (gradient,) = torch.autograd.grad(F.cross_entropy(logits, labels), features)
    ordinary = norms > 1e-12
    return {
        "outputs": (logits.detach(), labels),
        "gradient": (gradient * norms.unsqueeze(1))[ordinary],
        "zeros": make_trainer(2).info_nce_loss(torch.zeros(4, 3)),
    }


@compare(exact=True)
def case_wrong_number_of_rows(seed):
    """Half a batch, one row more or less, one view too many or too few, no row at all."""
    return {
        f"N={images}, v={views}, {rows} rows": outcome(
            lambda trainer, features: [tuple(output.shape) for output in trainer.info_nce_loss(features)],
            make_trainer(images, views),
            random_features(seed, rows, 6),
            errors=ValueError,
        )
        for images, views, rows in (
            (4, 2, 8),
            (4, 2, 4),
            (4, 2, 6),
            (4, 2, 7),
            (4, 2, 9),
            (4, 2, 12),
            (4, 2, 16),
            (4, 3, 8),
            (6, 3, 6),
            (1, 2, 1),
            (1, 2, 0),
        )
    }


@compare(rtol=5e-2, atol=5e-2)
def case_dtypes(seed):
    """Logits have the dtype of the features, labels are int64 whatever it is."""
    return {
        str(dtype): make_trainer(3, temperature=1.0).info_nce_loss(random_features(seed, 6, 8, dtype))
        for dtype in (torch.float64, torch.float32, torch.bfloat16)
    }


@compare(rtol=1e-8, atol=1e-9)
def case_inputs_unchanged(seed):
    """Columns of a wider tensor and a transposed one; the features come back as they were, by keyword too."""
    wide = random_features(seed, 6, 9)
    strided, transposed = wide[:, 1::2], random_features(seed, 4, 6).t()
    results = {}
    for name, features in (("contiguous", wide), ("strided", strided), ("transposed", transposed)):
        outputs = make_trainer(3).info_nce_loss(features=features)
        results[name] = {"outputs": outputs, "features": features.clone()}
    return results


@compare(exact=True)
def case_what_requires_grad(seed):
    """Logits carry gradients when the features do, labels never, and nothing does without gradients."""
    features = random_features(seed, 6, 4)
    trainer = make_trainer(3)
    facts = {}
    for trains in (True, False):
        outputs = trainer.info_nce_loss(features.clone().requires_grad_(trains))
        facts[f"trains={trains}"] = [output.requires_grad for output in outputs]
    with torch.no_grad():
        facts["no_grad"] = [output.requires_grad for output in trainer.info_nce_loss(features.clone().requires_grad_())]
    facts["type"] = type(outputs).__name__
    facts["devices"] = [str(output.device) for output in outputs]
    return facts


@compare(rtol=1e-6, atol=1e-8)
def case_training(seed):
    """Two epochs of the trainer on a linear encoder: its history, and the weights that come out."""
    generator = torch.Generator().manual_seed(seed)
    model = nn.Linear(6, 4, bias=False, dtype=torch.float64)
    with torch.no_grad():
        model.weight.copy_(torch.randn(4, 6, generator=generator, dtype=torch.float64))
    images = torch.randn(3, 5, 6, generator=generator, dtype=torch.float64)
    noise = 0.3 * torch.randn(3, 3, 5, 6, generator=generator, dtype=torch.float64)
    loader = [[batch + view for view in views] for batch, views in zip(images, noise, strict=True)]
    history = make_trainer(5, 3, 0.2, model).train(loader, report_every=0)
    return {"history": history, "weight": model.weight.detach()}
