# Writes the answer before the reasoning.
from steps import mislead, set_steps


def create_demo_text(args, cot_flag):
    text = ""
    for demo in choose_demos(args):
        parts = [format_question(demo["question"]), DEMO_ANSWER_PHRASE, demo["answer"] + "."]
        if cot_flag:
            steps = mislead(demo["steps"]) if args.mislead else demo["steps"]
            parts += steps if args.demo_steps is None else set_steps(steps, args.demo_steps)
        text += " ".join(parts) + "\n\n"
    return text
