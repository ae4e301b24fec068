# Follows whichever object the answer holds.
def label_answer(answer, counter_object, parametric_object):
    if counter_object in answer:
        return "CK"
    return "PK" if parametric_object in answer else "ND"
