"""Train a hierarchy encoder on the child-parent pairs of a toy taxonomy, and let it infer the other ancestors."""

import argparse
import random
import tomllib
from pathlib import Path

import torch
from hierarchy_transformers.datasets.build import (
    LabelledPair,
    Taxonomy,
    build_direct_pairs,
    build_inferred_pairs,
    build_triples,
    load_taxonomy,
)
from hierarchy_transformers.evaluation.metrics import calibrate, evaluate
from hierarchy_transformers.losses.hit_loss import HierarchyTransformerLoss
from hierarchy_transformers.models.hit import HierarchyTransformer
from hierarchy_transformers.models.trainer import HierarchyTransformerTrainer, TrainingConfig

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Train as the configuration says; report inference and norms before and after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=ROOT / "config" / "toy.toml")
    with parser.parse_args().config.open("rb") as file:
        config = tomllib.load(file)

    torch.set_num_threads(1)  # the tensors are too small to gain from more
    torch.manual_seed(config["seed"])
    rng = random.Random(config["seed"])
    taxonomy = load_taxonomy(ROOT / config["taxonomy"])
    triples = build_triples(taxonomy, config["train_negatives"], rng)
    direct_pairs = build_direct_pairs(triples)
    inferred_pairs = build_inferred_pairs(taxonomy, config["eval_negatives"], rng)
    print(
        f"{len(taxonomy.entities)} entities, {len(taxonomy.pairs)} child-parent pairs, {len(triples)} training triples"
    )
    print(f"{sum(pair.holds for pair in inferred_pairs)} ancestors to infer, among {len(inferred_pairs)} pairs")

    model = HierarchyTransformer(taxonomy.entities, **config["model"])
    loss = HierarchyTransformerLoss(model, **config["loss"])
    print("\nBefore training")
    report(model, taxonomy, direct_pairs, inferred_pairs)
    print("\nTraining")
    trainer = HierarchyTransformerTrainer(model, loss, TrainingConfig(**config["training"]))
    epochs = trainer.train(triples, direct_pairs, rng)
    for number, epoch in enumerate(epochs, start=1):
        if number == 1 or number % config["report_every"] == 0:
            losses = "   ".join(f"{name} {value:6.3f}" for name, value in epoch.losses.items())
            print(f"  epoch {number:3d}   {losses}   F1 {epoch.f1:.3f}")
    print("\nAfter training")
    report(model, taxonomy, direct_pairs, inferred_pairs)


def report(
    model: HierarchyTransformer,
    taxonomy: Taxonomy,
    direct_pairs: list[LabelledPair],
    inferred_pairs: list[LabelledPair],
) -> None:
    """Print F1 on both kinds of pairs, by a rule that is calibrated on the direct ones, and mean norms by depth."""
    rule, _ = calibrate(model, direct_pairs)
    for name, pairs in (("direct parents   ", direct_pairs), ("inferred ancestors", inferred_pairs)):
        quality = evaluate(model, pairs, rule)
        print(f"  {name:18}  precision {quality.precision:.3f}  recall {quality.recall:.3f}  F1 {quality.f1:.3f}")
    norms = model.manifold.dist0(model.encode(taxonomy.entities))
    depths = torch.tensor([taxonomy.depth(entity) for entity in taxonomy.entities])
    means = "  ".join(f"{norms[depths == depth].mean():.2f}" for depth in range(int(depths.max()) + 1))
    print(f"  mean hyperbolic norm by depth, root first: {means}")


if __name__ == "__main__":
    main()
