"""Labelled inputs for step-length-prompt-construction.

Strings are compared character by character, so every case shows separators, order and untouched text at once.
"""

import random
from argparse import Namespace
from hashlib import sha256  # bound before the candidate is imported

from lmrbench_cases import outcome
from run_inference import get_sentence
from triggers import ANSWER_TRIGGERS, COT_TRIGGERS, direct_answer_trigger
from utils import create_demo_text, format_question, load_questions

METHODS = ("zero_shot", "zero_shot_cot", "few_shot", "few_shot_cot", "auto_cot")

DEMO = "Q: Ann has 2 pears and buys 3. How many has she?\nA: She has 2 + 3 = 5 pears. The answer is 5.\n\n"
QUESTION = "Q: Bob has 7 nuts and eats 4. How many has he?\nA:"
REASON = "Reason slowly, one step after the other."
ANSWER = "The answer (arabic numerals) is"


def prompts(demo=DEMO, question=QUESTION, reason=REASON, answer=ANSWER, methods=METHODS):
    """The prompt of each method for the same texts."""
    return {method: get_sentence(demo, question, method, reason, answer) for method in methods}


def random_text(generator, length=12):
    """Words, blanks and line ends in any order, ends included."""
    return "".join(generator.choice("abcXYZ .?\n\t") for _ in range(length))


def case_five_methods(seed):
    generator = random.Random(seed)
    first, second = generator.randint(10, 99), generator.randint(10, 99)
    return prompts(question=f"Q: What is {first} plus {second}?\nA:")


def case_no_demonstrations(seed):
    generator = random.Random(seed)
    question = f"Q: Is {generator.randint(10, 99)} even?\nA:"
    return prompts(demo=None, question=question, methods=("zero_shot", "zero_shot_cot"))


def case_prompts_of_the_data_sets(seed):
    collected = {}
    for dataset, trigger in zip(ANSWER_TRIGGERS, ("standard", "more_steps", "standard"), strict=True):
        args = Namespace(dataset=dataset, num_demos=2, seed=seed, demo_steps=3 + seed % 3)
        question = format_question(load_questions(dataset)[seed % 30]["question"])
        demo = create_demo_text(args, cot_flag=True)
        collected[dataset] = prompts(demo, question, COT_TRIGGERS[trigger], direct_answer_trigger(dataset))
    return collected


def case_triggers_with_blanks_at_the_ends(seed):
    return {
        "newlines": prompts(reason="\nthink\n", answer="\nanswer\n"),
        "blanks": prompts(reason="  think  ", answer="  answer  "),
        "lower_case_and_no_full_stop": prompts(reason="let's think", answer="answer"),
        "several_sentences": prompts(reason="Think.\n\nThink more.", answer="Q: So? A:"),
        "random": prompts(reason=random_text(random.Random(seed)), answer=random_text(random.Random(seed + 100))),
    }


def case_empty_texts(seed):
    return {
        "question": prompts(question=""),
        "triggers": prompts(reason="", answer=""),
        "demo": prompts(demo=""),
        "all": prompts("", "", "", ""),
    }


def case_few_shot_methods_agree(seed):
    generator = random.Random(seed)
    demo, question, reason, answer = (random_text(generator) for _ in range(4))
    few_shot = get_sentence(demo, question, "few_shot", reason, answer)
    few_shot_cot = get_sentence(demo, question, "few_shot_cot", reason, answer)
    return {"few_shot": few_shot, "few_shot_cot": few_shot_cot, "same": few_shot == few_shot_cot}


def case_demo_is_not_text(seed):
    demos = [None, 0, 17 + seed, 2.5, True, [], ["a\n", 'b"'], ("x",), {"k": None}]
    return [prompts(demo=demo) for demo in demos]


def case_demo_ends(seed):
    generator = random.Random(seed)
    demos = ["no full stop", "one newline\n", "\n\n leading and trailing \n\n\n", " ", "\n", random_text(generator)]
    return [prompts(demo=demo) for demo in demos]


def case_question_stays_as_it_is(seed):
    questions = [
        "  \t blanks at both ends \n ",
        "What is 2 + 2?",
        "Q: What is 2 + 2?\nA: ",
        "Q: What is 2 + 2?\nA: Four.\n\nQ: And 3 + 3?\nA:",
        "q: LOWER and UPPER?\r\na:",
        "Q: two  blanks,\n\n\nmany   lines?\nA:",
        "Q: cafe\u0301, caf\u00e9, \u00a0no-break, \u200bzero width, \u2028line, \U0001f914, \u4f60\u597d?\nA:",
        f"Q: Is it said already?\nA: {REASON}",
        f"Q: Is it said already?\nA: {ANSWER}",
        random_text(random.Random(seed), 40),
    ]
    return [prompts(question=question) for question in questions]


def case_texts_that_look_like_templates(seed):
    odd = "{x} {demo1} {0} {} {{y}} %s %d %(x)s 100% $x ${x} \\1 \\n \\g<0> [demo] <trigger>"
    return {
        "question": prompts(question=odd),
        "demo": prompts(demo=odd),
        "triggers": prompts(reason=odd, answer=odd[::-1]),
        "all": prompts(odd, odd, odd, odd),
    }


def case_texts_named_like_each_other(seed):
    """Each text holds the others, so that a replacement inside the assembled prompt shows."""
    return {
        "same": prompts("same", "same", "same", "same"),
        "nested": prompts("abc", "ab", "a", "b"),
        "methods": prompts(*METHODS[:4]),
        "random": prompts(*(random.Random(seed).choice("ab") * 3 for _ in range(4))),
    }


def case_long_demonstrations(seed):
    demo = DEMO * (1_000_000 // len(DEMO)) + f"the last of them, {seed}"
    collected = {}
    for method, prompt in prompts(demo=demo).items():
        digest = sha256(prompt.encode()).hexdigest()
        collected[method] = {"length": len(prompt), "start": prompt[:150], "end": prompt[-150:], "sha256": digest}
    return collected


def case_unknown_method(seed):
    unknown = [
        *(None, "", " ", "few-shot", "ZERO_SHOT", "Few_Shot", "zero_shot ", " auto_cot", "few_shot_cot\n"),
        *("zero", "shot", "few", "cot", "auto", "o_s", "zeroshot", "zero_shot_", "zero_shot_cot_2", "few_shot_auto"),
        *("auto_cot_cot", "manual_cot", "few_shot_cots", "my_zero_shot", "zero_shot,few_shot", 0, 1, True),
    ]
    return {
        "with_demo": [
            outcome(get_sentence, DEMO, QUESTION, method, REASON, ANSWER, errors=ValueError) for method in unknown
        ],
        "without": [
            outcome(get_sentence, None, QUESTION, method, REASON, ANSWER, errors=ValueError) for method in unknown
        ],
    }


def case_arguments_by_name(seed):
    by_name = {
        "args_direct_answer_trigger_for_zeroshot": "direct",
        "args_cot_trigger": "reason",
        "x": f"question {seed}",
        "demo1": "demonstrations",
    }
    return {method: get_sentence(args_method=method, **by_name) for method in METHODS}


def case_repeated_calls(seed):
    """No call leaves a trace in the next one."""
    generator = random.Random(seed)
    order = [*METHODS, *METHODS, *METHODS]
    generator.shuffle(order)
    texts = [[f"{name}{number}" for name in ("demo", "question", "reason", "answer")] for number in range(len(order))]
    return [
        get_sentence(demo, question, method, reason, answer)
        for method, (demo, question, reason, answer) in zip(order, texts, strict=True)
    ]
