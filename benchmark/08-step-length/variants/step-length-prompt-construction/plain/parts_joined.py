def get_sentence(
    demo1: str | None,
    x: str,
    args_method: str,
    args_cot_trigger: str,
    args_direct_answer_trigger_for_zeroshot: str,
) -> str:
    trigger = {
        "zero_shot": args_direct_answer_trigger_for_zeroshot,
        "zero_shot_cot": args_cot_trigger,
        "auto_cot": args_cot_trigger,
    }.get(args_method, "")
    prompt = f"{x.strip()} {trigger}".strip()
    if demo1:
        prompt = demo1 + prompt
    return prompt
