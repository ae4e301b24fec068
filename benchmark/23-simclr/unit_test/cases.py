"""Labelled inputs for simclr-info-nce-logits."""

import torch
import torch.nn.functional as F
from lmrbench_cases import compare, core, outcome
from simclr import SimCLR
from torch import Tensor, nn
from utils import Config


class GradientDescent:
    """As much of an optimiser as the trainer needs; making one of torch.optim loads modules for a second."""

    def __init__(self, model: nn.Module) -> None:
        self.parameters = list(model.parameters())

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for parameter in self.parameters:
            parameter -= 0.5 * parameter.grad


class NoSchedule:
    """A learning rate that stays."""

    def step(self) -> None:
        pass


def make_trainer(images: int, views: int = 2, temperature: float = 0.5, model: nn.Module | None = None) -> SimCLR:
    """A trainer with these settings; the model matters only where a case trains it."""
    model = model or nn.Identity()
    args = Config(batch_size=images, n_views=views, temperature=temperature, epochs=2)
    return SimCLR(args=args, model=model, optimizer=GradientDescent(model), scheduler=NoSchedule())


def random_features(seed: int, rows: int, dim: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Rows of clearly different lengths, none of them 1.

    They are drawn in float64: normal numbers in float32 differ from processor to processor.
    """
    generator = torch.Generator().manual_seed(seed)
    lengths = 0.25 + 4 * torch.rand(rows, 1, generator=generator, dtype=torch.float64)
    return (lengths * torch.randn(rows, dim, generator=generator, dtype=torch.float64)).to(dtype)


def with_gradient(trainer: SimCLR, features: Tensor) -> dict[str, object]:
    """Positives, negatives without their order, labels, the loss of each row, and the gradient of the mean loss."""
    features = features.clone().requires_grad_()
    logits, labels = trainer.info_nce_loss(features)
    positives = trainer.args.n_views - 1
    loss = trainer.criterion(logits, labels)
    return {
        "positives": logits[:, :positives].detach(),
        "negatives": logits[:, positives:].detach().sort(dim=1).values,
        "labels": labels,
        "losses": F.cross_entropy(logits, labels, reduction="none").detach(),
        "loss": loss.detach(),
        "gradient": torch.autograd.grad(loss, features)[0],
    }


@core
@compare(rtol=1e-4, atol=2e-5)
def case_two_views(seed):
    """Batches of a few images, in more and in fewer dimensions than rows."""
    return {
        f"N={images}, d={dim}": with_gradient(make_trainer(images), random_features(seed + images, 2 * images, dim))
        for images in (2, 3, 8)
        for dim in (3, 24)
    }


@core
@compare(rtol=1e-4, atol=2e-5)
def case_temperatures(seed):
    features = random_features(seed, 12, 6)
    return {temperature: with_gradient(make_trainer(6, 2, temperature), features) for temperature in (0.1, 0.5, 1.0)}


@core
@compare(rtol=1e-4, atol=2e-5)
def case_more_views(seed):
    """Three and four views: the positives of a row stand on both sides of it."""
    return {
        f"N={images}, v={views}": with_gradient(
            make_trainer(images, views), random_features(seed + views, views * images, 7)
        )
        for images, views in ((3, 3), (5, 3), (2, 4))
    }


@core
@compare(rtol=1e-4, atol=2e-5)
def case_size_of_training(seed):
    return with_gradient(make_trainer(32, temperature=0.1), random_features(seed, 64, 32))


@core
@compare(rtol=1e-3, atol=1e-5)
def case_training(seed):
    """Two epochs of the trainer on a linear encoder: its losses, and the weights that come out."""
    model = nn.Linear(6, 4, bias=False)
    images = torch.randn(3, 5, 6)
    noise = 0.3 * torch.randn(3, 2, 5, 6)
    loader = [[batch + view for view in views] for batch, views in zip(images, noise, strict=True)]
    history = make_trainer(5, 2, 0.5, model).train(loader, report_every=0)
    return {"losses": [epoch["loss"] for epoch in history], "weight": model.weight.detach()}


@compare(rtol=1e-8, atol=1e-9)
def case_order_of_columns(seed):
    """Positives and negatives in the order of the rows, in float64, with both outputs as they are."""
    return {
        f"N={images}, v={views}": make_trainer(images, views).info_nce_loss(
            random_features(seed, images * views, 5, torch.float64)
        )
        for images, views in ((24, 2), (3, 3), (2, 5))
    }


@compare(rtol=1e-4, atol=1e-6)
def case_one_image(seed):
    """No negatives at all: one column for two views, two for three."""
    return [with_gradient(make_trainer(1, views), random_features(seed, views, 5)) for views in (2, 3)]


@compare(rtol=1e-4, atol=1e-6)
def case_rows_of_zeros(seed):
    """Their similarities are 0, and nothing is NaN."""
    features = random_features(seed, 8, 4)
    features[seed % 8] = features[5] = 0
    return make_trainer(4).info_nce_loss(features)


@compare(exact=True)
def case_wrong_number_of_rows(seed):
    """Half a batch, one row more or less, one view too many or too few."""
    return {
        f"N={images}, v={views}, {rows} rows": outcome(
            lambda trainer, features: [tuple(output.shape) for output in trainer.info_nce_loss(features)],
            make_trainer(images, views),
            random_features(seed, rows, 6),
            errors=ValueError,
        )
        for images, views, rows in ((4, 2, 8), (4, 2, 4), (4, 2, 7), (4, 2, 9), (4, 2, 12), (4, 3, 8), (1, 2, 1))
    }


@compare(rtol=5e-2, atol=5e-2)
def case_half_precision(seed):
    """Logits have the dtype of the features, labels are int64 whatever it is."""
    return make_trainer(3, temperature=1.0).info_nce_loss(random_features(seed, 6, 8, torch.bfloat16))


@compare(rtol=1e-5, atol=1e-6)
def case_inputs_unchanged(seed):
    """Columns of a wider tensor and a transposed one; the features come back as they were."""
    strided, transposed = random_features(seed, 6, 9)[:, 1::2], random_features(seed, 4, 6).t()
    return [(make_trainer(3).info_nce_loss(features), features) for features in (strided, transposed)]
