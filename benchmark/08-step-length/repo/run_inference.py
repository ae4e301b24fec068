"""Measure how often a model answers a data set under one prompting method.

The five methods differ in the text around the question, and in the number of turns.
"""

import argparse
from collections.abc import Callable, Sequence

from toy_llm import ToyLLM
from triggers import ANSWER_TRIGGERS, COT_TRIGGERS, direct_answer_trigger
from utils import answer_cleansing, create_demo_text, format_question, load_questions

METHODS = ("zero_shot", "zero_shot_cot", "few_shot", "few_shot_cot", "auto_cot")

#: A language model: prompt in, continuation out.
Complete = Callable[[str], str]


def parse_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the options and derive from them the three triggers of a run.

    Returns:
        The options, plus `cot_trigger` (sentence that asks for reasoning), `direct_answer_trigger` (asks for the answer
        behind reasoning) and `direct_answer_trigger_for_zeroshot` (asks for the answer without any).
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", choices=sorted(ANSWER_TRIGGERS), default="arithmetic")
    parser.add_argument("--method", choices=METHODS, default="few_shot_cot")
    parser.add_argument("--trigger", choices=sorted(COT_TRIGGERS), default="standard", help="chain-of-thought trigger")
    parser.add_argument("--num_demos", type=int, default=4, help="examples in a few-shot prompt, at most 6")
    parser.add_argument("--demo_steps", type=int, help="reasoning steps of each example (default: as written)")
    parser.add_argument("--mislead", action="store_true", help="put a wrong result into the reasoning of each example")
    parser.add_argument("--limit", type=int, help="number of questions (default: all)")
    parser.add_argument("--show", type=int, default=0, help="print the first dialogues")
    parser.add_argument("--seed", type=int, default=0, help="of the toy model and the choice of examples")
    args = parser.parse_args(argv)

    args.cot_trigger = COT_TRIGGERS[args.trigger]
    args.direct_answer_trigger = ANSWER_TRIGGERS[args.dataset]
    args.direct_answer_trigger_for_zeroshot = direct_answer_trigger(args.dataset)
    return args


def get_sentence(
    demo1: str | None,
    x: str,
    args_method: str,
    args_cot_trigger: str,
    args_direct_answer_trigger_for_zeroshot: str,
) -> str:
    """Assemble the first prompt that a prompting method sends for one question.

    Args:
        demo1: demonstration text, as `utils.create_demo_text` writes it; None if the method has no demonstrations.
        x: the formatted question with an open answer, as `utils.format_question` writes it.
        args_method: one of `METHODS`.
        args_cot_trigger: sentence that asks the model to reason.
        args_direct_answer_trigger_for_zeroshot: phrase that asks the model for the answer without any reasoning.

    Returns:
        The prompt.

    Raises:
        ValueError: `args_method` is none of them.
    """
    if args_method == "zero_shot":
        return x + " " + args_direct_answer_trigger_for_zeroshot
    if args_method == "zero_shot_cot":
        return x + " " + args_cot_trigger
    if args_method in {"few_shot", "few_shot_cot"}:
        return demo1 + x
    if args_method == "auto_cot":
        return demo1 + x + " " + args_cot_trigger
    raise ValueError(f"unknown prompting method {args_method!r}")


def create_demonstrations(args: argparse.Namespace) -> str | None:
    """The demonstration text that `args.method` calls for, by `create_demo_text`; None if it calls for none."""
    if args.method in ("zero_shot", "zero_shot_cot"):
        return None
    return create_demo_text(args, cot_flag=args.method != "few_shot")


def hold_dialogue(question: str, demo: str | None, args: argparse.Namespace, complete: Complete) -> tuple[str, str]:
    """Ask the model one question, in as many turns as `args.method` has.

    Args:
        question: as the data set has it.
        demo: demonstration text, as `create_demonstrations` writes it.
        args: `method` and the three triggers of `parse_arguments`.
        complete: the model; its replies start with a blank.

    Returns:
        The whole text of the last turn (prompt and reply), and its reply.
    """
    prompt = get_sentence(
        demo,
        format_question(question),
        args.method,
        args.cot_trigger,
        args.direct_answer_trigger_for_zeroshot,
    )
    reply = complete(prompt)
    if args.method == "zero_shot_cot":
        prompt = f"{prompt}{reply} {args.direct_answer_trigger}"
        reply = complete(prompt)
    return prompt + reply, reply


def evaluate(args: argparse.Namespace, complete: Complete) -> float:
    """The share of questions that the model answers correctly, between 0 and 1."""
    demo = create_demonstrations(args)
    items = load_questions(args.dataset, args.limit)
    correct = 0
    for number, item in enumerate(items):
        dialogue, reply = hold_dialogue(item["question"], demo, args, complete)
        prediction = answer_cleansing(args, reply)
        correct += prediction == item["answer"]
        if number < args.show:
            print(f"{dialogue}\n[predicted {prediction!r}, right {item['answer']!r}]\n")
    return correct / len(items)


def main() -> None:
    """Evaluate one method on one data set with the toy model."""
    args = parse_arguments()
    accuracy = evaluate(args, ToyLLM(args.seed).complete)
    print(f"{args.dataset}, {args.method}: accuracy {accuracy:.1%}")


if __name__ == "__main__":
    main()
