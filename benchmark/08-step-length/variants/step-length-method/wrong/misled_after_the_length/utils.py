# Sets the length first, so that the wrong result may stand in an insertion only.
from steps import mislead, set_steps


def create_demo_text(args, cot_flag):
    text = ""
    for demo in choose_demos(args):
        parts = [format_question(demo["question"])]
        if cot_flag:
            steps = demo["steps"] if args.demo_steps is None else set_steps(demo["steps"], args.demo_steps)
            parts += mislead(steps) if args.mislead else steps
        parts += [DEMO_ANSWER_PHRASE, demo["answer"]]
        text += " ".join(parts) + ".\n\n"
    return text
