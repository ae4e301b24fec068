# Tables say which parts a method has.
BEFORE = {"few_shot", "few_shot_cot", "auto_cot"}


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot) -> str:
    behind = {
        "zero_shot": [args_direct_answer_trigger_for_zeroshot],
        "zero_shot_cot": [args_cot_trigger],
        "few_shot": [],
        "few_shot_cot": [],
        "auto_cot": [args_cot_trigger],
    }
    if args_method not in behind:
        raise ValueError(args_method)
    return (demo1 if args_method in BEFORE else "") + " ".join([x, *behind[args_method]])


def create_demonstrations(args):
    shows_reasoning = {"few_shot": False, "few_shot_cot": True, "auto_cot": True}.get(args.method)
    return None if shows_reasoning is None else create_demo_text(args, shows_reasoning)


def hold_dialogue(question, demo, args, complete) -> tuple[str, str]:
    triggers = args.cot_trigger, args.direct_answer_trigger_for_zeroshot
    text = get_sentence(demo, format_question(question), args.method, *triggers)
    endings = ["", f" {args.direct_answer_trigger}"] if args.method == "zero_shot_cot" else [""]
    reply = ""
    for ending in endings:
        text += ending
        reply = complete(text)
        text += reply
    return text, reply
