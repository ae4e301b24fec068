"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import math
import random
import unittest

import torch
from tdpo.batching import END_TOKEN, IGNORE_LABEL, PAD_TOKEN, Tokenizer, collate
from tdpo.data import PreferencePair, generate_pairs, sentiment, vocabulary
from tdpo.logprobs import get_batch_statistics
from tdpo.model import ModelConfig, RecurrentLM
from trainers import LossConfig, tdpo_loss

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
    def test_uniform_policy(self) -> None:
        labels = torch.tensor([[IGNORE_LABEL, 1, 0, 1], [IGNORE_LABEL, IGNORE_LABEL, 1, IGNORE_LABEL]])
        uniform = torch.zeros(2, 4, 8)
        # A reference that leaves only two of the eight tokens: log 4 nats at each position that counts.
        sure = uniform.masked_fill(torch.arange(8) > 1, -1e4)
        for reference_logits, nats in ((uniform, 0.0), (sure, math.log(4))):
            statistics = get_batch_statistics(uniform, reference_logits, labels)
            torch.testing.assert_close(statistics.logps_margin, torch.tensor([-3.0, -1.0]) * nats)
            torch.testing.assert_close(statistics.position_kl, torch.tensor([3.0, 1.0]) * nats)

    def test_padding_changes_nothing(self) -> None:
        def statistics(pairs: list[PreferencePair]) -> torch.Tensor:
            batch = collate(pairs, TOKENIZER)
            logits, reference_logits = make_model(0)(batch.input_ids), make_model(1)(batch.input_ids)
            return torch.stack(get_batch_statistics(logits, reference_logits, batch.labels), dim=1)

        together = statistics(PAIRS)
        torch.testing.assert_close(together[[0, 2]], statistics(PAIRS[:1]))
        torch.testing.assert_close(together[[1, 3]], statistics(PAIRS[1:]))


class LossTest(unittest.TestCase):
    def test_policy_equal_to_reference(self) -> None:
        zeros = torch.zeros(3)
        losses, chosen_rewards, rejected_rewards = tdpo_loss(zeros, zeros, zeros, zeros, beta=0.1)
        torch.testing.assert_close(losses, torch.full((3,), math.log(2)))
        torch.testing.assert_close(chosen_rewards, zeros)
        torch.testing.assert_close(rejected_rewards, zeros)

    def test_options_are_validated(self) -> None:
        self.assertRaises(ValueError, LossConfig, beta=0.0)
        self.assertRaises(ValueError, LossConfig, beta=0.1, alpha=-0.5)


if __name__ == "__main__":
    unittest.main()
