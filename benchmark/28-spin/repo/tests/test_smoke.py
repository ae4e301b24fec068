"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import random
import unittest

import torch
from spin.alignment.collate import LABEL_PAD_TOKEN, AnswerPair, collate_pairs
from spin.alignment.logps import get_batch_logps
from spin.alignment.trainer import SPINTrainer, TrainingConfig
from spin.data import END_TOKEN, Example, Tokenizer, all_examples, split_examples
from spin.generate import draw, generate_answers
from spin.model import ModelConfig, TransformerLM
from spin.self_play import SelfPlayConfig, self_play

EXAMPLES = all_examples()
TOKENIZER = Tokenizer(EXAMPLES)


def make_model(seed: int) -> TransformerLM:
    torch.manual_seed(seed)
    return TransformerLM(ModelConfig(context_length=20, layers=1, width=16, heads=2), len(TOKENIZER))


def make_pairs(seed: int, count: int) -> list[AnswerPair]:
    """Real answers against those of an untrained model."""
    examples = random.Random(seed).sample(EXAMPLES, k=count)
    prompts = [TOKENIZER.encode_prompt(example.prompt) for example in examples]
    numbers = torch.rand(count, 9, generator=torch.Generator().manual_seed(seed))
    generated = generate_answers(make_model(seed), prompts, 9, numbers)
    real = [TOKENIZER.encode_answer(example.answer) for example in examples]
    return [AnswerPair(*parts) for parts in zip(prompts, real, generated, strict=True)]


class DataTest(unittest.TestCase):
    def test_examples_recite_both_ways(self) -> None:
        up = Example("name the days from monday up to wednesday :".split(), ["monday", "tuesday", "wednesday"])
        down = Example("name the days from wednesday down to monday :".split(), ["wednesday", "tuesday", "monday"])
        self.assertIn(up, EXAMPLES)
        self.assertIn(down, EXAMPLES)
        self.assertEqual({len(example.prompt) for example in EXAMPLES}, {9})

    def test_split_keeps_every_example_once(self) -> None:
        training, held_out = split_examples(EXAMPLES, 60, random.Random(0))
        self.assertEqual(len(held_out), 60)
        prompts = [" ".join(example.prompt) for example in training + held_out]
        self.assertEqual(sorted(prompts), sorted(" ".join(example.prompt) for example in EXAMPLES))
        self.assertEqual(len(set(prompts)), len(prompts))

    def test_generated_answers_stop_at_the_end_token(self) -> None:
        answers = [pair.generated for pair in make_pairs(0, 100)]
        self.assertTrue(any(answer[-1] == END_TOKEN for answer in answers))
        for answer in answers:
            self.assertNotIn(END_TOKEN, answer[:-1])
            self.assertLessEqual(len(answer), 9)

    def test_real_answers_come_first_and_prompts_are_masked(self) -> None:
        pairs = [AnswerPair([5, 6], [7, 8, 0], [9]), AnswerPair([4, 6], [0], [3, 3, 3, 3])]
        batch = collate_pairs(pairs)
        answers = [labels[labels != LABEL_PAD_TOKEN].tolist() for labels in batch.labels]
        self.assertEqual(answers, [[7, 8, 0], [0], [9], [3, 3, 3, 3]])
        self.assertEqual(batch.input_ids.shape, (4, 6))
        self.assertEqual(batch.input_ids[0, :5].tolist(), [5, 6, 7, 8, 0])


class LogProbabilityTest(unittest.TestCase):
    def test_one_number_for_each_answer(self) -> None:
        labels = torch.tensor([[LABEL_PAD_TOKEN, 2, 3, 1], [LABEL_PAD_TOKEN, LABEL_PAD_TOKEN, 3, LABEL_PAD_TOKEN]])
        logps = get_batch_logps(torch.zeros(2, 4, 8), labels)
        self.assertEqual(logps.shape, (2,))
        self.assertTrue((logps < 0).all())

    def test_padding_changes_nothing(self) -> None:
        trainer = SPINTrainer(make_model(0), make_model(1))
        pairs = make_pairs(2, 4)
        together = torch.stack(trainer.concatenated_forward(trainer.policy, collate_pairs(pairs)))
        alone = [torch.stack(trainer.concatenated_forward(trainer.policy, collate_pairs([pair]))) for pair in pairs]
        torch.testing.assert_close(together, torch.cat(alone, dim=1))


class TrainerTest(unittest.TestCase):
    def test_policy_equal_to_opponent(self) -> None:
        _, metrics = SPINTrainer(make_model(0), make_model(0)).get_batch_metrics(collate_pairs(make_pairs(0, 8)))
        self.assertEqual((metrics["real reward"], metrics["generated reward"]), (0.0, 0.0))

    def test_training_moves_the_policy_only(self) -> None:
        trainer = SPINTrainer(make_model(0), make_model(0), beta=1.0)
        losses = trainer.train(make_pairs(1, 16), TrainingConfig(2, 8, learning_rate=1e-3), random.Random(0))
        self.assertEqual(len(losses), 4)
        self.assertLess(losses[-1], losses[0])
        for trained, initial in zip(trainer.opponent.parameters(), make_model(0).parameters(), strict=True):
            self.assertTrue(torch.equal(trained, initial))

    def test_beta_is_validated(self) -> None:
        self.assertRaises(ValueError, SPINTrainer, make_model(0), make_model(0), beta=0.0)


class SelfPlayTest(unittest.TestCase):
    def test_numbers_decide_what_is_drawn(self) -> None:
        probabilities = torch.tensor([[0.2, 0.0, 0.5, 0.3]] * 4)
        self.assertEqual(draw(probabilities, torch.tensor([0.0, 0.19, 0.21, 0.99])).tolist(), [0, 0, 2, 3])

    def test_a_record_for_each_iteration(self) -> None:
        config = SelfPlayConfig(
            2, 1, 4, beta=1.0, last_beta=1.0, learning_rate=1e-3, later_learning_rate=1e-3, epochs=1, batch_size=4
        )
        prompts = [TOKENIZER.encode_prompt(example.prompt) for example in EXAMPLES[:6]]
        real = [TOKENIZER.encode_answer(example.answer) for example in EXAMPLES[:6]]
        generator = torch.Generator().manual_seed(0)
        records = list(self_play(make_model(0), prompts, real, config, random.Random(0), generator))
        self.assertEqual(len(records), 2)
        self.assertIsNot(records[0].trainer.opponent, records[1].trainer.opponent)


if __name__ == "__main__":
    unittest.main()
