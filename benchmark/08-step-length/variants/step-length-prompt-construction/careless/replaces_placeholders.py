# Fills a template by replacement, so that placeholders inside the texts are filled too.
def get_sentence(
    demo1: str | None,
    x: str,
    args_method: str,
    args_cot_trigger: str,
    args_direct_answer_trigger_for_zeroshot: str,
) -> str:
    templates = {
        "zero_shot": "{x} {direct}",
        "zero_shot_cot": "{x} {trigger}",
        "few_shot": "{demo1}{x}",
        "few_shot_cot": "{demo1}{x}",
        "auto_cot": "{demo1}{x} {trigger}",
    }
    if args_method not in templates:
        raise ValueError(f"unknown prompting method {args_method!r}")
    prompt = templates[args_method].replace("{demo1}", str(demo1)).replace("{x}", x)
    return prompt.replace("{trigger}", args_cot_trigger).replace("{direct}", args_direct_answer_trigger_for_zeroshot)
