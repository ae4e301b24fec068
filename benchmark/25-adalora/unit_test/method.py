"""Labelled inputs for adalora-method: each function that is written, and a short adaptation with all of them.

Cases of one function use inputs on which the functions that it calls can hardly go wrong, so that a failure says where.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from data.toy_classification import MajorityTask
from lmrbench_cases import compare, experiment, goal
from loralib.loralib.adalora import SVDLinear, orthogonality_penalty, update_factor, vector_penalty
from loralib.loralib.allocator import (
    BudgetSchedule,
    RankAllocator,
    score,
    select,
    sensitivity,
    triplet_importance,
)
from loralib.loralib.utils import add_adapters, train_only
from models.tiny_encoder import BLOCK_LINEARS, EncoderConfig, TinyEncoder
from torch import Tensor, nn
from train import FitConfig, fit

ADAPTER = ("lora_A", "lora_E", "lora_B")


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Standard normal numbers, the same for each dtype up to rounding."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def make_layer(
    seed: int, in_features: int = 5, out_features: int = 4, *, ranknum: float | None = None, **options
) -> SVDLinear:
    """A layer whose parameters are all of order one: singular values of both signs, none of them zero."""
    layer = SVDLinear(in_features, out_features, **options)
    with torch.no_grad():
        for number, name in enumerate(("weight", "bias", *ADAPTER)):
            parameter = getattr(layer, name, None)
            if parameter is not None:
                parameter.copy_(normal(100 * seed + number, *parameter.shape))
        if ranknum is not None:
            layer.ranknum.fill_(ranknum)
    return layer


class Halve(nn.Module):
    """In place of dropout: the same factors on every call, in each mode."""

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.linspace(0.0, 2.0, x.size(-1), dtype=x.dtype)


# --- the layer --------------------------------------------------------------------------------------------------------


@goal("update_factor")
@compare(rtol=1e-4, atol=1e-7)
def case_update_factor(seed):
    """Values of alpha and of the rank, whole ones and others."""
    ranks = [1.0, 2.0, 8.0, 3.0 + seed % 9, *normal(seed, 3).exp().tolist()]
    alphas = [1.0, 16.0, 0.25, 5.0 + seed % 9]
    return {f"{alpha}": [update_factor(alpha, torch.tensor([rank])) for rank in ranks] for alpha in alphas}


@goal("SVDLinear.forward")
@compare(rtol=1e-3, atol=2e-3)
def case_forward(seed):
    """Outputs and gradients, merged layers, and layers without an adapter; r of the scaling is 1."""
    results = {}
    settings = ((5, 4, 1, False, True), (5, 4, 3, True, True), (4, 6, 4, False, False), (5, 5, 2, True, False))
    for in_features, out_features, r, fan_in_fan_out, bias in (*settings, (4, 4, 6, False, True)):
        layer = make_layer(
            seed + r, in_features, out_features, r=r, lora_alpha=r / 2, fan_in_fan_out=fan_in_fan_out, bias=bias
        )
        layer.ranknum.data.fill_(1.0)
        x = normal(seed + 7, 2, 3, in_features).requires_grad_()
        y = layer(x)
        (y * normal(seed + 8, *y.shape)).sum().backward()
        gradients = [tensor.grad for tensor in (x, layer.lora_A, layer.lora_E, layer.lora_B)]
        results[f"{in_features}, {out_features}, {r}"] = [y, gradients, layer.bias.grad if bias else None]
        layer.eval()
        results[f"{in_features}, {out_features}, {r}, merged"] = [layer(x), layer.weight.clone()]
    results["r=0"] = make_layer(seed, r=0, fan_in_fan_out=True)(normal(seed, 3, 5))
    layer = make_layer(seed, r=3, lora_alpha=2, ranknum=1.0, merge_weights=False)
    layer.lora_dropout = Halve()
    results["dropout"] = [layer(normal(seed, 6, 5)), layer.eval()(normal(seed, 6, 5))]
    layer = make_layer(seed, r=4, lora_alpha=2, ranknum=1.0)
    with torch.no_grad():
        layer.lora_E[1:3] = 0
    results["pruned"] = layer(normal(seed, 6, 5))
    return results


@goal("SVDLinear.forward")
@compare(rtol=1e-3, atol=2e-3)
def case_forward_scaling(seed):
    """The scaling at other ranks: as the layer starts, alpha left out, and `ranknum` set to another number."""
    x = normal(seed, 6, 5)
    results = {f"alpha={alpha}": make_layer(seed, r=3, lora_alpha=alpha)(x) for alpha in (16, 0.25, 0)}
    for ranknum in (2.0, 12.0):
        results[f"ranknum={ranknum}"] = make_layer(seed, r=3, lora_alpha=8, ranknum=ranknum)(x)
    return results


@goal("vector_penalty")
@compare(rtol=1e-3, atol=1e-4)
def case_vector_penalty(seed):
    """Short and long vectors, one or several; with gradients."""
    results = {}
    for r, d, scale in ((1, 4, 1.0), (2, 3, 0.3), (3, 7, 0.5), (4, 4, 0.7), (5, 12, 0.2)):
        vectors = (scale * normal(seed + r, r, d)).requires_grad_()
        penalty = vector_penalty(vectors)
        penalty.backward()
        results[f"{r}, {d}"] = [penalty, vectors.grad]
    return results


@goal("orthogonality_penalty")
@compare(rtol=1e-3, atol=1e-4)
def case_orthogonality_penalty(seed):
    """The penalty of models, and its value and gradients relative to those of the vectors of their adapters."""
    results = {}
    for r in (1, 2, 4):
        layers = [make_layer(seed, 5, 6, r=r, fan_in_fan_out=True), make_layer(seed + 1, 6, 3, r=3)]
        model = nn.Sequential(layers[0], nn.ReLU(), nn.Sequential(layers[1], nn.Linear(3, 3)), make_layer(seed, 3, 3))
        sides = [side for layer in layers for side in (layer.lora_A, layer.lora_B.T)]
        own = torch.stack([vector_penalty(side) for side in sides]).sum()
        leaves = [layer.lora_A for layer in layers] + [layer.lora_B for layer in layers]
        expected = torch.autograd.grad(own, leaves)
        found = torch.autograd.grad(orthogonality_penalty(model), leaves)
        ratios = [(a * b).sum() / (b * b).sum() for a, b in zip(found, expected, strict=True)]
        cosines = [F.cosine_similarity(a.flatten(), b.flatten(), dim=0) for a, b in zip(found, expected, strict=True)]
        penalty = orthogonality_penalty(model)
        results[f"r={r}"] = [penalty, penalty / own, ratios, cosines]
    return results | {"no adapter": [orthogonality_penalty(nn.Linear(2, 2)), orthogonality_penalty(make_layer(seed))]}


# --- the budget and the scores ----------------------------------------------------------------------------------------


@goal("BudgetSchedule.budget")
@compare(exact=True)
def case_budget(seed):
    """All steps of schedules with and without warm-up and final phase; no budget lies halfway between two integers."""
    schedules = (
        BudgetSchedule(48 + seed % 9, 12, 200, 20, 67, 10),
        BudgetSchedule(37, 9 + seed % 9, 53, 5, 11, 3),
        BudgetSchedule(101 + seed % 9, 10, 31, 0, 0, 1),
        BudgetSchedule(60, 60, 20, 3, 0, 2),
    )
    return [[schedule.budget(step) for step in range(1, schedule.total_steps + 1)] for schedule in schedules]


@goal("sensitivity")
@compare(rtol=1e-4, atol=1e-7)
def case_sensitivity(seed):
    """Parameters and gradients of all shapes, some numbers zero."""
    results = []
    for number, shape in enumerate(((3, 5), (4, 1), (6, 3), (1, 1))):
        parameter, gradient = normal(50 * seed + number, *shape), normal(50 * seed + number + 20, *shape)
        results += [sensitivity(parameter, gradient), sensitivity(3 * parameter.relu(), 0.1 * gradient)]
    return results


@goal("score")
@compare(rtol=1e-4, atol=1e-7)
def case_score(seed):
    """Statistics of all shapes and of several magnitudes."""
    results = []
    for number, shape in enumerate(((3, 5), (4, 1), (6, 3))):
        average, deviation = normal(50 * seed + number, *shape).abs(), normal(50 * seed + number + 20, *shape).abs()
        results += [score(average, deviation), score(3 * average, 0.2 * deviation)]
    return results


@goal("triplet_importance")
@compare(rtol=1e-4, atol=1e-6)
def case_triplet_importance(seed):
    """Layers of several sizes; square ones, where a wrong axis shows in numbers only."""
    results = []
    for r, in_features, out_features in ((1, 5, 4), (3, 5, 8), (4, 4, 4), (6, 2, 9)):
        shapes = ((r, 1), (r, in_features), (out_features, r))
        results.append(triplet_importance(*(normal(10 * seed + r + k, *s).abs() for k, s in enumerate(shapes))))
    return results


@goal("select")
@compare(exact=True)
def case_select(seed):
    """All budgets from one triplet to all, with layers of unequal rank and magnitude."""
    results = []
    for number, ranks in enumerate(((4, 4, 4), (2, 5, 1, 3), (6,))):
        importance = {
            f"layer {k}": (0.5 + 0.3 * k) * normal(100 * seed + 10 * number + k, r).abs() for k, r in enumerate(ranks)
        }
        chosen = [select(importance, budget) for budget in range(1, sum(ranks) + 1)]
        results += [[list(kept), {name: mask.clone() for name, mask in kept.items()}] for kept in chosen]
    return results


@goal("RankAllocator.update_scores")
@compare(rtol=1e-4, atol=1e-6)
def case_update_scores(seed):
    """Statistics after each of some steps, for several smoothing factors; all sensitivities are zero or one."""
    results = {}
    for decays in ((0.85, 0.85), (0.5, 0.9), (0.95, 0.3)):
        model = nn.Sequential(make_layer(seed, 5, 6, r=4), nn.Tanh(), make_layer(seed, 6, 3, r=2))
        allocator = RankAllocator(model, BudgetSchedule(6, 2, 9, 1, 2, 1), *decays)
        seen = []
        for step in range(6):
            parameters = [getattr(layer, name) for layer in allocator.layers.values() for name in ADAPTER]
            for number, parameter in enumerate(parameters):
                parameter.data.fill_(1.0)
                parameter.grad = (normal(1000 * seed + 20 * step + number, *parameter.shape) > 0).float()
            allocator.update_scores()
            seen += [[allocator.average[p].clone(), allocator.deviation[p].clone()] for p in parameters]
        results[f"{decays}"] = [seen, [[p.detach().clone(), p.grad.clone()] for p in parameters]]
    return results


class TableSchedule(BudgetSchedule):
    """A schedule whose budgets fall by one triplet with each step that may prune."""

    def budget(self, step: int) -> int:
        return self.final if self.is_final(step) else max(self.final, self.initial - max(0, step - self.warmup_steps))


@goal("RankAllocator.allocate")
@compare(rtol=1e-5, atol=1e-7)
def case_allocate(seed):
    """Singular values of one adapter after each step, as importance changes; phases of several lengths."""
    results = {}
    for phases in ((12, 4, 24, 5, 8, 3), (12, 3, 20, 0, 4, 4), (12, 5, 9, 2, 0, 1), (11, 6, 15, 3, 5, 5)):
        layer = make_layer(seed, 6, 6, r=12)
        before = [layer.lora_A.detach().clone(), layer.lora_B.detach().clone()]
        allocator = RankAllocator(nn.Sequential(layer), TableSchedule(*phases))
        seen = []
        for step in range(1, phases[2] + 1):
            # Equal statistics for all numbers of a triplet: whatever the score, triplets rank by them.
            rising = normal(1000 * seed + step, 12).abs() + 0.1
            for statistics in (allocator.average, allocator.deviation):
                statistics[layer.lora_A] = rising.unsqueeze(1).repeat(1, 6)
                statistics[layer.lora_E] = rising.unsqueeze(1).clone()
                statistics[layer.lora_B] = rising.repeat(6, 1)
            layer.lora_E.data.add_(0.1 + normal(2000 * seed + step, 12, 1).abs())
            allocator.allocate(step)
            seen.append(layer.lora_E.detach().clone())
        after = [layer.lora_A.detach().clone(), layer.lora_B.detach().clone()]
        results[f"{phases}"] = [seen, [torch.equal(a, b) for a, b in zip(before, after, strict=True)]]
    return results


# --- training ---------------------------------------------------------------------------------------------------------


def make_encoder(seed: int, task: MajorityTask) -> TinyEncoder:
    """A small encoder in float64."""
    torch.manual_seed(seed)
    return TinyEncoder(EncoderConfig(task.vocabulary_size, task.length, task.classes, width=16, heads=2)).double()


class Watcher(RankAllocator):
    """In place of an allocator: notes what it sees of one parameter when it is called, and shrinks that."""

    def __init__(self, model: nn.Module, watched: nn.Parameter) -> None:
        super().__init__(model, BudgetSchedule(2, 1, 9, 0, 0, 1))
        self.watched = watched
        self.seen: list[object] = []

    def update_scores(self) -> None:
        self.seen += ["scores", self.watched.detach().clone(), self.watched.grad.clone()]

    @torch.no_grad()
    def allocate(self, step: int) -> None:
        self.seen += ["allocate", step, self.watched.detach().clone()]
        self.watched.mul_(0.5)


@goal("fit")
@compare(rtol=1e-6, atol=1e-9)
def case_fit(seed):
    """A model without adapters, some of it frozen, trained in float64 with and without something that watches."""
    torch.set_default_dtype(torch.float64)
    task = MajorityTask(seed=seed)
    results = {}
    for watching in (False, True):
        encoder = make_encoder(seed, task).eval()
        encoder.tokens.weight.requires_grad_(False)
        watcher = Watcher(encoder, encoder.classifier.weight) if watching else None
        losses = fit(encoder, task, FitConfig(7, 4e-3, batch_size=12 + seed % 5), seed + 5, watcher)
        weights = [encoder.classifier.weight.detach().clone(), encoder.blocks[0].up.weight.detach().clone()]
        results[f"{watching}"] = [losses, weights, encoder.training, watcher.seen if watcher else None]
    return results


class Bystander(nn.Module):
    """A linear classifier on counts of tokens, and an adapter that its output does not depend on."""

    def __init__(self, seed: int, task: MajorityTask) -> None:
        super().__init__()
        self.size = task.vocabulary_size
        self.classifier = nn.Linear(task.vocabulary_size, task.classes, dtype=torch.float64)
        self.adapter = make_layer(seed, 5, 4, r=3, dtype=torch.float64)
        with torch.no_grad():
            self.classifier.weight.copy_(0.1 * normal(seed, task.classes, task.vocabulary_size, dtype=torch.float64))
            self.classifier.bias.zero_()
            self.adapter.lora_A.mul_(0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.classifier(F.one_hot(tokens, self.size).double().mean(dim=1))


@goal("fit")
@compare(rtol=1e-6, atol=1e-9)
def case_fit_with_penalty(seed):
    """The penalty moves an adapter that the task's loss does not reach; its weight shows in the gradient only."""
    task = MajorityTask(seed=seed)
    results = {}
    for gamma in (0.02, 0.7):
        model = Bystander(seed, task)
        watcher = Watcher(model, model.adapter.lora_B)
        losses = fit(model, task, FitConfig(4, 2e-2, gamma, batch_size=16), seed + 1, watcher)
        results[f"{gamma}"] = [losses, watcher.seen, model.adapter.lora_A.detach().clone()]
    return results


class Recorder(RankAllocator):
    """An allocator that notes the importance of all triplets after some steps."""

    noted: Sequence[int] = ()

    def allocate(self, step: int) -> None:
        super().allocate(step)
        if step in self.noted:
            self.__dict__.setdefault("seen", []).append(1e8 * torch.cat(list(self.importance().values())))


@experiment
@compare(rtol=1e-6, atol=1e-9)
def case_adaptation(seed):
    """Adapt an encoder to another task under a budget: losses, importance, singular values, and the merged model."""
    torch.set_default_dtype(torch.float64)
    source, target = MajorityTask(seed=1), MajorityTask(seed=2)
    encoder = make_encoder(seed, source)
    first = fit(encoder, source, FitConfig(20, 5e-3, batch_size=24), seed + 1)
    torch.manual_seed(seed + 3)
    add_adapters(encoder, BLOCK_LINEARS, 3, 6.0, 0.0)
    train_only(encoder, prefixes=["classifier"])
    allocator = Recorder(encoder, BudgetSchedule(36, 11, 40, 7, 10, 4), 0.8, 0.9)
    allocator.noted = (1, 6, 12, 24, 40)
    losses = fit(encoder, target, FitConfig(40, 1e-2, orthogonality=0.05, batch_size=24), seed + 2, allocator)
    tokens, labels = target.sample(64, torch.Generator().manual_seed(seed + 4))
    return {
        "source": first,
        "losses": losses,
        "importance": allocator.seen,
        "singular values": [layer.lora_E.detach().clone() for layer in allocator.layers.values()],
        "penalty": orthogonality_penalty(encoder).detach(),
        "merged": F.cross_entropy(encoder.eval()(tokens), labels).detach(),
    }
