"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import unittest
from pathlib import Path

import torch
from encoder import TransformerLayer, window_starts
from graph import criss_cross_mask, event_pairs
from model import ErgoModel, focal_loss
from processor import Document, Vocabulary, collate, load_documents
from utils import score

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [
    Document(("The", "storm", "caused", "a", "flood", "before", "a", "match"), (1, 4, 7), frozenset({(0, 1)})),
    Document(("Panic", "after", "an", "outbreak"), (0, 3), frozenset({(1, 0)})),
]


class GraphTest(unittest.TestCase):
    def test_pairs(self) -> None:
        self.assertEqual(event_pairs(3).tolist(), [[0, 1], [0, 2], [1, 2]])
        self.assertEqual(event_pairs(1).shape, (0, 2))

    def test_shape_of_the_mask(self) -> None:
        mask = criss_cross_mask(torch.tensor([[0, 1], [1, 2], [2, 3]]))
        self.assertEqual((mask.shape, mask.dtype), ((3, 3), torch.bool))


class DataTest(unittest.TestCase):
    def test_batch_of_two_documents(self) -> None:
        batch = collate(DOCUMENTS, Vocabulary(DOCUMENTS))
        self.assertEqual((batch.labels.shape, batch.labels.dtype), ((4,), torch.int64))
        self.assertEqual(batch.pairs[-1].tolist(), [3, 4])
        self.assertEqual(batch.pair_mask.shape, (4, 4))
        self.assertEqual(batch.is_token.sum(dim=1).tolist(), [8, 4])

    def test_bundled_documents(self) -> None:
        documents = load_documents(ROOT / "data" / "documents.jsonl")
        self.assertEqual(len(documents), 48)
        for document in documents:
            self.assertLess(max(document.events), len(document.words))


class ModelTest(unittest.TestCase):
    def test_nodes_that_are_no_neighbours_do_not_mix(self) -> None:
        torch.manual_seed(0)
        layer = TransformerLayer(width=8, heads=2)
        nodes = torch.randn(1, 3, 8)
        mask = torch.tensor([[[True, True, False], [True, True, False], [False, False, True]]])
        changed = nodes.clone()
        changed[:, 2] += 1
        torch.testing.assert_close(layer(nodes, mask)[:, :2], layer(changed, mask)[:, :2])

    def test_model_gives_logits_for_all_pairs(self) -> None:
        vocabulary = Vocabulary(DOCUMENTS)
        batch = collate(DOCUMENTS, vocabulary)
        for loss_type in ("focal", "ce"):
            loss, logits = ErgoModel(len(vocabulary), width=16, loss_type=loss_type)(batch)
            self.assertEqual((loss.shape, logits.shape), ((), (4, 2)))
            self.assertTrue(loss.requires_grad)
        self.assertRaises(ValueError, ErgoModel, len(vocabulary), loss_type="hinge")

    def test_documents_can_be_encoded_in_windows(self) -> None:
        vocabulary = Vocabulary(DOCUMENTS)
        _, logits = ErgoModel(len(vocabulary), width=16, windows=(5, 3))(collate(DOCUMENTS, vocabulary))
        self.assertEqual(logits.shape, (4, 2))
        self.assertEqual(window_starts(5, 5, 3), [0])


class FocalLossTest(unittest.TestCase):
    def test_class_weights(self) -> None:
        self.assertEqual(focal_loss(0.75, num_classes=3).alpha.shape, (3,))
        torch.testing.assert_close(focal_loss([1, 2.5], num_classes=2).alpha, torch.tensor([1, 2.5]))
        self.assertRaises(AssertionError, focal_loss, [1.0, 2.0, 3.0], num_classes=2)
        self.assertRaises(AssertionError, focal_loss, 1.0)

    def test_loss_is_a_finite_scalar(self) -> None:
        loss = focal_loss(0.75, num_classes=2)(torch.tensor([[60.0, 0.0], [0.0, 60.0]]), torch.tensor([0, 1]))
        self.assertEqual(loss.shape, ())
        self.assertTrue(loss.isfinite())


class ScoreTest(unittest.TestCase):
    def test_scores(self) -> None:
        scores = score(torch.tensor([1, 0, 1, 0]), torch.tensor([1, 0, 1, 0]))
        self.assertEqual((scores.precision, scores.recall, scores.f1), (1.0, 1.0, 1.0))
        self.assertEqual(score(torch.zeros(2), torch.zeros(2)).f1, 0.0)
