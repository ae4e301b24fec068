# Leaves the blank out when the trigger is empty.
def get_sentence(
    demo1: str | None,
    x: str,
    args_method: str,
    args_cot_trigger: str,
    args_direct_answer_trigger_for_zeroshot: str,
) -> str:
    demonstrations = str(demo1)
    if args_method == "zero_shot":
        parts = [x, args_direct_answer_trigger_for_zeroshot]
    elif args_method == "zero_shot_cot":
        parts = [x, args_cot_trigger]
    elif args_method in ("few_shot", "few_shot_cot"):
        parts = [demonstrations + x]
    elif args_method == "auto_cot":
        parts = [demonstrations + x, args_cot_trigger]
    else:
        raise ValueError(f"unknown prompting method {args_method!r}")
    return " ".join(part for part in parts if part)
