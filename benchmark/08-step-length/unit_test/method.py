"""Labelled inputs for step-length-method: each function that is written, and a sweep over lengths with all of them.

Texts are compared word by word, so that any white space between the parts will do.
"""

import argparse
import random

from analysis import linear_trend
from lmrbench_cases import compare, experiment, goal
from run_inference import METHODS, create_demonstrations, evaluate, get_sentence, hold_dialogue, parse_arguments
from steps import INSERTIONS, compress, count_steps, expand, insertion, mislead
from toy_llm import ToyLLM
from triggers import ANSWER_TRIGGERS, COT_TRIGGERS, direct_answer_trigger
from utils import answer_cleansing, create_demo_text, format_question, load_demos, load_questions

NAMES = ("Anna", "Bo", "Clementine", "Dariusz", "Eve", "Florian")
THINGS = ("ribbons", "nuts", "envelopes", "eggs", "pens", "marbles")
REASON = "Reason slowly, one step after the other."
ANSWER = "The answer (arabic numerals) is"


def words(text: str) -> str:
    """A text with single blanks."""
    return " ".join(text.split())


def rationale(seed: int, length: int) -> list[str]:
    """Steps about random names, things and numbers, no two words of a step being of the greatest length."""
    rng = random.Random(f"{seed} {length}")
    steps = []
    for _ in range(length):
        name, thing, number, other = rng.choice(NAMES), rng.choice(THINGS), rng.randint(2, 60), rng.randint(2, 60)
        forms = (
            f"{name} starts with {number} {thing} altogether.",
            f"Multiplication by {other} makes {other} * {number} = {other * number} {thing}.",
            f"{name} turns the coin over once, so everything is different.",
        )
        steps.append(rng.choice(forms))
    return steps


def options(seed: int, *more: str) -> argparse.Namespace:
    return parse_arguments(["--seed", str(seed), *more])


# --- steps ------------------------------------------------------------------------------------------------------------


@goal("count_steps")
@compare(exact=True)
def case_count(seed):
    """Sentences with all three marks, decimal points, numbers at the end, line breaks, merged sentences."""
    rng = random.Random(seed)
    parts = ("It is 2.5 litres", "So we have 14", "That makes 3.75; then 4", "Yes, Mr", "He eats 6, then 5", "x = 2.0")
    texts = [
        rng.choice((" ", "\n")).join(rng.choice(parts) + rng.choice(".!?") for _ in range(rng.randint(1, 9)))
        for _ in range(25)
    ]
    return [count_steps(text) for text in [*texts, "", "no end", " ".join(compress(rationale(seed, 6), 2))]]


@goal("compress")
@compare(exact=True)
def case_compress(seed):
    """All shorter lengths of rationales of two to seven steps."""
    return [
        [words(step) for step in compress(rationale(seed, length), count)]
        for length in range(2, 8)
        for count in range(1, length)
    ]


@goal("expand")
@compare(exact=True)
def case_expand(seed):
    """Rationales of one to four steps, and up to more than five rounds of insertions."""
    return [
        [words(step) for step in expand(rationale(seed, length), length + extra)]
        for length in (1, 2, 4)
        for extra in (0, 1, length + 1, 3 * length, 6 * length + 1)
    ]


@goal("insertion")
@compare(exact=True)
def case_insertion(seed):
    """Each kind behind steps with and without numbers."""
    return {kind: [words(insertion(kind, step)) for step in rationale(seed, 8)] for kind in INSERTIONS}


@goal("mislead")
@compare(exact=True)
def case_mislead(seed):
    """Numbers in the last step, before it, several in a step, at the end of their digits, and nowhere."""
    texts = [rationale(seed, length) for length in (1, 2, 3, 5, 6)]
    coins = ["Anna turns it over.", "Bo leaves it."]
    return [*(mislead(steps) for steps in texts), mislead([f"He has {seed}99 or 9.", *coins]), mislead(coins)]


# --- prompts ----------------------------------------------------------------------------------------------------------


@goal("direct_answer_trigger")
@compare(exact=True)
def case_direct_trigger(seed):
    """The triggers of the data sets and one that the seed decides."""
    ANSWER_TRIGGERS["other"] = f"Therefore, among {seed + 2} Choices the answer is"
    return [words(direct_answer_trigger(name)) for name in ANSWER_TRIGGERS]


@goal("create_demo_text")
@compare(exact=True)
def case_demo_text(seed):
    """Examples of all data sets, with and without rationales: as written, of a set length, with a wrong result."""
    results = []
    for dataset in ANSWER_TRIGGERS:
        results.append(words(create_demo_text(options(seed, "--dataset", dataset, "--num_demos", "3"), False)))
        for more in ((), ("--demo_steps", "3"), ("--mislead",), ("--mislead", "--demo_steps", "9")):
            results.append(words(create_demo_text(options(seed, "--dataset", dataset, *more), True)))
    return results


@goal("answer_cleansing")
@compare(exact=True)
def case_cleansing(seed):
    """Replies with several candidates for the prediction, or none, to each method on each data set."""
    rng = random.Random(seed)
    a, b, c = (rng.randint(1000, 9000) for _ in range(3))
    replies = {
        "arithmetic": (
            f" Take {a} of {b}. The answer is {c:,}, not {a}.",
            f" The answer is {a}. No: {b} is wrong. The answer is -{c}.",
            f" {b:,} and then {c}.",
            " The answer is nobody's.",
            f" The answer is {a}. The answer is unknown.",
        ),
        "coin_flip": (" No doubt. The answer is Yes.", " Yes, or no?", " Notable. The answer is not known.", " YES."),
        "last_letters": (f" We join n and s. The answer is {'nsxq'[seed % 3 :]}, abc.", " Ns. The end.", " 7 8."),
    }
    return [
        answer_cleansing(options(seed, "--method", method, "--dataset", dataset), reply)
        for method in METHODS
        for dataset, texts in replies.items()
        for reply in texts
    ]


@goal("get_sentence")
@compare(exact=True)
def case_prompts(seed):
    """The first prompt of each method, from texts that differ clearly."""
    rng = random.Random(seed)
    a, b, c, d = (rng.randint(10, 99) for _ in range(4))
    demo = f"Q: What is {a} plus {b}?\nA: {a} and {b} are {a + b}. The answer is {a + b}.\n\n"
    question = f"Q: What is {c} plus {d}?\nA:"
    return {
        method: words(get_sentence(None if method.startswith("zero") else demo, question, method, REASON, ANSWER))
        for method in METHODS
    }


@goal("create_demonstrations")
@compare(exact=True)
def case_demonstrations(seed):
    """None, or a text: with or without the steps that are written in the examples."""
    results = []
    for number, method in enumerate(METHODS):
        args = options(seed, "--method", method, "--num_demos", "2", "--dataset", list(ANSWER_TRIGGERS)[number % 3])
        text = create_demonstrations(args)
        steps = {step for demo in load_demos(args.dataset) for step in demo["steps"] if text and step in text}
        results.append([text is None, sorted(steps), words(text or "")])
    return results


@goal("hold_dialogue")
@compare(exact=True)
def case_dialogues(seed):
    """All prompts of a dialogue, the text that comes back, and the reply; every turn is answered otherwise."""
    results = {}
    for method in METHODS:
        args = options(
            seed,
            "--method",
            method,
            "--dataset",
            list(ANSWER_TRIGGERS)[seed % len(ANSWER_TRIGGERS)],
            "--trigger",
            "more_steps",
        )
        asked: list[str] = []

        def complete(prompt: str, asked: list[str] = asked) -> str:
            asked.append(prompt)
            return f" This is {seed} and reply {len(asked)}."

        demo = None if method.startswith("zero") else f"Q: Is it {seed}?\nA: The answer is no.\n\n"
        found = hold_dialogue(f"Who has {seed} pens?", demo, args, complete)
        results[method] = [list(map(words, asked)), list(map(words, found))]
    return results


# --- the study --------------------------------------------------------------------------------------------------------


@goal("linear_trend")
@compare(rtol=1e-7, atol=1e-10)
def case_trend(seed):
    """Rising and falling accuracies over even and uneven numbers of steps."""
    rng = random.Random(seed)
    results = []
    for counts in ([1, 2], [1, 2, 3, 4, 5, 6], [2, 3, 5, 9], [8, 1, 4, 4, 6]):
        for gain in (0.07, -0.03):
            accuracies = [0.4 + gain * count + rng.gauss(0, 0.05) for count in counts]
            results.append([float(value) for value in linear_trend(counts, accuracies)])
    return results


@experiment
@compare(rtol=1e-7, atol=1e-10)
def case_sweep(seed):
    """Accuracy and reliability of the toy model by method, length, trigger and data set, their trends, and prompts."""
    model = ToyLLM(seed)
    results = {}
    for dataset in ANSWER_TRIGGERS:
        for method in METHODS:
            accuracies, reliabilities, lengths = [], [], (1, 2, 3, 5, 8, 13)
            for length in lengths:
                trigger = list(COT_TRIGGERS)[length % 2]
                more = ("--dataset", dataset, "--method", method, "--trigger", trigger, "--demo_steps", str(length))
                args = options(seed, *more, *(["--mislead"] if length > 4 else []))
                asked: list[str] = []
                accuracies.append(float(evaluate(args, lambda p, to=asked: to.append(p) or model.complete(p))))
                prompts = [prompt for prompt in asked if "so we have" not in prompt.rpartition("Q: ")[2]]
                values = [model.reliability(prompt) for prompt in prompts]
                reliabilities.append(sum(values) / len(values))
            trend = [
                float(value)
                for value in linear_trend(lengths, [x + 0.01 * c for x, c in zip(reliabilities, lengths, strict=True)])
            ]
            results[f"{dataset}, {method}"] = [accuracies, reliabilities, trend, words(asked[seed % 3])]
    question = format_question(load_questions("arithmetic")[seed % 30]["question"])
    return results | {
        "reply": words(model.complete(get_sentence(None, question, "zero_shot_cot", REASON + " step by step", ANSWER)))
    }
