"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import unittest

import numpy as np
import torch
from repe.data import lessons, load_statements, make_pairs
from repe.model import CausalLM, Tokenizer
from repe.rep_control import add_vectors
from repe.rep_readers import ClusterMeanRepReader, PCARepReader, RandomRepReader, project_onto_direction, recenter
from repe.rep_reading import RepReadingPipeline, get_hidden_states

STATEMENTS = load_statements()
TOKENIZER = Tokenizer(lessons(STATEMENTS))


class DataTest(unittest.TestCase):
    def test_every_thing_has_a_true_and_a_false_statement(self) -> None:
        self.assertEqual([item.label for item in STATEMENTS], [1, 0] * 52)

    def test_pairs_come_in_both_orders(self) -> None:
        data = make_pairs(STATEMENTS)
        self.assertEqual(len(data.prompts), 2 * len(data.labels))
        self.assertEqual({tuple(pair) for pair in data.labels}, {(0, 1), (1, 0)})


class ModelTest(unittest.TestCase):
    def setUp(self) -> None:
        self.model = CausalLM(len(TOKENIZER), layers=3, width=16).eval()

    def test_padding_changes_no_hidden_state(self) -> None:
        prompts = [STATEMENTS[0].prompt, "It is"]
        together = get_hidden_states(self.model, TOKENIZER, prompts, [-1, -3])
        alone = get_hidden_states(self.model, TOKENIZER, prompts[1:], [-1, -3])
        self.assertEqual(together[-3].shape, (2, 16))
        np.testing.assert_allclose(together[-1][1:], alone[-1], atol=1e-5)

    def test_vectors_are_added_within_the_context_only(self) -> None:
        vector = np.arange(16, dtype=np.float32)
        prompts = [item.prompt for item in STATEMENTS[:3]]
        before = get_hidden_states(self.model, TOKENIZER, prompts, [-1])[-1]
        with add_vectors(self.model, {-1: vector}):
            within = get_hidden_states(self.model, TOKENIZER, prompts, [-1])[-1]
        after = get_hidden_states(self.model, TOKENIZER, prompts, [-1])[-1]
        np.testing.assert_allclose(within, before + vector, atol=1e-5)
        np.testing.assert_array_equal(after, before)


class ReaderTest(unittest.TestCase):
    def test_recenter(self) -> None:
        rows = np.array([[1.0, 2.0], [3.0, 6.0]])
        torch.testing.assert_close(recenter(rows), torch.tensor([[-1.0, -2.0], [1.0, 2.0]]))
        torch.testing.assert_close(recenter(rows, np.array([1.0, 1.0])), torch.tensor([[0.0, 1.0], [2.0, 5.0]]))

    def test_projection_does_not_depend_on_the_length_of_the_direction(self) -> None:
        rows = np.array([[3.0, 4.0], [0.0, -2.0]])
        np.testing.assert_allclose(project_onto_direction(rows, np.array([0.0, 7.0])), [4.0, -2.0])

    def test_signs_point_to_label_one(self) -> None:
        reader = PCARepReader(2)
        reader.directions = {-1: np.eye(2, dtype=np.float32)}
        states = {-1: np.array([[1.0, 0.0], [0.0, 5.0], [-3.0, 1.0], [2.0, 1.0]])}
        signs = reader.get_signs(states, [[0, 1], [1, 0]], [-1])
        self.assertEqual(signs[-1].tolist(), [-1, 1])

    def test_readers_fit_and_score(self) -> None:
        pipeline = RepReadingPipeline(CausalLM(len(TOKENIZER), layers=2, width=16).eval(), TOKENIZER, [-2, -1])
        data = make_pairs(STATEMENTS)
        for reader in (PCARepReader(), ClusterMeanRepReader(), RandomRepReader()):
            pipeline.get_directions(reader, data)
            self.assertEqual([reader.directions[layer].shape for layer in (-2, -1)], [(1, 16), (1, 16)])
            accuracy = pipeline.accuracy(reader, data)
            self.assertTrue(all(value >= 0.5 for value in accuracy.values()), accuracy)
