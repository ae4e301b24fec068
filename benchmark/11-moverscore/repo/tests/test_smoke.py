"""Smoke tests: transport, tokenizer, weights, batches, and the outer contract of the score."""

import math
import sys
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from corpus import make_corpus  # noqa: E402
from emd import emd  # noqa: E402
from idf import idf_of_unseen, idf_table  # noqa: E402
from preprocess import collate, is_counted  # noqa: E402
from tokenizer import WordPieceTokenizer  # noqa: E402

from evaluate import MoverScorer, load_pairs  # noqa: E402


class TransportTest(unittest.TestCase):
    def test_mass_is_moved(self) -> None:
        places = np.array([0.0, 1.0, 3.0])
        cost = abs(places[:, None] - places)
        self.assertAlmostEqual(emd([1, 0, 0], [0, 0, 1], cost), 3.0)
        self.assertAlmostEqual(emd([0, 0.5, 0], [0, 0, 0.5], cost), 1.0)

    def test_missing_mass_costs_the_maximum(self) -> None:
        cost = np.array([[0.0, 1.0], [1.0, 7.0]])
        self.assertAlmostEqual(emd([1, 0], [0, 0.4], cost), 0.4 + 0.6 * 7)
        self.assertAlmostEqual(emd([0, 0], [0, 0.5], cost), 3.5)
        self.assertEqual(emd([0, 0], [0, 0], cost), 0.0)

    def test_arguments_are_checked(self) -> None:
        self.assertRaises(ValueError, emd, [1.0], [1.0, 0.0], np.zeros((2, 2)))
        self.assertRaises(ValueError, emd, [1.0], [math.nan], [[0.0]])
        self.assertRaises(ValueError, emd, [1.0], [-1.0], [[0.0]])


class PartsTest(unittest.TestCase):
    def test_inflected_words_are_cut(self) -> None:
        tokenizer = WordPieceTokenizer(["the train , the trains"] * 2)
        self.assertEqual(tokenizer.tokenize("The trains!"), ["[CLS]", "the", "train", "##s", "!", "[SEP]"])
        self.assertEqual(tokenizer.tokenize("train é"), ["[CLS]", "train", "[UNK]", "[SEP]"])

    def test_words_count(self) -> None:
        self.assertTrue(is_counted("the") and is_counted("train"))

    def test_weights(self) -> None:
        documents = [["[CLS]", "a", "a"], ["[CLS]", "b", "a"], ["[CLS]", "b"], ["[CLS]", "a"]]
        table = idf_table(documents)
        self.assertEqual(sorted(table), ["[CLS]", "[SEP]", "[UNK]", "a", "b"])
        self.assertEqual([table[token] for token in ("[CLS]", "[SEP]", "[UNK]")], [0.0, 0.0, 0.0])
        self.assertLess(table["a"], table["b"])
        self.assertLess(table["b"], idf_of_unseen(documents))

    def test_corpus_depends_on_the_seed_only(self) -> None:
        self.assertEqual(make_corpus(30, seed=1), make_corpus(30, seed=1))
        self.assertNotEqual(make_corpus(30, seed=1), make_corpus(30, seed=2))


class ScorerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.scorer = MoverScorer()

    def test_batches_are_padded(self) -> None:
        side = collate(
            ["the train", "the train was late."], self.scorer.tokenizer.tokenize, self.scorer.encoder, {}, 1.0
        )
        self.assertEqual(side.embedding.shape, (13, 2, 7, 40))
        self.assertEqual(side.idf.tolist(), [[1] * 4 + [0] * 3, [1] * 7])
        self.assertFalse(side.embedding[:, 0, 4:].any())

    def test_scores_of_the_bundled_pairs(self) -> None:
        pairs = load_pairs()
        scores = self.scorer.score(pairs["candidate"].tolist(), pairs["reference"].tolist())
        self.assertEqual(len(scores), 64)
        self.assertIsInstance(scores[0], float)
        for _, rows in pairs.assign(found=scores).groupby("reference"):
            identical = rows["candidate"] == rows["reference"]
            if identical.any():
                self.assertGreater(rows["found"][identical].min(), rows["found"][~identical].max())


if __name__ == "__main__":
    unittest.main()
