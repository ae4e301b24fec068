# Accepts method names in other case and with blanks around them.
def get_sentence(
    demo1: str | None,
    x: str,
    args_method: str,
    args_cot_trigger: str,
    args_direct_answer_trigger_for_zeroshot: str,
) -> str:
    args_method = str(args_method).strip().lower()
    demonstrations = str(demo1)
    if args_method == "zero_shot":
        return x + " " + args_direct_answer_trigger_for_zeroshot
    if args_method == "zero_shot_cot":
        return x + " " + args_cot_trigger
    if args_method in ("few_shot", "few_shot_cot"):
        return demonstrations + x
    if args_method == "auto_cot":
        return demonstrations + x + " " + args_cot_trigger
    raise ValueError(f"unknown prompting method {args_method!r}")
