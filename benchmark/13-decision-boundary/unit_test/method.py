"""Labelled inputs for decision-boundary-method: each masked function, and a short training with active learning.

Uncertainties are generic, so that no rounding decides which point comes first. Models run in float64.
"""

import numpy as np
import torch
from active_learning import ActiveConfig, active_learning, nearest_example_oracle
from config import DATA_TYPES
from data_utils import Split, generate_dataset, generate_tasks, generate_x_y
from get_llm_decision_boundary import grid_points, predict
from icl_model import PromptedAttention
from lmrbench_cases import compare, experiment, goal
from tnp import TransformerNeuralProcess, attention_mask, point_tokens
from torch import Tensor, nn
from train_tnp import TNPLearner, TrainConfig, fit, query_loss, task_options
from uncertainty import class_probabilities, select_points, uncertainty


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# --- tasks ------------------------------------------------------------------------------------------------------------


@goal("generate_tasks")
@compare(rtol=1e-5, atol=1e-4)
def case_sets_of_tasks(seed):
    """Sets of each kind, with defaults and with settings; two sets whose seeds are neighbours."""
    calls = [(3, 12, 2, 10 + seed + shift, kind) for kind in DATA_TYPES for shift in (0, 1)]
    outputs = [generate_tasks(*call) for call in calls]
    outputs.append(generate_tasks(2, 10, 2, seed, data_type="circle", factor=0.2))
    outputs.append(generate_tasks(2, 10, 4, seed, class_sep=0.7))
    return [[np.asarray(part, dtype=np.float64) for part in output] for output in outputs]


@goal("task_options")
@compare(rtol=1e-9, atol=1e-12)
def case_options(seed):
    """Options of each kind, for training and for tests, and what the generator draws next."""
    results = {}
    for kind in DATA_TYPES:
        for training in (True, False):
            rng = np.random.default_rng([13, seed])
            drawn = [task_options(kind, training, rng) for _ in range(4)]
            values = [{name: float(value) for name, value in options.items()} for options in drawn]
            results[f"{kind}, {training}"] = [values, float(rng.uniform())]
    return results


# --- active learning --------------------------------------------------------------------------------------------------


@goal("class_probabilities")
@compare(rtol=1e-7, atol=1e-12)
def case_probabilities(seed):
    """Vocabularies with likely and unlikely label words, in any order; two classes or three; large logits."""
    results = []
    for number, (size, ids) in enumerate(((5, [3, 1]), (9, [0, 8]), (4, [2, 0, 1]), (2, [0, 1]))):
        logits = normal(100 * seed + number, 6, size).numpy() * (1 + number)
        results.append(np.asarray(class_probabilities(logits, ids)))
    logits = normal(100 * seed + 9, 5, 6).numpy()
    results.append(np.asarray(class_probabilities(900 + 20 * logits, [4, 2])))
    results.append(np.asarray(class_probabilities(logits - 900, [5, 0])))
    return results


@goal("class_probabilities")
@compare(rtol=1e-6, atol=1e-10)
def case_prompted_model(seed):
    """Predictions that the stand-in for a language model reads off its next-word logits."""
    x, y = generate_x_y(40, 2, seed)
    split = generate_dataset(x, y, 12, seed)
    return predict(PromptedAttention(width=8.0, seed=seed), split, grid_points(6))


@goal("uncertainty")
@compare(rtol=1e-7, atol=1e-10)
def case_uncertainty(seed):
    """Two classes and more, from certain to undecided."""
    rng = np.random.default_rng([14, seed])
    results = []
    for classes in (2, 3, 6):
        probabilities = rng.dirichlet(np.full(classes, 0.5), size=8)
        probabilities[0], probabilities[1] = np.eye(classes)[seed % classes], 1 / classes
        results.append(np.asarray(uncertainty(probabilities)))
    return results


@goal("select_points")
@compare(exact=True)
def case_selection(seed):
    """Spacings from none to more than the candidates allow."""
    results = []
    for number, spacing in enumerate((0.0, 5.0, 12.0, 30.0, 55.0)):
        rng = np.random.default_rng([15, seed, number])
        for count in (1, 4, 9):
            points = rng.uniform(0, 100, size=(40, 2))
            # The most uncertain points lie together, as they do along a boundary.
            uncertainties = np.exp(-np.abs(points[:, 0] - 50) / 20) + 0.01 * rng.random(40)
            results.append([int(index) for index in select_points(points, uncertainties, count, spacing)])
    points = np.random.default_rng([16, seed]).uniform(0, 10, size=(30, 3))
    results.append([int(index) for index in select_points(points, points[:, 1] ** 2, 6, 3.0)])
    return results


class Kernel:
    """In place of a model: a smooth vote of the examples, weighted by their order too, and a note of what it saw."""

    def __init__(self, seed: int) -> None:
        self.weights = np.random.default_rng([17, seed]).uniform(0.5, 2.0, size=200)
        self.seen: list[list[int]] = []

    def predict_proba(self, context_x: np.ndarray, context_y: np.ndarray, query_x: np.ndarray) -> np.ndarray:
        self.seen.append([len(context_x), len(query_x)])
        distances = np.linalg.norm(query_x[:, None] - context_x, axis=-1)
        weights = self.weights[: len(context_x)] * np.exp(-distances / 15)
        share = weights @ context_y / weights.sum(axis=1)
        return 0.02 + 0.96 * share


@goal("active_learning")
@compare(rtol=1e-7, atol=1e-9)
def case_growth(seed):
    """Contexts that grow round by round, of one point a round and of several; the split to start from afterwards."""
    results = []
    x, y = generate_x_y(60, 2, seed, data_type="moon")
    for rounds, per_round in ((0, 3), (5, 1), (3, 4)):
        start = generate_dataset(x, y, 6, seed)
        kernel, pool = Kernel(seed), np.random.default_rng([18, seed]).uniform(0, 100, size=(50, 2))
        config = ActiveConfig(rounds=rounds, per_round=per_round, spacing=0.0)
        grown = active_learning(kernel, start, pool, nearest_example_oracle(x, y), config)
        results.append([np.asarray(grown.context_x), [int(label) for label in grown.context_y], len(grown.query_y)])
        results.append([kernel.seen[:rounds], len(start.context_y), float(pool.sum())])
    return results


@goal("active_learning", "select_points", "uncertainty")
@compare(rtol=1e-7, atol=1e-9)
def case_growth_with_spacing(seed):
    """Points of a grid, some rounds with fewer of them than asked for."""
    x, y = generate_x_y(60, 2, seed + 5, data_type="circle", factor=0.4)
    results = []
    for spacing, per_round in ((9.0, 5), (45.0, 6)):
        pool = grid_points(9) + np.random.default_rng([19, seed]).uniform(-2, 2, size=(81, 2))
        config = ActiveConfig(rounds=4, per_round=per_round, spacing=spacing)
        start = generate_dataset(x, y, 6, seed)
        grown = active_learning(Kernel(seed), start, pool, nearest_example_oracle(x, y), config)
        results.append([np.asarray(grown.context_x), [int(label) for label in grown.context_y]])
    return results


# --- the transformer neural process -----------------------------------------------------------------------------------


def batch(seed: int, tasks: int, context: int, queries: int, classes: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Points on the square and labels of some tasks."""
    generator = torch.Generator().manual_seed(seed)
    context_x, query_x = (
        100 * torch.rand(tasks, count, 2, generator=generator, dtype=torch.float64) for count in (context, queries)
    )
    return context_x, torch.randint(classes, (tasks, context), generator=generator), query_x


@goal("point_tokens")
@compare(rtol=1e-7, atol=1e-9)
def case_tokens(seed):
    """Small and large contexts, two classes and three."""
    sizes = ((1, 4, 3, 2), (3, 2, 5, 2), (2, 6, 1, 3))
    return [point_tokens(*batch(10 * seed + n, *size), classes=size[3]) for n, size in enumerate(sizes)]


@goal("attention_mask")
@compare(exact=True)
def case_mask(seed):
    """Masks of several sizes, as numbers."""
    sizes = ((1, 1), (4 + seed % 9, 3), (2, 5 + seed % 9), (3, 1 + seed % 9))
    return [attention_mask(*size).int().tolist() for size in sizes]


class Recorder(nn.Module):
    """In place of a layer: moves each token by the mean of those that its row of the mask allows."""

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        weights = mask.to(tokens.dtype)
        return tokens.tanh() + weights @ tokens / weights.sum(dim=-1, keepdim=True)


def make_model(seed: int, width: int = 16, classes: int = 2) -> TransformerNeuralProcess:
    torch.manual_seed(seed)
    return TransformerNeuralProcess(width=width, layers=2, heads=2, classes=classes).double()


@goal("TransformerNeuralProcess.forward")
@compare(rtol=1e-6, atol=1e-9)
def case_forward(seed):
    """Logits and gradients, with layers that mix tokens plainly and with those of the model."""
    torch.set_default_dtype(torch.float64)
    results = []
    for number, (plain, size) in enumerate(((True, (2, 3, 4)), (False, (2, 5, 3)), (False, (1, 1, 6)))):
        model = make_model(10 * seed + number)
        if plain:
            model.blocks = nn.ModuleList([Recorder(), Recorder(), Recorder()])
        context_x, context_y, query_x = batch(10 * seed + number, *size)
        query_x.requires_grad_()
        logits = model(context_x, context_y, query_x)
        (logits * normal(seed, *logits.shape)).sum().backward()
        results.append([logits, query_x.grad, model.embed[0].weight.grad])
    return results


@goal("query_loss")
@compare(rtol=1e-7, atol=1e-9)
def case_loss(seed):
    """Few and many queries and tasks; with gradients."""
    results = []
    for number, size in enumerate(((1, 1, 2), (3, 5, 2), (2, 9, 3), (6, 2, 4))):
        logits = (3 * normal(10 * seed + number, *size)).requires_grad_()
        labels = torch.randint(size[2], size[:2], generator=torch.Generator().manual_seed(seed + number))
        loss = query_loss(logits, labels)
        loss.backward()
        results.append([loss, logits.grad])
    return results


class Votes(TransformerNeuralProcess):
    """In place of the model: each query weighs the labels around it; notes the sizes of what it is given."""

    def __init__(self, seed: int) -> None:
        nn.Module.__init__(self)
        self.scale = nn.Parameter(normal(seed, 1).abs() + 0.5)
        self.bias = nn.Parameter(normal(seed + 1, 2))
        self.seen: list[list[float]] = []

    def forward(self, context_x: Tensor, context_y: Tensor, query_x: Tensor) -> Tensor:
        self.seen.append([*context_x.shape[:2], query_x.size(1), context_x.sum().item(), query_x.sum().item()])
        weights = (-self.scale * torch.cdist(query_x, context_x) / 20).softmax(dim=-1)
        return weights @ nn.functional.one_hot(context_y, 2).to(weights.dtype) * self.scale + self.bias


@goal("fit")
@compare(rtol=1e-6, atol=1e-9)
def case_fit(seed):
    """Sizes of contexts and queries, the samples in them, and how parameters move; what is drawn afterwards."""
    results = []
    for low, high in ((3, 3), (1, 2), (5, 30)):
        model, rng = Votes(seed), np.random.default_rng([20, seed])
        config = TrainConfig("moon", 8, 0.05, batch_size=3, num_samples=34, min_context=low, max_context=high)
        losses = [float(loss) for loss in fit(model, config, rng)]
        parameters = [parameter.detach().clone() for parameter in model.parameters()]
        results.append([losses, model.seen, parameters, float(rng.uniform())])
    return results


@experiment
@compare(rtol=1e-6, atol=1e-8)
def case_training_and_active_learning(seed):
    """Train on easy tasks of each kind; then let the model choose examples of a hard one, and map its predictions."""
    torch.set_default_dtype(torch.float64)
    results = {}
    for kind in DATA_TYPES:
        model, rng = make_model(seed, width=12), np.random.default_rng([21, seed])
        config = TrainConfig(kind, 25, 5e-3, batch_size=8, num_samples=32, min_context=4, max_context=20)
        losses = fit(model, config, rng)
        options = task_options(kind, False, rng)
        x, y = generate_x_y(60, 2, seed, data_type=kind, **options)
        learner, start = TNPLearner(model), generate_dataset(x, y, 6, seed)
        pool = grid_points(11) + rng.uniform(-1, 1, size=(121, 2))
        oracle = nearest_example_oracle(x, y)
        grown = active_learning(learner, start, pool, oracle, ActiveConfig(rounds=4, per_round=4, spacing=10.0))
        before, after = (predict(learner, split, grid_points(11)) for split in (start, grown))
        drawn = np.asarray(grown.context_x)
        both = [uncertainty(np.stack([1 - p, p], axis=1)) for p in (before, after)]
        results[kind] = [losses, before, after, both, drawn]
    return results


@experiment
@compare(rtol=1e-6, atol=1e-9)
def case_prompted_active_learning(seed):
    """The same with the stand-in for a language model, which reads its context as text."""
    results = []
    tasks, labels = generate_tasks(3, 40, 2, 30 + seed, data_type="moon")
    for number, (x, y) in enumerate(zip(tasks, labels, strict=True)):
        start = generate_dataset(x, y, 6, seed)
        start = Split(start.context_x, start.context_y, x, y.astype(np.int64))
        model = PromptedAttention(width=6.0, roughness=0.7, seed=10 * seed + number)
        pool = grid_points(12)
        config = ActiveConfig(rounds=3, per_round=4, spacing=7.5 + 3 * number)
        grown = active_learning(model, start, pool, nearest_example_oracle(x, y.astype(np.int64)), config)
        results.append([predict(model, grown, grown.query_x), predict(model, grown, pool), grown.context_x])
    return results
