def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    demo = demo1 or ""
    if args_method == "zero_shot":
        return f"{x} {args_direct_answer_trigger_for_zeroshot}"
    elif args_method == "zero_shot_cot":
        return f"{x} {args_cot_trigger}"
    elif args_method in ("few_shot", "few_shot_cot"):
        return f"{demo}\n{x}"
    elif args_method == "auto_cot":
        return f"{demo}\n{x} {args_cot_trigger}"
    else:
        raise ValueError(f"args_method: {args_method}")
