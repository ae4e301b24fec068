"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import sys
import unittest
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from dola.buckets import bucket_scores, layer_buckets  # noqa: E402
from dola.decoding import DolaOutput, dola_greedy_decode  # noqa: E402
from dola.divergence_plot import divergence_table, format_table  # noqa: E402
from dola.filters import (  # noqa: E402
    BanTokens,
    ForceTokens,
    LogitsProcessorList,
    RepetitionPenalty,
    relative_top_filter,
)
from dola.model import EarlyExitLM, GenerationConfig, LMConfig  # noqa: E402
from dola.scoring import Question, answer_log_probs  # noqa: E402
from dola.stopping import MaxLengthCriteria, StoppingCriteriaList, StopWordCriteria  # noqa: E402
from dola.tokenizer import WordTokenizer  # noqa: E402
from dola.training import TrainConfig, all_texts, load_facts, train  # noqa: E402


class DataTest(unittest.TestCase):
    def test_facts_are_covered_by_the_vocabulary(self) -> None:
        facts = load_facts(ROOT / "data" / "facts.jsonl")
        tokenizer = WordTokenizer(all_texts(facts))
        ids, mask = tokenizer.pad([tokenizer.encode(fact.question) for fact in facts])
        self.assertEqual(ids.shape, mask.shape)
        self.assertEqual([tokenizer.decode(row) for row in ids], [fact.question for fact in facts])


class ModelTest(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(0)
        self.model = EarlyExitLM(LMConfig(vocab_size=12, width=16, layers=3, heads=2), GenerationConfig(0, 2)).eval()

    def test_cache_and_padding_change_nothing(self) -> None:
        ids = torch.tensor([[1, 5, 6, 7]])
        whole = self.model(ids).logits[:, -1]
        cache = self.model(ids[:, :3], use_cache=True).past_key_values
        torch.testing.assert_close(self.model(ids[:, 3:], past_key_values=cache).logits[:, -1], whole)
        mask = torch.tensor([[0, 0, 1, 1, 1, 1]])
        padded = torch.cat([torch.zeros(1, 2, dtype=torch.long), ids], dim=-1)
        torch.testing.assert_close(self.model(padded, mask).logits[:, -1], whole)

    def test_last_layer_is_the_ordinary_output(self) -> None:
        by_layer, output = self.model(torch.tensor([[1, 5, 6]]), early_exit_layers=[0, 3])
        self.assertEqual(by_layer[0].shape, (1, 3, 12))
        torch.testing.assert_close(by_layer[3], output.logits)

    def test_divergence_table(self) -> None:
        table = divergence_table(self.model, torch.tensor([[1, 5, 6]]), [0, 1, 2])
        self.assertEqual(table.shape, (3, 2))
        self.assertEqual(len(format_table(table, [0, 1, 2], ["a", "b"]).splitlines()), 4)

    def test_training_lowers_the_loss(self) -> None:
        facts = load_facts(ROOT / "data" / "facts.jsonl")
        tokenizer = WordTokenizer(all_texts(facts))
        model = EarlyExitLM(LMConfig(vocab_size=len(tokenizer), width=16, layers=2, heads=2))
        losses = train(model, tokenizer, facts, TrainConfig(steps=20, batch_size=16))
        self.assertLess(losses[-1], losses[0])

    def test_decoding_extends_the_prompts(self) -> None:
        prompt = torch.tensor([[1, 5, 6], [1, 7, 8]])
        ids = dola_greedy_decode(self.model, prompt, mature_layer=3, base_layer=1, max_length=8)
        self.assertEqual(ids.dtype, torch.int64)
        self.assertTrue(torch.equal(ids[:, :3], prompt))
        self.assertIn(ids.shape[-1], range(4, 9))

    def test_decoding_returns_details(self) -> None:
        output = dola_greedy_decode(
            self.model,
            torch.tensor([[1, 5, 6]]),
            mature_layer=3,
            candidate_premature_layers=[0, 1],
            max_length=6,
            return_dict_in_generate=True,
        )
        self.assertIsInstance(output, DolaOutput)
        self.assertEqual(set(output.premature_layer_dist), {0, 1})

    def test_given_answers_are_scored(self) -> None:
        prompt, answers = torch.tensor([1, 5]), [torch.tensor([6, 7, 8]), torch.tensor([4])]
        log_probs = answer_log_probs(self.model, prompt, answers[0], mature_layer=3, base_layer=1)
        self.assertEqual(log_probs.shape, (3,))
        buckets = layer_buckets(self.model.config.layers, 1)
        scores = bucket_scores(self.model, [Question(prompt, answers[:1], answers[1:])], buckets, mature_layer=3)
        self.assertEqual(scores.shape, (1,))


class ScoreTest(unittest.TestCase):
    def test_filter_returns_a_new_tensor_of_the_same_shape(self) -> None:
        logits = torch.tensor([[0.5, 0.4, 0.06, 0.04], [3.0, -2.0, 0.5, 1.0]])
        before = logits.clone()
        self.assertEqual(relative_top_filter(logits, 0.1).shape, logits.shape)
        self.assertTrue(torch.equal(logits, before))

    def test_processors(self) -> None:
        scores = torch.tensor([[2.0, -1.0, 0.5]])
        processors = LogitsProcessorList([RepetitionPenalty(1.0), BanTokens([2])])
        changed = processors(torch.tensor([[0, 1, 0]]), scores)
        self.assertEqual(changed.tolist(), [[2.0, -1.0, float("-inf")]])
        self.assertEqual(scores.tolist(), [[2.0, -1.0, 0.5]])
        force = ForceTokens([1, 0])
        self.assertEqual(force(torch.tensor([[2]]), scores).argmax().item(), 1)
        self.assertEqual(len(force.seen), 1)

    def test_stopping(self) -> None:
        ids, scores = torch.tensor([[1, 4, 5], [1, 6, 5]]), torch.zeros(2, 8)
        self.assertTrue(MaxLengthCriteria(3)(ids, scores))
        self.assertTrue(StopWordCriteria([[4, 5], [6, 5]])(ids, scores))
        self.assertFalse(StoppingCriteriaList([StopWordCriteria([[4, 5]]), MaxLengthCriteria(4)])(ids, scores))


if __name__ == "__main__":
    unittest.main()
