"""Labelled inputs for hit-hyperbolic-triplet-loss.

A stub stands for the encoder in most cases: it returns embeddings that the case chooses, and records what it is asked.
Most cases use float64, where honest reorderings of the arithmetic agree to many digits and mistakes do not.
"""

import itertools
import os
import sys
from collections.abc import Iterable

sys.path.insert(0, os.path.abspath("src"))

import torch
from hierarchy_transformers.losses.hit_loss import HierarchyTransformerLoss
from hierarchy_transformers.models.hit import HierarchyTransformer
from hierarchy_transformers.models.hyperbolic import PoincareBall, get_circum_poincareball
from lmrbench_cases import compare, outcome
from torch import Tensor, nn

Triples = list[Tensor]
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


def make_loss(dimension: int, manifold: PoincareBall | None = None, **settings: float) -> HierarchyTransformerLoss:
    """A loss over stored embeddings, by default in the ball around the cube."""
    return HierarchyTransformerLoss(StoredEmbeddings(manifold or get_circum_poincareball(dimension)), **settings)


def as_features(embeddings: Iterable[Tensor]) -> list[dict[str, object]]:
    """Feature dictionaries of the stub: child, parent, negative, and any more."""
    roles = ("child", "parent", "negative", "other")
    return [{"role": role, "embedding": part} for role, part in zip(roles, embeddings, strict=False)]


def random_triples(seed: int, size: int, dimension: int, dtype: torch.dtype = torch.float64) -> Triples:
    """Embeddings (B, d) of children, parents and negatives in the cube; parents are nearer the origin on the whole."""
    generator = torch.Generator().manual_seed(seed)
    cube = 2 * torch.rand(3, size, dimension, generator=generator, dtype=dtype) - 1
    return [cube[0] * 0.9, cube[0] * 0.4 + cube[1] * 0.45, cube[2] * 0.7]


def values(loss: HierarchyTransformerLoss, embeddings: Iterable[Tensor]) -> dict[str, Tensor]:
    """All that the loss returns, off the graph."""
    return {name: value.detach() for name, value in loss(as_features(embeddings), LABELS).items()}


def with_gradients(loss: HierarchyTransformerLoss, embeddings: Triples) -> dict[str, object]:
    """The three losses, and the gradient of each with respect to children, parents and negatives (zero if unused)."""
    inputs = [part.clone().requires_grad_() for part in embeddings]
    losses = loss(as_features(inputs), LABELS)
    gradients = {
        name: torch.autograd.grad(losses[name], inputs, retain_graph=True, allow_unused=True, materialize_grads=True)
        for name in NAMES
    }
    return {"losses": {name: value.detach() for name, value in losses.items()}, "gradients": gradients}


@compare(rtol=1e-8, atol=1e-9)
def case_random_triples(seed):
    """Batches of several sizes, one of them a single triple, in several dimensions, as configured by default."""
    return {
        f"B={size}, d={dimension}": values(make_loss(dimension), random_triples(seed + size, size, dimension))
        for size in (1, 5, 64)
        for dimension in (3, 4, 16)
    }


@compare(rtol=1e-4, atol=1e-5)
def case_float32_triples(seed):
    triples = random_triples(seed, 16, 8, torch.float32)
    return with_gradients(make_loss(8, clustering_loss_margin=3.0, centripetal_loss_margin=0.1), triples)


@compare(rtol=1e-8, atol=1e-9)
def case_roles(seed):
    """The same embeddings in all six orders of child, parent and negative."""
    parts = random_triples(seed, 6, 4)
    loss = make_loss(4, clustering_loss_margin=2.0)
    return {str(order): values(loss, [parts[role] for role in order]) for order in itertools.permutations(range(3))}


@compare(rtol=1e-8, atol=1e-9)
def case_weights_and_margins(seed):
    """The parts do not depend on the weights, nor on the other part's margin."""
    triples = random_triples(seed, 12, 4)
    return {
        f"weights {cluster_weight}, {centri_weight}; margins {cluster_margin}, {centri_margin}": values(
            make_loss(
                4,
                clustering_loss_weight=cluster_weight,
                clustering_loss_margin=cluster_margin,
                centripetal_loss_weight=centri_weight,
                centripetal_loss_margin=centri_margin,
            ),
            triples,
        )
        for cluster_weight, centri_weight in ((0.3, 2.0), (0.0, 1.0), (1.5, 0.0), (-0.5, 0.25))
        for cluster_margin, centri_margin in ((3.0, 0.1), (0.0, 1.5), (-1.0, -0.5))
    }


@compare(rtol=1e-7, atol=1e-9)
def case_gradients(seed):
    """Each loss by each part of the triples; among eight triples, some hinges are active and some are not."""
    return {
        f"d={dimension}, margins {margins}": with_gradients(
            make_loss(
                dimension,
                clustering_loss_weight=0.7,
                clustering_loss_margin=margins[0],
                centripetal_loss_weight=1.6,
                centripetal_loss_margin=margins[1],
            ),
            random_triples(seed, 8, dimension),
        )
        for dimension in (4, 16)
        for margins in ((5.0, 0.5), (0.5, 1.0))
    }


@compare(rtol=1e-8, atol=1e-9)
def case_hinge_of_each_triple(seed):
    """Violations of very different size, a few of them: one hinge over the batch mean would see none."""
    child = torch.full((8, 4), 0.5, dtype=torch.float64)
    offsets = torch.linspace(-0.45, 0.45, 8, dtype=torch.float64)[:, None].roll(seed, dims=0)
    triples = [child, child - offsets.abs(), -0.4 + offsets.expand(8, 4)]
    return {
        f"margins {margins}": values(
            make_loss(4, clustering_loss_margin=margins[0], centripetal_loss_margin=margins[1]), triples
        )
        for margins in ((1.0, 1.0), (2.0, 2.0), (0.0, 0.25))
    }


@compare(rtol=1e-9, atol=1e-12)
def case_satisfied_triples(seed):
    """All triples in order by more than the margins: losses are exactly 0, and so are all gradients."""
    generator = torch.Generator().manual_seed(seed)
    child = 0.7 + 0.02 * torch.rand(5, 4, generator=generator, dtype=torch.float64)
    triples = [child, child - 0.1, -child]
    return {
        "small margins": with_gradients(
            make_loss(4, clustering_loss_margin=0.5, centripetal_loss_margin=0.05), triples
        ),
        "negative margins": with_gradients(
            make_loss(4, clustering_loss_margin=-1.0, centripetal_loss_margin=-0.2), triples
        ),
        "one part only": with_gradients(make_loss(4, clustering_loss_margin=0.5, centripetal_loss_margin=3.0), triples),
    }


@compare(rtol=1e-5, atol=1e-6)
def case_coincident_points(seed):
    """Parts of a triple that are equal, and the origin: distance 0 with a finite gradient. Exact in binary."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.randint(-3, 4, (2, 4, 4), generator=generator) / 4
    here, there, origin = points[0] + 0.125, points[1] - 0.125, torch.zeros(4, 4)
    places = {
        "child is parent": [here, here, there],
        "child is negative": [here, there, here],
        "parent is negative": [here, there, there],
        "all equal": [here, here, here],
        "child at the origin": [origin, here, there],
        "parent at the origin": [here, origin, there],
        "negative at the origin": [here, there, origin],
        "all at the origin": [origin, origin, origin],
    }
    return {
        f"{name}, {dtype}": with_gradients(
            make_loss(4, clustering_loss_margin=4.0), [part.to(dtype) for part in triple]
        )
        for name, triple in places.items()
        for dtype in (torch.float32, torch.float64)
    }


@compare(rtol=1e-6, atol=1e-8)
def case_at_and_beyond_the_boundary(seed):
    """Corners of the cube, which lie on the boundary, and points outside the ball, against points inside."""
    generator = torch.Generator().manual_seed(seed)
    signs = 2.0 * torch.randint(0, 2, (3, 8), generator=generator, dtype=torch.float64) - 1
    near = list((2 * torch.rand(2, 3, 8, generator=generator, dtype=torch.float64) - 1) * 0.6)
    loss = make_loss(8, clustering_loss_margin=60.0, centripetal_loss_margin=50.0)
    results = {
        f"{name} {place}": with_gradients(loss, [*near[:place], far, *near[place:]])
        for name, far in (("corner", signs), ("outside", 2.5 * signs))
        for place in range(3)
    }
    corner, middle = torch.ones(2, 8, dtype=torch.float64), torch.zeros(2, 8, dtype=torch.float64)
    wide = make_loss(8, clustering_loss_margin=100.0, centripetal_loss_margin=100.0)
    results["corner against origin"] = with_gradients(wide, [corner, middle, corner.clone()])
    return results


@compare(rtol=1e-4, atol=1e-5)
def case_beyond_the_boundary_in_float32(seed):
    """Finite losses and the same gradients; the losses saturate at a value that depends on the precision."""
    generator = torch.Generator().manual_seed(seed)
    far = 5.0 * torch.randint(0, 2, (3, 8), generator=generator) - 2.5
    near = list((2 * torch.rand(2, 3, 8, generator=generator) - 1) * 0.6)
    loss = make_loss(8, clustering_loss_margin=60.0, centripetal_loss_margin=50.0)
    results = {}
    for place in range(3):
        outputs = with_gradients(loss, [*near[:place], far, *near[place:]])
        finite = {name: bool(value.isfinite()) for name, value in outputs["losses"].items()}
        results[f"outside {place}"] = finite, outputs["gradients"]
    return results


@compare(rtol=1e-8, atol=1e-9)
def case_other_balls(seed):
    """The manifold of the loss counts, not the dimension: narrow and wide balls, given or set later."""
    parts = [0.4 * part for part in random_triples(seed, 6, 4)]
    results = {f"c={c}": with_gradients(make_loss(4, PoincareBall(c)), parts) for c in (0.01, 0.1, 0.6, 1.0)}
    changed = make_loss(4)
    changed.manifold = PoincareBall(0.5)
    results["set later"] = with_gradients(changed, parts)
    return results


@compare(rtol=1e-8, atol=1e-9)
def case_settings_changed_after_construction(seed):
    """Weights and margins are read at the time of the call, and left alone."""
    loss = make_loss(4)
    settings = {"cluster_weight": 0.4, "cluster_loss_margin": 2.5, "centri_weight": 3.0, "centri_loss_margin": 0.2}
    for name, value in settings.items():
        setattr(loss, name, value)
    losses = values(loss, random_triples(seed, 6, 4))
    return losses, {name: getattr(loss, name) for name in settings}


@compare(rtol=1e-8, atol=1e-9)
def case_calls_of_the_model(seed):
    """One call a part, in order, whatever the container of the features and whatever the labels."""
    triples = random_triples(seed, 5, 4)
    containers = {"list": list, "tuple": tuple, "generator": iter}
    labels = {
        "none": None,
        "empty": torch.empty(0),
        "too many": torch.arange(7),
        "matrix": torch.full((5, 2), torch.nan),
    }
    results = {}
    for container, label in itertools.product(containers, labels):
        loss = make_loss(4)
        losses = loss(containers[container](as_features(triples)), labels[label])
        results[f"{container}, {label}"] = losses, loss.model.calls
    return results


@compare(exact=True)
def case_wrong_number_of_parts(seed):
    """None, one, two and four parts, as a list and as a generator."""
    triples = [*random_triples(seed, 3, 4), torch.zeros(3, 4, dtype=torch.float64)]
    loss = make_loss(4)
    return {
        f"{count}, {container.__name__}": outcome(
            loss, container(as_features(triples[:count])), LABELS, errors=AssertionError
        )
        for count in (0, 1, 2, 4)
        for container in (list, iter)
    }


@compare(exact=True)
def case_what_requires_grad(seed):
    """All three losses are tensors without dimensions, on the graph if the embeddings are."""
    facts = {}
    for dtype, trains in itertools.product((torch.float32, torch.float64), (True, False)):
        inputs = [part.requires_grad_(trains) for part in random_triples(seed, 4, 4, dtype)]
        losses = make_loss(4)(as_features(inputs), LABELS)
        facts[f"{dtype}, {trains}"] = {
            name: [isinstance(value, Tensor), value.requires_grad, value.ndim, str(value.dtype)]
            for name, value in losses.items()
        }
    return facts


@compare(rtol=1e-8, atol=1e-9)
def case_layout_and_inputs(seed):
    """Non-contiguous embeddings, which come back as they were; a second call gives the same."""
    stored = torch.stack(random_triples(seed, 6, 8), dim=2)
    loss = make_loss(8, clustering_loss_margin=2.0)
    first, second = (values(loss, stored.unbind(dim=2)) for _ in range(2))
    every_second = values(loss, [part[::2] for part in stored.unbind(dim=2)])
    return {"first": first, "second": second, "every second triple": every_second, "inputs": stored}


@compare(rtol=1e-6, atol=1e-8)
def case_encoder(seed):
    """With the encoder of the repository: losses of named triples, and the gradients of its parameters."""
    torch.manual_seed(seed)
    triples = [("dog", "animal", "green tea"), ("sea horse", "fish", "horse"), ("tea", "drink", "old oak tree")]
    model = HierarchyTransformer(sorted({name for triple in triples for name in triple}), embed_dim=8, heads=2).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)  # away from the origin, where the ball is hardly curved
    loss = HierarchyTransformerLoss(model, clustering_loss_margin=3.0, centripetal_loss_weight=0.5)
    losses = loss((model.tokenize(names) for names in zip(*triples, strict=True)), LABELS)
    losses["loss"].backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    return {"losses": {name: value.detach() for name, value in losses.items()}, "gradients": gradients}
