# Builds a percent template around the question, whose own percent signs are then read.
def get_sentence(
    demo1: str | None,
    x: str,
    args_method: str,
    args_cot_trigger: str,
    args_direct_answer_trigger_for_zeroshot: str,
) -> str:
    demonstrations = str(demo1)
    if args_method == "zero_shot":
        return (x + " %s") % args_direct_answer_trigger_for_zeroshot
    if args_method == "zero_shot_cot":
        return (x + " %s") % args_cot_trigger
    if args_method in ("few_shot", "few_shot_cot"):
        return demonstrations + x
    if args_method == "auto_cot":
        return demonstrations + (x + " %s") % args_cot_trigger
    raise ValueError(f"unknown prompting method {args_method!r}")
