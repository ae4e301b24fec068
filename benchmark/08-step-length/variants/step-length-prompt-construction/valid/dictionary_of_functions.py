class UnknownMethodError(ValueError):
    """A prompting method that nobody has described."""


def get_sentence(demo1, x, args_method, args_cot_trigger, args_direct_answer_trigger_for_zeroshot):
    with_demo = str(demo1).__add__
    builders = {
        "zero_shot": lambda: " ".join([x, args_direct_answer_trigger_for_zeroshot]),
        "zero_shot_cot": lambda: " ".join([x, args_cot_trigger]),
        "few_shot": lambda: with_demo(x),
        "few_shot_cot": lambda: with_demo(x),
        "auto_cot": lambda: " ".join([with_demo(x), args_cot_trigger]),
    }
    try:
        build = builders[args_method]
    except KeyError:
        raise UnknownMethodError(args_method) from None
    return build()
