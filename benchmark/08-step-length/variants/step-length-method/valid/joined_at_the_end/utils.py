# Examples are joined at the end; the reply is cut at the phrase.
import re

from steps import mislead, set_steps


def create_demo_text(args, cot_flag) -> str:
    def rationale(demo) -> list[str]:
        steps = list(demo["steps"]) if cot_flag else []
        if steps and args.mislead:
            steps = mislead(steps)
        return set_steps(steps, args.demo_steps) if steps and args.demo_steps is not None else steps

    def example(demo) -> str:
        return f"{' '.join([format_question(demo['question']), *rationale(demo), DEMO_ANSWER_PHRASE, demo['answer']])}."

    return "".join(f"{example(demo)}\n\n" for demo in choose_demos(args))


def answer_cleansing(args, reply: str) -> str:
    if args.method in ("few_shot", "few_shot_cot", "auto_cot"):
        reply = reply.split(DEMO_ANSWER_PHRASE)[-1]
    for match in re.finditer(ANSWER_PATTERNS[args.dataset], reply.lower()):
        return match[0].replace(",", "")
    return ""
