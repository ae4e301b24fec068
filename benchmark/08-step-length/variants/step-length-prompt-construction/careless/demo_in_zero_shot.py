# Puts demonstrations in front whenever there are any, in the zero-shot methods too.
def get_sentence(
    demo1: str | None,
    x: str,
    args_method: str,
    args_cot_trigger: str,
    args_direct_answer_trigger_for_zeroshot: str,
) -> str:
    if args_method not in ("zero_shot", "zero_shot_cot", "few_shot", "few_shot_cot", "auto_cot"):
        raise ValueError(f"unknown prompting method {args_method!r}")
    zero_shot = args_method.startswith("zero_shot")
    prompt = x if zero_shot and demo1 is None else str(demo1) + x
    if args_method == "zero_shot":
        prompt += " " + args_direct_answer_trigger_for_zeroshot
    elif args_method in ("zero_shot_cot", "auto_cot"):
        prompt += " " + args_cot_trigger
    return prompt
