"""Labelled inputs for step-length-prompt-construction.

Core cases compare the words of prompts, so that any white space between the parts will do. The others compare every
character.
"""

import random

from lmrbench_cases import core, outcome
from run_inference import METHODS, create_demonstrations, get_sentence, hold_dialogue, parse_arguments
from triggers import ANSWER_TRIGGERS, COT_TRIGGERS, direct_answer_trigger
from utils import format_question, load_questions

REASON = "Reason slowly, one step after the other."
ANSWER = "The answer (arabic numerals) is"


def sums(seed: int) -> tuple[str, str]:
    """A demonstration as the repository writes it, and a question."""
    a, b, c, d = (random.Random(seed).randint(10, 99) for _ in range(4))
    demo = f"Q: What is {a} plus {b}?\nA: {a} and {b} are {a + b}. The answer is {a + b}.\n\n"
    return demo, f"Q: What is {c} plus {d}?\nA:"


def prompts(demo: str, question: str, reason: str = REASON, answer: str = ANSWER) -> dict[str, str]:
    """The prompt of each method for the same texts."""
    return {
        method: get_sentence(None if method.startswith("zero") else demo, question, method, reason, answer)
        for method in METHODS
    }


def words(prompt: str) -> list[str]:
    return prompt.split()


@core
def case_zero_shot(seed):
    _, question = sums(seed)
    return words(get_sentence(None, question, "zero_shot", REASON, ANSWER))


@core
def case_zero_shot_cot(seed):
    _, question = sums(10 + seed)
    return [
        words(get_sentence(None, question, "zero_shot_cot", text, ANSWER)) for text in (*COT_TRIGGERS.values(), REASON)
    ]


@core
def case_few_shot(seed):
    return words(get_sentence(*sums(20 + seed), "few_shot", REASON, ANSWER))


@core
def case_few_shot_cot(seed):
    demo, question = sums(30 + seed)
    return words(get_sentence(demo * 2, question, "few_shot_cot", REASON, ANSWER))


@core
def case_auto_cot(seed):
    demo, question = sums(40 + seed)
    return words(get_sentence(demo * 2, question, "auto_cot", REASON, ANSWER))


@core
def case_prompts_of_the_data_sets(seed):
    """What the repository's options make of each data set and method; the longer trigger asks for more steps."""
    collected = []
    for dataset, trigger in zip(ANSWER_TRIGGERS, ("standard", "more_steps", "standard"), strict=True):
        question = format_question(load_questions(dataset)[seed % 30]["question"])
        for method in METHODS:
            options = f"--dataset {dataset} --method {method} --trigger {trigger} --seed {seed} --num_demos 2"
            args = parse_arguments(options.split())
            demo = create_demonstrations(args)
            direct = direct_answer_trigger(dataset)
            collected.append(words(get_sentence(demo, question, method, COT_TRIGGERS[trigger], direct)))
    return collected


@core
def case_dialogues(seed):
    """What a model is asked in all turns of a dialogue."""
    collected = {}
    for method in METHODS:
        args = parse_arguments(["--method", method, "--seed", str(seed), "--num_demos", "3", "--demo_steps", "4"])
        asked: list[str] = []
        reply = f" We have {seed}."
        question = load_questions("arithmetic")[7 + seed % 20]["question"]
        hold_dialogue(question, create_demonstrations(args), args, lambda p, to=asked, r=reply: to.append(p) or r)
        collected[method] = [words(prompt) for prompt in asked]
    return collected


def case_separators(seed):
    """Every character of ordinary prompts, called by position and by name."""
    demo, question = sums(50 + seed)
    texts = {
        "args_direct_answer_trigger_for_zeroshot": ANSWER,
        "args_cot_trigger": REASON,
        "x": question,
        "demo1": demo,
    }
    return [prompts(demo, question), {method: get_sentence(args_method=method, **texts) for method in METHODS}]


def case_demonstrations_in_zero_shot(seed):
    """The zero-shot methods ignore demonstrations that are there."""
    return [get_sentence(*sums(60 + seed), method, REASON, ANSWER) for method in METHODS[:2]]


def case_white_space_of_the_texts(seed):
    """Blanks, newlines and nothing at the ends of the texts."""
    demo, question = sums(70 + seed)
    generator = random.Random(seed)
    odd = ["".join(generator.choice("abXY .?\n\t") for _ in range(12)) for _ in range(4)]
    return [
        prompts(f"\n{demo.strip()} ", question),
        prompts(demo, f"  {question}\n "),
        prompts(demo, question, "\n think\n", "  answer  "),
        prompts("", "", "", ""),
        prompts(demo, question, "", ""),
        prompts(*odd),
    ]


def case_texts_that_look_special(seed):
    """Braces and percent signs, a question without Q: and A:, a trigger that was said already."""
    demo, question = sums(80 + seed)
    odd = "{x} {demo1} {0} {} {{y}} %s %d %(x)s 100% $x ${x} \\1 [demo] <trigger>"
    return [
        prompts(odd, odd, odd, odd[::-1]),
        prompts(demo, f"What is {seed}?", "think", "answer"),
        prompts(demo, f"{question} {REASON}"),
        prompts(demo, f"{question} {ANSWER}"),
        prompts("abc", "ab", "a", "b"),
    ]


def case_unknown_method(seed):
    demo, question = sums(90 + seed)
    unknown = [None, "", "few-shot", "ZERO_SHOT", "zero_shot ", "zero", "cot", "few_shot_cot_2", "manual_cot"]
    random.Random(seed).shuffle(unknown)
    known = [METHODS[seed % 5]]
    return [
        outcome(get_sentence, demo, question, method, REASON, ANSWER, errors=ValueError) for method in unknown + known
    ]
