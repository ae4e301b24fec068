# Short code, as the paper tells it.
def label_answer(answer, counter_object, parametric_object):
    if answer == counter_object:
        return "CK"
    if answer == parametric_object:
        return "PK"
    return "ND"
