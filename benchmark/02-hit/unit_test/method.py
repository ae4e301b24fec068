"""Labelled inputs for hit-method: each function through its interface, and a short training with all of them.

Everything is in float64. Points lie inside the ball, at moderate distances.
"""

import itertools
import os
import random
import sys

sys.path.insert(0, os.path.abspath("src"))

import torch
from hierarchy_transformers.datasets.build import (
    LabelledPair,
    Taxonomy,
    build_direct_pairs,
    build_inferred_pairs,
    build_triples,
    negative_candidates,
)
from hierarchy_transformers.evaluation.metrics import calibrate, evaluate, subsumption_score, subsumption_scores
from hierarchy_transformers.losses.hit_loss import HierarchyTransformerLoss, centripetal_loss, clustering_loss
from hierarchy_transformers.models.hit import HierarchyTransformer
from hierarchy_transformers.models.hyperbolic import PoincareBall, poincare_ball
from hierarchy_transformers.models.trainer import HierarchyTransformerTrainer, TrainingConfig, rate_at
from lmrbench_cases import compare, experiment, goal
from torch import Tensor, nn


def uniform(seed: int, *shape: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def points(seed: int, ball: PoincareBall, *shape: int) -> Tensor:
    """Points at most 0.85 radii from the origin."""
    directions = torch.nn.functional.normalize(uniform(seed, *shape) - 0.5, dim=-1)
    return 0.85 * ball.radius * uniform(seed + 500, *shape[:-1], 1) * directions


def weighted_gradients(values: Tensor, inputs: list[Tensor], seed: int) -> tuple[Tensor, ...]:
    return torch.autograd.grad((values * uniform(seed + 900, *values.shape)).sum(), inputs)


BALLS = [PoincareBall(c) for c in (1.0, 0.25, 1 / 12, 3.0)]


# --- geometry ---------------------------------------------------------------------------------------------------------


@goal("PoincareBall.mobius_add")
@compare(rtol=1e-6, atol=1e-9)
def case_mobius_add(seed):
    """Several curvatures and shapes, also ones that broadcast; with gradients."""
    results = []
    for number, ball in enumerate(BALLS):
        for shapes in (((6, 4), (6, 4)), ((3, 1, 5), (4, 5)), ((2,), (2,))):
            x, y = (
                points(10 * seed + number + 40 * k, ball, *shape).requires_grad_() for k, shape in enumerate(shapes)
            )
            total = ball.mobius_add(x, y)
            results.append([total, weighted_gradients(total, [x, y], seed)])
    return results


@goal("PoincareBall.dist")
@compare(rtol=1e-6, atol=1e-9)
def case_distances(seed):
    """Pairs of points, near ones and far ones; with gradients."""
    results = []
    for number, ball in enumerate(BALLS):
        x, y = (points(10 * seed + number + 40 * k, ball, 8, 4).requires_grad_() for k in range(2))
        distances = ball.dist(x, y)
        near = ball.dist(x, x.detach() + 1e-3 * ball.radius * uniform(seed + 7, 8, 4))
        results.append([distances, weighted_gradients(distances, [x, y], seed), near])
    return results


@goal("PoincareBall.dist0")
@compare(rtol=1e-6, atol=1e-9)
def case_norms(seed):
    """Points near the origin and far from it; with gradients."""
    results = []
    for number, ball in enumerate(BALLS):
        x = points(10 * seed + number, ball, 3, 5, 4).requires_grad_()
        norms = ball.dist0(x)
        results.append([norms, weighted_gradients(norms, [x], seed), ball.dist0(0.01 * x.detach())])
    return results


@goal("poincare_ball")
@compare(rtol=1e-6, atol=1e-9)
def case_ball(seed):
    """Curvature and radius for several dimensions."""
    dimensions = (1, 2, 3 + seed % 12, 16, 100 + seed % 50, 768)
    return [[poincare_ball(d).c, poincare_ball(d).radius] for d in dimensions]


# --- losses -----------------------------------------------------------------------------------------------------------


@goal("clustering_loss")
@compare(rtol=1e-6, atol=1e-9)
def case_clustering_loss(seed):
    """Several margins, some triples on either side of the corner; with gradients."""
    results = []
    for size, margin in ((1, 5.0), (7, 0.5), (30, 2.0), (30, -1.0)):
        distances = [(6 * uniform(seed + size + k, size)).requires_grad_() for k in range(2)]
        loss = clustering_loss(*distances, margin)
        results.append([loss, torch.autograd.grad(loss, distances)])
    return results


@goal("centripetal_loss")
@compare(rtol=1e-6, atol=1e-9)
def case_centripetal_loss(seed):
    """Several margins, some triples on either side of the corner; with gradients."""
    results = []
    for size, margin in ((1, 5.0), (7, 0.5), (30, 0.1), (30, -1.0)):
        norms = [(6 * uniform(seed + size + k, size)).requires_grad_() for k in range(2)]
        loss = centripetal_loss(*norms, margin)
        results.append([loss, torch.autograd.grad(loss, norms)])
    return results


class StoredEmbeddings(nn.Module):
    """An encoder whose features already are the embeddings, which have four numbers."""

    def __init__(self, c: float) -> None:
        super().__init__()
        self.manifold = PoincareBall(c)

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"sentence_embedding": features["embedding"]}


@goal("HierarchyTransformerLoss.forward")
@compare(rtol=1e-6, atol=1e-9)
def case_objective(seed):
    """All three losses for several weights, margins and balls; with gradients to the three embeddings."""
    results = []
    for c, *settings in ((0.25, 1.0, 5.0, 1.0, 0.5), (0.25, 0.3, 1.0, 2.0, 0.1), (1.0, 2.0, 0.5, 0.7, 1.5)):
        model = StoredEmbeddings(c)
        triples = [points(seed + 40 * k, model.manifold, 12, 4).requires_grad_() for k in range(3)]
        features = [{"embedding": part} for part in triples]
        losses = HierarchyTransformerLoss(model, *settings)(features, torch.ones(12))
        gradients = torch.autograd.grad(losses["loss"], triples, allow_unused=True)
        results.append([[losses[name] for name in ("loss", "cluster_loss", "centri_loss")], gradients])
    return results


# --- data and evaluation ----------------------------------------------------------------------------------------------


def random_taxonomy(seed: int, size: int, extra: int) -> Taxonomy:
    """A tree of entities, and some second parents, which may be above a first one."""
    rng = random.Random(seed)
    pairs = [(f"word{k}", f"word{rng.randrange(max(0, k - 6), k)}") for k in range(1, size)]
    for _ in range(extra):
        child = rng.randrange(3, size)
        pair = (f"word{child}", f"word{rng.randrange(child)}")
        pairs += [] if pair in pairs else [pair]
    return Taxonomy(pairs)


@goal("negative_candidates")
@compare(exact=True)
def case_negatives(seed):
    """All entities of a tree and of graphs where some have several parents."""
    results = []
    for extra in (0, 4, 12):
        taxonomy = random_taxonomy(seed, 14, extra)
        results.append({entity: negative_candidates(taxonomy, entity) for entity in taxonomy.entities})
    return results


@goal("subsumption_score")
@compare(rtol=1e-6, atol=1e-9)
def case_subsumption_score(seed):
    """Several values of lambda and balls; in both directions."""
    results = []
    for number, ball in enumerate(BALLS):
        x, y = (points(10 * seed + number + 40 * k, ball, 8, 4) for k in range(2))
        results += [
            [subsumption_score(ball, x, y, weight), subsumption_score(ball, y, x, weight)] for weight in (0.0, 0.5, 3.0)
        ]
    return results


def make_model(seed: int, taxonomy: Taxonomy, scale: float = 0.6) -> HierarchyTransformer:
    """An encoder in float64 whose embeddings are spread over the ball."""
    torch.manual_seed(seed)
    model = HierarchyTransformer(taxonomy.entities, embed_dim=8, heads=2).double()
    with torch.no_grad():
        model.token_embedding.weight.copy_(scale * (2 * uniform(seed, *model.token_embedding.weight.shape) - 1))
    return model


@goal("calibrate")
@compare(rtol=1e-5, atol=1e-8)
def case_calibrate(seed):
    """The rule and its F1 on pairs of random entities, of which few or many hold; no two rules have the best F1."""
    results = []
    for number, share in enumerate((0.15, 0.3, 0.5, 0.7)):
        taxonomy = random_taxonomy(seed, 20, 0)
        model = make_model(10 * seed + number, taxonomy)
        rng = random.Random(100 * seed + number)
        names = rng.sample(list(itertools.permutations(taxonomy.entities, 2)), k=40)
        order = subsumption_scores(model, [LabelledPair(*pair, True) for pair in names], (0.25, 1.0, 2.0, 4.0)[number])
        noisy = order + 2.0 * uniform(number // 3, len(names))
        holds = noisy > noisy.quantile(1 - share)
        pairs = [LabelledPair(*pair, bool(flag)) for pair, flag in zip(names, holds, strict=True)]
        rule, f1 = calibrate(model, pairs)
        results.append([rule.norm_weight, rule.threshold, f1])
    return results


# --- training ---------------------------------------------------------------------------------------------------------


@goal("rate_at")
@compare(rtol=1e-9, atol=1e-12)
def case_rate_at(seed):
    """With a short warm-up, a long one and none."""
    return [[rate_at(step, 0.2 + seed % 9, warmup) for step in range(1, 15)] for warmup in (0, 1, 6, 40 + seed % 9)]


def train(seed: int, epochs: int, learning_rate: float, warmup_steps: int, **margins: float) -> list[object]:
    """A training on a small taxonomy: what it reports, the model that comes out, and its predictions."""
    torch.set_default_dtype(torch.float64)
    taxonomy = random_taxonomy(seed, 16, 2)
    rng = random.Random(seed)
    triples = build_triples(taxonomy, 4, rng)
    direct, inferred = build_direct_pairs(triples), build_inferred_pairs(taxonomy, 3, rng)
    model = make_model(seed, taxonomy)
    loss = HierarchyTransformerLoss(model, **margins)
    config = TrainingConfig(epochs, 16, learning_rate, warmup_steps)
    history = HierarchyTransformerTrainer(model, loss, config).train(triples, direct, rng)
    rule, f1 = calibrate(model, direct)
    embeddings = model.encode(taxonomy.entities)
    quality = evaluate(model, inferred, rule)
    return [
        [[epoch.losses, epoch.f1] for epoch in history],
        embeddings,
        model.manifold.dist0(embeddings),
        subsumption_scores(model, inferred, 0.5),
        [rule.norm_weight, rule.threshold, f1, quality.precision, quality.recall],
    ]


@goal("HierarchyTransformerTrainer.train")
@compare(rtol=1e-5, atol=1e-8)
def case_train(seed):
    """Two short trainings: a long warm-up and none; in the second, the last epoch is seldom the best."""
    return [train(seed + 23, 2, 5e-3, 30), train(seed + 12, 6, 0.03, 0, clustering_loss_weight=0.5)[:3]]


@experiment
@compare(rtol=1e-5, atol=1e-8)
def case_hierarchy(seed):
    """Learn a hierarchy: losses, validation, embeddings with their norms, and what is inferred."""
    torch.set_default_dtype(torch.float64)
    return train(seed, 8, 1e-2, 10, clustering_loss_margin=3.0, centripetal_loss_margin=0.5)
