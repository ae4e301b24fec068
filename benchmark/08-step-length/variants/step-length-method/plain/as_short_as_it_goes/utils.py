# Plain loops.
import re

from steps import mislead, set_steps


def create_demo_text(args, cot_flag):
    text = ""
    for demo in choose_demos(args):
        text += format_question(demo["question"]) + " "
        if cot_flag:
            steps = demo["steps"]
            if args.mislead:
                steps = mislead(steps)
            if args.demo_steps is not None:
                steps = set_steps(steps, args.demo_steps)
            text += " ".join(steps) + " "
        text += DEMO_ANSWER_PHRASE + " " + demo["answer"] + ".\n\n"
    return text


def answer_cleansing(args, reply):
    if "zero_shot" not in args.method and DEMO_ANSWER_PHRASE in reply:
        reply = reply.split(DEMO_ANSWER_PHRASE)[-1]
    m = re.findall(ANSWER_PATTERNS[args.dataset], reply.lower())
    return m[0].replace(",", "") if m else ""
