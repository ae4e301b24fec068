"""Smoke tests: corpus, tokenizer, encoder, weights, padding, and the outer contract of the scores."""

import sys
import unittest
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bert_score.corpus import make_corpus  # noqa: E402
from bert_score.encoder import OneLayer  # noqa: E402
from bert_score.idf import idf_weights, uniform_weights  # noqa: E402
from bert_score.rescale import rescale  # noqa: E402
from bert_score.score import PADDING_VALUE, batches_of_similar_length  # noqa: E402
from bert_score.tokenizer import UNKNOWN, WordPieceTokenizer  # noqa: E402
from bert_score.toy_systems import make_slotted, make_systems  # noqa: E402

from evaluate import load_pairs, toy_scorer  # noqa: E402


class PartsTest(unittest.TestCase):
    def test_corpus_depends_on_the_seed_only(self) -> None:
        self.assertEqual(make_corpus(40, seed=3), make_corpus(40, seed=3))
        self.assertNotEqual(make_corpus(40, seed=3), make_corpus(40, seed=4))

    def test_unknown_words_are_cut_into_pieces(self) -> None:
        tokenizer = WordPieceTokenizer(["the dog", "the dog"])
        self.assertEqual(tokenizer.tokenize("The dogs"), ["the", "dog", "##s"])
        self.assertEqual(tokenizer.tokenize("ß"), [UNKNOWN])

    def test_weights(self) -> None:
        weights = idf_weights([[2, 5, 5, 3], [2, 6, 3]], frozenset({2, 3}))
        self.assertEqual(weights(2), 0.0)
        self.assertEqual(weights(5), weights(6))
        self.assertLess(weights(5), weights(7))
        self.assertEqual([uniform_weights(frozenset({2}))(token) for token in (2, 5)], [0.0, 1.0])

    def test_batches_cover_every_pair_once(self) -> None:
        batches = list(batches_of_similar_length(["a", "a b", "a b c"], ["b"] * 3, 2))
        self.assertEqual(batches, [[2, 1], [0]])

    def test_rescaling_keeps_the_order(self) -> None:
        low, middle, high = rescale(torch.tensor([0.3, 0.7, 1.0]), 0.6).tolist()
        self.assertTrue(low < middle < high)

    def test_systems_repeat_themselves(self) -> None:
        first, second = (make_systems(make_slotted(5, seed=1), [0.2, 0.6], seed=2) for _ in range(2))
        self.assertEqual(first.candidates, second.candidates)
        self.assertEqual(first.ratings.shape, (2, 5))


class ScorerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.scorer = toy_scorer()

    def test_padding(self) -> None:
        special_ids = self.scorer.tokenizer.special_ids
        tokens = self.scorer.pad(["the dog", "the dog chased the cat"], uniform_weights(special_ids))
        self.assertEqual(tokens.masks.tolist(), [[1, 1, 1, 1, 0, 0, 0], [1] * 7])
        self.assertEqual(tokens.weights.tolist(), [[0, 1, 1, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1, 0]])
        self.assertTrue((tokens.embedding[0, 4:] == PADDING_VALUE).all())

    def test_scores_of_the_bundled_pairs(self) -> None:
        pairs = load_pairs()
        scores = self.scorer.score(pairs["candidate"].tolist(), pairs["reference"].tolist(), idf=True)
        self.assertEqual(scores.shape, (65,))
        self.assertEqual(scores.dtype, torch.float32)
        identical = torch.tensor((pairs["candidate"] == pairs["reference"]).to_numpy())
        self.assertGreater(scores[identical].min().item(), scores[~identical].max().item())

    def test_layers(self) -> None:
        ids = self.scorer.tokenizer.encode("the dog chased the cat")
        layers = self.scorer.encoder.encode_layers(ids)
        self.assertEqual(len(layers), 3)
        torch.testing.assert_close(OneLayer(self.scorer.encoder, 2).encode(ids), self.scorer.encoder.encode(ids))


if __name__ == "__main__":
    unittest.main()
