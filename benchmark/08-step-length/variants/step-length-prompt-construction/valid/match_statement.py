def get_sentence(
    demo1: str | None,
    x: str,
    args_method: str,
    args_cot_trigger: str,
    args_direct_answer_trigger_for_zeroshot: str,
) -> str:
    match args_method:
        case "zero_shot":
            return f"{x} {args_direct_answer_trigger_for_zeroshot}"
        case "zero_shot_cot":
            return f"{x} {args_cot_trigger}"
        case "few_shot" | "few_shot_cot":
            return f"{demo1}{x}"
        case "auto_cot":
            return f"{demo1}{x} {args_cot_trigger}"
        case _:
            raise ValueError(f"method not supported: {args_method}")
