"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import sys
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from config import DEFAULT_CONFIG, GenerationConfig, TabularConfig  # noqa: E402
from embeddings import embed_text  # noqa: E402
from generative import obfuscate_rows  # noqa: E402
from metrics import balanced_accuracy, token_f1  # noqa: E402
from obfuscation import Level, SymbolTable  # noqa: E402
from recovery import attackers  # noqa: E402
from symbol_model import SymbolModel  # noqa: E402
from Tabular import attack, classify_rows, compute_mean_cosine_similarity, describe_pairs, load_rows  # noqa: E402


class TabularTest(unittest.TestCase):
    def setUp(self) -> None:
        self.rows, self.labels = load_rows(ROOT / "data" / "census_small.csv")
        self.table = SymbolTable((level for row in self.rows for level in row), DEFAULT_CONFIG)

    def test_levels_are_written_with_the_separator(self) -> None:
        level = Level("family", "never married")
        self.assertEqual(level.describe(DEFAULT_CONFIG), "Feature: family, Value: never married")
        self.assertEqual(level.describe(TabularConfig(name_prefix="", value_separator="=")), "family=never married")

    def test_every_level_has_symbols_of_its_own(self) -> None:
        self.assertEqual(len(set(self.table.values())), len(self.table))
        self.assertEqual(dict(self.table), dict(SymbolTable(self.table, DEFAULT_CONFIG)))

    def test_obfuscation_keeps_the_classifier_as_good_as_it_was(self) -> None:
        plain = classify_rows([[level.value for level in row] for row in self.rows], self.labels)
        hidden = classify_rows([self.table.obfuscate_row(row) for row in self.rows], self.labels)
        self.assertEqual(plain, hidden)
        self.assertGreater(balanced_accuracy(self.labels, plain), 0.6)

    def test_embeddings_depend_on_the_text_only(self) -> None:
        vector = embed_text("retail sales", 50)
        self.assertEqual((vector.shape, vector.dtype), ((50,), np.float32))
        np.testing.assert_array_equal(vector, embed_text("retail sales", 50))
        self.assertFalse(embed_text("").any())

    def test_token_overlap(self) -> None:
        self.assertGreater(token_f1("rented flat", "shared flat"), token_f1("rented flat", "married"))

    def test_generated_symbols_have_the_length_asked_for(self) -> None:
        model, config = SymbolModel(), GenerationConfig(max_attempts=3)
        hidden = obfuscate_rows(self.rows[:4], model, config, np.random.default_rng(0), reusable=True)
        self.assertEqual([len(row) for row in hidden], [5] * 4)
        self.assertTrue(all(len(sequence) == config.symbols_per_level for row in hidden for sequence in row))

    def test_better_attackers_have_higher_scores(self) -> None:
        scores = {
            name: compute_mean_cosine_similarity(describe_pairs(attack(self.table, attacker)))
            for name, attacker in attackers(self.table, DEFAULT_CONFIG).items()
        }
        self.assertAlmostEqual(scores["perfect"], 1.0)
        self.assertLess(scores["random entity"], scores["insight 0.7"])


if __name__ == "__main__":
    unittest.main()
