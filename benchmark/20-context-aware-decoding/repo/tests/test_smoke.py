"""Smoke tests: prompts, data, training, and the outer contract of decoding."""

import sys
import unittest
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from cad.conflicts import all_texts, load_conflicts, training_claims  # noqa: E402
from cad.decoding import context_aware_sampling  # noqa: E402
from cad.prefix import check_prefix, join_context, new_tokens  # noqa: E402
from cad.tokenizer import WordTokenizer  # noqa: E402
from cad.toy_lm import LMConfig, ToyLM  # noqa: E402
from cad.training import TrainConfig, train  # noqa: E402


class SmokeTest(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(0)
        self.conflicts = load_conflicts(ROOT / "data" / "conflicts.jsonl")
        self.tokenizer = WordTokenizer(all_texts(self.conflicts))
        self.model = ToyLM(LMConfig(vocab_size=len(self.tokenizer), width=16, layers=1)).eval()

    def test_tokenizer_round_trip(self) -> None:
        ids = self.tokenizer.encode("the capital of peru is lima")
        self.assertEqual(ids.shape, (1, 7))
        self.assertEqual(self.tokenizer.decode(ids[0]), "the capital of peru is lima")

    def test_prompt_is_checked(self) -> None:
        context, query = torch.tensor([[1, 5, 6]]), torch.tensor([[1, 7]])
        check_prefix(join_context(context, query), context)
        with self.assertRaises(ValueError):
            check_prefix(context, context)
        with self.assertRaises(ValueError):
            check_prefix(join_context(query, context), context)

    def test_test_claims_are_new_to_the_model(self) -> None:
        for conflict in self.conflicts:
            claims = training_claims(conflict, self.conflicts)
            self.assertIn(conflict.memory, claims)
            self.assertNotIn(conflict.counterfactual, claims)

    def test_training_lowers_the_loss(self) -> None:
        losses = train(self.model, self.tokenizer, self.conflicts, TrainConfig(steps=20, batch_size=16))
        self.assertLess(losses[-1], losses[0])

    def test_sampling_extends_the_prompt(self) -> None:
        context = self.tokenizer.encode("the author of emma is voltaire")
        prompt = join_context(context, self.tokenizer.encode("the author of emma is"))
        output = context_aware_sampling(self.model, self.tokenizer, prompt, context, max_length=4, temperature=1.0)
        self.assertEqual(output.dtype, torch.int64)
        self.assertTrue(torch.equal(output[:, : prompt.shape[-1]], prompt))
        self.assertIn(len(new_tokens(output, prompt)), range(1, 5))


if __name__ == "__main__":
    unittest.main()
