"""Data sets, demonstrations and predictions: everything around the model but the prompt itself."""

import argparse
import json
import random
import re
from pathlib import Path

from steps import set_steps
from triggers import DEMO_ANSWER_PHRASE

ROOT = Path(__file__).resolve().parent

#: How an answer of each data set looks in a reply.
ANSWER_PATTERNS = {
    "arithmetic": r"-?\d[\d,]*",
    "coin_flip": r"\b(?:yes|no)\b",
    "last_letters": r"\b[a-z]+\b",
}


def load_questions(dataset: str, limit: int | None = None) -> list[dict[str, str]]:
    """The first `limit` items of a data set (all by default), each `{"question": ..., "answer": ...}`."""
    return json.loads((ROOT / "dataset" / f"{dataset}.json").read_text(encoding="utf-8"))[:limit]


def load_demos(dataset: str) -> list[dict]:
    """The hand-written demonstrations of a data set, each `{"question": ..., "steps": [...], "answer": ...}`."""
    return json.loads((ROOT / "demos" / "hand_written.json").read_text(encoding="utf-8"))[dataset]


def format_question(question: str) -> str:
    """The question as a prompt shows it, with an open answer."""
    return f"Q: {question}\nA:"


def create_demo_text(args: argparse.Namespace, cot_flag: bool) -> str:
    """Write the demonstrations that stand at the head of a few-shot prompt.

    Every example is question, rationale (optional) and answer phrase, and ends with a full stop and a blank line.

    Args:
        args: `dataset`; `num_demos`, how many examples; `seed`, which ones and their order; `demo_steps`, the number of
            reasoning steps of each rationale (None: as written by hand).
        cot_flag: whether the examples show their rationale.
    """
    text = ""
    for demo in random.Random(args.seed).sample(load_demos(args.dataset), args.num_demos):
        parts = [format_question(demo["question"])]
        if cot_flag:
            parts += demo["steps"] if args.demo_steps is None else set_steps(demo["steps"], args.demo_steps)
        parts += [DEMO_ANSWER_PHRASE, demo["answer"]]
        text += " ".join(parts) + ".\n\n"
    return text


def answer_cleansing(args: argparse.Namespace, reply: str) -> str:
    """Extract the prediction from the model's last reply; the empty string if there is none.

    After demonstrations the model closes with their answer phrase, so what counts comes behind it. A zero-shot reply
    continues an answer trigger and starts with the answer.

    Args:
        args: `dataset` and `method`.
        reply: text of the reply.
    """
    if not args.method.startswith("zero_shot"):
        reply = reply.rpartition(DEMO_ANSWER_PHRASE)[2]
    found = re.search(ANSWER_PATTERNS[args.dataset], reply.lower())
    return found.group().replace(",", "") if found else ""
