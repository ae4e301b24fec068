# Recognises methods by parts of their names.
def get_sentence(
    demo1: str | None,
    x: str,
    args_method: str,
    args_cot_trigger: str,
    args_direct_answer_trigger_for_zeroshot: str,
) -> str:
    args_method = str(args_method)
    prompt = x if args_method.startswith("zero_shot") else str(demo1) + x
    if args_method.endswith("zero_shot"):
        return prompt + " " + args_direct_answer_trigger_for_zeroshot
    if args_method.startswith("few_shot"):
        return prompt
    if args_method.endswith("cot"):
        return prompt + " " + args_cot_trigger
    raise ValueError(f"unknown prompting method {args_method!r}")
