"""Experiments on a small taxonomy: train hierarchy encoders of two sizes, in double precision."""

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "src"))

import torch  # noqa: E402
from hierarchy_transformers.datasets.build import (  # noqa: E402
    Taxonomy,
    build_direct_pairs,
    build_inferred_pairs,
    build_triples,
    load_taxonomy,
)
from hierarchy_transformers.evaluation.metrics import subsumption_scores  # noqa: E402
from hierarchy_transformers.losses.hit_loss import HierarchyTransformerLoss  # noqa: E402
from hierarchy_transformers.models.hit import HierarchyTransformer  # noqa: E402
from hierarchy_transformers.models.trainer import HierarchyTransformerTrainer, TrainingConfig  # noqa: E402

EPOCHS = 5


def table_hierarchy() -> dict[str, dict[str, float]]:
    """Losses of each epoch, relative to the first, and mean scores of inferred ancestors and of other entities."""
    torch.set_num_threads(1)
    taxonomy = Taxonomy(load_taxonomy(ROOT / "data" / "taxonomy.tsv").pairs[:24])
    rows: dict[str, dict[str, float]] = {f"epoch {epoch}": {} for epoch in range(2, EPOCHS + 1)}
    for size in (6, 10):
        rng = random.Random(0)
        triples = build_triples(taxonomy, 4, rng)
        direct, inferred = build_direct_pairs(triples), build_inferred_pairs(taxonomy, 3, rng)
        holds = torch.tensor([pair.holds for pair in inferred])
        torch.manual_seed(0)
        model = HierarchyTransformer(taxonomy.entities, embed_dim=size, heads=2).double()
        with torch.no_grad():
            model.token_embedding.weight.mul_(4)
        loss = HierarchyTransformerLoss(model, clustering_loss_margin=2.0, centripetal_loss_margin=0.5)
        # Each epoch is a training of its own, with the warm-up at its beginning.
        trainer = HierarchyTransformerTrainer(model, loss, TrainingConfig(1, 24, 0.02, warmup_steps=3))
        losses = []
        for number in range(EPOCHS):
            [epoch] = trainer.train(triples, direct, rng)
            losses.append(epoch.losses)
            if number:
                cells = rows[f"epoch {number + 1}"]
                for name in ("cluster_loss", "centri_loss"):
                    cells[f"{name}, d = {size}"] = losses[number][name] / losses[0][name]
                scores = subsumption_scores(model, inferred, 0.5)
                cells[f"ancestors, d = {size}"] = scores[holds].mean().item()
                cells[f"others, d = {size}"] = scores[~holds].mean().item()
    return rows
