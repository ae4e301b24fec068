"""Labelled inputs for hit-hyperbolic-triplet-loss.

A stub stands for the encoder in most cases: it returns embeddings that the case chooses, and records what it is asked.
"""

import os
import sys
from collections.abc import Iterable

sys.path.insert(0, os.path.abspath("src"))

import torch
from hierarchy_transformers.losses.hit_loss import HierarchyTransformerLoss
from hierarchy_transformers.models.hit import HierarchyTransformer
from hierarchy_transformers.models.hyperbolic import PoincareBall, poincare_ball
from lmrbench_cases import compare, core, outcome
from torch import Tensor, nn

NAMES = ("loss", "cluster_loss", "centri_loss")
LABELS = torch.ones(3)


class StoredEmbeddings(nn.Module):
    """An encoder whose features already are the embeddings."""

    def __init__(self, manifold: PoincareBall) -> None:
        super().__init__()
        self.manifold = manifold
        self.calls: list[str] = []

    def forward(self, features: dict[str, object]) -> dict[str, object]:
        self.calls.append(features["role"])
        return {"sentence_embedding": features["embedding"], "token_embeddings": None}


def make_loss(dimension: int, *settings: float, c: float | None = None) -> HierarchyTransformerLoss:
    """A loss over stored embeddings in a ball, by default that of the paper; settings in the constructor's order."""
    manifold = poincare_ball(dimension) if c is None else PoincareBall(c)
    return HierarchyTransformerLoss(StoredEmbeddings(manifold), *settings)


def as_features(embeddings: Iterable[Tensor]) -> list[dict[str, object]]:
    """Feature dictionaries of the stub: child, parent, negative, and any more."""
    roles = ("child", "parent", "negative", "other")
    return [{"role": role, "embedding": part} for role, part in zip(roles, embeddings, strict=False)]


def random_triples(seed: int, size: int, dimension: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Embeddings (B, d) of children, parents and negatives in the cube; parents are nearer the origin on the whole."""
    generator = torch.Generator().manual_seed(seed)
    cube = 2 * torch.rand(3, size, dimension, generator=generator, dtype=torch.float64) - 1
    return [part.to(dtype) for part in (cube[0] * 0.9, cube[0] * 0.4 + cube[1] * 0.45, cube[2] * 0.7)]


def values(loss: HierarchyTransformerLoss, embeddings: Iterable[Tensor]) -> dict[str, Tensor]:
    """All that the loss returns, off the graph."""
    return {name: value.detach() for name, value in loss(as_features(embeddings), LABELS).items()}


def with_gradients(loss: HierarchyTransformerLoss, embeddings: list[Tensor], names: tuple[str, ...]) -> list[object]:
    """The three losses, and the gradients of the named ones by children, parents and negatives (zero if unused)."""
    inputs = [part.clone().requires_grad_() for part in embeddings]
    losses = loss(as_features(inputs), LABELS)
    gradients = {
        name: torch.autograd.grad(losses[name], inputs, retain_graph=True, allow_unused=True, materialize_grads=True)
        for name in names
    }
    return [{name: value.detach() for name, value in losses.items()}, gradients]


@core
@compare(rtol=1e-3, atol=1e-4)
def case_random_triples(seed):
    """Batches of several sizes in several dimensions, in float32, as configured by default."""
    return {
        f"B={size}, d={dimension}": values(
            make_loss(dimension), random_triples(seed + size, size, dimension, torch.float32)
        )
        for size in (1, 5, 64)
        for dimension in (4, 16)
    }


@core
@compare(rtol=1e-4, atol=1e-5)
def case_weights_and_margins(seed):
    """Those of Appendix B and others, on triples some of which obey them."""
    settings = ((1.0, 5.0, 1.0, 0.1), (0.3, 3.0, 2.0, 0.5), (1.5, 0.5, 0.25, 1.5), (0.0, 1.0, 1.0, 0.0))
    return {str(numbers): values(make_loss(4, *numbers), random_triples(seed, 12, 4)) for numbers in settings}


@core
@compare(rtol=1e-4, atol=1e-5)
def case_gradients(seed):
    """Of the total loss; among eight triples, some hinges are active and some are not."""
    return {
        f"d={dimension}, {margins}": with_gradients(
            make_loss(dimension, 0.7, margins[0], 1.6, margins[1]), random_triples(seed, 8, dimension), ("loss",)
        )
        for dimension in (4, 16)
        for margins in ((5.0, 0.5), (0.5, 1.0))
    }


@core
@compare(rtol=1e-4, atol=1e-5)
def case_few_violations(seed):
    """Three triples of sixteen are out of order, the others in order by far: the losses stay above zero."""
    child = 0.6 + 0.2 * random_triples(seed, 16, 4)[0].abs()
    sign = torch.ones(16, 1, dtype=torch.float64)
    sign[:3] = -1
    return values(make_loss(4, 1.0, 1.0, 1.0, 0.1), [child, sign * (child - 0.2 * sign), -sign * child * 0.9])


@core
@compare(rtol=1e-4, atol=1e-5)
def case_other_balls(seed):
    """An encoder whose ball is narrower or wider than that around the cube."""
    parts = [0.4 * part for part in random_triples(seed, 6, 4)]
    return {f"c={c}": with_gradients(make_loss(4, c=c), parts, ("loss",)) for c in (0.01, 0.6, 1.0)}


@core
@compare(rtol=1e-4, atol=1e-6)
def case_encoder(seed):
    """With the encoder of the repository: losses of named triples, and the gradients of its parameters."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(seed)
    triples = [("dog", "animal", "green tea"), ("sea horse", "fish", "horse"), ("tea", "drink", "old oak tree")]
    model = HierarchyTransformer(sorted({name for triple in triples for name in triple}), embed_dim=8, heads=2).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)  # away from the origin, where the ball is hardly curved
    loss = HierarchyTransformerLoss(model, clustering_loss_margin=3.0, centripetal_loss_weight=0.5)
    losses = loss([model.tokenize(names) for names in zip(*triples, strict=True)], LABELS)
    losses["loss"].backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    return {"losses": {name: value.detach() for name, value in losses.items()}, "gradients": gradients}


@compare(rtol=1e-5, atol=1e-6)
def case_coincident_points(seed):
    """Parts of a triple that are equal, and the origin: distance 0 with a finite gradient. Exact in binary."""
    points = torch.randint(-3, 4, (2, 4, 4), generator=torch.Generator().manual_seed(seed)) / 4
    here, there, origin = points[0] + 0.125, points[1] - 0.125, torch.zeros(4, 4)
    triples = [(here, here, there), (here, there, here), (here, there, there), (here, here, here)]
    triples += [(origin, here, there), (here, origin, there), (here, there, origin), (origin, origin, origin)]
    return [with_gradients(make_loss(4, 1.0, 4.0), list(triple), NAMES) for triple in triples]


@compare(rtol=1e-6, atol=1e-8)
def case_at_and_beyond_the_boundary(seed):
    """Corners of the cube, which lie on the boundary, and points outside the ball, against points inside."""
    generator = torch.Generator().manual_seed(seed)
    corners = 2.0 * torch.randint(0, 2, (3, 8), generator=generator, dtype=torch.float64) - 1
    near = list((2 * torch.rand(2, 3, 8, generator=generator, dtype=torch.float64) - 1) * 0.6)
    loss = make_loss(8, 1.0, 60.0, 1.0, 50.0)
    return {
        f"{factor} at {place}": with_gradients(loss, [*near[:place], factor * corners, *near[place:]], NAMES)
        for factor in (1.0, 2.5)
        for place in range(3)
    }


@compare(rtol=1e-8, atol=1e-9)
def case_settings_changed(seed):
    """Weights, margins and ball are those at the time of the call; weights and margins of any sign."""
    loss, triples, results = make_loss(4), random_triples(seed, 6, 4), []
    for numbers in ((0.4, 2.5, 3.0, 0.2), (-0.5, -1.0, 0.0, -0.5)):
        loss.cluster_weight, loss.cluster_loss_margin, loss.centri_weight, loss.centri_loss_margin = numbers
        results.append(with_gradients(loss, triples, NAMES))
    loss.manifold = PoincareBall(0.2)
    return [*results, values(loss, triples)]


@compare(rtol=1e-8, atol=1e-9)
def case_calls(seed):
    """One call of the model for each part, in order; generators, other labels; strided embeddings, left alone."""
    stored = torch.stack(random_triples(seed, 5, 4), dim=2)
    results = []
    for container, labels in ((list, None), (tuple, torch.empty(0)), (iter, torch.full((5, 2), torch.nan))):
        loss = make_loss(4)
        results.append((loss(container(as_features(stored.unbind(dim=2))), labels), loss.model.calls))
    return results, stored


@compare(exact=True)
def case_wrong_number_of_parts(seed):
    """None, one, two and four parts, as a list and as a generator; no losses come back."""
    triples = [*random_triples(seed, 3, 4), torch.zeros(3, 4, dtype=torch.float64)]
    return [
        outcome(make_loss(4), container(as_features(triples[:count])), LABELS, errors=AssertionError)
        for count in (0, 1, 2, 4)
        for container in (list, iter)
    ]
