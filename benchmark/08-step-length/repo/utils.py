"""Data sets, demonstrations and predictions: everything around the model but the prompt itself."""

import argparse
import json
import random
import re
from pathlib import Path

from steps import mislead, set_steps
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


def choose_demos(args: argparse.Namespace) -> list[dict]:
    """The examples of a run in their order, as `load_demos` returns them: `num_demos` random ones, by `seed`."""
    return random.Random(args.seed).sample(load_demos(args.dataset), args.num_demos)


def create_demo_text(args: argparse.Namespace, cot_flag: bool) -> str:
    """Write the demonstrations that stand at the head of a few-shot prompt, from the examples of `choose_demos`.

    Args:
        args: what `choose_demos` needs; `demo_steps`, the number of reasoning steps of each rationale (None: as written
            by hand); `mislead`, whether `steps.mislead` changes each rationale.
        cot_flag: whether the examples show their rationale.
    """
    text = ""
    for demo in choose_demos(args):
        parts = [format_question(demo["question"])]
        if cot_flag:
            steps = mislead(demo["steps"]) if args.mislead else demo["steps"]
            parts += steps if args.demo_steps is None else set_steps(steps, args.demo_steps)
        parts += [DEMO_ANSWER_PHRASE, demo["answer"]]
        text += " ".join(parts) + ".\n\n"
    return text


def answer_cleansing(args: argparse.Namespace, reply: str) -> str:
    """Extract the prediction from the model's last reply; the empty string if there is none.

    Predictions are lower-case, and numbers have no commas, as the answers of the data sets.

    Args:
        args: `dataset` and `method`.
        reply: text of the reply.
    """
    if not args.method.startswith("zero_shot"):
        reply = reply.rpartition(DEMO_ANSWER_PHRASE)[2]
    found = re.search(ANSWER_PATTERNS[args.dataset], reply.lower())
    return found.group().replace(",", "") if found else ""
