"""Smoke tests of the parts: `python -m unittest discover tests` in the repository's root."""

import json
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from chain import run_chain, run_direct  # noqa: E402
from conll_tree import draw_tree, spacy_result_to_conll  # noqa: E402
from distillation import DistillConfig, Example, fit  # noqa: E402
from metrics import macro_f1  # noqa: E402
from nlp.parser import load_pipeline  # noqa: E402
from nlp.tokenizer import tokenize  # noqa: E402
from student import Codec, Student  # noqa: E402
from toy_model import ToyReader  # noqa: E402


class ParserTest(unittest.TestCase):
    def test_contractions_numbers_and_white_space(self) -> None:
        words, spaces = tokenize("It didn't  cost $4.50.")
        self.assertEqual(words, ["It", "did", "n't", " ", "cost", "$", "4.50", "."])
        self.assertEqual(spaces, [True, False, True, False, True, False, False, False])

    def test_nothing_of_the_text_is_lost(self) -> None:
        for text in ("", "  ", "Good.\nBad!  So-so…", "\tfine "):
            self.assertEqual(load_pipeline()(text).text, text)

    def test_every_sentence_is_a_tree(self) -> None:
        for review in json.loads((ROOT / "data" / "reviews.json").read_text(encoding="utf-8")):
            for sentence in load_pipeline()(review["sentence"]).sents:
                [root] = [token for token in sentence if token.dep_ == "ROOT"]
                for token in sentence:
                    for _ in sentence:
                        token = token.head
                    self.assertIs(token, root)

    def test_two_clauses(self) -> None:
        doc = load_pipeline()("The soup was cold, but the waiter smiled.")
        arcs = {token.text: (token.dep_, token.head.text) for token in doc}
        self.assertEqual(arcs["soup"], ("nsubj", "was"))
        self.assertEqual(arcs["smiled"], ("conj", "was"))
        self.assertEqual(arcs["waiter"], ("nsubj", "smiled"))

    def test_tree_is_indented_below_its_root(self) -> None:
        self.assertEqual(draw_tree("I ate."), "ate (ROOT)\n    I (nsubj)\n    . (punct)")


class ChainTest(unittest.TestCase):
    def test_table_has_a_line_a_token_and_a_header(self) -> None:
        table = spacy_result_to_conll("The fish was fresh.")
        self.assertEqual(len(table.splitlines()), 6)
        self.assertIn("fish", table)

    def test_syntax_tells_two_aspects_apart(self) -> None:
        sentence = "The screen isn't very bright, but the speakers are great."
        self.assertEqual(run_chain(ToyReader(), sentence, "screen").opinion, "not bright")
        self.assertEqual(run_chain(ToyReader(), sentence, "screen").sentiment, "negative")
        self.assertEqual(run_chain(ToyReader(), sentence, "speakers").sentiment, "positive")

    def test_direct_prompt_needs_no_table(self) -> None:
        self.assertEqual(run_direct(ToyReader(), "The fish was fresh.", "fish"), "positive")

    def test_macro_f1(self) -> None:
        labels = ["positive", "negative", "neutral"]
        self.assertEqual(macro_f1(labels, labels), 1.0)
        self.assertLess(macro_f1(labels, ["positive", "positive", "neutral"]), 1.0)


class DistillationTest(unittest.TestCase):
    def test_student_trains(self) -> None:
        examples = [
            Example(0, "Is it good?", "very good"),
            Example(1, "Is it bad?", "no"),
            Example(2, "So?", "positive"),
        ]
        codec = Codec([text for example in examples for text in (example.prompt, example.answer)])
        losses = fit(Student(len(codec), width=8), codec, examples, DistillConfig(epochs=3, warmup=1), seed=0)
        self.assertEqual(len(losses), 3)
        self.assertLess(losses[-1], losses[0])


if __name__ == "__main__":
    unittest.main()
