"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import tempfile
import unittest
from pathlib import Path

import torch
from data_aug.dataset import IMAGE_SIZE, PATTERNS, pattern_images
from data_aug.views import Augmentation, ViewLoader
from feature_eval.linear_probe import linear_probe
from losses import LOSSES, is_positive
from models.encoder import ContrastiveEncoder
from optim.lars import LARS
from optim.schedule import Schedule
from simclr import SimCLR
from utils import Config, accuracy, load_checkpoint, save_checkpoint


def make_trainer(**settings: float) -> SimCLR:
    """A trainer with a small encoder, stochastic gradient descent and a constant learning rate."""
    torch.manual_seed(0)
    model = ContrastiveEncoder(width=4, projection_dim=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
    return SimCLR(args=Config(**settings), model=model, optimizer=optimizer, scheduler=scheduler)


class DataTest(unittest.TestCase):
    def test_classes_are_balanced_and_pixels_in_range(self) -> None:
        images, labels = pattern_images(24, seed=0)
        self.assertEqual(images.shape, (24, 3, IMAGE_SIZE, IMAGE_SIZE))
        self.assertEqual(labels.bincount().tolist(), [3] * len(PATTERNS))
        self.assertTrue(((images >= 0) & (images <= 1)).all())

    def test_views_differ_from_each_other_but_not_between_runs(self) -> None:
        images, _ = pattern_images(4, seed=0)
        first, second = (Augmentation(seed=1)(images) for _ in range(2))
        torch.testing.assert_close(first, second)
        augmentation = Augmentation(seed=1)
        self.assertFalse(torch.equal(augmentation(images), augmentation(images)))

    def test_whole_crop_without_jitter_is_the_image_or_its_mirror_image(self) -> None:
        images, _ = pattern_images(16, seed=0)
        views = Augmentation(seed=0, min_crop=1.0, colour_strength=0.0)(images)
        same = (views - images).abs().amax(dim=(1, 2, 3)) < 1e-5
        mirrored = (views - images.flip(3)).abs().amax(dim=(1, 2, 3)) < 1e-5
        self.assertTrue((same | mirrored).all())
        self.assertTrue(same.any() and mirrored.any())

    def test_distorted_colours_are_in_range(self) -> None:
        images, _ = pattern_images(16, seed=0)
        views = Augmentation(seed=0, colour_strength=1.0)(images)
        self.assertEqual(views.shape, images.shape)
        self.assertTrue(((views >= 0) & (views <= 1)).all())

    def test_last_incomplete_batch_is_left_out(self) -> None:
        images, _ = pattern_images(11, seed=0)
        batches = list(ViewLoader(images, Augmentation(seed=0), batch_size=4, n_views=3, seed=0))
        self.assertEqual([[len(view) for view in views] for views in batches], [[4, 4, 4]] * 2)


class EvaluationTest(unittest.TestCase):
    def test_accuracy(self) -> None:
        logits = torch.tensor([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0]])
        self.assertEqual(accuracy(logits, torch.tensor([0, 2]), top_k=(1, 2, 5)), [0.5, 1.0, 1.0])

    def test_probe_separates_separable_features(self) -> None:
        labels = torch.arange(30) % 3
        features = torch.eye(3)[labels] + 0.01 * torch.randn(30, 3, generator=torch.Generator().manual_seed(0))
        self.assertEqual(linear_probe(features[:15], labels[:15], features[15:], labels[15:]), 1.0)


class OptimizationTest(unittest.TestCase):
    def test_a_step_moves_parameters_with_gradients(self) -> None:
        weights = [torch.nn.Parameter(torch.ones(2, 3)) for _ in range(2)]
        optimizer = LARS(weights, learning_rate=1.0)
        (weights[0] * torch.arange(3.0)).sum().backward()
        optimizer.step()
        self.assertEqual([torch.equal(weight, torch.ones(2, 3)) for weight in weights], [False, True])
        self.assertEqual(optimizer.velocity[weights[0]].shape, (2, 3))

    def test_schedule_sets_the_rate_of_each_step(self) -> None:
        optimizer = LARS([], learning_rate=0.0)
        schedule = Schedule(optimizer, peak=0.8, warmup_steps=3, total_steps=9)
        rates = []
        for _ in range(9):
            rates.append(optimizer.learning_rate)
            schedule.step()
        self.assertLessEqual(max(rates), 0.8 + 1e-9)
        self.assertGreater(len(set(rates)), 3)


class TrainerTest(unittest.TestCase):
    def test_losses_are_scalars_with_gradients(self) -> None:
        self.assertEqual(is_positive(torch.zeros(2, 3), torch.tensor([0, 2])).int().tolist(), [[1, 0, 0], [0, 0, 1]])
        for name in LOSSES:
            logits = torch.randn(6, 5, generator=torch.Generator().manual_seed(0)).requires_grad_()
            loss = make_trainer(loss=name).criterion(logits, torch.zeros(6, dtype=torch.int64))
            loss.backward()
            self.assertEqual((loss.shape, logits.grad.shape), ((), (6, 5)))

    def test_one_image_has_one_candidate(self) -> None:
        trainer = make_trainer(batch_size=1)
        logits, labels = trainer.info_nce_loss(torch.tensor([[3.0, 4.0], [-1.0, 0.5]]))
        self.assertEqual((logits.shape, labels.tolist()), ((2, 1), [0, 0]))

    def test_training_lowers_the_loss(self) -> None:
        trainer = make_trainer(batch_size=16, n_views=3, epochs=4, temperature=0.5)
        images, _ = pattern_images(64, seed=0)
        loader = ViewLoader(images, Augmentation(seed=0), batch_size=16, n_views=3, seed=0)
        history = trainer.train(loader, report_every=0)
        self.assertEqual(len(history), 4)
        self.assertLess(history[-1]["loss"], history[0]["loss"])

    def test_settings_are_validated(self) -> None:
        for settings in ({"batch_size": 0}, {"n_views": 1}, {"temperature": 0.0}):
            self.assertRaises(ValueError, Config, **settings)

    def test_checkpoint_restores_weights_and_settings(self) -> None:
        trainer = make_trainer(temperature=0.5)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "runs" / "model.pt"
            save_checkpoint(path, trainer.model, trainer.args)
            restored = ContrastiveEncoder(width=4, projection_dim=8)
            self.assertEqual(load_checkpoint(path, restored), trainer.args)
        for name, value in trainer.model.state_dict().items():
            torch.testing.assert_close(restored.state_dict()[name], value)
