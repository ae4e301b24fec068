"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import unittest

import numpy as np
import torch
from repe.data import lessons, load_statements, make_contrasts, make_pairs
from repe.lorra import LorraConfig, adapt, add_adapters, response_mask
from repe.model import CausalLM, Tokenizer
from repe.rep_control import control, linear_combination, piecewise, projection
from repe.rep_readers import ClusterMeanRepReader, PCARepReader, RandomRepReader
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

    def test_control_ends_with_its_context(self) -> None:
        vector = np.arange(16, dtype=np.float32)
        prompts = [item.prompt for item in STATEMENTS[:3]]
        before = get_hidden_states(self.model, TOKENIZER, prompts, [-1])[-1]
        for operator in (linear_combination, piecewise, projection):
            with control(self.model, {-1: vector}, operator):
                within = get_hidden_states(self.model, TOKENIZER, prompts, [-1])[-1]
            after = get_hidden_states(self.model, TOKENIZER, prompts, [-1])[-1]
            self.assertEqual(within.shape, before.shape)
            self.assertFalse(np.allclose(within, before))
            np.testing.assert_array_equal(after, before)


class ReaderTest(unittest.TestCase):
    def test_readers_fit_and_score(self) -> None:
        pipeline = RepReadingPipeline(CausalLM(len(TOKENIZER), layers=2, width=16).eval(), TOKENIZER, [-2, -1])
        data = make_pairs(STATEMENTS)
        for reader in (PCARepReader(), ClusterMeanRepReader(), RandomRepReader()):
            pipeline.get_directions(reader, data)
            self.assertEqual([reader.directions[layer].shape for layer in (-2, -1)], [(1, 16), (1, 16)])
            accuracy = pipeline.accuracy(reader, data)
            self.assertTrue(all(value >= 0.5 for value in accuracy.values()), accuracy)


class AdaptationTest(unittest.TestCase):
    def test_responses_end_the_texts(self) -> None:
        mask = response_mask(TOKENIZER, ["It is true", "true"])
        self.assertEqual(mask.tolist(), [[True, True, True], [False, False, True]])

    def test_adapters_train(self) -> None:
        models = [CausalLM(len(TOKENIZER), layers=3, width=16) for _ in range(2)]
        add_adapters(models[0], [1, 2])
        config = LorraConfig((-1,), alpha=1.0, steps=4, learning_rate=1e-3)
        losses = adapt(*models, TOKENIZER, make_contrasts(STATEMENTS), config)
        self.assertEqual(len(losses), 4)
        self.assertLess(losses[-1], losses[0])
        self.assertTrue(torch.equal(models[0].layers[1].qkv.base.weight, models[1].layers[1].qkv.weight))
