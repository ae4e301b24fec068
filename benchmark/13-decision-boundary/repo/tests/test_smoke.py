"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import sys
import unittest
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from active_learning import ActiveConfig, active_learning, nearest_example_oracle  # noqa: E402
from config import DATA_TYPES, ExperimentConfig  # noqa: E402
from data_utils import (  # noqa: E402
    generate_context_prompt,
    generate_dataset,
    generate_query_prompt,
    generate_tasks,
    generate_x_y,
)
from get_llm_decision_boundary import decision_map, grid_points, predict, split_tasks  # noqa: E402
from icl_model import Logistic, NearestNeighbours, PromptedAttention, parse_input  # noqa: E402
from metrics import accuracy, boundary_length, mean_entropy  # noqa: E402
from plotting import render_map  # noqa: E402
from tnp import TransformerNeuralProcess  # noqa: E402
from train_tnp import TNPLearner, TrainConfig, fit  # noqa: E402


class DataTest(unittest.TestCase):
    def test_one_task_is_scaled_and_balanced(self) -> None:
        for data_type in DATA_TYPES:
            x, y = generate_x_y(30, 2, 0, data_type=data_type)
            np.testing.assert_allclose([x.min(axis=0), x.max(axis=0)], [[0, 0], [100, 100]], atol=1e-9)
            self.assertEqual(np.bincount(y).tolist(), [15, 15])

    def test_tasks_have_the_right_shapes(self) -> None:
        for data_type in DATA_TYPES:
            x, y = generate_tasks(2, 12, 2, ExperimentConfig.seed, data_type=data_type)
            self.assertEqual((x.shape, y.shape), ((2, 12, 2), (2, 12)))
            self.assertTrue(np.isfinite(x).all())

    def test_context_is_balanced_and_separate_from_queries(self) -> None:
        x, y = generate_x_y(30, 2, 0)
        split = generate_dataset(x, y, 10, seed=1)
        self.assertEqual(np.bincount(split.context_y).tolist(), [5, 5])
        self.assertEqual(split.query_x.shape, (20, 2))
        both = np.concatenate([split.context_x, split.query_x])
        np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(x, axis=0))
        self.assertRaises(ValueError, generate_dataset, x, y, 9, seed=1)

    def test_prompts(self) -> None:
        prompt = generate_context_prompt(np.array([[3.4, 99.6], [0.0, 50.2]]), np.array([0, 1]))
        self.assertEqual(prompt, "Input: 3 100\nLabel: Foo\nInput: 0 50\nLabel: Bar")
        self.assertEqual(generate_query_prompt(np.array([1.0, 2.0])), "Input: 1 2\nLabel:")
        self.assertEqual(parse_input("Input: 1 2"), [1, 2])


class LearnerTest(unittest.TestCase):
    def test_learners_solve_an_easy_task(self) -> None:
        split = generate_dataset(*generate_x_y(60, 2, 3, class_sep=3.0), 40, seed=0)
        for model in (NearestNeighbours(3), Logistic(), PromptedAttention(roughness=0.1)):
            probabilities = decision_map(model, split, 11)
            self.assertEqual(probabilities.shape, (11, 11))
            self.assertGreater(probabilities.max(), 0.5)
            self.assertLess(probabilities.min(), 0.5)
            lines = render_map(probabilities, split.context_x, split.context_y, width=20, height=8).splitlines()
            self.assertEqual([len(line) for line in lines], [22] * 10)

    def test_grid_and_split(self) -> None:
        self.assertEqual(grid_points(3)[:4].tolist(), [[0, 0], [0, 50], [0, 100], [50, 0]])
        self.assertEqual(split_tasks(10, 0.8), (range(8), range(8, 10)))


class ContextTest(unittest.TestCase):
    def test_active_learning_adds_examples(self) -> None:
        x, y = generate_x_y(60, 2, 3)
        start = generate_dataset(x, y, 8, seed=0)
        config = ActiveConfig(rounds=2, per_round=3)
        grown = active_learning(Logistic(), start, grid_points(9), nearest_example_oracle(x, y), config)
        self.assertEqual((grown.context_x.shape, grown.context_y.shape), ((14, 2), (14,)))
        np.testing.assert_array_equal(grown.context_x[:8], start.context_x)

    def test_neural_process_trains(self) -> None:
        torch.manual_seed(0)
        model = TransformerNeuralProcess(width=8)
        losses = fit(model, TrainConfig(steps=3, batch_size=4), np.random.default_rng(0))
        self.assertEqual(len(losses), 3)
        self.assertTrue(np.isfinite(losses).all())
        x, y = generate_x_y(30, 2, 0)
        self.assertEqual(predict(TNPLearner(model), generate_dataset(x, y, 10, seed=1), grid_points(4)).shape, (16,))


class MetricTest(unittest.TestCase):
    def test_straight_boundary(self) -> None:
        probabilities = np.zeros((10, 10))
        probabilities[:4] = 1.0
        self.assertEqual(boundary_length(probabilities), 1.0)
        self.assertEqual(mean_entropy(probabilities), 0.0)
        self.assertEqual(mean_entropy(np.full((2, 2), 0.5)), 1.0)
        self.assertEqual(accuracy(np.array([0.9, 0.2]), np.array([1, 1])), 0.5)


if __name__ == "__main__":
    unittest.main()
