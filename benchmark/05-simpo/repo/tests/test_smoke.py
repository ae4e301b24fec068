"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import copy
import math
import unittest
from pathlib import Path

import torch
from scripts.objectives import OBJECTIVES, pair_scores
from scripts.optimize import optimize
from scripts.simpo_config import SimPOConfig
from scripts.simpo_trainer import SimPOTrainer
from simpo.data import (
    ANSWER_TOKEN_ID,
    END_TOKEN_ID,
    PAD_TOKEN_ID,
    UNKNOWN_TOKEN_ID,
    PreferenceCollator,
    PreferencePair,
    WordTokenizer,
    load_pairs,
    pad_to_length,
    split_pairs,
)
from simpo.model import ModelConfig, TinyLM

ROOT = Path(__file__).resolve().parents[1]
PAIRS = [
    PreferencePair("Tea?", "Yes, with milk.", "No."),
    PreferencePair("Cake?", "Gladly.", "Well, it depends on it."),
]
TOKENIZER = WordTokenizer(["Tea? Yes, with milk. No.", "Cake? Gladly. Well, it depends."])
COLLATOR = PreferenceCollator(TOKENIZER, label_pad_token_id=-100)


def make_trainer(**settings: float | str) -> SimPOTrainer:
    torch.manual_seed(0)
    model = TinyLM(ModelConfig(context_length=64, layers=1, width=16, heads=2), len(TOKENIZER))
    return SimPOTrainer(model, SimPOConfig(**settings))


class DataTest(unittest.TestCase):
    def test_bundled_pairs_differ_in_length_both_ways(self) -> None:
        pairs = load_pairs(ROOT / "data" / "pairs.jsonl")
        self.assertEqual(len(pairs), 40)
        self.assertEqual(sum(len(pair.chosen) < len(pair.rejected) for pair in pairs), 20)
        training, held_out = split_pairs(pairs, every=5)
        self.assertEqual((len(training), len(held_out)), (32, 8))
        self.assertFalse(set(training) & set(held_out))

    def test_tokenizer_knows_its_words(self) -> None:
        tea, milk = TOKENIZER.encode("TEA milk")
        self.assertEqual(TOKENIZER.encode("milk, tea"), [milk, TOKENIZER.token_ids[","], tea])
        self.assertEqual(TOKENIZER.encode("coffee"), [UNKNOWN_TOKEN_ID])

    def test_labels_cover_the_response_and_the_end_token(self) -> None:
        input_ids, labels = COLLATOR.tokenize("Tea?", "Gladly.")
        self.assertEqual(input_ids.tolist(), TOKENIZER.encode("tea?") + [ANSWER_TOKEN_ID] + labels[3:].tolist())
        self.assertEqual(labels.tolist(), [-100] * 3 + TOKENIZER.encode("gladly.") + [END_TOKEN_ID])

    def test_padding_goes_to_the_right(self) -> None:
        self.assertEqual(pad_to_length(torch.tensor([[5, 6]]), 4, PAD_TOKEN_ID).tolist(), [[5, 6, 0, 0]])
        self.assertEqual(pad_to_length(torch.tensor([5, 6]), 1, PAD_TOKEN_ID).tolist(), [5, 6])


class LogProbabilityTest(unittest.TestCase):
    def test_plain_log_probabilities_of_a_uniform_model(self) -> None:
        labels = torch.tensor([[-100, 2, 3, 1], [-100, -100, 3, -100]])
        trainer, logits = make_trainer(), torch.zeros(2, 4, 8)
        sums = trainer.get_batch_logps(logits, labels, normalized=False)
        torch.testing.assert_close(sums, torch.tensor([-3.0, -1.0]) * math.log(8))
        self.assertEqual(trainer.get_batch_logps(logits, labels).shape, (2,))

    def test_padding_does_not_change_a_log_probability(self) -> None:
        trainer = make_trainer()
        together = torch.stack(trainer.concatenated_forward(COLLATOR(PAIRS)), dim=1)
        alone = torch.cat([torch.stack(trainer.concatenated_forward(COLLATOR([pair])), dim=1) for pair in PAIRS])
        torch.testing.assert_close(together, alone)


class SimPOTest(unittest.TestCase):
    def test_losses_and_rewards_have_the_shape_of_the_inputs(self) -> None:
        logps = torch.tensor([-1.5, -0.5, -3.0])
        for loss_type in ("sigmoid", "hinge"):
            for output in make_trainer(loss_type=loss_type).simpo_loss(logps, logps - 0.5):
                self.assertEqual(output.shape, (3,))

    def test_the_supervised_term_adds_the_chosen_responses(self) -> None:
        batch = COLLATOR(PAIRS)
        plain, weighted = make_trainer(), make_trainer(sft_weight=0.5)
        chosen_logps, _ = plain.concatenated_forward(batch)
        difference = weighted.get_batch_loss_metrics(batch)[0] - plain.get_batch_loss_metrics(batch)[0]
        torch.testing.assert_close(difference, -0.5 * chosen_logps.mean())

    def test_settings_are_validated(self) -> None:
        for settings in ({"beta": 0.0}, {"gamma_beta_ratio": -0.1}, {"label_smoothing": 0.6}, {"sft_weight": -1.0}):
            self.assertRaises(ValueError, SimPOConfig, **settings)


class ComparisonTest(unittest.TestCase):
    def test_objectives_give_one_loss_a_pair(self) -> None:
        trainer = make_trainer()
        scores = pair_scores(trainer, copy.deepcopy(trainer.model), COLLATOR(PAIRS))
        for name, objective in OBJECTIVES.items():
            self.assertEqual(objective(scores).shape, (2,), name)

    def test_optimize_returns_one_loss_a_step(self) -> None:
        trainer, batch = make_trainer(), COLLATOR(PAIRS)
        losses = optimize(trainer.model, lambda pairs: -trainer.concatenated_forward(pairs)[0], [batch] * 5, 1e-2)
        self.assertEqual(len(losses), 5)
        self.assertLess(losses[-1], losses[0])


if __name__ == "__main__":
    unittest.main()
