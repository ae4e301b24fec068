"""Labelled inputs for simclr-method: each function through its interface, and pretraining with all of them."""

import torch
from data_aug.colours import NUMBERS, distort_colours
from data_aug.dataset import pattern_images
from data_aug.views import Augmentation, ViewLoader
from lmrbench_cases import compare, experiment, goal
from losses import is_positive, margin_triplet, nt_xent, semi_hard
from models.encoder import ContrastiveEncoder, ProjectionHead
from optim.lars import LARS, local_rate
from optim.schedule import Schedule, peak_rate, rate_at
from simclr import SimCLR, similarity_matrix
from torch import Tensor, nn
from utils import Config


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def uniform(seed: int, *shape: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def random_features(seed: int, rows: int, dim: int) -> Tensor:
    """Rows of clearly different lengths, none of them 1."""
    return (0.25 + 4 * uniform(seed + 77, rows, 1)) * normal(seed, rows, dim)


def refill(module: nn.Module, seed: int, scale: float = 0.6) -> nn.Module:
    """The module in float64, its matrices and biases drawn anew."""
    module = module.double()
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_(scale * normal(100 * seed + number, *parameter.shape))
    return module


# --- views and projections --------------------------------------------------------------------------------------------


@goal("distort_colours")
@compare(rtol=1e-6, atol=1e-9)
def case_distort_colours(seed):
    """Random numbers for a batch, several strengths; then numbers that single out each step."""
    images = uniform(seed, 24, 3, 5, 4)
    results = [distort_colours(images, uniform(seed + 1, 24, NUMBERS), strength) for strength in (1.0, 0.5, 0.1)]
    neutral = torch.full((8, NUMBERS), 0.5, dtype=torch.float64)
    for column in range(NUMBERS):
        numbers = neutral.clone()
        numbers[:, column] = torch.linspace(0.03, 0.97, 8, dtype=torch.float64)
        results.append(distort_colours(images[:8], numbers, 0.9))
    return results


@goal("distort_colours")
@compare(rtol=1e-4, atol=1e-6)
def case_distort_colours_of_generated_images(seed):
    """As the augmentation calls it, in float32; bright and dark images are clipped."""
    torch.set_default_dtype(torch.float64)
    images, _ = pattern_images(16, seed)
    numbers = uniform(seed + 5, 16, NUMBERS).float()
    return distort_colours(images, numbers, 0.8), distort_colours(1 - images**3, numbers, 1.0)


@goal("ProjectionHead.forward")
@compare(rtol=1e-6, atol=1e-9)
def case_projection_head(seed):
    """Projections and gradients."""
    head = refill(ProjectionHead(7, 4), seed)
    representations = normal(seed + 3, 9, 7).requires_grad_()
    projections = head(representations)
    (projections * normal(seed + 4, 9, 4)).sum().backward()
    return projections, representations.grad, [parameter.grad for parameter in head.parameters()]


@goal("similarity_matrix")
@compare(rtol=1e-6, atol=1e-9)
def case_similarity_matrix(seed):
    """More rows than dimensions and fewer; with gradients."""
    results = []
    for rows, dim in ((2, 3), (6, 4), (5, 16), (12, 12)):
        features = random_features(seed + rows, rows, dim).requires_grad_()
        similarities = similarity_matrix(features)
        (similarities * normal(seed + 5, rows, rows)).sum().backward()
        results.append([similarities, features.grad])
    return results


# --- scores and losses ------------------------------------------------------------------------------------------------


class GradientDescent:
    """As much of an optimiser as the trainer needs, and what it did."""

    def __init__(self, model: nn.Module, events: list[object]) -> None:
        self.parameters = list(model.parameters())
        self.events = events

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        self.events.append("update")
        for parameter in self.parameters:
            parameter -= 0.3 * parameter.grad


class NotedSchedule:
    """A learning rate that stays; notes when it is stepped."""

    def __init__(self, events: list[object]) -> None:
        self.events = events

    def step(self) -> None:
        self.events.append("schedule")


def make_trainer(images: int, views: int = 2, temperature: float = 0.5, model: nn.Module | None = None, **options):
    """A trainer, and the events of its training."""
    model = model or nn.Identity()
    args = Config(batch_size=images, n_views=views, temperature=temperature, epochs=2, **options)
    events: list[object] = []
    optimizer, scheduler = GradientDescent(model, events), NotedSchedule(events)
    return SimCLR(args=args, model=model, optimizer=optimizer, scheduler=scheduler), events


@goal("SimCLR.info_nce_loss")
@compare(rtol=1e-6, atol=1e-9)
def case_info_nce(seed):
    """Positives in their order, negatives without theirs, labels, and gradients; two views and more."""
    results = {}
    for images, views, temperature in ((2, 2, 0.5), (5, 2, 0.1), (8, 2, 1.0), (3, 3, 0.2), (2, 4, 0.7)):
        trainer, _ = make_trainer(images, views, temperature)
        features = random_features(seed + images, views * images, 6).requires_grad_()
        logits, labels = trainer.info_nce_loss(features)
        positives, negatives = logits[:, : views - 1], logits[:, views - 1 :].sort(dim=1).values
        gradient = torch.autograd.grad((positives.sum() + (negatives * negatives.detach()).sum()), features)[0]
        results[f"N={images}, v={views}"] = [positives, negatives, labels, gradient]
    return results


@goal("nt_xent")
@compare(rtol=1e-6, atol=1e-9)
def case_nt_xent(seed):
    """Scores of several sizes, positives in the first column and elsewhere; with gradients."""
    results = []
    for rows, columns, scale in ((4, 3, 1.0), (10, 9, 4.0), (6, 12, 10.0)):
        generator = torch.Generator().manual_seed(seed)
        for labels in (torch.zeros(rows, dtype=torch.int64), torch.randint(columns, (rows,), generator=generator)):
            logits = (scale * normal(seed + rows, rows, columns)).requires_grad_()
            loss = nt_xent(logits, labels)
            results.append([loss, torch.autograd.grad(loss, logits)[0]])
    return results


def similarities_and_labels(seed: int, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """Numbers in (-1, 1), all different, with positives anywhere."""
    labels = torch.randint(columns, (rows,), generator=torch.Generator().manual_seed(seed + 9))
    return torch.tanh(normal(seed, rows, columns)), labels


@goal("semi_hard")
@compare(exact=True)
def case_semi_hard(seed):
    """Narrow margins, which leave some rows without a negative, and wide ones."""
    results = []
    for rows, columns, margin in ((12, 7, 0.1), (12, 7, 0.4), (9, 15, 0.8), (20, 5, 1.0), (10, 4, 2.5)):
        similarities, labels = similarities_and_labels(seed + rows, rows, columns)
        results.append(semi_hard(similarities, labels, margin))
    return results


@goal("margin_triplet")
@compare(rtol=1e-6, atol=1e-9)
def case_margin_triplet(seed):
    """All negatives, some of them, and rows without any; with gradients."""
    results = []
    for rows, columns, margin in ((6, 5, 0.2), (10, 9, 0.5), (8, 12, 1.0)):
        values, labels = similarities_and_labels(seed + rows, rows, columns)
        negatives = ~is_positive(values, labels)
        some = negatives & (normal(seed + 2, rows, columns) > 0)
        some[seed % rows] = some[-1] = False
        for used in (negatives, some):
            similarities = values.clone().requires_grad_()
            loss = margin_triplet(similarities, labels, used, margin)
            results.append([loss, torch.autograd.grad(loss, similarities)[0]])
    return results


# --- optimisation -----------------------------------------------------------------------------------------------------


@goal("local_rate")
@compare(rtol=1e-6, atol=1e-12)
def case_local_rate(seed):
    """Matrices and kernels of any size; weak decay and strong."""
    results = []
    for number, shape in enumerate(((3, 4), (8, 2, 3, 3), (1, 5), (6, 6))):
        weight, gradient = 2 * normal(10 * seed + number, *shape), 0.3 * normal(10 * seed + number + 5, *shape)
        for weight_decay, trust in ((1e-6, 1e-3), (0.0, 0.1), (0.5, 0.02), (3.0, 1.0)):
            results.append(local_rate(weight, gradient, weight_decay, trust))
    return results


@goal("LARS.step")
@compare(rtol=1e-6, atol=1e-9)
def case_lars(seed):
    """Parameters and velocities after each of some steps, at a changing rate; parameters of one axis and of more."""
    results = []
    for momentum, weight_decay, trust in ((0.9, 1e-6, 0.5), (0.0, 0.3, 0.2), (0.6, 0.8, 0.9)):
        shapes = ((4, 3), (3,), (2, 2, 3, 3), (5,), (1, 6))
        parameters = [nn.Parameter(normal(seed + number, *shape)) for number, shape in enumerate(shapes)]
        optimizer = LARS(parameters, 0.5, momentum, weight_decay, trust)
        for step in range(4):
            optimizer.learning_rate = 0.5 / (1 + step)
            for number, parameter in enumerate(parameters):
                parameter.grad = 2 * normal(1000 * seed + 10 * step + number, *parameter.shape)
            parameters[-1].grad = None if step == 2 else parameters[-1].grad
            optimizer.step()
            results.append([[p.detach().clone(), optimizer.velocity[p].clone()] for p in parameters])
        results.append([parameter.grad for parameter in parameters])
    return results


@goal("peak_rate")
@compare(rtol=1e-9, atol=1e-12)
def case_peak_rate(seed):
    """Small batches and large ones."""
    return [peak_rate(0.05 * (1 + seed % 9) + 0.3 * k, batch) for k in range(3) for batch in (1, 16, 256, 300, 4096)]


@goal("rate_at")
@compare(rtol=1e-9, atol=1e-12)
def case_rate_at(seed):
    """All steps of schedules with and without a warm-up, and of one that is nothing else."""
    schedules = (
        (0.3 + seed % 9, 4, 20),
        (1.5, 0, 9 + seed % 9),
        (0.7, 7 + seed % 9, 7 + seed % 9),
        (2.0 + seed % 9, 1, 13),
        (0.1, 5, 6),
    )
    return [[rate_at(step, *settings) for step in range(1, settings[2] + 1)] for settings in schedules]


# --- training ---------------------------------------------------------------------------------------------------------


class Squares(nn.Module):
    """In place of a loss: whatever the scores are, a sum of squares."""

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return logits.square().sum(dim=1).mean() - logits.gather(1, labels.unsqueeze(1)).mean()


@goal("SimCLR._step")
@compare(rtol=1e-5, atol=1e-7)
def case_step(seed):
    """Two epochs on a linear encoder with another loss: what is reported, the weights, and the order of events."""
    results = {}
    for views in (2, 3):
        model = refill(nn.Linear(6, 4), seed)
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        trainer, events = make_trainer(5, views, 0.8, model)
        trainer.criterion = Squares()
        batches = [list(normal(10 * seed + number, views, 5, 6)) for number in range(3)]
        history = trainer.train(batches, report_every=0)
        results[f"v={views}"] = [history, model.weight.detach(), model.bias.detach(), events]
    return results


@experiment
@compare(rtol=1e-4, atol=1e-5)
def case_pretraining(seed):
    """Pretrain a small encoder with each of the losses: losses, weights, and representations of other images."""
    torch.set_default_dtype(torch.float64)
    images, _ = pattern_images(26, seed)
    others = pattern_images(8, seed + 50)[0].double()
    results = {}
    for number, loss in enumerate(("nt-xent", "margin-triplet", "margin-triplet-sh")):
        crops = ViewLoader(images, Augmentation(seed + number, colour_strength=0), batch_size=8, n_views=2, seed=seed)
        # Colours are distorted in float64, so that rounding stays far below what training can amplify.
        batches = [
            [distort_colours(view.double(), uniform(100 * seed + 10 * epoch + k, 8, NUMBERS), 0.8) for k, view in pair]
            for epoch in range(2)
            for pair in (enumerate(views) for views in crops)
        ]
        args = Config(batch_size=8, temperature=0.3, loss=loss, margin=0.6, epochs=3, weight_decay=1e-2, trust=0.4)
        torch.manual_seed(seed)
        model = ContrastiveEncoder(width=4, projection_dim=8).double()
        peak = peak_rate(8 * args.reference_rate, args.batch_size)
        optimizer = LARS(model.parameters(), peak, args.momentum, args.weight_decay, args.trust)
        schedule = Schedule(optimizer, peak, warmup_steps=5, total_steps=3 * len(batches))
        history = SimCLR(args=args, model=model, optimizer=optimizer, scheduler=schedule).train(batches, report_every=0)
        with torch.no_grad():
            representations, projections = model.eval().backbone(others), model(others)
        weights = [parameter.detach().clone() for parameter in model.projection_head.parameters()]
        results[loss] = [history, representations, projections, weights]
    return results
