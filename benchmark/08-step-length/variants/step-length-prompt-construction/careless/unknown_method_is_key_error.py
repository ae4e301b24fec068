# Lets the dictionary's KeyError out for an unknown method.
def get_sentence(
    demo1: str | None,
    x: str,
    args_method: str,
    args_cot_trigger: str,
    args_direct_answer_trigger_for_zeroshot: str,
) -> str:
    demonstrations = str(demo1)
    assembled = {
        "zero_shot": f"{x} {args_direct_answer_trigger_for_zeroshot}",
        "zero_shot_cot": f"{x} {args_cot_trigger}",
        "few_shot": f"{demonstrations}{x}",
        "few_shot_cot": f"{demonstrations}{x}",
        "auto_cot": f"{demonstrations}{x} {args_cot_trigger}",
    }
    return assembled[args_method]
