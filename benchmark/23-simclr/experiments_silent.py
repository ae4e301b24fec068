"""Experiments on generated images: pretraining with each of the losses, in double precision."""

import torch
from data_aug.colours import NUMBERS, distort_colours
from data_aug.dataset import pattern_images
from data_aug.views import Augmentation, ViewLoader
from losses import ContrastiveLoss
from models.encoder import ContrastiveEncoder
from optim.lars import LARS
from optim.schedule import Schedule, peak_rate
from simclr import SimCLR
from torch import Tensor
from utils import Config

EPOCHS = 6
#: Column -> loss and temperature of a run.
RUNS = {
    "NT-Xent, 0.2": ("nt-xent", 0.2),
    "NT-Xent, 0.7": ("nt-xent", 0.7),
    "triplet": ("margin-triplet", 0.5),
    "triplet, semi-hard": ("margin-triplet-sh", 0.5),
}


def table_pretraining() -> dict[str, dict[str, float]]:
    """Training loss of each epoch, relative to the first, and the spread of projections, relative to the start."""
    torch.set_num_threads(1)
    batches = make_batches(pattern_images(36, seed=0)[0])
    others = pattern_images(24, seed=7)[0].double()
    rows: dict[str, dict[str, float]] = {f"epoch {epoch}": {} for epoch in range(2, EPOCHS + 1)}
    for column, (loss, temperature) in RUNS.items():
        torch.manual_seed(0)
        model = ContrastiveEncoder(width=4, projection_dim=8).double()
        args = Config(batch_size=12, temperature=temperature, loss=loss, margin=0.5, epochs=1)
        peak = peak_rate(2.0, args.batch_size)
        optimizer = LARS(model.parameters(), peak, momentum=0.8, weight_decay=0.05, trust=0.1)
        scheduler = Schedule(optimizer, peak, warmup_steps=4, total_steps=3 * EPOCHS)
        trainer = SimCLR(args=args, model=model, optimizer=optimizer, scheduler=scheduler)
        losses, spreads = [], [spread(model, others)]
        for epoch in batches:
            losses += [history["loss"] for history in trainer.train(epoch, report_every=0)]
            spreads.append(spread(model, others))
        for number, cells in enumerate(rows.values(), start=1):
            cells[f"loss, {column}"] = losses[number] / losses[0]
            cells[f"spread, {column}"] = spreads[number + 1] / spreads[0]
    return rows


def table_outcome() -> dict[str, dict[str, float]]:
    """Loss of other images and spread of their projections, after some of the steps of a run with NT-Xent."""
    torch.set_num_threads(1)
    batch_size = 128
    steps = [batch for [batch] in make_batches(pattern_images(batch_size, seed=0)[0], batch_size, epochs=8)]
    [[others]] = make_batches(pattern_images(batch_size, seed=7)[0], batch_size, epochs=1)
    rows: dict[str, dict[str, float]] = {}
    for temperature, warmup, done, total in ((0.1, 2, 8, 12), (0.2, 2, 8, 12), (0.5, 1, 5, 8)):
        trainer = pretrained(steps[:done], temperature, warmup, total, width=12)
        with torch.no_grad():
            projections = trainer.model(torch.cat(others))
            loss = trainer.criterion(*trainer.info_nce_loss(projections))
        name = f"temperature {temperature}, step {done} of {total}, warm-up of {warmup}"
        rows[name] = {"loss": loss.item(), "spread": torch.pdist(projections).mean().item()}
    return rows


def table_losses() -> dict[str, dict[str, float]]:
    """Two losses of other images, summed over their views, after some of the steps of a run with NT-Xent."""
    torch.set_num_threads(1)
    batch_size = 64
    steps = [batch for [batch] in make_batches(pattern_images(batch_size, seed=4)[0], batch_size, epochs=8)]
    [[others]] = make_batches(pattern_images(batch_size, seed=5)[0], batch_size, epochs=1)
    rows: dict[str, dict[str, float]] = {}
    for temperature, warmup, done, total in ((0.1, 2, 8, 12), (0.3, 3, 8, 10), (0.5, 1, 5, 8)):
        trainer = pretrained(steps[:done], temperature, warmup, total, width=8)
        with torch.no_grad():
            logits, labels = trainer.info_nce_loss(trainer.model(torch.cat(others)))
        triplet = ContrastiveLoss("margin-triplet-sh", temperature, margin=0.5)
        name = f"temperature {temperature}, step {done} of {total}, warm-up of {warmup}"
        losses = {"NT-Xent": trainer.criterion, "triplet, semi-hard": triplet}
        rows[name] = {column: len(labels) * loss(logits, labels).item() for column, loss in losses.items()}
    return rows


def pretrained(steps: list[list[Tensor]], temperature: float, warmup: int, total: int, width: int) -> SimCLR:
    """Train an encoder with NT-Xent on the batches of the first of `total` steps."""
    torch.manual_seed(0)
    model = ContrastiveEncoder(width=width, projection_dim=16).double()
    args = Config(batch_size=len(steps[0][0]), temperature=temperature, epochs=1)
    peak = peak_rate(0.025, args.batch_size)
    optimizer = LARS(model.parameters(), peak, momentum=0.8, weight_decay=0.05, trust=0.5)
    trainer = SimCLR(args=args, model=model, optimizer=optimizer, scheduler=Schedule(optimizer, peak, warmup, total))
    trainer.train(steps, report_every=0)
    return trainer


def make_batches(images: Tensor, batch_size: int = 12, epochs: int = EPOCHS) -> list[list[list[Tensor]]]:
    """Two views of each image of a batch, for each epoch; colours are distorted in float64."""
    crops = ViewLoader(images, Augmentation(seed=1, colour_strength=0), batch_size, n_views=2, seed=2)
    generator = torch.Generator().manual_seed(3)

    def distorted(views: Tensor) -> Tensor:
        numbers = torch.rand(len(views), NUMBERS, generator=generator, dtype=torch.float64)
        return distort_colours(views.double(), numbers, 0.6)

    return [[[distorted(view) for view in views] for views in crops] for _ in range(epochs)]


@torch.no_grad()
def spread(model: ContrastiveEncoder, images: Tensor) -> float:
    """Mean Euclidean distance between the projections of images."""
    return torch.pdist(model.eval()(images)).mean().item()
