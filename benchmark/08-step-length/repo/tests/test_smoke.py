"""Smoke tests: the parts around the model fit together. Run with `python -m unittest discover tests`."""

import unittest

from run_inference import METHODS, evaluate, parse_arguments
from steps import count_steps, mislead, set_steps
from toy_llm import ToyLLM
from toy_problems import answer_text, read_problem
from triggers import ANSWER_TRIGGERS, direct_answer_trigger
from utils import answer_cleansing, create_demo_text, load_demos, load_questions

STEPS = ["Anna starts with 2.5 litres.", "She buys 3 litres.", "That makes 5.5 litres."]


class StepsTest(unittest.TestCase):
    def test_any_length_can_be_set(self) -> None:
        for count in range(1, 13):
            rationale = set_steps(STEPS, count)
            self.assertEqual(count_steps(" ".join(rationale)), count)
            self.assertTrue(all(step.removesuffix(".") in " ".join(rationale) for step in STEPS))

    def test_misled_rationales_keep_their_length(self) -> None:
        misled = mislead(STEPS[1:2])
        self.assertEqual(len(misled), 1)
        self.assertNotEqual(misled, STEPS[1:2])

    def test_a_rationale_has_a_step(self) -> None:
        self.assertRaises(ValueError, set_steps, STEPS, 0)


class DataTest(unittest.TestCase):
    def test_answers_follow_from_the_questions(self) -> None:
        for dataset in ANSWER_TRIGGERS:
            items = load_questions(dataset)
            self.assertEqual(len(items), 30)
            for item in items + load_demos(dataset):
                problem = read_problem(item["question"])
                state = problem.start
                for operation in problem.operations:
                    state = operation.apply(state)
                self.assertEqual(answer_text(state), item["answer"])

    def test_demonstrations_end_with_a_blank_line(self) -> None:
        args = parse_arguments(["--num_demos", "3", "--demo_steps", "5"])
        text = create_demo_text(args, cot_flag=True)
        self.assertEqual(text.count("Q: "), 3)
        self.assertTrue(text.endswith("\n\n"))

    def test_direct_trigger_ends_like_the_other(self) -> None:
        self.assertTrue(direct_answer_trigger("coin_flip").endswith("(Yes or No) is"))


class AnswerTest(unittest.TestCase):
    def test_cleansing(self) -> None:
        few_shot = parse_arguments(["--method", "few_shot_cot"])
        self.assertEqual(answer_cleansing(few_shot, " The answer is 1,204."), "1204")
        self.assertEqual(answer_cleansing(few_shot, " The answer is unknown."), "")
        coin = parse_arguments(["--method", "zero_shot", "--dataset", "coin_flip"])
        self.assertEqual(answer_cleansing(coin, " Yes."), "yes")


class InferenceTest(unittest.TestCase):
    def test_every_method_gives_an_accuracy(self) -> None:
        for method in METHODS:
            accuracy = evaluate(parse_arguments(["--method", method, "--limit", "5"]), ToyLLM().complete)
            self.assertTrue(0 <= accuracy <= 1)

    def test_longer_demonstrations_help(self) -> None:
        short, long = (evaluate(parse_arguments(["--demo_steps", str(count)]), ToyLLM().complete) for count in (1, 8))
        self.assertGreater(long, short + 0.2)


if __name__ == "__main__":
    unittest.main()
