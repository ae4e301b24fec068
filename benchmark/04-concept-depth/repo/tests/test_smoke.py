"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import unittest

import numpy as np
from dataset import CONCEPTS, DataProcessing
from main import probe_concept, probing
from metrics import concept_depth, variation_rates
from plot import draw_curve
from precision import quantise_model
from utils import LLM, Tokenizer


class DataTest(unittest.TestCase):
    def test_bundled_groups_have_sixty_texts_each(self) -> None:
        for name in CONCEPTS:
            positive, negative = DataProcessing(name).dispose_data()
            self.assertEqual((len(positive), len(negative)), (60, 60))
            self.assertFalse(set(positive) & set(negative))

    def test_noise_is_put_before_the_prompt_and_repeats_with_its_seed(self) -> None:
        plain = DataProcessing("cities").get_prompt("Oslo is in Europe.")
        noisy = [DataProcessing("cities", noise=5, seed=seed).get_prompt("Oslo is in Europe.") for seed in (1, 1, 2)]
        self.assertTrue(all(prompt.endswith(" " + plain) and len(prompt) == len(plain) + 6 for prompt in noisy))
        self.assertEqual(noisy[0], noisy[1])
        self.assertNotEqual(noisy[0], noisy[2])

    def test_unknown_words_are_spelled(self) -> None:
        tokenizer = Tokenizer(["The plot."])
        words = [tokenizer.vocabulary[index] for index in tokenizer.encode("The pot?.")]
        self.assertEqual(words, ["the", "p", "o", "t", "."])


class ModelTest(unittest.TestCase):
    def test_hidden_states_of_every_layer(self) -> None:
        llm = LLM(["A bad plot.", "A good plot."])
        layers = llm.collect(["A bad plot.", "A good plot.", "plot"])
        self.assertEqual([layer.shape for layer in layers], [(3, 48)] * 6)
        self.assertEqual(layers[0].dtype, np.float64)
        np.testing.assert_allclose(layers[4][1], llm.get_hidden_states("A good plot.")[4])

    def test_storage_changes_a_copy(self) -> None:
        llm = LLM(["A bad plot.", "A good plot."])
        before = llm.get_hidden_states("A bad plot.")
        stored = quantise_model(llm, 4).get_hidden_states("A bad plot.")
        self.assertFalse(np.allclose(stored, before))
        np.testing.assert_array_equal(llm.get_hidden_states("A bad plot."), before)

    def test_lessons_are_learned(self) -> None:
        lessons = ["left is one", "right is two"]
        llm = LLM(lessons)
        self.assertLess(llm.teach(lessons, steps=30), 0.5)


class MetricsTest(unittest.TestCase):
    def test_depths(self) -> None:
        accuracies = [0.5, 0.5, 0.8, 0.9, 0.91, 0.85, 0.85, 0.7]
        self.assertEqual(len(variation_rates(accuracies)), 7)
        depth = concept_depth(accuracies)
        self.assertEqual(depth.peak, 0.91)
        self.assertIn(8 * depth.jumping_point, range(1, 8))
        self.assertIn(8 * depth.converging_point, range(1, 8))

    def test_curve_has_a_mark_for_each_layer(self) -> None:
        self.assertEqual(draw_curve([0.2, 0.5, 0.71, 1.0]).count("*"), 4)


class ProbingTest(unittest.TestCase):
    def test_obvious_layers_get_full_scores(self) -> None:
        rng = np.random.default_rng(0)
        first, second = rng.normal(5, 1, size=(2, 30, 4)), rng.normal(-5, 1, size=(2, 30, 4))
        ones, zeros = np.ones(30, dtype=int), np.zeros(30, dtype=int)
        self.assertEqual(probing(first, second, ones, zeros, 2), ([1.0, 1.0], [1.0, 1.0], [1.0, 1.0]))

    def test_one_score_a_layer(self) -> None:
        data = DataProcessing("reviews")
        scores = probe_concept(LLM(data.lessons()), data)
        self.assertEqual([len(values) for values in scores], [6, 6, 6])
