# Asks for the two sources one after the other.
def label_answer(answer: str, counter_object: str, parametric_object: str) -> str:
    if answer == counter_object:
        return "CK"
    return "PK" if answer == parametric_object else "ND"
