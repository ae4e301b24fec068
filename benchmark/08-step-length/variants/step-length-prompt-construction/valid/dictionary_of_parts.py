PARTS = {
    "zero_shot": (False, "direct"),
    "zero_shot_cot": (False, "reason"),
    "few_shot": (True, None),
    "few_shot_cot": (True, None),
    "auto_cot": (True, "reason"),
}


def get_sentence(
    demo1: str | None,
    x: str,
    args_method: str,
    args_cot_trigger: str,
    args_direct_answer_trigger_for_zeroshot: str,
) -> str:
    if args_method not in PARTS:
        raise ValueError(args_method)
    has_demo, trigger = PARTS[args_method]
    triggers = {"direct": args_direct_answer_trigger_for_zeroshot, "reason": args_cot_trigger}
    return (f"{demo1!s}" if has_demo else "") + x + (f" {triggers[trigger]}" if trigger else "")
