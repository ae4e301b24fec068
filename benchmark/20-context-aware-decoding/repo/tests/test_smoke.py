"""Smoke tests: prompts, data, training, and the outer contract of decoding."""

import sys
import unittest
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from cad.conflicts import all_texts, load_conflicts, training_claims  # noqa: E402
from cad.decoding import context_aware_sampling  # noqa: E402
from cad.filters import top_p_filter  # noqa: E402
from cad.metrics import exact_match, rouge_l  # noqa: E402
from cad.prefix import check_prefix, join_context, new_tokens  # noqa: E402
from cad.scoring import answer_log_probs, pointwise_information  # noqa: E402
from cad.swap import swap_entity  # noqa: E402
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

    def test_filter_keeps_the_most_probable_token(self) -> None:
        logits = torch.tensor([0.0, 3.0, -1.0, 1.0])
        filtered = top_p_filter(logits, 0.5)
        self.assertEqual(filtered.shape, logits.shape)
        self.assertEqual(filtered[1].item(), 3.0)

    def test_answers_are_scored_token_by_token(self) -> None:
        context, query = self.tokenizer.encode("the author of emma is voltaire"), self.tokenizer.encode("the author of")
        answer = self.tokenizer.encode("emma is", add_bos=False)
        self.assertTrue((answer_log_probs(self.model, query, answer) < 0).all())
        self.assertEqual(pointwise_information(self.model, context, query, answer).shape, (2,))

    def test_metrics(self) -> None:
        self.assertEqual((exact_match("mexico city", "mexico city"), exact_match("mexico", "peru")), (1.0, 0.0))
        self.assertEqual((rouge_l("a b c", "a b c"), rouge_l("", "a b")), (1.0, 0.0))

    def test_swapped_entity(self) -> None:
        self.assertEqual(
            swap_entity("the capital of peru is lima .", "lima", "hanoi"), "the capital of peru is hanoi ."
        )


if __name__ == "__main__":
    unittest.main()
