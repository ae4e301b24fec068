"""Trigger sentences: what asks the model for reasoning, and what asks it for the answer of each data set."""

#: Chain-of-thought triggers: the usual one, and the longer one that asks for more reasoning steps.
COT_TRIGGERS = {
    "standard": "Let's think step by step.",
    "more_steps": "Let's think step by step, you must think more steps.",
}

#: Asks for the answer once the reasoning is written.
ANSWER_TRIGGERS = {
    "arithmetic": "Therefore, the answer (arabic numerals) is",
    "coin_flip": "Therefore, the answer (Yes or No) is",
    "last_letters": "Therefore, the answer is",
}

#: Introduces the answer in every demonstration, whatever the data set.
DEMO_ANSWER_PHRASE = "The answer is"


def direct_answer_trigger(dataset: str) -> str:
    """The answer trigger of a data set when no reasoning comes before it."""
    phrase = ANSWER_TRIGGERS[dataset].removeprefix("Therefore, ")
    return phrase[0].upper() + phrase[1:]
