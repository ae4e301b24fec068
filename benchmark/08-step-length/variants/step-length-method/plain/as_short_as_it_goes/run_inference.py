# Plain conditions.
def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    if args_method == "zero_shot":
        return x + " " + args_direct_answer_trigger_for_zeroshot
    elif args_method == "zero_shot_cot":
        return x + " " + args_cot_trigger
    elif args_method == "auto_cot":
        return demo1 + x + " " + args_cot_trigger
    elif args_method in ("few_shot", "few_shot_cot"):
        return demo1 + x
    raise ValueError("method")


def create_demonstrations(args):
    if args.method.startswith("zero"):
        return None
    return create_demo_text(args, cot_flag=args.method in ("few_shot_cot", "auto_cot"))


def hold_dialogue(question, demo, args, complete):
    x = format_question(question)
    p = get_sentence(demo, x, args.method, args.cot_trigger, args.direct_answer_trigger_for_zeroshot)
    z = complete(p)
    if args.method == "zero_shot_cot":
        p = p + z + " " + args.direct_answer_trigger
        z = complete(p)
    return p + z, z
