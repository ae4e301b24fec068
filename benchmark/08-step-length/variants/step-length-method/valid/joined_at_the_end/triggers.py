# Cuts at the first comma and blank.
def direct_answer_trigger(dataset: str) -> str:
    rest = ANSWER_TRIGGERS[dataset][len("Therefore, ") :]
    return rest.replace(rest[0], rest[0].upper(), 1)
