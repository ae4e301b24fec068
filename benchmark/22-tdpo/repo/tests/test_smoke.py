"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import random
import unittest

import torch
from tdpo.batching import END_TOKEN, IGNORE_LABEL, PAD_TOKEN, Tokenizer, collate
from tdpo.data import PreferencePair, generate_pairs, sentiment, vocabulary
from tdpo.frontier import FrontierConfig, trace_frontier
from tdpo.logprobs import get_batch_statistics
from tdpo.model import ModelConfig, RecurrentLM
from tdpo.token_values import optimal_log_probs
from trainers import LossConfig, OptimizerConfig, TDPOTrainer, tdpo_loss

TOKENIZER = Tokenizer(vocabulary())
PAIRS = [
    PreferencePair("the plot of this film is".split(), "very clever .".split(), "dull .".split()),
    PreferencePair("the ending is".split(), "lovely .".split(), "rather bleak and very tedious .".split()),
]


def make_model(seed: int) -> RecurrentLM:
    torch.manual_seed(seed)
    return RecurrentLM(ModelConfig(width=8, layers=1), len(TOKENIZER))


class DataTest(unittest.TestCase):
    def test_the_more_positive_continuation_is_preferred(self) -> None:
        for pair in generate_pairs(50, random.Random(0)):
            self.assertGreater(sentiment(pair.chosen), sentiment(pair.rejected))
            TOKENIZER.encode([*pair.prompt, *pair.chosen, *pair.rejected])

    def test_chosen_responses_come_first_and_prompts_are_masked(self) -> None:
        batch = collate(PAIRS, TOKENIZER)
        responses = [labels[labels != IGNORE_LABEL].tolist() for labels in batch.labels]
        self.assertEqual([response[-1] for response in responses], [END_TOKEN] * 4)
        words = [TOKENIZER.decode(response) for response in responses]
        self.assertEqual(words, [PAIRS[0].chosen, PAIRS[1].chosen, PAIRS[0].rejected, PAIRS[1].rejected])
        self.assertEqual(batch.input_ids[1, -1].item(), PAD_TOKEN)
        self.assertEqual(batch.labels[1, -1].item(), IGNORE_LABEL)

    def test_nothing_follows_the_end_of_a_sample(self) -> None:
        prompts = torch.tensor([TOKENIZER.encode(PAIRS[0].prompt)] * 64)
        for row in make_model(0).sample(prompts, 40, torch.Generator().manual_seed(0)).tolist():
            if END_TOKEN in row:
                self.assertEqual(set(row[row.index(END_TOKEN) + 1 :]) - {PAD_TOKEN}, set())


class StatisticsTest(unittest.TestCase):
    def test_two_numbers_a_response(self) -> None:
        labels = torch.tensor([[IGNORE_LABEL, 1, 0, 1], [IGNORE_LABEL, IGNORE_LABEL, 1, IGNORE_LABEL]])
        logits = torch.randn(2, 4, 8, requires_grad=True)
        for values in get_batch_statistics(logits, torch.zeros(2, 4, 8), labels):
            self.assertEqual((values.shape, values.requires_grad), ((2,), True))

    def test_padding_changes_nothing(self) -> None:
        def statistics(pairs: list[PreferencePair]) -> torch.Tensor:
            batch = collate(pairs, TOKENIZER)
            logits, reference_logits = make_model(0)(batch.input_ids), make_model(1)(batch.input_ids)
            return torch.stack(get_batch_statistics(logits, reference_logits, batch.labels), dim=1)

        together = statistics(PAIRS)
        torch.testing.assert_close(together[[0, 2]], statistics(PAIRS[:1]))
        torch.testing.assert_close(together[[1, 3]], statistics(PAIRS[1:]))


class LossTest(unittest.TestCase):
    def test_one_loss_and_two_rewards_a_pair(self) -> None:
        outputs = tdpo_loss(*torch.rand(4, 3, requires_grad=True), beta=0.1)
        self.assertEqual(
            [(output.shape, output.requires_grad) for output in outputs],
            [((3,), flag) for flag in (True, False, False)],
        )

    def test_options_are_validated(self) -> None:
        self.assertRaises(ValueError, LossConfig, beta=0.0)
        self.assertRaises(ValueError, LossConfig, beta=0.1, alpha=-0.5)


class TokenValuesTest(unittest.TestCase):
    def test_optimal_policy_is_a_distribution(self) -> None:
        reference = torch.randn(2, 3, 5).log_softmax(dim=-1)
        total = optimal_log_probs(torch.randn(2, 3, 5), reference, beta=0.5).exp().sum(dim=-1)
        torch.testing.assert_close(total, torch.ones(2, 3))


class FrontierTest(unittest.TestCase):
    def test_points_and_frozen_reference(self) -> None:
        reference, policy = make_model(0), make_model(0)
        trainer = TDPOTrainer(policy, reference, TOKENIZER, OptimizerConfig(1, 4, 1e-3, 1), LossConfig(0.1))
        pairs = generate_pairs(8, random.Random(0))
        points = trace_frontier(trainer, pairs, pairs, FrontierConfig(4, 4, 1e-2, 2, evaluate_every=2, samples=6))
        self.assertEqual([point.step for point in points], [2, 4])
        self.assertTrue(torch.equal(reference.head.weight, make_model(0).head.weight))
        self.assertFalse(torch.equal(policy.head.weight, reference.head.weight))


if __name__ == "__main__":
    unittest.main()
