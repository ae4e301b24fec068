# Asks for reasoning in few-shot CoT as well.
def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    if args_method == "zero_shot":
        return f"{x} {args_direct_answer_trigger_for_zeroshot}"
    if args_method == "zero_shot_cot":
        return f"{x} {args_cot_trigger}"
    if args_method == "few_shot":
        return f"{demo1}{x}"
    return f"{demo1}{x} {args_cot_trigger}"
