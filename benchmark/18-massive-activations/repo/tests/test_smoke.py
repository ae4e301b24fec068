"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import os
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from lib.bias import BiasedAttention, attention_weights, split_output
from lib.image import PROBE_IMAGE, read_image
from lib.interventions import hidden_states, replaced
from lib.load_model import load_vit
from lib.plot_utils_vit import plot_layerwise
from lib.stats import summarise, token_name
from main_vit import run_exp1
from monkey_patch import enable_vit_custom_block

ROOT = Path(__file__).resolve().parents[1]


class ImageTest(unittest.TestCase):
    def test_probe_image(self) -> None:
        image = read_image(ROOT / PROBE_IMAGE)
        self.assertEqual((image.shape, image.dtype), ((84, 112, 3), np.dtype(np.uint8)))
        sky, breast = image[5, 5], image[52, 60]
        self.assertGreater(sky[2], sky[0])
        self.assertGreater(breast[0], breast[2])

    def test_other_files_are_refused(self) -> None:
        self.assertRaises(ValueError, read_image, ROOT / "README.md")


class ModelTest(unittest.TestCase):
    def test_same_seed_gives_the_same_model(self) -> None:
        images = torch.randn(2, 3, 56, 56, generator=torch.Generator().manual_seed(0))
        one, other = (load_vit("dinov2_reg", "tiny", seed=3)[0] for _ in range(2))
        torch.testing.assert_close(one(images), other(images))
        self.assertEqual(one(images).shape, (2, 32))

    def test_unknown_models_are_refused(self) -> None:
        self.assertRaises(ValueError, load_vit, "dinov2_reg", "giant")

    def test_patched_block_computes_the_same(self) -> None:
        _, layers, _ = load_vit("dinov2", "tiny")
        x = torch.randn(1, 5, 32)
        before = layers[0](x)
        enable_vit_custom_block(layers[0], 0)
        torch.testing.assert_close(layers[0](x), before)
        self.assertEqual((layers[0].feat.dtype, layers[0].layer_id), (torch.float64, 0))
        self.assertFalse(hasattr(layers[1], "feat"))


class BiasTest(unittest.TestCase):
    def test_parts_of_attention_add_up(self) -> None:
        query, key, value = torch.randn(3, 2, 4, 6, 5)
        weights = attention_weights(query, key)
        torch.testing.assert_close(sum(split_output(weights, value, [0, 3])), weights @ value)

    def test_explicit_biases_keep_the_shape(self) -> None:
        model, layers, _ = load_vit("dinov2", "tiny")
        x = torch.randn(2, 5, 32)
        self.assertEqual(BiasedAttention(layers[0].attn)(x).shape, x.shape)

    def test_interventions_end_with_their_context(self) -> None:
        model, layers, _ = load_vit("dinov2", "tiny")
        images = torch.randn(2, 3, 56, 56)
        with replaced(layers, {1: torch.zeros_like}):
            self.assertTrue((hidden_states(layers, model, images)[1] == 0).all())
        self.assertFalse((hidden_states(layers, model, images)[1] == 0).any())


class ReportTest(unittest.TestCase):
    def test_summary(self) -> None:
        magnitudes = np.full((1, 3, 4), 0.1)
        magnitudes[0, 2, 1], magnitudes[0, 0, 3] = 500.0, 50.0
        summary = summarise(magnitudes)
        self.assertEqual(summary.top, (500.0, 50.0, 0.1))
        self.assertEqual(summary.places[:2], ((2, 1), (0, 3)))

    def test_names_of_tokens(self) -> None:
        self.assertEqual([token_name(i, 4) for i in (0, 4, 5)], ["CLS", "register 4", "patch 1"])
        self.assertEqual(token_name(1, 0), "patch 1")

    def test_plot_of_all_layers(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            plot_layerwise({"top 1": [3.0, 700.0]}, "dinov2", "tiny", folder)
            self.assertEqual(os.listdir(folder), ["dinov2_tiny_layerwise.svg"])


class ExperimentTest(unittest.TestCase):
    def test_experiment_1_writes_three_files(self) -> None:
        model, layers, val_transform = load_vit("dinov2_reg", "tiny")
        start = os.getcwd()
        os.chdir(ROOT)
        try:
            with tempfile.TemporaryDirectory() as folder:
                self.assertIsNone(run_exp1(2, layers, model, val_transform, folder, "dinov2_reg", "tiny"))
                self.assertEqual(len(os.listdir(folder)), 3)
        finally:
            os.chdir(start)
