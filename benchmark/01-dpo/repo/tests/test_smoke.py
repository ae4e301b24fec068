"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import copy
import math
import unittest
from pathlib import Path

import torch
from closed_form import optimal_log_policy
from controlled import ControlledRun, FrontierConfig, SentimentTask
from frontier import make_reference
from model import ModelConfig, TransformerLM
from preference_datasets import END_TOKEN, IGNORE_LABEL, PreferencePair, collate, load_pairs, tokenize_response
from rankings import ranking_loss
from trainers import LossConfig, concatenated_forward, concatenated_inputs, get_batch_logps, preference_loss
from utils import pad_to_length

ROOT = Path(__file__).resolve().parents[1]
PAIRS = [PreferencePair("Tea?", "Yes, with milk, thank you.", "No."), PreferencePair("Cake?", "Gladly.", "Go away.")]


class DataTest(unittest.TestCase):
    def test_bundled_pairs_fit_the_context(self) -> None:
        pairs = load_pairs(ROOT / "data" / "pairs.jsonl")
        input_ids, _ = concatenated_inputs(collate(pairs))
        self.assertEqual(input_ids.size(0), 2 * 40)
        self.assertLessEqual(input_ids.size(1), 128)

    def test_prompt_is_masked_and_the_end_token_is_a_label(self) -> None:
        input_ids, labels = tokenize_response("Tea?", "Yes.")
        self.assertEqual(bytes(labels[labels != IGNORE_LABEL].tolist()), b"Yes." + bytes([END_TOKEN]))
        self.assertEqual(bytes(input_ids[labels == IGNORE_LABEL].tolist()), b"Q: Tea?\nA: ")

    def test_padding_goes_to_the_right(self) -> None:
        self.assertEqual(pad_to_length(torch.tensor([[5, 6]]), 4, 0).tolist(), [[5, 6, 0, 0]])


class LogProbabilityTest(unittest.TestCase):
    def test_uniform_model_gives_every_counted_token_the_same_share(self) -> None:
        labels = torch.tensor([[IGNORE_LABEL, 2, 3, 1], [IGNORE_LABEL, IGNORE_LABEL, 3, IGNORE_LABEL]])
        logits = torch.zeros(2, 4, 8)
        torch.testing.assert_close(get_batch_logps(logits, labels), torch.tensor([-3.0, -1.0]) * math.log(8))
        torch.testing.assert_close(get_batch_logps(logits, labels, average_log_prob=True), -torch.ones(2) * math.log(8))

    def test_padding_does_not_change_a_log_probability(self) -> None:
        torch.manual_seed(0)
        model = TransformerLM(ModelConfig(vocabulary_size=256, context_length=64, layers=1, width=16, heads=2))
        together = torch.stack(concatenated_forward(model, collate(PAIRS)), dim=1)
        alone = torch.cat([torch.stack(concatenated_forward(model, collate([pair])), dim=1) for pair in PAIRS])
        torch.testing.assert_close(together, alone)


class PreferenceLossTest(unittest.TestCase):
    def test_one_loss_and_two_rewards_a_pair(self) -> None:
        policy = torch.tensor([-12.0, -30.0, -4.5], requires_grad=True)
        outputs = preference_loss(policy, policy - 1, torch.full((3,), -9.0), torch.full((3,), -11.0), beta=0.1)
        self.assertEqual([output.shape for output in outputs], 3 * [(3,)])
        self.assertEqual([output.requires_grad for output in outputs], [True, False, False])

    def test_options_are_validated(self) -> None:
        self.assertRaises(ValueError, LossConfig, beta=0.0)
        self.assertRaises(ValueError, LossConfig, beta=0.1, label_smoothing=0.5)


class ControlledTest(unittest.TestCase):
    def setUp(self) -> None:
        task, config = SentimentTask(seed=0), FrontierConfig(train_prompts=4, test_prompts=4, steps=4, evaluate_every=2)
        reference = make_reference(task, seed=0)
        self.run_ = ControlledRun(copy.deepcopy(reference), reference, task, LossConfig(0.1), config)

    def test_training_moves_the_policy_only(self) -> None:
        self.run_.fit_reference()
        before = [parameter.clone() for parameter in self.run_.reference.parameters()]
        points = self.run_.train()
        self.assertEqual([point.step for point in points], [2, 4])
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(before, self.run_.reference.parameters(), strict=True)))
        self.assertEqual(ranking_loss(self.run_.completion_rewards()).shape, (4,))

    def test_sampled_responses_continue_the_prompts(self) -> None:
        responses = self.run_.test_responses()
        self.assertTrue((responses.labels[:, :2] == IGNORE_LABEL).all())
        counted = responses.labels != IGNORE_LABEL
        self.assertTrue(torch.equal(responses.labels[counted], responses.input_ids[counted]))

    def test_optimal_policy_is_a_distribution(self) -> None:
        reference = torch.full((3, 4), 0.25).log()
        total = optimal_log_policy(reference, torch.randn(3, 4), beta=0.5).exp().sum(dim=1)
        torch.testing.assert_close(total, torch.ones(3))
