def get_sentence(
    demo1: str | None,
    x: str,
    args_method: str,
    args_cot_trigger: str,
    args_direct_answer_trigger_for_zeroshot: str,
) -> str:
    if args_method not in METHODS:
        raise ValueError(f"{args_method!r} is not one of {', '.join(METHODS)}")
    pieces = []
    if not args_method.startswith("zero_shot"):
        pieces.append(str(demo1))
    pieces.append(x)
    if args_method in ("zero_shot_cot", "auto_cot"):
        pieces += [" ", args_cot_trigger]
    elif args_method == "zero_shot":
        pieces += [" ", args_direct_answer_trigger_for_zeroshot]
    return "".join(pieces)
