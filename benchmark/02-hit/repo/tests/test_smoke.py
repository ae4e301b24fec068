"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import torch
from hierarchy_transformers.datasets.build import (
    LabelledPair,
    Taxonomy,
    build_direct_pairs,
    build_inferred_pairs,
    build_triples,
    load_taxonomy,
)
from hierarchy_transformers.evaluation.metrics import PredictionRule, calibrate, evaluate
from hierarchy_transformers.losses.hit_loss import HierarchyTransformerLoss
from hierarchy_transformers.models.hit import HierarchyTransformer
from hierarchy_transformers.models.hyperbolic import poincare_ball
from hierarchy_transformers.models.trainer import HierarchyTransformerTrainer, TrainingConfig

ROOT = Path(__file__).resolve().parents[1]
TAXONOMY = Taxonomy([("poodle", "dog"), ("dog", "animal"), ("cat", "animal"), ("oak", "plant")])


def make_model(embed_dim: int = 8) -> HierarchyTransformer:
    torch.manual_seed(0)
    return HierarchyTransformer(TAXONOMY.entities, embed_dim=embed_dim, heads=2)


class PoincareBallTest(unittest.TestCase):
    def setUp(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self.x, self.y, self.z = 2 * torch.rand(3, 20, 4, generator=generator, dtype=torch.float64) - 1
        self.ball = poincare_ball(4)

    def test_distance_is_a_metric(self) -> None:
        torch.testing.assert_close(self.ball.dist(self.x, self.y), self.ball.dist(self.y, self.x))
        around = self.ball.dist(self.x, self.z) + self.ball.dist(self.z, self.y)
        self.assertTrue((self.ball.dist(self.x, self.y) < around).all())

    def test_translations_are_isometries(self) -> None:
        moved = [self.ball.mobius_add(self.z, point) for point in (self.x, self.y)]
        torch.testing.assert_close(self.ball.dist(*moved), self.ball.dist(self.x, self.y))

    def test_norm_is_the_distance_from_the_origin(self) -> None:
        torch.testing.assert_close(self.ball.dist0(self.x), self.ball.dist(torch.zeros(4), self.x))


class EncoderTest(unittest.TestCase):
    def test_padding_does_not_change_an_embedding(self) -> None:
        model = make_model()
        together = model.encode(["oak", "poodle dog cat"])
        torch.testing.assert_close(together[:1], model.encode(["oak"]))
        self.assertLess(together.abs().max().item(), 1)


class TaxonomyTest(unittest.TestCase):
    def test_ancestors_siblings_and_depth(self) -> None:
        self.assertEqual(TAXONOMY.ancestors("poodle"), {"dog", "animal"})
        self.assertEqual(TAXONOMY.siblings("cat"), {"dog"})
        self.assertEqual([TAXONOMY.depth(entity) for entity in ("animal", "cat", "poodle")], [0, 1, 2])

    def test_negatives_are_not_above_the_child(self) -> None:
        taxonomy = load_taxonomy(ROOT / "data" / "taxonomy.tsv")
        triples = build_triples(taxonomy, negatives=4, rng=random.Random(0))
        self.assertEqual(len(triples), 4 * len(taxonomy.pairs))
        for triple in triples:
            self.assertIn(triple.parent, taxonomy.parents[triple.child])
            self.assertNotIn(triple.negative, taxonomy.ancestors(triple.child) | {triple.child})

    def test_inferred_pairs_are_not_shown_in_training(self) -> None:
        pairs = build_inferred_pairs(TAXONOMY, negatives=2, rng=random.Random(0))
        self.assertEqual([(pair.child, pair.parent) for pair in pairs if pair.holds], [("poodle", "animal")])
        self.assertEqual(len(pairs), 3)


class EvaluationTest(unittest.TestCase):
    def test_calibration_finds_the_best_rule(self) -> None:
        model = make_model()
        pairs = [LabelledPair("dog", "dog", True), LabelledPair("dog", "oak", False), LabelledPair("cat", "dog", False)]
        rule, f1 = calibrate(model, pairs)
        self.assertEqual(f1, 1.0)
        self.assertEqual(evaluate(model, pairs, rule).f1, 1.0)
        everything = evaluate(model, pairs, PredictionRule(norm_weight=0.0, threshold=-1e9))
        self.assertEqual((everything.recall, everything.precision), (1.0, 1 / 3))


class TrainingTest(unittest.TestCase):
    def test_a_step_changes_the_model(self) -> None:
        model = make_model()
        config = TrainingConfig(epochs=2, batch_size=8, learning_rate=1e-2, warmup_steps=2)
        trainer = HierarchyTransformerTrainer(model, HierarchyTransformerLoss(model), config)
        before = model.encode(["dog"])
        triples = build_triples(TAXONOMY, negatives=2, rng=random.Random(0))
        epochs = trainer.train(triples, build_direct_pairs(triples), random.Random(0))
        self.assertEqual(len(epochs), 2)
        self.assertFalse(torch.equal(before, model.encode(["dog"])))


if __name__ == "__main__":
    unittest.main()
