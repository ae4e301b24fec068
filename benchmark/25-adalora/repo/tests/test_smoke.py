"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import unittest

import torch
from data.toy_classification import MajorityTask
from loralib.loralib import (
    BudgetSchedule,
    RankAllocator,
    SVDLinear,
    adapter_state_dict,
    add_adapters,
    count_trainable,
    orthogonality_penalty,
    train_only,
)
from models.tiny_encoder import BLOCK_LINEARS, EncoderConfig, TinyEncoder
from torch import nn
from train import FitConfig, fit

SCHEDULE = BudgetSchedule(initial=48, final=12, total_steps=20, warmup_steps=4, final_steps=6, interval=2)


def make_encoder(r: int = 0) -> TinyEncoder:
    """A seeded encoder, with adapters on all linear layers of its blocks if r > 0."""
    torch.manual_seed(0)
    encoder = TinyEncoder(EncoderConfig(vocabulary_size=32, length=16, classes=4))
    if r:
        add_adapters(encoder, BLOCK_LINEARS, r, lora_alpha=8, lora_dropout=0.0)
        train_only(encoder)
    return encoder


class TaskTest(unittest.TestCase):
    def test_label_is_the_most_frequent_group(self) -> None:
        task = MajorityTask(seed=0)
        tokens, labels = task.sample(50, torch.Generator().manual_seed(0))
        self.assertEqual(tokens.shape, (50, 16))
        for row, label in zip(task.groups()[tokens], labels, strict=True):
            counts = row.bincount(minlength=4)
            self.assertEqual((counts == counts.max()).nonzero().flatten().tolist(), [label.item()])


class SVDLinearTest(unittest.TestCase):
    def test_without_rank_there_is_no_adapter(self) -> None:
        layer = SVDLinear(5, 3)
        self.assertEqual([name for name, _ in layer.named_parameters()], ["weight", "bias"])
        self.assertTrue(layer.weight.requires_grad)

    def test_shapes_and_start(self) -> None:
        layer = SVDLinear(5, 3, r=2, fan_in_fan_out=True, bias=False)
        shapes = {name: tuple(parameter.shape) for name, parameter in layer.named_parameters()}
        expected = {"weight": (5, 3), "lora_A": (2, 5), "lora_E": (2, 1), "lora_B": (3, 2), "ranknum": (1,)}
        self.assertEqual(shapes, expected)
        self.assertEqual(layer.lora_E.count_nonzero(), 0)
        self.assertEqual(layer.ranknum.item(), 2)
        self.assertEqual(layer(torch.ones(4, 5)).shape, (4, 3))

    def test_new_adapters_do_not_change_the_model(self) -> None:
        tokens, _ = MajorityTask(seed=0).sample(8, torch.Generator().manual_seed(0))
        torch.testing.assert_close(make_encoder(r=3)(tokens), make_encoder()(tokens))

    def test_evaluation_mode_of_the_model_merges_and_training_mode_restores(self) -> None:
        model = nn.Sequential(SVDLinear(4, 4, r=2), nn.ReLU(), SVDLinear(4, 3, r=2, merge_weights=False))
        weight = model[0].weight.clone()
        model.eval()
        self.assertEqual([model[0].merged, model[2].merged], [True, False])
        model.train()
        self.assertFalse(model[0].merged)
        torch.testing.assert_close(model[0].weight, weight, rtol=0, atol=0)

    def test_penalty_is_a_scalar_with_gradients(self) -> None:
        layer = SVDLinear(5, 4, r=3)
        orthogonality_penalty(layer).backward()
        self.assertEqual(layer.lora_A.grad.shape, (3, 5))
        self.assertEqual(orthogonality_penalty(nn.Linear(5, 4)).shape, ())


class AllocatorTest(unittest.TestCase):
    def test_budget_falls_from_initial_to_final(self) -> None:
        budgets = [SCHEDULE.budget(step) for step in range(1, 21)]
        self.assertEqual((budgets[0], budgets[-1]), (SCHEDULE.initial, SCHEDULE.final))
        self.assertEqual({type(budget) for budget in budgets}, {int})

    def test_training_ends_with_the_final_budget(self) -> None:
        model, task = make_encoder(r=4), MajorityTask(seed=0)
        allocator = RankAllocator(model, SCHEDULE)
        losses = fit(model, task, FitConfig(SCHEDULE.total_steps, 1e-2, batch_size=16), 0, allocator)
        self.assertEqual(len(losses), SCHEDULE.total_steps)
        self.assertEqual(sum(allocator.ranks().values()), SCHEDULE.final)
        self.assertEqual({layer.ranknum.item() for layer in allocator.layers.values()}, {4.0})


class UtilsTest(unittest.TestCase):
    def test_only_adapters_and_classifier_train(self) -> None:
        model = make_encoder(r=2)
        adapters = sum(
            2 * (layer.in_features + layer.out_features + 1) for layer in RankAllocator(model, SCHEDULE).layers.values()
        )
        self.assertEqual(count_trainable(model), adapters)
        train_only(model, prefixes=["classifier"])
        self.assertEqual(count_trainable(model), adapters + 32 * 4 + 4)

    def test_adapters_move_to_another_model(self) -> None:
        source, target = make_encoder(r=2), make_encoder(r=2)
        with torch.no_grad():
            source.blocks[1].value.lora_E.fill_(0.5)
        state = adapter_state_dict(source)
        self.assertEqual(len(state), 4 * 2 * len(BLOCK_LINEARS))
        self.assertEqual(target.load_state_dict(state, strict=False).unexpected_keys, [])
        torch.testing.assert_close(target.blocks[1].value.lora_E, torch.full((2, 1), 0.5))


if __name__ == "__main__":
    unittest.main()
